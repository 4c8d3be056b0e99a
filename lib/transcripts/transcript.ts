/**
 * Reads a transcript file as entries, redacted and without what is excluded: from a cursor, from as far before its end or a line as
 * it takes (so that a huge file takes no longer than a small one), always in file order.
 *
 * Files are only ever read. A line counts when its newline is there; a half-written last line waits.
 */

import type { JsonRecord } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import { type Head, type RawEntry, type Results, readBareEntry, wholeEntry } from "../hosts/format.ts";
import { formatOf } from "../hosts/hosts.ts";
import {
  closeTranscript,
  linesForward,
  openTranscript,
  parseLine,
  recordsAfter,
  withFile,
} from "../hosts/lines.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Cursor, Entry, Row } from "../hosts/session.ts";
import { isChange } from "../hosts/tool-call.ts";
import { CALL_LINES_MAX, callCheck, toRows } from "./calls.ts";
import { countLines, entriesBack, lineAfter, linesWithEntries, offsetOfLine, partsBefore } from "./cursor.ts";
import { forgottenRows, rowKey } from "./forgotten.ts";
import { headIn, readHead } from "./head.ts";
import { isWantedKind, isWanted as isWantedRow, type RowFilter } from "./log.ts";
import { ownRules, type Rules } from "./rules.ts";
import { cleanEntries, entryTest, type SecretMemory, secretMemory } from "./secret-rows.ts";

/** The position after the last complete line read. Updated while entries are consumed. */
export interface ReadProgress extends Cursor {
  /** Lines that held something that was not JSON. */
  skipped: number;
}

export type { RawEntry };

export interface ReadOptions {
  /** Redaction and exclusion. */
  rules: Rules;
  /** @default the start */
  from?: Cursor | undefined;
  /** True if tool results are wanted too, and of long ones all or their ends. @default {false} */
  results?: Results | undefined;
  /** The handling of a last line without a newline: leave it for later, or take it if it is whole. @default {"wait"} */
  unterminated?: "wait" | "accept";
  /** The result of `readHead`, to save reading it again. */
  head?: Head | undefined;
  progress?: ReadProgress;
  /** The session's known secrets. @default the noted ones */
  memory?: SecretMemory | undefined;
  /** True if nothing is redacted, for what is read but not shown. @default {false} */
  isBare?: boolean;
  /** Asked after each line: whether to stop there. */
  isOver?: (() => boolean) | undefined;
  /** Called with each record. */
  onRecord?: (record: JsonRecord) => void;
  /** Called with each entry of a forgotten session, as its host wrote it. */
  onForgotten?: ((raw: RawEntry) => void) | undefined;
}

/** Yields a transcript's entries in file order, holding no more than one line. */
export function* readEntries(file: string, options: ReadOptions): Generator<Entry> {
  const { from, results = false, unterminated = "wait", onRecord, isOver } = options;
  const { progress = { offset: 0, line: 0, skipped: 0 } } = options;
  Object.assign(progress, { offset: from?.offset ?? 0, line: from?.line ?? 0, skipped: 0 });
  const descriptor = openTranscript(file);
  try {
    const head = options.head ?? headIn(file, descriptor);
    if (!head) return;
    const { offset } = progress;
    const before = () => (offset > 0 ? partsBefore(file, { head, before: offset }) : []);
    const take = taking(file, { ...options, head, before });
    const lines = linesWithEntries(file, descriptor, { head, results: results !== false, from: progress });
    for (const { entries, records, damaged, terminated, count, end } of lines) {
      if (!terminated && (unterminated === "wait" || damaged)) return;
      if (onRecord) for (const record of records) onRecord(record);
      for (const raw of entries) {
        const entry = take(raw);
        if (entry) yield entry;
      }
      // Together: whoever keeps both while a line is taken would count its damage again on the way back.
      if (damaged) progress.skipped++;
      progress.offset = end;
      progress.line += count;
      if (isOver?.()) return;
    }
  } finally {
    closeTranscript(descriptor); // also when the taker stops early
  }
}

interface Taking extends ReadOptions {
  head: Head;
  /** Reads the entries before the first one, the last ones first. */
  before: () => Iterable<RawEntry[]>;
}

/** Returns what takes raw entries in file order, and gives each as it may be seen, or none. */
function taking(file: string, { rules, results = false, memory, isBare, onForgotten, head, before }: Taking) {
  const hasStates = formatOf(head).messageOf !== undefined;
  const known = hasStates ? new Set([...before()].flat().map(stateKey)) : undefined;
  const isForgotten = forgottenRows(head.agent, rules);
  const checked = callCheck(head, results, before);
  const shown = isBare ? bareEntries(rules) : cleanEntries(rules, memory ?? secretsIn(file, { rules, head }));
  return (raw: RawEntry): Entry | undefined => {
    const isOut = isForgotten(raw);
    if (isOut) onForgotten?.(raw);
    const counted = known?.has(stateKey(raw)) ? undefined : checked(raw);
    return counted && shown(counted, isOut);
  };
}

/** Returns the key of an entry among the states of its message, which rows after it may repeat. */
function stateKey({ id, kind, callId, text }: RawEntry): string {
  return `${id} ${kind} ${callId ?? text}`;
}

interface MemoryOptions {
  rules: Rules;
  head?: Head | undefined;
  /** True if it is another file than the one whose rows were noted. @default {false} */
  isAnew?: boolean;
}

/** Returns what is known of a transcript's secrets. */
export function secretsIn(file: string, { rules, head, isAnew }: MemoryOptions): SecretMemory {
  return secretMemory(file, { rules, entriesAt: (offset) => entriesAt(file, offset, head), isAnew });
}

/** Reads the entries of the row at a byte offset; none where the host has deleted it. */
function entriesAt(file: string, offset: number, head = readHead(file)) {
  if (!head || !statUnpacked(file)) return [];
  return withFile(file, (descriptor) => {
    const [row] = linesWithEntries(file, descriptor, { head, results: true, from: { offset, line: 0 } }).take(
      1,
    );
    return row?.entries.map(wholeEntry) ?? [];
  });
}

/** Returns what redacts values about a session: by the rules, and without what its rows announce as secrets. */
export function sessionCleaner(file: string, rules: Rules): <T>(value: T) => T {
  return secretsIn(file, { rules }).cleaner([]);
}

/** Returns an entry's key among all sessions: beside a short id, which hosts give again, its time and text stand. */
export function entryKey(entry: Entry): string | undefined {
  return rowKey(entry, () => ` ${shortHash(entry.text)}`);
}

/** Returns whether a transcript holds rows of forgotten sessions, and none of its own. */
export function isForgottenWhole(file: string, rules: Rules): boolean {
  let holdsAny = false;
  const onForgotten = () => {
    holdsAny = true;
  };
  return readEntries(file, { rules, onForgotten }).next().done === true && holdsAny;
}

interface Wanted extends Pick<ReadOptions, "rules" | "results"> {
  head: Head;
  /** The byte offset of a line, before which the rows are. @default the end */
  before?: number;
  isWanted: (row: Row) => boolean;
  count: number;
  /** Returns whether all of these rows are too old for others before them to be wanted. */
  isOver?: ((rows: readonly Row[]) => boolean) | undefined;
}

/**
 * Yields the places from which reading gives enough wanted rows, the last one first. There may still be too few, since words are
 * looked for in rows that are not redacted yet.
 */
function* startsOf(file: string, wanted: Wanted): Generator<number> {
  const { head, rules, results = false, isWanted, count, isOver } = wanted;
  const { before = statUnpacked(file)?.size ?? 0 } = wanted;
  if (count === 0) yield before;
  const reading = { head, results: results !== false, before };
  for (const { offset, entries: all } of entriesBack(file, reading)) {
    const isForgotten = forgottenRows(head.agent, rules);
    const [checked, bare] = [callCheck(head, results), bareEntries(rules)];
    let entries = all.flatMap((raw) => {
      const isOut = isForgotten(raw);
      const counted = checked(raw);
      return (counted && bare(counted, isOut)) ?? [];
    });
    // An answer is kept out by its prompt, which comes before it.
    const prompts = entries.filter(({ kind }) => kind === "user");
    const isCut = offset > 0 && keepsAnswersOut(rules);
    if (isCut) entries = prompts[0] ? entries.slice(entries.indexOf(prompts[0])) : [];
    const rows = toRows(entries);
    const first = rows.filter(isWanted).at(-count);
    const place = entries.find(({ line }) => line === first?.line);
    const begin = isCut ? prompts.findLast((prompt) => prompt.offset <= (place?.offset ?? 0)) : place;
    if (begin) yield begin.offset;
    const isLast = isOver?.(rows) === true;
    if (first || isLast || offset === 0) yield offset;
    if (isLast) return;
  }
}

/** Returns whether a prompt may be kept out, and with it the answer that follows. */
function keepsAnswersOut({ hasPatterns, isForgotten }: Rules): boolean {
  return hasPatterns || isForgotten !== undefined;
}

function bareEntries(rules: Rules): (raw: Entry, isForgotten: boolean) => Entry | undefined {
  const isShown = entryTest(rules);
  return (raw, isForgotten) => (isShown(raw, isForgotten) ? raw : undefined);
}

/** Returns a place with the lines before it, by a line whose place is known. */
function placeAt(file: string, offset: number, known = { line: 1, offset: 0 }): Cursor {
  const between = [known.offset, offset].sort((a, b) => a - b) as [number, number];
  const count = withFile(file, (descriptor) => countLines(descriptor, ...between));
  return { offset, line: known.line - 1 + (offset < known.offset ? -count : count) };
}

export interface ReadLastOptions extends Pick<ReadOptions, "rules" | "head" | "results"> {
  /** The choice of rows that are counted. @default all */
  isWanted?: (row: Row) => boolean;
  /** The number of them that is enough. */
  count: number;
  /** A line whose place is known, to count from. @default the first */
  known?: { line: number; offset: number } | undefined;
  isOver?: Wanted["isOver"];
}

/**
 * Reads the last entries of a transcript, until enough of what is wanted is among them: back to where that begins, and from there
 * in file order, so that what an entry announces as a secret is known in those after it.
 */
export function readLast(file: string, options: ReadLastOptions): { entries: Entry[]; skipped: number } {
  const { head = readHead(file), isWanted = () => true, known, ...reading } = options;
  const { rules, results, count, isOver } = reading;
  const progress = { offset: 0, line: 0, skipped: 0 };
  let entries: Entry[] = [];
  if (!head) return { entries, skipped: 0 };
  for (const start of startsOf(file, { rules, results, count, isOver, head, isWanted })) {
    const from = placeAt(file, start, known);
    entries = [...readEntries(file, { rules, results, head, from, progress, unterminated: "accept" })];
    if (toRows(entries).filter(isWanted).length >= count) break;
  }
  return { entries, skipped: progress.skipped };
}

interface RowOptions extends Pick<ReadLastOptions, "rules" | "head" | "known" | "results"> {
  filter: RowFilter;
}

/** Returns whose results and inputs are read for a filter's rows: those of edits say how many lines were changed. */
function resultsFor({ insideTools }: RowFilter): Results {
  return insideTools || isChange;
}

/** Rows older than what is asked for, one after the other, before no newer one is expected: they are not always in order. */
const OLDER_MAX = 500;

/** Reads the last `count` rows that pass the filter, oldest first. */
export function readLastRows(
  file: string,
  { filter, results = resultsFor(filter), ...options }: RowOptions & { count: number },
): { rows: Row[]; skipped: number } {
  const isWanted = (row: Row) => isWantedRow(row, filter);
  const isRecent = ({ at }: Row) => at === undefined || at >= (filter.since ?? "");
  const isOver = (rows: readonly Row[]) =>
    rows.length > OLDER_MAX && !rows.slice(0, OLDER_MAX).some(isRecent);
  const { entries, skipped } = readLast(file, { ...options, results, isWanted, isOver });
  return { rows: toRows(entries).filter(isWanted).slice(-options.count), skipped };
}

/** The distance before an output at which its call is looked for. */
const CALL_BYTES = 256 * 1024;

function lineOffset(file: string, line: number, head: Head | undefined): number | undefined {
  return withFile(file, (descriptor) => offsetOfLine(descriptor, line, head && formatOf(head).namesPlaces));
}

/** Returns whether a file has a line of this number. */
export function hasLine(file: string, line: number): boolean {
  return lineOffset(file, line, readHead(file)) !== undefined;
}

/**
 * Reads the rows on some lines, `around` rows before and after them, as far as the filter lets them through; undefined
 * when the file has fewer lines.
 */
export function readRowsAt(
  file: string,
  { from, to, around, ...options }: RowOptions & { from: number; to: number; around: number },
): Row[] | undefined {
  const { rules, filter, results = resultsFor(filter), head = readHead(file) } = options;
  const offset = lineOffset(file, from, head);
  if (offset === undefined || !head) return undefined;
  const isWanted = (row: Row) => isWantedRow(row, filter);
  const readFrom = (start: number) => {
    const begin = placeAt(file, start, { line: from, offset });
    const entries = readEntries(file, { rules, results, head, from: begin, unterminated: "accept" });
    return toRows([...upTo(entries, { from, to, around, filter })]).filter(isWanted);
  };
  const before = (rows: readonly Row[]) => rows.filter(({ line }) => line < from);
  let rows: Row[] = [];
  for (const start of startsOf(file, { rules, results, head, before: offset, isWanted, count: around })) {
    rows = readFrom(start);
    if (before(rows).length >= around) break;
  }
  const within = rows.filter(({ line }) => line >= from && line <= to);
  // A search names the line of an output, which is shown with its call.
  const isAnswered = (row: Row) => row.who === "tool" && (row.resultLine ?? 0) >= from;
  if (within.length === 0 && around === 0)
    return before(readFrom(lineAfter(file, Math.max(0, offset - CALL_BYTES)))).filter(isAnswered);
  const behind = rows.filter(({ line }) => line > to);
  return [...(around > 0 ? before(rows).slice(-around) : []), ...within, ...behind.slice(0, around)];
}

/** Yields entries up to the last wanted row behind some lines, and to the results of the calls on them. */
function* upTo(
  entries: Iterable<Entry>,
  { from, to, around, filter }: Pick<RowOptions, "filter"> & { from: number; to: number; around: number },
): Generator<Entry> {
  const open = new Set<string>();
  let [after, last] = [0, to];
  for (const entry of entries) {
    const { line, kind, callId = "", tool, at } = entry;
    const isPast = line > to && after >= around;
    if (isPast && (open.size === 0 || line > last + CALL_LINES_MAX)) return;
    yield entry;
    if (kind === "result") open.delete(callId);
    else if (line >= from && !isPast) {
      if (tool && callId) open.add(callId);
      if (line > to && isWantedKind({ who: kind, at }, filter)) after++;
      last = line;
    }
  }
}

/** A place is looked for until no more than this is to be read: it holds most rows. */
const NEAR_BYTES = 16 * 1024;
/** A prompt that keeps its answer out is looked for this far before it: that of a long one lies too far away. */
const PROMPT_BYTES = 256 * 1024;
/** Rows that are written side by side are out of order by seconds. */
const OUT_OF_ORDER_MS = 60_000;

/**
 * Returns the start of a row that precedes every row newer than an ISO time, or of a prompt before it where rules may keep that
 * out with its answer. Rows are taken to be in order of time, but for a minute.
 */
export function offsetSince(file: string, newerThan: string | undefined, rules = ownRules()): number {
  const head = newerThan === undefined ? undefined : readHead(file);
  if (newerThan === undefined || !head) return 0;
  const since = new Date(Date.parse(newerThan) - OUT_OF_ORDER_MS).toISOString();
  const first = withFile(file, (descriptor, size) => {
    const later = recordsAfter(descriptor);
    let [older, newer, begin]: [number, number, number | undefined] = [0, size, undefined];
    const rowFrom = (from: number, { oldest = "", to = newer } = {}) => {
      // What ends with the byte before it is the rest of a line, or empty.
      const lines = linesForward(descriptor, { from: Math.max(0, from - 1), to, block: NEAR_BYTES });
      for (const { bytes, offset, end } of lines.drop(from > 0 ? 1 : 0))
        for (const record of parseLine(bytes).records) {
          // Reports on a turn may be written after it, dated as they were made.
          const place = { line: 0, nth: 0, offset, end };
          const [row] = readBareEntry(formatOf(head), record, place, { head, later });
          if (row?.at !== undefined && row.at >= oldest) return { offset, at: row.at };
        }
      return undefined;
    };
    while (newer - older > NEAR_BYTES) {
      const middle = Math.floor((older + newer) / 2);
      const row = rowFrom(middle);
      if (row && row.at < since) older = row.offset;
      else [newer, begin] = [middle, row?.offset ?? begin];
    }
    // A row that reaches beyond `newer` was not seen above.
    return rowFrom(older, { oldest: since, to: begin ?? newer })?.offset ?? begin ?? older;
  });
  if (!keepsAnswersOut(rules)) return first;
  for (const { offset, entries } of entriesBack(file, { head, results: false, before: first })) {
    const prompt = entries.findLast(({ kind }) => kind === "user");
    if (prompt || first - offset >= PROMPT_BYTES) return prompt?.offset ?? offset;
  }
  return first;
}
