/** Reads from both ends of a transcript its host's title, its last directory and the time of its last row. */

import type { Stats } from "node:fs";
import { type JsonRecord, stringOf } from "../base/json.ts";
import { pastTime } from "../base/time.ts";
import { type Format, isoTime, rowTime } from "../hosts/format.ts";
import { findFormat } from "../hosts/hosts.ts";
import { NEWLINE, parseLine, readFully, withFile } from "../hosts/lines.ts";
import type { Session } from "../hosts/session.ts";

import { cleanName } from "./meta.ts";
import type { TranscriptFile } from "./places.ts";

const END_BYTES = 64 * 1024; // promised: the first and last 64 KiB

/** Returns the host's title of a session; undefined when it has none. */
export function hostTitle(session: Pick<Session, "agent" | "file" | "size">): string | undefined {
  return readTitles(session).title;
}

interface Titles {
  /** The host's: the user's own if there is one. */
  title?: string | undefined;
  /** The title that the user set in the host, if the host records who set it. */
  given?: string | undefined;
}

/** Reads the titles of a session from the ends of its transcript. */
export function readTitles({ agent, file, size }: Pick<Session, "agent" | "file" | "size">): Titles {
  try {
    const { title: findTitle, madeTitles } = findFormat(agent);
    if (!findTitle) return {};
    const parts = readEnds(file, size);
    const rowsWith = (text: string) => rowsWithText(parts, text);
    const found = findTitle(file, rowsWith);
    const given = typeof found === "string" ? cleanName(found) : firstName(found ?? []);
    return { given, title: given ?? firstName(madeTitles?.(rowsWith) ?? []) };
  } catch {
    return {}; // gone since it was listed, or not ours to read
  }
}

function firstName(titles: Iterable<string | undefined>): string | undefined {
  for (const title of titles) {
    const name = cleanName(title);
    if (name !== undefined) return name;
  }
  return undefined;
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

/**
 * Returns the time of a session's last dated row, which copying the file does not change; undefined without one. A row dated
 * later than now has none. `stat` is the file's, where it is known.
 */
export function lastTime(
  { file, agent = "plain" }: Pick<TranscriptFile, "file" | "agent">,
  stat?: Stats,
): string | undefined {
  try {
    const format = findFormat(agent);
    for (const bytes of LAST_ROW_BYTES) {
      const tail = readTailBytes(file, bytes, stat);
      const time = timeIn(tail, format);
      if (time !== undefined || tail.length < bytes) return time;
    }
  } catch {
    // gone since it was listed, or not ours to read
  }
  return undefined;
}

function timeIn(tail: Buffer, format: Format): string | undefined {
  const key = format.timeKey ?? "timestamp";
  for (const row of rowsWithText([tail], `"${key}"`)) {
    const time = pastTime(rowTime(row, format));
    if (time !== undefined) return time;
  }
  // The end of a longer row: inside a text the quotes would be escaped.
  const cut = tail.subarray(0, Math.max(0, tail.indexOf(NEWLINE))).toString("latin1");
  const times = cut.matchAll(
    new RegExp(`"${key}":(?:"(\\d{4}-\\d\\d-\\d\\dT[^"]{1,24})"|(\\d{13})\\b)`, "g"),
  );
  const [, text, ms] = [...times].at(-1) ?? [];
  return pastTime(isoTime(text ?? (ms === undefined ? undefined : Number(ms))));
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
export function readTailBytes(file: string, bytes: number, stat?: Stats): Buffer {
  const read = (descriptor: number, size: number) => {
    const length = Math.min(bytes, size);
    return readFully(descriptor, size - length, length);
  };
  return withFile(file, read, { stat });
}
