/** Reads both ends of a transcript: the host's title, the last directory, the time of the last row. */

import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { readJson } from "../base/files.ts";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { isoTime } from "../transcripts/format.ts";
import { parseLine, readHeadBytes, readTailBytes } from "../transcripts/jsonl.ts";
import type { Session } from "../transcripts/session.ts";

const END_BYTES = 64 * 1024;
/** Longer titles are cut: names share a line with other text. */
const TITLE_MAX = 200;
const NEWLINE = 10;
/** Sessions have a few at most. */
const SUMMARIES_MAX = 32;

/** Returns the host's title of a session; undefined when it has none. */
export function hostTitle(session: Pick<Session, "agent" | "file" | "size">): string | undefined {
  try {
    if (session.agent === "claude") return claudeTitle(session);
    return session.agent === "pi" ? piTitle(session) : undefined;
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

/** Returns the title the user set in the host; undefined when there is none, or it may be the host's own. */
export function givenTitle(session: Pick<Session, "agent" | "file" | "size">): string | undefined {
  try {
    if (session.agent === "pi") return piTitle(session);
    if (session.agent !== "claude") return undefined;
    const kept = keptTitle(claudeTitleFile(session.file));
    return kept ?? lastTitle(readEnds(session.file, session.size), "custom-title", "customTitle");
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

/** Returns the file in which Claude Code keeps a title set by the user. */
export function claudeTitleFile(transcript: string): string {
  return join(transcript.replace(/\.jsonl$/, ""), "custom-title.json");
}

/** Returns the directory in a session's last rows. */
export function lastDirectory(file: string): string | undefined {
  try {
    for (const row of rowsBackward([readTailBytes(file, END_BYTES)], '"cwd"')) {
      const cwd = stringOf(row.cwd);
      if (cwd !== undefined) return cwd;
    }
  } catch {
    // gone since it was listed, or not ours to read
  }
  return undefined;
}

/** The first usually holds the last dated row; a row with an image needs the third. */
const LAST_ROW_BYTES = [4 * 1024, END_BYTES, 2 * 1024 * 1024];
const ROW_TIME = /"timestamp":"(\d{4}-\d\d-\d\dT[^"]{1,24})"/g;

/** Returns the time of a session's last dated row, which copying the file does not change; undefined without one. */
export function lastTime(file: string): string | undefined {
  try {
    for (const bytes of LAST_ROW_BYTES) {
      const tail = readTailBytes(file, bytes);
      const time = timeIn(tail);
      if (time !== undefined || tail.length < bytes) return time;
    }
  } catch {
    // gone since it was listed, or not ours to read
  }
  return undefined;
}

function timeIn(tail: Buffer): string | undefined {
  for (const row of rowsBackward([tail], '"timestamp"')) {
    const time = isoTime(row.timestamp) ?? isoTime(recordOf(row.message).timestamp);
    if (time !== undefined) return time;
  }
  // The end of a longer row: inside a text the quotes would be escaped.
  const cut = tail.subarray(0, Math.max(0, tail.indexOf(NEWLINE))).toString("latin1");
  return isoTime([...cut.matchAll(ROW_TIME)].at(-1)?.[1]);
}

/** An escape sequence: dropping only its first character would leave the rest as text. */
const COLOUR = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;

/** Returns a name on one line without control characters; undefined when nothing is left. */
export function cleanName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const line = name
    .replace(COLOUR, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return [...line].slice(0, TITLE_MAX).join("") || undefined;
}

/** The user's title wins over the client's, and of each the last one. */
function claudeTitle({ file, size }: Pick<Session, "file" | "size">): string | undefined {
  const kept = keptTitle(claudeTitleFile(file));
  if (kept !== undefined) return kept;
  const parts = readEnds(file, size);
  return (
    lastTitle(parts, "custom-title", "customTitle") ??
    lastTitle(parts, "agent-name", "agentName") ??
    lastTitle(parts, "ai-title", "aiTitle") ??
    ownSummary(parts)
  );
}

function lastTitle(parts: readonly Buffer[], type: string, key: string): string | undefined {
  for (const row of rowsBackward(parts, `"${type}"`)) if (row.type === type) return cleanName(row[key]);
  return undefined;
}

/** Reads no link, which could lead to another session's title, and no pipe, which would wait for a writer. */
function keptTitle(file: string): string | undefined {
  const isOwn = lstatSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isOwn || lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  return cleanName(recordOf(readJson(file)).customTitle);
}

/** Old versions wrote summaries of other sessions too: one counts when the row it describes is in this file. */
function ownSummary(parts: readonly Buffer[]): string | undefined {
  let tried = 0;
  for (const row of rowsBackward(parts, '"summary"')) {
    const leaf = row.type === "summary" ? stringOf(row.leafUuid) : undefined;
    if (leaf === undefined) continue;
    // Each costs a search through everything read.
    if (++tried > SUMMARIES_MAX) return undefined;
    for (const described of rowsBackward(parts, `"${leaf}"`)) {
      if (described.uuid === leaf) return cleanName(row.summary);
    }
  }
  return undefined;
}

/** The last entry counts; an empty name removes an earlier one. */
function piTitle({ file, size }: Pick<Session, "file" | "size">): string | undefined {
  for (const row of rowsBackward(readEnds(file, size), '"session_info"')) {
    if (row.type === "session_info") return cleanName(row.name);
  }
  return undefined;
}

/** Reads a small file whole, else its complete first and last lines. */
function readEnds(file: string, size: number): Buffer[] {
  if (size <= 2 * END_BYTES) return [readHeadBytes(file, 2 * END_BYTES)];
  const head = readHeadBytes(file, END_BYTES);
  const tail = readTailBytes(file, END_BYTES);
  return [head.subarray(0, head.lastIndexOf(NEWLINE) + 1), tail.subarray(tail.indexOf(NEWLINE) + 1)];
}

/** Yields the rows that contain a text, last first. Searching for bytes avoids parsing the others. */
function* rowsBackward(parts: readonly Buffer[], text: string): Generator<JsonRecord> {
  for (const part of parts.toReversed()) {
    let before = part.length;
    while (before > 0) {
      const at = part.lastIndexOf(text, before - 1);
      if (at === -1) break;
      const start = part.lastIndexOf(NEWLINE, at) + 1;
      const newline = part.indexOf(NEWLINE, at);
      const line = part.subarray(start, newline === -1 ? part.length : newline);
      yield* parseLine(line).records.reverse();
      before = start - 1;
    }
  }
}
