/**
 * Reads a transcript file as entries, redacted and without what is excluded: forward from a cursor, backward from its end (so
 * that a huge file takes no longer than a small one), or around a line.
 *
 * Files are only ever read. A line counts when its newline is there; a half-written last line waits.
 */

import { statUnpacked } from "../base/files.ts";
import type { JsonRecord } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import { type Head, type RawEntry, type Results, readBareEntry } from "../hosts/format.ts";
import { findFormat, findHost } from "../hosts/hosts.ts";
import {
  closeTranscript,
  NEWLINE,
  openTranscript,
  parsedBackward,
  parsedForward,
  readAt,
  readSize,
  recordsAfter,
  STATES_WITHIN,
  withFile,
} from "../hosts/lines.ts";
import { readOutput } from "../hosts/outputs.ts";
import type { Cursor, Entry, Row } from "../hosts/session.ts";
import { CALL_LINES_MAX, callCheck, toRows } from "./calls.ts";
import { forgottenRows, rowKey } from "./forgotten.ts";
import { headIn, readHead } from "./head.ts";
import { isWanted, isWantedKind, type RowFilter } from "./log.ts";
import type { Rules } from "./rules.ts";
import { entryFilter, type SecretMemory, secretMemory } from "./secret-rows.ts";

/** The position after the last complete line read. Updated while entries are consumed. */
export interface ReadProgress extends Cursor {
  /** Lines that held something that was not JSON. */
  skipped: number;
}

export interface ReadOptions {
  /** What is redacted and excluded. */
  rules: Rules;
  /** @default the start */
  from?: Cursor | undefined;
  /** Whether tool results are wanted too, and of long ones all or their ends. @default {false} */
  results?: Results;
  /** What to do with a last line that no newline ends: leave it for later, or take it if it is whole. @default {"wait"} */
  unterminated?: "wait" | "accept";
  /** What `readHead` found, to save reading it again. */
  head?: Head | undefined;
  progress?: ReadProgress;
  /** What is known of the session's secrets. @default what was noted of it */
  memory?: SecretMemory | undefined;
  /** Asked after each line: whether to stop there. */
  isOver?: (() => boolean) | undefined;
  /** Called with each record. */
  onRecord?: (record: JsonRecord) => void;
  /** Called with each entry of a forgotten session, as its host wrote it. */
  onForgotten?: ((raw: RawEntry) => void) | undefined;
}

/** Yields a transcript's entries in file order, holding no more than one line. */
export function* readEntries(file: string, options: ReadOptions): Generator<Entry> {
  const { rules, from, results = false, unterminated = "wait", onRecord, onForgotten, isOver } = options;
  const { progress = { offset: 0, line: 0, skipped: 0 } } = options;
  Object.assign(progress, { offset: from?.offset ?? 0, line: from?.line ?? 0, skipped: 0 });
  const descriptor = openTranscript(file);
  try {
    const head = options.head ?? headIn(file, descriptor);
    if (!head) return;
    const format = findFormat(head.agent);
    const later = recordsAfter(descriptor);
    const settings = { head, results: results !== false, later, outputAt: findOutputs(file, head) };
    const { offset } = progress;
    const earlier = offset > 0 ? () => callsBefore(file, { head, offset }) : undefined;
    const checked = callCheck(head, results, earlier);
    const shown = entryFilter(rules, options.memory ?? secretsIn(file, { rules, head }));
    const written = offset > 0 && format.messageOf ? writtenBefore(file, { head, offset }) : undefined;
    const isForgotten = forgottenRows(head.agent, rules);
    for (const row of parsedForward(descriptor, format, offset)) {
      const { records, damaged, terminated, end } = row;
      if (!terminated && (unterminated === "wait" || damaged)) return;
      const place = { line: progress.line + 1, nth: 0, offset: row.offset, end };
      for (const record of records) {
        onRecord?.(record);
        const found = readBareEntry(format, record, place, settings);
        place.nth += found.length;
        for (const raw of found) {
          raw.isForgotten = isForgotten(raw);
          if (raw.isForgotten) onForgotten?.(raw);
          if (written?.has(stateKey(raw))) continue;
          const entry = checked(raw);
          const clean = entry && shown(entry);
          if (clean) yield clean;
        }
      }
      // Together: whoever keeps both while a line is taken would count its damage again on the way back.
      if (damaged) progress.skipped++;
      progress.offset = end;
      progress.line += row.count;
      if (isOver?.()) return;
    }
  } finally {
    closeTranscript(descriptor); // also when the taker stops early
  }
}

/** Returns what reads the outputs that are kept beside a transcript; undefined for a host that keeps none. */
function findOutputs(file: string, { agent }: Head): ((path: string) => string | undefined) | undefined {
  const folder = findHost(agent)?.outputs;
  return folder === undefined ? undefined : (path) => readOutput(file, folder, path);
}

interface MemoryOptions {
  rules: Rules;
  head?: Head | undefined;
  /** Whether it is another file than the one whose rows were noted. @default {false} */
  isAnew?: boolean;
}

/** Returns what is known of a transcript's secrets. */
export function secretsIn(file: string, { rules, head, isAnew }: MemoryOptions): SecretMemory {
  const { clean, noted } = rules;
  return secretMemory(file, {
    clean,
    noted,
    entriesAt: (offset) => entriesAt(file, offset, { head }),
    isAnew,
  });
}

/** Reads the entries of the row at a byte offset; none where the host has deleted it. */
function entriesAt(file: string, offset: number, { head = readHead(file) }: Pick<MemoryOptions, "head">) {
  if (!head || !statUnpacked(file)) return [];
  const format = findFormat(head.agent);
  return withFile(file, (descriptor): RawEntry[] => {
    const [row] = parsedForward(descriptor, format, offset);
    const place = { line: 0, nth: 0, offset, end: row?.end ?? offset };
    const later = recordsAfter(descriptor);
    const settings = { head, results: true, later, outputAt: findOutputs(file, head) };
    return (row?.records ?? []).flatMap((record) => readBareEntry(format, record, place, settings));
  });
}

/** Returns what redacts texts about a session: by the rules, and without what its rows announce as secrets. */
export function sessionCleaner(file: string | undefined, rules: Rules): (text: string) => string {
  if (!file) return (text) => rules.clean(text);
  const memory = secretsIn(file, { rules });
  return (text) => memory.clean(text, { rows: [] });
}

/** Returns an entry's key among all sessions; of one without a time its text stands for that. */
export function entryKey(entry: Entry): string | undefined {
  const { id, at } = entry;
  return id === undefined || at !== undefined
    ? rowKey(entry)
    : rowKey({ id, at: `${shortHash(entry.text)}` });
}

interface Before {
  head: Head;
  offset: number;
}

/** Returns the tool calls on the lines shortly before a byte offset. */
function callsBefore(file: string, before: Before): RawEntry[] {
  return entriesBefore(file, before, CALL_LINES_MAX).filter(({ tool }) => tool !== undefined);
}

/** Returns the keys of what was read before a byte offset of messages that rows after it may repeat. */
function writtenBefore(file: string, before: Before): ReadonlySet<string> {
  return new Set(entriesBefore(file, before, STATES_WITHIN).map(stateKey));
}

/** Returns whether a transcript holds rows of forgotten sessions, and none of its own. */
export function isForgottenWhole(file: string, rules: Rules): boolean {
  let holdsAny = false;
  const onForgotten = () => {
    holdsAny = true;
  };
  return readEntries(file, { rules, onForgotten }).next().done === true && holdsAny;
}

function stateKey({ id, kind, callId, text }: RawEntry): string {
  return `${id} ${kind} ${callId ?? text}`;
}

function entriesBefore(file: string, { head, offset }: Before, lines: number): RawEntry[] {
  const format = findFormat(head.agent);
  return withFile(file, (descriptor) => {
    const settings = { head, results: false, later: recordsAfter(descriptor) };
    return Iterator.from(parsedBackward(descriptor, format, offset))
      .take(lines)
      .flatMap(({ records, offset, end }) =>
        records.flatMap((record) =>
          readBareEntry(format, record, { line: 0, nth: 0, offset, end }, settings),
        ),
      )
      .toArray();
  });
}

/**
 * Yields a transcript's entries in parts from its end to its start, each in file order and whole in itself: results
 * with their calls. `line` is 0 in them. `skipped` counts the damaged lines so far.
 */
export function* readBackward(
  file: string,
  { rules, head = readHead(file), results = false, before }: ReadBackwardOptions,
): Generator<{ entries: Entry[]; skipped: number }> {
  if (!head) return;
  const format = findFormat(head.agent);
  const descriptor = openTranscript(file);
  try {
    let pending: RawEntry[] = [];
    let skipped = 0;
    const areOpen = openCalls();
    const memory = secretsIn(file, { rules, head });
    // Whether an answer is kept out is known at its prompt, whether a result counts at its call.
    const take = () => {
      const check = callCheck(head, results);
      const isForgotten = forgottenRows(head.agent, rules);
      for (const raw of pending.reverse()) raw.isForgotten = isForgotten(raw);
      const checked = pending.flatMap((raw) => check(raw) ?? []);
      pending = [];
      const shown = entryFilter(rules, memory);
      return { entries: checked.flatMap((entry) => shown(entry) ?? []), skipped };
    };
    const size = readSize(descriptor);
    const later = recordsAfter(descriptor);
    const settings = { head, results: results !== false, later, outputAt: findOutputs(file, head) };
    for (const row of parsedBackward(descriptor, format, Math.min(before ?? size, size))) {
      const { records, damaged, terminated, offset, end } = row;
      if (damaged && terminated) skipped++;
      if (damaged && !terminated) continue;
      const place = { line: 0, nth: 0, offset, end };
      const found = records.flatMap((record) => {
        const raws = readBareEntry(format, record, place, settings);
        place.nth += raws.length;
        return raws;
      });
      pending.push(...found.reverse());
      if (areOpen(found)) continue;
      if ((rules.hasPatterns || rules.isForgotten) && !found.some(({ kind }) => kind === "user")) continue;
      yield take();
    }
    yield take();
  } finally {
    closeTranscript(descriptor); // also when the taker stops early
  }
}

/** Returns what is given the entries of each line, from the last to the first, and says whether calls of results are to come. */
function openCalls(): (found: readonly RawEntry[]) => boolean {
  const open = new Map<string, number>();
  let line = 0;
  return (found) => {
    line++;
    for (const { callId, tool, kind, settle } of found) {
      if (callId === undefined) continue;
      if (tool) open.delete(callId);
      else if (kind === "result" || settle) open.set(callId, line);
    }
    for (const [callId, since] of open) if (line - since > CALL_LINES_MAX) open.delete(callId);
    return open.size > 0;
  };
}

export interface ReadBackwardOptions extends Pick<ReadOptions, "rules" | "head" | "results"> {
  /** Byte offset of a line's start to read back from. @default the file's end */
  before?: number;
}

/** Fills in the lines of entries that were read from the end, counting on from a line whose place is known. */
function numberLines(file: string, entries: readonly Entry[], known = { line: 1, offset: 0 }): void {
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

interface RowOptions {
  rules: Rules;
  filter: RowFilter;
  head?: Head | undefined;
  /** A line whose place is known, to count from. @default the first */
  known?: { line: number; offset: number } | undefined;
}

/** Rows older than what is asked for, one after the other, before no newer one is expected: they are not always in order. */
const OLDER_MAX = 500;

/** Reads the last `count` rows that pass the filter, oldest first. */
export function readLastRows(
  file: string,
  { rules, filter, head, known, count }: RowOptions & { count: number },
): { rows: Row[]; skipped: number } {
  const parts: Entry[][] = [];
  let [found, skipped, older] = [0, 0, 0];
  for (const part of readBackward(file, { rules, head, results: true })) {
    const rows = toRows(part.entries);
    const wanted = rows.filter((row) => isWanted(row, filter)).length;
    skipped = part.skipped;
    found += wanted;
    if (wanted > 0) parts.push(part.entries);
    const isRecent = rows.some(({ at }) => at === undefined || at >= (filter.since ?? ""));
    older = isRecent ? 0 : older + rows.length;
    if (found >= count || older > OLDER_MAX) break;
  }
  const entries = parts.reverse().flat();
  numberLines(file, entries, known);
  const rows = toRows(entries).filter((row) => isWanted(row, filter));
  return { rows: rows.slice(-count), skipped };
}

/**
 * Reads the rows on some lines, `around` rows before and after them, as far as the filter lets them through; undefined
 * when the file has fewer lines.
 */
export function readRowsAt(
  file: string,
  { from, to, around, rules, filter }: RowOptions & { from: number; to: number; around: number },
): Row[] | undefined {
  const offset = withFile(file, (descriptor, size) => offsetOfLine(descriptor, from, size));
  if (offset === undefined) return undefined;
  const start = { offset, line: from - 1 };
  const end = findEnd(file, { start, to, around, filter, rules });
  const parts: Entry[][] = [];
  let before = 0;
  for (const { entries } of readBackward(file, { rules, results: true, before: end })) {
    parts.push(entries);
    const isBefore = (entry: Entry) => entry.offset < offset;
    before += toRows(entries.filter(isBefore)).filter((row) => isWanted(row, filter)).length;
    if (before >= around && (entries[0]?.offset ?? end) < offset) break;
  }
  const entries = parts.reverse().flat();
  numberLines(file, entries, { line: from, offset });
  const rows = toRows(entries).filter((row) => isWanted(row, filter));
  const first = rows.filter(({ line }) => line < from);
  const behind = rows.filter(({ line }) => line > to);
  const within = rows.filter(({ line }) => line >= from && line <= to);
  // A search names the line of an output, which is shown with its call.
  const isAnswered = (row: Row) => row.who === "tool" && (row.resultLine ?? 0) >= from;
  if (within.length === 0 && around === 0) return first.filter(isAnswered);
  return [...(around > 0 ? first.slice(-around) : []), ...within, ...behind.slice(0, around)];
}

/** Finds where reading may end: after the wanted rows and the results of their calls. */
function findEnd(
  file: string,
  { start, to, around, rules, filter }: RowOptions & { start: Cursor; to: number; around: number },
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
    if (after >= around && line > last && (open.size === 0 || line > last + CALL_LINES_MAX))
      return entry.offset;
    if (kind === "result") open.delete(callId ?? "");
    else if (line <= to || after < around) {
      if (entry.tool && callId !== undefined) open.add(callId);
      if (line > to && isWantedKind({ who: kind, at: entry.at }, filter)) after++;
      last = Math.max(last, line);
    }
  }
  return Number.MAX_SAFE_INTEGER;
}
