/**
 * Reads a transcript file as entries, redacted and without what is excluded: forward from a cursor, backward from its end (so
 * that a huge file takes no longer than a small one), or around a line.
 *
 * Files are only ever read. A line counts when its newline is there; a half-written last line waits.
 */

import type { JsonRecord } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import type { Head, RawEntry, Results } from "../hosts/format.ts";
import { formatOf } from "../hosts/hosts.ts";
import { closeTranscript, linesForward, openTranscript, STATES_WITHIN, withFile } from "../hosts/lines.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Cursor, Entry, Row } from "../hosts/session.ts";
import { CALL_LINES_MAX, callCheck, toRows } from "./calls.ts";
import { countLines, cursorOn, offsetOfLine } from "./cursor.ts";
import { forgottenRows, rowKey } from "./forgotten.ts";
import { headIn, readHead } from "./head.ts";
import { isWanted, isWantedKind, type RowFilter } from "./log.ts";
import { placeRules, type Rules } from "./rules.ts";
import { cleanEntries, type SecretMemory, secretMemory } from "./secret-rows.ts";

/** The position after the last complete line read. Updated while entries are consumed. */
export interface ReadProgress extends Cursor {
  /** Lines that held something that was not JSON. */
  skipped: number;
}

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
    const { offset } = progress;
    const before = (lines: number) =>
      cursorOn(file, descriptor, { head, results: false })
        .backward(offset)
        .take(lines)
        .flatMap(({ entries }) => entries)
        .toArray();
    const hasStates = offset > 0 && formatOf(head).messageOf !== undefined;
    const shown = entryFilter({
      ...{ head, rules, results, onForgotten },
      memory: options.memory ?? secretsIn(file, { rules, head }),
      callsBefore: () => (offset > 0 ? before(CALL_LINES_MAX) : []),
      known: hasStates ? new Set(before(STATES_WITHIN).map(stateKey)) : undefined,
    });
    const cursor = cursorOn(file, descriptor, { head, results: results !== false });
    for (const { entries, records, damaged, terminated, count, end } of cursor.forward(progress)) {
      if (!terminated && (unterminated === "wait" || damaged)) return;
      if (onRecord) for (const record of records) onRecord(record);
      for (const raw of entries) {
        const entry = shown(raw);
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

/** Returns the key of an entry among the states of its message, which rows after it may repeat. */
function stateKey({ id, kind, callId, text }: RawEntry): string {
  return `${id} ${kind} ${callId ?? text}`;
}

interface FilterOptions extends Pick<ReadOptions, "rules" | "onForgotten"> {
  head: Head;
  results: Results;
  memory: SecretMemory;
  callsBefore?: () => Iterable<RawEntry>;
  /** The keys of entries that were read before. */
  known?: ReadonlySet<string> | undefined;
}

/** Returns a filter for raw entries in their order, which gives the redacted entry of one that counts and may be read. */
function entryFilter(options: FilterOptions): (raw: RawEntry) => Entry | undefined {
  const { head, rules, results, memory, callsBefore, known, onForgotten } = options;
  const isForgotten = forgottenRows(head.agent, rules);
  const checked = callCheck(head, results, callsBefore);
  const clean = cleanEntries(rules, memory);
  return (raw) => {
    const isOut = isForgotten(raw);
    if (isOut) onForgotten?.(raw);
    const entry = known?.has(stateKey(raw)) ? undefined : checked(raw);
    return entry && clean(entry, isOut);
  };
}

interface MemoryOptions {
  rules: Rules;
  head?: Head | undefined;
  /** True if it is another file than the one whose rows were noted. @default {false} */
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
  return withFile(file, (descriptor): RawEntry[] => {
    const rows = cursorOn(file, descriptor, { head, results: true }).forward({ offset, line: 0 });
    return rows.take(1).toArray()[0]?.entries ?? [];
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

/** Returns whether a transcript holds rows of forgotten sessions, and none of its own. */
export function isForgottenWhole(file: string, rules: Rules): boolean {
  let holdsAny = false;
  const onForgotten = () => {
    holdsAny = true;
  };
  return readEntries(file, { rules, onForgotten }).next().done === true && holdsAny;
}

/** The raw entries of some last lines, in file order, each result with its call; `line` is 0 where a row names none. */
interface LastPart {
  raws: RawEntry[];
  /** Damaged lines so far. */
  skipped: number;
}

/** Yields parts of a transcript from its end to its start: each can be read without those before it. */
function* partsBackward(
  file: string,
  { rules, head, results, before }: { head: Head } & Pick<ReadLastOptions, "rules" | "results" | "before">,
): Generator<LastPart> {
  const descriptor = openTranscript(file);
  try {
    let lines: RawEntry[][] = [];
    let skipped = 0;
    const areOpen = openCalls();
    const cursor = cursorOn(file, descriptor, { head, results: results !== false });
    for (const { entries, damaged, terminated } of cursor.backward(before)) {
      if (damaged && terminated) skipped++;
      if (damaged && !terminated) continue;
      lines.push(entries);
      // An answer is kept out by its prompt, and a result counts by its call: both come before it.
      const isOpen = areOpen(entries.toReversed());
      const hasPrompt = entries.some(({ kind }) => kind === "user");
      if (isOpen || (!hasPrompt && (rules.hasPatterns || rules.isForgotten))) continue;
      yield { raws: lines.reverse().flat(), skipped };
      lines = [];
    }
    yield { raws: lines.reverse().flat(), skipped };
  } finally {
    closeTranscript(descriptor); // also when the taker stops early
  }
}

/** Returns a function that takes the entries of each line, all from the last to the first, and says whether calls of results are to come. */
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

export interface ReadLastOptions extends Pick<ReadOptions, "rules" | "head" | "results"> {
  /** Byte offset of a line's start to read back from. @default the file's end */
  before?: number | undefined;
  /** Counts what is wanted of entries. @default all */
  countIn?: (entries: readonly Entry[]) => number;
  /** The part of it that is enough. */
  count: number;
  /** A byte offset that is read back beyond in any case. */
  beyond?: number;
  /** A line whose place is known, to count from. @default the first */
  known?: { line: number; offset: number } | undefined;
  /** Asked after each part: whether to stop there. */
  isOver?: () => boolean;
}

/**
 * Reads the last entries of a transcript, until enough of what is wanted is among them: back to where that begins, and from there
 * in file order, so that what an entry announces as a secret is known in those after it.
 */
export function readLast(file: string, options: ReadLastOptions): { entries: Entry[]; skipped: number } {
  const { rules, head = readHead(file), results = false, count, known, isOver } = options;
  const { before = 0, beyond = Number.POSITIVE_INFINITY, countIn = ({ length }) => length } = options;
  const parts: RawEntry[][] = [];
  let [found, wanted, skipped] = [0, count, 0];
  if (!head) return { entries: [], skipped };
  const read = () => {
    const shown = entryFilter({ head, rules, results, memory: secretsIn(file, { rules, head }) });
    const raws = parts.toReversed().flat();
    numberLines(file, raws, known);
    return raws.flatMap((raw) => shown(raw) ?? []);
  };
  for (const part of partsBackward(file, { ...options, head, results })) {
    ({ skipped } = part);
    parts.push(part.raws);
    found += countIn(part.raws);
    if (isOver?.()) break;
    if (found < wanted || (part.raws[0]?.offset ?? before) >= beyond) continue;
    const entries = read();
    if (countIn(entries) >= count) return { entries, skipped };
    wanted = 2 * found + 1; // some are ours, forgotten or excluded
  }
  return { entries: read(), skipped };
}

/** Fills in the lines of entries that were read from the end and name none, counting on from a line whose place is known. */
function numberLines(file: string, entries: readonly Entry[], known = { line: 1, offset: 0 }): void {
  withFile(file, (descriptor) => {
    let { line, offset } = known;
    for (const entry of entries) {
      if (entry.line > 0) continue;
      if (entry.offset >= offset) line += countLines(descriptor, offset, entry.offset);
      else line -= countLines(descriptor, entry.offset, offset);
      offset = entry.offset;
      entry.line = line;
    }
  });
}

interface RowOptions extends Pick<ReadLastOptions, "rules" | "head" | "known" | "results"> {
  filter: RowFilter;
}

/** Returns whose results and inputs are read for a filter's rows: those of edits say how many lines were changed. */
function resultsFor({ insideTools }: RowFilter): Results {
  return insideTools || (({ action }) => action === "edit");
}

function wantedRows(entries: readonly Entry[], filter: RowFilter): Row[] {
  return toRows(entries).filter((row) => isWanted(row, filter));
}

/** Rows older than what is asked for, one after the other, before no newer one is expected: they are not always in order. */
const OLDER_MAX = 500;

/** Reads the last `count` rows that pass the filter, oldest first. */
export function readLastRows(
  file: string,
  { filter, results = resultsFor(filter), ...options }: RowOptions & { count: number },
): { rows: Row[]; skipped: number } {
  let older = 0;
  const countIn = (found: readonly Entry[]) => {
    const rows = toRows(found);
    const isRecent = rows.some(({ at }) => at === undefined || at >= (filter.since ?? ""));
    older = isRecent ? 0 : older + rows.length;
    return rows.filter((row) => isWanted(row, filter)).length;
  };
  const { entries, skipped } = readLast(file, {
    ...{ ...options, results, countIn },
    isOver: () => older > OLDER_MAX,
  });
  return { rows: wantedRows(entries, filter).slice(-options.count), skipped };
}

/**
 * Reads the rows on some lines, `around` rows before and after them, as far as the filter lets them through; undefined
 * when the file has fewer lines.
 */
export function readRowsAt(
  file: string,
  { from, to, around, ...options }: RowOptions & { from: number; to: number; around: number },
): Row[] | undefined {
  const { rules, filter, results = resultsFor(filter) } = options;
  const offset = withFile(file, (descriptor, size) => {
    const head = headIn(file, descriptor, size);
    return offsetOfLine(descriptor, from, { size, isNamed: head && formatOf(head).namesPlaces });
  });
  if (offset === undefined) return undefined;
  const start = { offset, line: from - 1 };
  const isBefore = (entry: Entry) => entry.offset < offset;
  const { entries } = readLast(file, {
    ...{ rules, results, known: { line: from, offset }, count: around, beyond: offset },
    countIn: (found) => wantedRows(found.filter(isBefore), filter).length,
    before: findEnd(file, { start, to, around, filter, rules }),
  });
  const rows = wantedRows(entries, filter);
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
    results: () => false,
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

/** The first probe for a time; each further one reaches back four times as far. */
const PROBE_BYTES = 16 * 1024;
/** From this reach on, a probe may begin amid an answer: the prompt of a long one lies too far away. */
const PROMPT_BYTES = 256 * 1024;

/** Returns the start of a line that precedes every row newer than an ISO time, assuming that rows are in order of time. */
export function offsetSince(file: string, since: string | undefined, isOver?: () => boolean): number {
  if (since === undefined) return 0;
  const size = statUnpacked(file)?.size ?? 0;
  for (let reach = PROBE_BYTES; reach < size; reach *= 4) {
    const offset = nextLineStart(file, size - reach);
    let isPrompted = reach >= PROMPT_BYTES;
    for (const { at, kind } of readEntries(file, {
      rules: placeRules(),
      from: { offset, line: 0 },
      isOver,
    })) {
      isPrompted ||= kind === "user";
      if (at !== undefined && at >= since) break;
      if (at !== undefined && isPrompted) return offset;
    }
  }
  return 0;
}

function nextLineStart(file: string, position: number): number {
  return withFile(file, (descriptor) => {
    const [line] = linesForward(descriptor, { from: position }).take(1);
    return line?.end ?? position;
  });
}
