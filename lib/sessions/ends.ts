/** What the first and last 64 KiB of a transcript say of the session: its host's title, its latest directory. */

import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { readJson } from "../base/files.ts";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { isoTime } from "../transcripts/format.ts";
import { parseLine, readHeadBytes, readTailBytes } from "../transcripts/jsonl.ts";
import type { Session } from "../transcripts/session.ts";

const END_BYTES = 64 * 1024;
/** A longer one is no title: names are shown on one line among others. */
const TITLE_MAX = 200;
const NEWLINE = 10;
/** A session has a few at most. */
const SUMMARIES_MAX = 32;

/** The title the host keeps for a session; undefined for hosts and sessions that have none. Never an invented one. */
export function hostTitle(session: Pick<Session, "agent" | "file" | "size">): string | undefined {
  try {
    if (session.agent === "claude") return claudeTitle(session);
    return session.agent === "pi" ? piTitle(session) : undefined;
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

/** The title that the user gave in the host, not the host itself; undefined where the two cannot be told apart. */
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

/** The file in which Claude Code keeps a title given by the user. */
export function claudeTitleFile(transcript: string): string {
  return join(transcript.replace(/\.jsonl$/, ""), "custom-title.json");
}

/** The directory that a session's last rows name. */
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

/** Most last rows with a time lie in the first of these; a row with an image takes the last one. */
const LAST_ROW_BYTES = [4 * 1024, END_BYTES, 2 * 1024 * 1024];
const ROW_TIME = /"timestamp":"(\d{4}-\d\d-\d\dT[^"]{1,24})"/g;

/** Returns the time of a session's last dated row, which copying a file does not change; undefined where none has one. */
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
  // A row of which only the end was read: in a text the quotes would be escaped.
  const cut = tail.subarray(0, Math.max(0, tail.indexOf(NEWLINE))).toString("latin1");
  return isoTime([...cut.matchAll(ROW_TIME)].at(-1)?.[1]);
}

/** An escape sequence: without its first character the rest of it would stay as words. */
const COLOUR = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;

/** A name as one line without control characters; undefined when nothing is left of it. */
export function cleanName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const line = name
    .replace(COLOUR, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return [...line].slice(0, TITLE_MAX).join("") || undefined;
}

/** The user's word before the client's, and of each the last. */
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

/** A link could lead to another's title, and a pipe would wait for a writer. */
function keptTitle(file: string): string | undefined {
  const isOwn = lstatSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isOwn || lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  return cleanName(recordOf(readJson(file)).customTitle);
}

/** Old versions wrote summaries of other sessions too: one counts when the row it describes is seen here. */
function ownSummary(parts: readonly Buffer[]): string | undefined {
  let tried = 0;
  for (const row of rowsBackward(parts, '"summary"')) {
    const leaf = row.type === "summary" ? stringOf(row.leafUuid) : undefined;
    if (leaf === undefined) continue;
    // Each costs a search through all that was read.
    if (++tried > SUMMARIES_MAX) return undefined;
    for (const described of rowsBackward(parts, `"${leaf}"`)) {
      if (described.uuid === leaf) return cleanName(row.summary);
    }
  }
  return undefined;
}

/** The last entry counts, and an empty name takes the one before away. */
function piTitle({ file, size }: Pick<Session, "file" | "size">): string | undefined {
  for (const row of rowsBackward(readEnds(file, size), '"session_info"')) {
    if (row.type === "session_info") return cleanName(row.name);
  }
  return undefined;
}

/** The whole of a small file, else its whole first and last lines. */
function readEnds(file: string, size: number): Buffer[] {
  if (size <= 2 * END_BYTES) return [readHeadBytes(file, 2 * END_BYTES)];
  const head = readHeadBytes(file, END_BYTES);
  const tail = readTailBytes(file, END_BYTES);
  return [head.subarray(0, head.lastIndexOf(NEWLINE) + 1), tail.subarray(tail.indexOf(NEWLINE) + 1)];
}

/** The rows that contain a text, last first. Looking for bytes spares parsing all others. */
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
