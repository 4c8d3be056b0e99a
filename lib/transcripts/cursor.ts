/** One way through a transcript: its lines with the entries that each gives, forward from a place or backward to the start. */

import { type Head, type RawEntry, readBareEntry } from "../hosts/format.ts";
import { findHost, formatOf } from "../hosts/hosts.ts";
import {
  linesForward,
  NEWLINE,
  type ParsedLine,
  parsedLines,
  readAt,
  readSize,
  recordsAfter,
  withFile,
} from "../hosts/lines.ts";
import { readOutput } from "../hosts/outputs.ts";
import { placeOf } from "../hosts/plain-row.ts";
import type { Cursor } from "../hosts/session.ts";
import { headIn } from "./head.ts";

/** A line with what its records give. */
interface EntryLine extends ParsedLine {
  entries: RawEntry[];
}

interface TranscriptCursor {
  /** The bytes of its lines. */
  size: number;
  /** Yields the lines from a place on. */
  forward(from?: Cursor): Generator<EntryLine>;
  /** Yields the lines before a byte offset, the last first; `line` is 0 in their entries. @default the end */
  backward(before?: number): Generator<EntryLine>;
}

const START: Cursor = { offset: 0, line: 0 };

/** Returns a cursor on an open transcript, whose entries have results and whole inputs where these are wanted. */
export function cursorOn(
  file: string,
  descriptor: number,
  { head, results }: { head: Head; results: boolean },
): TranscriptCursor {
  const format = formatOf(head);
  const folder = findHost(head.agent)?.outputs;
  const outputAt = folder === undefined ? undefined : (path: string) => readOutput(file, folder, path);
  const settings = { head, results, later: recordsAfter(descriptor), outputAt };
  const withEntries = (row: ParsedLine, line: number): EntryLine => {
    const place = { line, nth: 0, offset: row.offset, end: row.end };
    const entries: RawEntry[] = [];
    for (const record of row.records) {
      place.nth = entries.length;
      entries.push(...readBareEntry(format, record, place, settings));
    }
    return Object.assign(row, { entries });
  };
  const size = readSize(descriptor);
  return {
    size,
    *forward({ offset, line } = START) {
      let next = line + 1;
      for (const row of parsedLines(descriptor, format, { from: offset })) {
        const { count } = row;
        yield withEntries(row, next);
        next += count;
      }
    },
    *backward(before = size) {
      for (const row of parsedLines(descriptor, format, { before: Math.min(before, size) }))
        yield withEntries(row, 0);
    },
  };
}

/** Returns the first and the last entry of a transcript, as its host wrote them; none where nothing is said or done. */
export function outermostEntries(file: string): RawEntry[] {
  return withFile(file, (descriptor, size) => {
    const head = headIn(file, descriptor, size);
    if (!head) return [];
    const cursor = cursorOn(file, descriptor, { head, results: false });
    const firstOf = (lines: Generator<EntryLine>) =>
      lines
        .filter(({ damaged, terminated }) => terminated || !damaged) // half written
        .flatMap(({ entries }) => entries.slice(0, 1))
        .take(1)
        .toArray();
    const first = firstOf(cursor.forward());
    return first.length === 0 ? [] : [...first, ...firstOf(cursor.backward())];
  });
}

/** Counts the newlines of an open file between two offsets. */
export function countLines(descriptor: number, from: number, to: number): number {
  let count = 0;
  scanNewlines(descriptor, from, to, () => {
    count++;
    return false;
  });
  return count;
}

/**
 * Returns the offset of the 1-based line `line` of an open file; undefined when the file has fewer lines. Where rows name their
 * lines, it is that of the first row that reaches it, with its output or without.
 */
export function offsetOfLine(
  descriptor: number,
  line: number,
  { size, isNamed = false }: { size: number; isNamed?: boolean | undefined },
): number | undefined {
  if (isNamed) {
    let hasPlaces = false;
    for (const { bytes, offset } of linesForward(descriptor)) {
      const place = placeOf(bytes);
      if (place && place.last >= line) return offset;
      hasPlaces ||= place !== undefined;
    }
    if (hasPlaces) return undefined;
  }
  if (line <= 1) return size > 0 ? 0 : undefined;
  let newlines = 0;
  const end = scanNewlines(descriptor, 0, size, () => ++newlines === line - 1);
  return end !== undefined && end < size ? end : undefined;
}

/** The most bytes read at once: counting has no lines to hold. Between two entries there are mostly far fewer. */
const SCAN_BLOCK_BYTES = 1024 * 1024;

/** Calls `stop` at each newline; returns the offset after the one at which it said so. */
function scanNewlines(descriptor: number, from: number, to: number, stop: () => boolean): number | undefined {
  const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(SCAN_BLOCK_BYTES, to - from)));
  for (let position = from; position < to; ) {
    const length = Math.min(buffer.length, to - position);
    const read = readAt(descriptor, buffer, { at: 0, length, position });
    if (read === 0) return undefined;
    const view = buffer.subarray(0, read);
    for (let at = view.indexOf(NEWLINE); at !== -1; at = view.indexOf(NEWLINE, at + 1)) {
      if (stop()) return position + at + 1;
    }
    position += read;
  }
  return undefined;
}
