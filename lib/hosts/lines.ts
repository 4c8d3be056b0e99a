/**
 * JSONL by bytes: complete lines from an offset with constant memory, and the objects of a line that was fused or torn by two
 * writers.
 *
 * Cursors are byte offsets, so nothing here counts characters, and no cut ever falls inside a multi-byte character.
 */

import { closeSync, fstatSync, readSync, type Stats } from "node:fs";
import { hasCode } from "../base/errors.ts";
import { openToRead } from "../base/files.ts";
import { isRecord, type JsonRecord } from "../base/json.ts";
import { sha256 } from "../base/text.ts";
import type { Blocks } from "./blocks.ts";
import type { Format } from "./format.ts";
import { findPacked } from "./packed.ts";

/** One line. `bytes` is a view into a buffer that the next line reuses. */
interface ByteLine {
  /** First byte of the line. */
  offset: number;
  /** First byte after its newline. */
  end: number;
  /** The line without its newline; undefined when it is longer than `LINE_MAX_BYTES`. */
  bytes: Buffer | undefined;
  /** True if a newline ends it; only the last line of a file may lack one. */
  terminated: boolean;
  /** The number of lines: consecutive empty ones come as one, since a file may hold millions. */
  count: number;
}

/** A longer line is not a message, and is skipped without being held in memory. */
export const LINE_MAX_BYTES = 64 * 1024 * 1024;
const FORWARD_BLOCK_BYTES = 64 * 1024; // holds what is looked for, mostly; a larger one takes longer to clear than to fill
export const NEWLINE = 10; // its byte
/** The start of a record inside a damaged line, by the first key that hosts write. */
const RECORD_START = /\{"(?:type|parentUuid|timestamp|role|id|uuid|sessionId)":/g;
/** Starts tried in one damaged line, so that a hostile one costs no more than these many parses. */
const RECORD_STARTS_MAX = 64;
const LEAST = 1024; // bytes read at once: a file may grow meanwhile
const BLANKS_MAX = 64; // hosts write none there

/** Opens a transcript of at most `max` bytes, hands its descriptor to `use`, and closes it; `stat` is the file's, where it is known. */
export function withFile<T>(
  file: string,
  use: (descriptor: number, size: number) => T,
  { stat, max }: { stat?: Stats | undefined; max?: number } = {},
): T {
  const { descriptor, size } = openSized(file, stat, max);
  try {
    return use(descriptor, size);
  } finally {
    closeTranscript(descriptor);
  }
}

/** Opens a transcript for the functions of this file: where it is compressed, its rows are read as if it were not. */
export function openTranscript(file: string): number {
  return openSized(file).descriptor;
}

/** Opens a transcript; `size` is that of its rows. */
function openSized(file: string, stat?: Stats, max?: number): { descriptor: number; size: number } {
  try {
    const descriptor = openToRead(file, stat, max);
    const { size } = fstatSync(descriptor);
    if (size === 0) packed.set(descriptor, NOTHING);
    return { descriptor, size };
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
    const found = findPacked(file);
    if (!found) throw error;
    const descriptor = openToRead(found.place);
    try {
      const blocks = found.open(descriptor, file);
      packed.set(descriptor, blocks);
      return { descriptor, size: blocks.size };
    } catch (cause) {
      closeSync(descriptor);
      throw cause;
    }
  }
}

export function closeTranscript(descriptor: number): void {
  packed.delete(descriptor);
  closeSync(descriptor);
}

/** Returns the bytes of an open transcript's rows. */
export function readSize(descriptor: number): number {
  return packed.get(descriptor)?.size ?? fstatSync(descriptor).size;
}

/** The open transcripts that are compressed, or empty. */
const packed = new Map<number, Blocks>();
/** The system gives no size for what it only shows as a file, and reading that waits or never ends. */
const NOTHING: Blocks = { size: 0, read: () => 0 };
interface LinesForward {
  /** @default the file's start */
  from?: number | undefined;
  /** A line that does not end before this byte is left out, with all after it. @default the file's end */
  to?: number;
  /** Bytes read at once, at first. */
  block?: number;
}

/** Yields the lines of an open file from the byte `from` up to its end as it is when reached, read in blocks. */
export function* linesForward(
  descriptor: number,
  { from = 0, to = Number.POSITIVE_INFINITY, block = FORWARD_BLOCK_BYTES }: LinesForward = {},
): Generator<ByteLine> {
  // a tail is mostly short, and its memory is cleared first
  let buffer: Buffer = Buffer.allocUnsafeSlow(Math.min(block, Math.max(readSize(descriptor) - from, LEAST)));
  let filled = 0; // bytes of the unfinished line at the front of the buffer
  let offset = from; // file position of buffer[0]
  let skipping = 0; // bytes already dropped of an overlong line
  for (;;) {
    if (filled === buffer.length) {
      if (filled >= LINE_MAX_BYTES) {
        skipping += filled;
        filled = 0;
      } else buffer = Buffer.concat([buffer], buffer.length * 2);
    }
    const position = offset + skipping + filled;
    if (position >= to) return;
    const read = readAt(descriptor, buffer, { at: filled, length: buffer.length - filled, position });
    if (read === 0) break;
    const view = buffer.subarray(0, filled + read);
    let start = 0;
    for (let at = view.indexOf(NEWLINE, filled); at !== -1; at = view.indexOf(NEWLINE, start)) {
      const bytes = skipping ? undefined : buffer.subarray(start, at);
      const count = bytes?.length === 0 ? countNewlines(view, at) : 1;
      const end = offset + skipping + at + count;
      yield { offset: offset + start, end, bytes, terminated: true, count };
      offset += skipping;
      skipping = 0;
      start = at + count;
    }
    buffer.copyWithin(0, start, view.length);
    filled = view.length - start;
    offset += start;
  }
  if (filled + skipping > 0) {
    const bytes = skipping ? undefined : buffer.subarray(0, filled);
    yield { offset, end: offset + skipping + filled, bytes, terminated: false, count: 1 };
  }
}

/** Counts the newlines that follow each other from one on. */
function countNewlines(view: Uint8Array, at: number): number {
  let end = at;
  while (view[end] === NEWLINE) end++;
  return end - at;
}

/**
 * Returns the JSON objects of one line: one, none for a blank or an overlong line, several when lines were fused.
 * `damaged` is set when some of the line was not JSON.
 */
export function parseLine(bytes: Buffer | undefined): { records: JsonRecord[]; damaged: boolean } {
  if (!bytes) return { records: [], damaged: true };
  const text = bytes.toString("utf8");
  // Not parsed only to fail: an exception costs more than all else here, and a file may hold millions of such lines.
  if (!text.includes("{") || !text.includes("}")) return { records: [], damaged: text.trim() !== "" };
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? { records: [value], damaged: false } : { records: [], damaged: true };
  } catch {
    if (text.trim() === "") return { records: [], damaged: false };
    if (text.charCodeAt(0) === 0xfeff) return parseLine(bytes.subarray(3)); // a byte order mark
    return recover(text);
  }
}

/** Tries every place where a record may begin: fused records follow one another, torn ones are passed over. */
function recover(text: string): { records: JsonRecord[]; damaged: boolean } {
  const records: JsonRecord[] = [];
  let covered = 0; // end of the last whole record
  let torn = false;
  let tries = 0;
  RECORD_START.lastIndex = 0;
  for (
    let match = RECORD_START.exec(text);
    match && tries < RECORD_STARTS_MAX;
    match = RECORD_START.exec(text)
  ) {
    tries++;
    if (text.slice(covered, match.index).trim() !== "") torn = true;
    const end = balancedEnd(text, match.index);
    if (end === -1 || isNested(text, match.index, end)) continue;
    try {
      const value: unknown = JSON.parse(text.slice(match.index, end));
      if (isRecord(value)) records.push(value);
      covered = end;
      RECORD_START.lastIndex = end;
    } catch {
      torn = true;
    }
  }
  return { records, damaged: torn || records.length === 0 || text.slice(covered).trim() !== "" };
}

/**
 * Returns whether an object is a part of a torn record rather than a record: hosts put whole messages of others inside rows
 * (a subagent's inside a progress row), which are not rows of the conversation.
 */
function isNested(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - BLANKS_MAX), start);
  const after = text.slice(end, end + BLANKS_MAX);
  return /^\s*[,}\]]/.test(after) || (/[:,[]\s*$/.test(before) && /\S/.test(after));
}

/** Yields the records of a file's complete lines, `block` bytes read at once at first. */
export function* recordsIn(file: string, block = FORWARD_BLOCK_BYTES): Generator<JsonRecord, undefined> {
  const descriptor = openTranscript(file);
  try {
    for (const { bytes, terminated } of linesForward(descriptor, { block }))
      if (terminated) yield* parseLine(bytes).records;
  } finally {
    closeTranscript(descriptor); // also when the taker stops early
  }
}

/** Returns the end (exclusive) of the object that starts at `start`, or -1. */
function balancedEnd(text: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (quoted) {
      if (code === 92) i++;
      else if (code === 34) quoted = false;
    } else if (code === 34) quoted = true;
    else if (code === 123) depth++;
    else if (code === 125 && --depth === 0) return i + 1;
  }
  return -1;
}

/** Reads exactly `length` bytes, fewer if the file ends before. */
export function readFully(descriptor: number, position: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const read = readAt(descriptor, buffer, {
      at: filled,
      length: length - filled,
      position: position + filled,
    });
    if (read === 0) break; // it shrank while we read
    filled += read;
  }
  return buffer.subarray(0, filled);
}

/** Returns the first bytes of a transcript as text. */
export function readBegin(file: string, bytes: number): string {
  return withFile(file, (descriptor) => readFully(descriptor, 0, bytes).toString("utf8"));
}

/** A page of most file systems; enough rows that another file begins or ends otherwise. */
const EDGE_BYTES = 4096;

/** Returns the sha256 of the offset, the file's first 4 KiB and the last 4 KiB before the offset. */
export function hashBefore(file: string, offset: number): string {
  const edge = Math.min(EDGE_BYTES, offset);
  return withFile(file, (descriptor) =>
    sha256()
      .update(`${offset}\n`)
      .update(readFully(descriptor, 0, edge))
      .update(readFully(descriptor, offset - edge, edge))
      .digest("hex"),
  );
}

/** The bytes of transcripts that this process has read so far. */
export const reads = { bytes: 0 };

/** Reads as `readSync` does, and counts what was read. */
export function readAt(
  descriptor: number,
  buffer: Buffer,
  { at, length, position }: { at: number; length: number; position: number },
): number {
  const known = packed.get(descriptor);
  if (known) return known.read(buffer, { at, length, position });
  const read = readSync(descriptor, buffer, at, length, position);
  reads.bytes += read;
  return read;
}

/** A line parsed; of several states of one message a transcript's rows hold the last. */
export interface ParsedLine extends Omit<ByteLine, "bytes"> {
  records: JsonRecord[];
  /** True if some of the line was not JSON. */
  damaged: boolean;
}

/** Lines between two states of one message: its tokens and its tool calls are written soon after its words. */
const STATES_WITHIN = 16;

/** Returns a reader of the records of an open file after a byte offset, for what only they say of a row. */
export function recordsAfter(descriptor: number): (offset: number) => Iterable<JsonRecord> {
  return function* (from) {
    for (const { bytes } of linesForward(descriptor, { from })) yield* parseLine(bytes).records;
  };
}

/** Yields the rows of an open file that begin between two bytes: the last state of each message where its first one is. */
export function* parsedLines(
  descriptor: number,
  { messageOf }: Format,
  { from = 0, before = Number.POSITIVE_INFINITY } = {},
): Generator<ParsedLine> {
  const held: ParsedLine[] = [];
  for (const { offset, end, terminated, count, bytes } of linesForward(descriptor, { from })) {
    if (offset >= before) break;
    const later = { offset, end, terminated, count, ...parseLine(bytes) };
    if (!messageOf) {
      yield later;
      continue;
    }
    for (const earlier of held) {
      const states = new Map(later.records.map((record) => [messageOf(record), record]));
      const begun = new Set(earlier.records.map(messageOf));
      for (const messages of [states, begun]) messages.delete(undefined);
      earlier.records = earlier.records.map((record) => states.get(messageOf(record)) ?? record);
      later.records = later.records.filter((record) => !begun.has(messageOf(record)));
    }
    held.push(later);
    if (held.length > STATES_WITHIN) yield held.shift() as ParsedLine;
  }
  yield* held;
}
