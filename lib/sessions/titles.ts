/** Reads from both ends of a transcript its host's title, its last directory and the time of its last row. */

import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { readJson } from "../base/files.ts";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { pastTime } from "../base/time.ts";
import { isoTime } from "../transcripts/format.ts";
import { formatOf } from "../transcripts/head.ts";
import { parseLine, readFully, withFile } from "../transcripts/jsonl.ts";
import type { Session } from "../transcripts/session.ts";
import { cleanName } from "./meta.ts";

const END_BYTES = 64 * 1024; // promised: the first and last 64 KiB
const NEWLINE = 10; // \n
/** Sessions have a few at most, and each costs a search through all that was read. */
const SUMMARIES_MAX = 32;

/** Returns the host's title of a session; undefined when it has none. */
export function hostTitle(session: Pick<Session, "agent" | "file" | "size">): string | undefined {
  return readTitles(session).title;
}

interface Titles {
  /** The host's: the user's own where there is one. */
  title?: string | undefined;
  /** The title that the user set in the host, if the host records who set it. */
  given?: string | undefined;
}

/** Reads the titles of a session from the ends of its transcript. */
export function readTitles({ agent, file, size }: Pick<Session, "agent" | "file" | "size">): Titles {
  try {
    if (agent === "claude") {
      const parts = readEnds(file, size);
      const given = keptTitle(claudeTitleFile(file)) ?? lastTitle(parts, "custom-title", "customTitle");
      const title = lastTitle(parts, "agent-name", "agentName") ?? lastTitle(parts, "ai-title", "aiTitle");
      return { given, title: given ?? title ?? ownSummary(parts) };
    }
    const find = formatOf(agent).title;
    if (!find) return {};
    const parts = readEnds(file, size);
    const title = cleanName(find(file, (text) => rowsWithText(parts, text)));
    return { title, given: title };
  } catch {
    return {}; // gone since it was listed, or not ours to read
  }
}

/** Returns the file in which Claude Code keeps a title set by the user. */
export function claudeTitleFile(transcript: string): string {
  return join(transcript.replace(/\.jsonl$/, ""), "custom-title.json");
}

/** Returns the directory in a session's last rows. */
export function lastDirectory(file: string): string | undefined {
  try {
    for (const row of rowsWithText([readTailBytes(file, END_BYTES)], '"cwd"')) {
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

/**
 * Returns the time of a session's last dated row, which copying the file does not change; undefined without one. A row dated
 * later than now has none.
 */
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
  for (const row of rowsWithText([tail], '"timestamp"')) {
    const time = pastTime(isoTime(row.timestamp) ?? isoTime(recordOf(row.message).timestamp));
    if (time !== undefined) return time;
  }
  // The end of a longer row: inside a text the quotes would be escaped.
  const cut = tail.subarray(0, Math.max(0, tail.indexOf(NEWLINE))).toString("latin1");
  return pastTime(isoTime([...cut.matchAll(ROW_TIME)].at(-1)?.[1]));
}

function lastTitle(parts: readonly Buffer[], type: string, key: string): string | undefined {
  for (const row of rowsWithText(parts, `"${type}"`)) if (row.type === type) return cleanName(row[key]);
  return undefined;
}

/** Claude Code before 2.0 wrote summaries of other sessions too: one counts when the row it describes is in this file. */
function ownSummary(parts: readonly Buffer[]): string | undefined {
  let tried = 0;
  for (const { type, leafUuid, summary } of rowsWithText(parts, '"summary"')) {
    const leaf = type === "summary" ? stringOf(leafUuid) : undefined;
    if (leaf === undefined) continue;
    if (++tried > SUMMARIES_MAX) return undefined;
    for (const { uuid } of rowsWithText(parts, `"${leaf}"`)) if (uuid === leaf) return cleanName(summary);
  }
  return undefined;
}

/** Reads no link, which could lead to another session's title, and no pipe, which would wait for a writer. */
function keptTitle(file: string): string | undefined {
  const isOwn = lstatSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isOwn || lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  return cleanName(recordOf(readJson(file)).customTitle);
}

/** Reads a small file whole, else its complete first and last lines. */
function readEnds(file: string, size: number): Buffer[] {
  if (size <= 2 * END_BYTES) return [readHeadBytes(file, 2 * END_BYTES)];
  const head = readHeadBytes(file, END_BYTES);
  const tail = readTailBytes(file, END_BYTES);
  return [head.subarray(0, head.lastIndexOf(NEWLINE) + 1), tail.subarray(tail.indexOf(NEWLINE) + 1)];
}

/** Yields the rows that contain a text, last first. Searching for bytes avoids parsing the others. */
function* rowsWithText(parts: readonly Buffer[], text: string): Generator<JsonRecord> {
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

/** Reads the first `bytes` of a file, fewer if it is shorter. */
function readHeadBytes(file: string, bytes: number): Buffer {
  return withFile(file, (descriptor, size) => readFully(descriptor, 0, Math.min(bytes, size)));
}

/** Reads the last `bytes` of a file, all of it if it is shorter. */
function readTailBytes(file: string, bytes: number): Buffer {
  return withFile(file, (descriptor, size) => {
    const length = Math.min(bytes, size);
    return readFully(descriptor, size - length, length);
  });
}
