/** One way through a transcript: its lines with the entries that each gives, forward from a place or backward to the start. */

import { type Head, type RawEntry, readBareEntry } from "../hosts/format.ts";
import { findHost, formatOf } from "../hosts/hosts.ts";
import { linesForward, type ParsedLine, parsedLines, recordsAfter, withFile } from "../hosts/lines.ts";
import { readOutput } from "../hosts/outputs.ts";
import { placeOf } from "../hosts/plain-row.ts";
import type { Cursor } from "../hosts/session.ts";
import { headIn } from "./head.ts";

/** A line with what its records give. */
interface EntryLine extends ParsedLine {
  entries: RawEntry[];
}

interface LineOptions {
  head: Head;
  /** True if the outputs are wanted that are too long for a row. */
  results: boolean;
  /** @default the start */
  from?: Cursor;
  /** The byte before which they begin. @default the end */
  before?: number;
}

/** Yields the lines of an open transcript from a place on. */
export function* linesWithEntries(
  file: string,
  descriptor: number,
  { head, results, from: { offset, line } = { offset: 0, line: 0 }, before }: LineOptions,
): Generator<EntryLine> {
  const format = formatOf(head);
  const folder = results ? findHost(head.agent)?.outputs : undefined;
  const outputAt = folder === undefined ? undefined : (path: string) => readOutput(file, folder, path);
  const settings = { head, later: recordsAfter(descriptor), outputAt };
  let next = line + 1;
  for (const row of parsedLines(descriptor, format, { from: offset, before })) {
    const place = { line: next, nth: 0, offset: row.offset, end: row.end };
    const entries: RawEntry[] = [];
    for (const record of row.records) {
      place.nth = entries.length;
      entries.push(...readBareEntry(format, record, place, settings));
    }
    const { count } = row;
    yield Object.assign(row, { entries });
    next += count;
  }
}

/** A place nearer to the end is tried first; each further one reaches back twice as far. */
const REACH_BYTES = 16 * 1024;

/** Yields places at which lines begin, ever further back from a byte offset, at last the file's start. */
function* placesBack(file: string, before: number): Generator<number> {
  for (let reach = REACH_BYTES; reach < before; reach *= 2) yield lineAfter(file, before - reach);
  yield 0;
}

/** A part of a transcript that was read on the way back from a byte offset. */
interface PartBack {
  /** The place where it begins. */
  offset: number;
  part: RawEntry[];
  /** All entries from there to the byte offset. */
  entries: RawEntry[];
}

/** Yields ever more of the entries before a byte offset, each line read once. Lines are numbered in order, but not from 1. */
export function* entriesBack(
  file: string,
  { head, results, before }: Pick<LineOptions, "head" | "results"> & { before: number },
): Generator<PartBack> {
  let [end, entries]: [number, RawEntry[]] = [before, []];
  for (const offset of placesBack(file, before)) {
    const from = { offset, line: offset };
    const part = withFile(file, (descriptor) => {
      const lines = linesWithEntries(file, descriptor, { head, results, from, before: end });
      return [...lines.filter(isWhole).flatMap((line) => line.entries)];
    });
    entries = [...part, ...entries];
    end = offset;
    yield { offset, part, entries };
  }
}

/** The distance at which a row's call, or an earlier state of its message, is looked for. */
const BEFORE_BYTES = 512 * 1024;

/** Yields the entries shortly before a byte offset, part after part on the way back. */
export function* partsBefore(
  file: string,
  { head, before }: { head: Head; before: number },
): Generator<RawEntry[]> {
  for (const { offset, part } of entriesBack(file, { head, results: false, before })) {
    yield part;
    if (before - offset >= BEFORE_BYTES) return;
  }
}

/** Returns whether a line is not half written. */
function isWhole({ damaged, terminated }: ParsedLine): boolean {
  return terminated || !damaged;
}

/** Returns the start of the line after a position. */
export function lineAfter(file: string, position: number): number {
  return withFile(file, (descriptor) => {
    const [line] = linesForward(descriptor, { from: position }).take(1);
    return line?.end ?? position;
  });
}

/** Returns the first and the last entry of a transcript, as its host wrote them; none where nothing is said or done. */
export function outermostEntries(file: string): RawEntry[] {
  return withFile(file, (descriptor, size) => {
    const head = headIn(file, descriptor, size);
    if (!head) return [];
    const reading = { head, results: false };
    const lines = linesWithEntries(file, descriptor, reading).filter(isWhole);
    const [first] = lines.flatMap(({ entries }) => entries).take(1);
    if (!first) return [];
    const ends = entriesBack(file, { ...reading, before: size });
    return [first, ...ends.flatMap(({ entries }) => entries.slice(-1)).take(1)];
  });
}

/** Counts the lines of an open file between the starts of two. */
export function countLines(descriptor: number, from: number, to: number): number {
  let lines = 0;
  for (const { offset, count } of linesForward(descriptor, { from, to })) {
    if (offset >= to) break;
    lines += count;
  }
  return lines;
}

/**
 * Returns the offset of the 1-based line `line` of an open file; undefined when the file has fewer lines. Where rows name their
 * lines, it is that of the first row that reaches it, with its output or without.
 */
export function offsetOfLine(descriptor: number, line: number, isNamed = false): number | undefined {
  let [before, hasPlaces] = [0, false];
  let found: number | undefined;
  for (const { bytes, offset, count } of linesForward(descriptor)) {
    const place = isNamed ? placeOf(bytes) : undefined;
    if (place && place.last >= line) return offset;
    hasPlaces ||= place !== undefined;
    // empty lines come as one, a byte each
    if (before + count >= line) found ??= offset + Math.max(0, line - 1 - before);
    if (found !== undefined && !isNamed) return found;
    before += count;
  }
  return hasPlaces ? undefined : found;
}
