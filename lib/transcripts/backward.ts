/** Reads a transcript from its end or around a line, so that a huge one takes no longer than a small one. */

import { closeSync, fstatSync, openSync } from "node:fs";
import { CALL_LINES_MAX, callCheck } from "./calls.ts";
import { type Head, type RawEntry, type Results, readRow } from "./format.ts";
import { formatOf, readHead } from "./head.ts";
import { NEWLINE, readAt, rowsBackward, withFile } from "./jsonl.ts";
import { entryFilter, type Rules } from "./rules.ts";
import type { Cursor, Entry } from "./session.ts";
import { isWanted, type Step, type StepFilter, stepsOf } from "./steps.ts";
import { type ReadProgress, readEntries } from "./transcript.ts";

/**
 * Reads the last `count` entries of a transcript, oldest first, from its end. `line` is 0 in them: counting lines
 * means reading the file (`numberLines`).
 */
export function readLastEntries(
  file: string,
  options: ReadLastOptions,
): { entries: Entry[]; skipped: number } {
  const { count } = options;
  if (count <= 0) return { entries: [], skipped: 0 };
  const entries: Entry[] = [];
  let skipped = 0;
  for (const part of readBackward(file, options)) {
    for (const entry of part.entries.reverse()) entries.push(entry); // a part can be the whole session
    skipped = part.skipped;
    if (entries.length >= count) break;
  }
  return { entries: entries.slice(0, count).reverse(), skipped };
}

/**
 * Yields a transcript's entries in parts from its end to its start, each in file order and whole in itself: results
 * with their calls. `line` is 0 in them. `skipped` counts the damaged lines so far.
 */
function* readBackward(
  file: string,
  { rules, head = readHead(file), results = false, before }: ReadBackwardOptions,
): Generator<{ entries: Entry[]; skipped: number }> {
  if (!head) return;
  const format = formatOf(head.agent);
  const descriptor = openSync(file, "r");
  try {
    let pending: RawEntry[] = [];
    let skipped = 0;
    const calls = openCalls();
    // Whether an answer is excluded is known at its prompt, whether a result counts at its call.
    const take = () => {
      const check = callCheck({ cwd: head.cwd, results });
      const checked = pending.reverse().flatMap((raw) => check(raw) ?? []);
      pending = [];
      const shown = entryFilter(rules);
      return { entries: checked.flatMap((entry) => shown(entry) ?? []), skipped };
    };
    const { size } = fstatSync(descriptor);
    for (const row of rowsBackward(descriptor, format, Math.min(before ?? size, size))) {
      const { records, damaged, terminated, offset, end } = row;
      if (damaged && terminated) skipped++;
      if (damaged && !terminated) continue;
      const place = { line: 0, offset, end };
      const found = records.flatMap((record) =>
        readRow(format, record, place, { head, results: results !== false }),
      );
      pending.push(...found.reverse());
      if (calls.areOpen(found)) continue;
      if (rules.hasPatterns && !found.some(({ kind }) => kind === "user")) continue;
      yield take();
    }
    yield take();
  } finally {
    closeSync(descriptor); // also when the taker stops early
  }
}

/** Watches lines from the last to the first for results whose calls have not been met. */
function openCalls(): { areOpen(found: readonly RawEntry[]): boolean } {
  const open = new Map<string, number>();
  let line = 0;
  return {
    areOpen(found) {
      line++;
      for (const { callId, tool, kind, settle } of found) {
        if (callId === undefined) continue;
        if (tool) open.delete(callId);
        else if (kind === "result" || settle) open.set(callId, line);
      }
      for (const [callId, since] of open) if (line - since > CALL_LINES_MAX) open.delete(callId);
      return open.size > 0;
    },
  };
}

interface ReadBackwardOptions {
  /** What is redacted in the entries, and which are left out. */
  rules: Rules;
  /** Byte offset of a line's start to read back from. @default the file's end */
  before?: number;
  head?: Head | undefined;
  /** Whether tool results are wanted too, and of long ones all or their ends. @default {false} */
  results?: Results;
}

export interface ReadLastOptions extends ReadBackwardOptions {
  count: number;
}

/** Fills in `line` of entries that were read from the end, counting on from a line whose place is known. */
export function numberLines(file: string, entries: Entry[], known = { line: 1, offset: 0 }): void {
  withFile(file, (descriptor) => {
    let { line, offset } = known;
    for (const entry of entries) {
      if (entry.offset >= offset) line += countLines(descriptor, offset, entry.offset);
      else line -= countLines(descriptor, entry.offset, offset);
      offset = entry.offset;
      entry.line = line;
    }
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

/** Returns the offset of the 1-based line `line` of an open file; undefined when the file has fewer lines. */
function offsetOfLine(descriptor: number, line: number, size: number): number | undefined {
  if (line <= 1) return size > 0 ? 0 : undefined;
  let newlines = 0;
  const end = scanNewlines(descriptor, 0, size, () => ++newlines === line - 1);
  return end !== undefined && end < size ? end : undefined;
}

const SCAN_BLOCK_BYTES = 1024 * 1024; // counting has no lines to hold

/** Calls `stop` at each newline; returns the offset after the one at which it said so. */
function scanNewlines(descriptor: number, from: number, to: number, stop: () => boolean): number | undefined {
  const buffer = Buffer.allocUnsafe(SCAN_BLOCK_BYTES);
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

interface StepOptions {
  rules: Rules;
  filter: StepFilter;
  head?: Head | undefined;
  /** A line whose place is known, to count from. @default the first */
  known?: { line: number; offset: number } | undefined;
}

/** Steps older than what is asked for, one after the other, before no newer one is expected: rows are not always in order. */
const OLDER_MAX = 500;
/** How far behind its call a result is waited for. */
const RESULT_LINES_MAX = 300;

/** Reads the last `count` steps that pass the filter, oldest first. */
export function readLastSteps(
  file: string,
  { rules, filter, head, known, count }: StepOptions & { count: number },
): { steps: Step[]; skipped: number } {
  const parts: Step[][] = [];
  let [found, skipped, older] = [0, 0, 0];
  for (const part of readBackward(file, { rules, head, results: true })) {
    const steps = stepsOf(part.entries);
    const wanted = steps.filter((step) => isWanted(step, filter));
    skipped = part.skipped;
    found += wanted.length;
    if (wanted.length > 0) parts.push(wanted);
    older = steps.some(({ entry: { at } }) => isRecent(at, filter)) ? 0 : older + steps.length;
    if (found >= count || older > OLDER_MAX) break;
  }
  const steps = parts.reverse().flat().slice(-count);
  number(file, steps, known);
  return { steps, skipped };
}

function isRecent(at: string | undefined, { since }: StepFilter): boolean {
  return since === undefined || at === undefined || at >= since;
}

/**
 * Reads the steps on some lines, `around` steps before and after them, as far as the filter lets them through; undefined
 * when the file has fewer lines.
 */
export function readStepsAt(
  file: string,
  { from, to, around, rules, filter }: StepOptions & { from: number; to: number; around: number },
): Step[] | undefined {
  const offset = withFile(file, (descriptor, size) => offsetOfLine(descriptor, from, size));
  if (offset === undefined) return undefined;
  const start = { offset, line: from - 1 };
  const end = findEnd(file, { start, to, around, rules, filter });
  const parts: Step[][] = [];
  let before = 0;
  for (const { entries } of readBackward(file, { rules, results: true, before: end })) {
    const steps = stepsOf(entries).filter((step) => isWanted(step, filter));
    if (steps.length > 0) parts.push(steps);
    before += steps.filter(({ entry }) => entry.offset < offset).length;
    if (before >= around && (entries[0]?.offset ?? end) < offset) break;
  }
  const steps = parts.reverse().flat();
  number(file, steps, { line: from, offset });
  const [first, behind] = [
    steps.filter(({ entry }) => entry.line < from),
    steps.filter(({ entry }) => entry.line > to),
  ];
  const within = steps.filter(({ entry }) => entry.line >= from && entry.line <= to);
  // A search names the line of an output, which is shown with its call.
  const isAnswered = ({ result }: Step) =>
    result !== undefined && result.offset >= offset && result.offset < end;
  if (within.length === 0 && around === 0) return first.filter(isAnswered);
  return [...(around > 0 ? first.slice(-around) : []), ...within, ...behind.slice(0, around)];
}

/** Finds where reading may end: after the wanted steps and the results of their calls. */
function findEnd(
  file: string,
  { start, to, around, rules, filter }: StepOptions & { start: Cursor; to: number; around: number },
): number {
  const progress: ReadProgress = { ...start, skipped: 0 };
  const open = new Set<string>();
  let after = 0;
  let last = to;
  for (const entry of readEntries(file, {
    rules,
    from: start,
    results: true,
    unterminated: "accept",
    progress,
  })) {
    const { line, kind, callId } = entry;
    if (after >= around && line > last && (open.size === 0 || line > last + RESULT_LINES_MAX))
      return entry.offset;
    if (kind === "result") open.delete(callId ?? "");
    else if (line <= to || after < around) {
      if (entry.tool && callId !== undefined) open.add(callId);
      if (line > to && isWanted({ entry }, { ...filter, insideTools: false, words: [] })) after++;
      last = Math.max(last, line);
    }
  }
  return Number.MAX_SAFE_INTEGER;
}

/** Fills in the lines of steps that were read from the end. */
function number(file: string, steps: readonly Step[], known?: { line: number; offset: number }): void {
  numberLines(
    file,
    steps.map(({ entry }): Entry => entry),
    known,
  );
}
