/**
 * The observation ledger: its records, and the memory that they fold into.
 *
 * Append-only: a record never changes; a later one drops what is withdrawn and closes what is settled. Everything else (steps,
 * rules, reflection, rendering) works on the `Memory` that `foldLedger` returns.
 */

import { formatRange, oneLine, rangesOf, sha256, withoutMiddle } from "../base/text.ts";
import { formatMinute, systemTimezone } from "../base/time.ts";
import type { Entry, Row } from "../hosts/session.ts";
import { estimateTokens } from "../language/tokens.ts";

export type Priority = "red" | "yellow" | "green";

export const MARKS: Record<Priority, string> = { red: "🔴", yellow: "🟡", green: "🟢" };

/** Completed work begins with this. */
export const DONE = "✅";

/** A commit, by rule, begins with this. */
export const COMMITTED = `${DONE} Committed: `;

/** The opening of a program's request. */
export const ASKED = "Asked: ";

/** One thing worth keeping, on one line. */
export interface Observation {
  id: string;
  /** UTC time of its message; null where the transcript has none. */
  at: string | null;
  /** `2026-02-12 14:30 Europe/Berlin`: stored, so that rendering asks nothing of the machine it runs on. */
  local?: string;
  priority: Priority;
  text: string;
  /** Transcript lines. */
  sources: number[];
  /** The host's ids of these rows, where the ledger is inside a transcript that can be forked. */
  sourceIds?: string[];
  /** A request or question that is open until a later record closes it. */
  thread?: true;
  /** A standing rule: settling the request it came with does not close it. */
  rule?: true;
  /** Laid down beyond its task: `standing-rules.ts` says what of it holds. */
  standing?: true;
  /** The ids of standing rules that it says again. */
  repeats?: string[];
  /** The ids of standing rules that it changes; without `standing` it ends them. */
  replaces?: string[];
  /** The thing whose state it gives, such as a command; a later one with the same subject supersedes it. */
  subject?: string;
}

/** An observation before it has its id and local time. */
export type Draft = Omit<Observation, "id" | "local" | "sourceIds">;

/** A piece of new conversation, oldest first. */
export interface ObservationStep {
  entries: Entry[];
  /** The rows of these: a call with its result if that came before the next prompt. */
  rows: Row[];
  /** One `[line] (time) Speaker: …` paragraph per message. */
  text: string;
}

/** Notes on a step, by rule or by a model, before they become a record. */
export interface StepNotes {
  drafts: Draft[];
  /** Those of `drafts` that are requests and were settled within the same step. */
  settled: ReadonlySet<Draft>;
  /** Ids of earlier requests that were settled. */
  closes: string[];
}

export interface Files {
  read: string[];
  modified: string[];
}

/** The result of one step. Without observations it still records that these lines were read. */
export interface ObservedRecord {
  kind: "observed";
  observations: Observation[];
  /** The last line it covers, and the host's id of that row. */
  coversTo: number;
  coversToId?: string;
  /** The lines it was made from: `12-14,17`. */
  covers: string;
  /** Ids of open requests that it settled. */
  closes?: string[];
  files?: Files;
  /** `rules`, or the model. */
  by: string;
}

/** The result of a reflection. One that dropped nothing is recorded too, so that it is not repeated on the same input. */
export interface ReflectedRecord {
  kind: "reflected";
  observations: Observation[];
  dropped: string[];
  /** Tokens of observations that were left. */
  tokens: number;
  by: string;
  focus?: string;
}

/** Tombstones. `all` starts over: nothing is covered any more. */
interface DroppedRecord {
  kind: "dropped";
  ids: string[] | "all";
  reason: string;
}

export type LedgerRecord = ObservedRecord | ReflectedRecord | DroppedRecord;
export type Ledger = readonly LedgerRecord[];
/** Stores a record; called for each as soon as it is made. */
export type Append = (record: LedgerRecord) => void | Promise<void>;

/** A ledger folded. */
export type Memory = ReturnType<typeof emptyMemory>;

/** The reason of tombstones for rows that are no longer part of the conversation. */
export const BRANCH_LEFT = "branch left";

/** Folds a ledger: its records since it was last started over; for recall, all that was ever observed. */
export function foldLedger(ledger: Ledger): Memory {
  const memory = emptyMemory();
  const restart = ledger.findLastIndex((record) => record.kind === "dropped" && record.ids === "all");
  for (const record of ledger.slice(0, restart + 1)) remember(memory, record);
  for (const record of ledger.slice(restart + 1)) addRecord(memory, record);
  return memory;
}

/** A copy of a ledger that grows, with its memory; each record is stored first. */
export function growing({ ledger, append }: { ledger: Ledger; append: Append }) {
  const [records, memory] = [[...ledger], foldLedger(ledger)];
  const put = async (record: LedgerRecord) => {
    await append(record);
    records.push(record);
    addRecord(memory, record);
  };
  return { ledger: records as Ledger, memory, put };
}

function emptyMemory() {
  const live = new Map<string, Observation>();
  return {
    /** The live ones by their ids, in ledger order. */
    live,
    get observations(): Observation[] {
      return [...live.values()];
    },
    /** Every observation there ever was, for recall. */
    history: new Map<string, Observation>(),
    /** Requests that were settled. */
    closed: new Set<string>(),
    /** Dropped because their branch was left. */
    left: new Set<string>(),
    covered: new Set<number>(),
    /** The last line covered; 0 when nothing is. */
    coversTo: 0,
    files: { read: new Set<string>(), modified: new Set<string>() },
    /** The rules laid down beyond the task, or ended, and by whom they were marked; a reflection changes none of them. */
    standing: new Map<string, { observation: Observation; by: string }>(),
    /** The tokens that the last reflection left. */
    reflectedTokens: undefined as number | undefined,
  };
}

function remember({ history }: Memory, record: LedgerRecord): void {
  if ("observations" in record) for (const item of record.observations) history.set(item.id, item);
}

/** Adds a record to a memory. One of an unknown kind, as a later version may write, is ignored. */
function addRecord(memory: Memory, record: LedgerRecord): void {
  remember(memory, record);
  if (record.kind === "observed") foldObserved(memory, record);
  else if (record.kind === "reflected") foldReflected(memory, record);
  else if (record.kind === "dropped") foldDropped(memory, record);
}

function foldObserved(memory: Memory, record: ObservedRecord): void {
  for (const observation of record.observations) {
    memory.live.set(observation.id, observation);
    memory.left.delete(observation.id);
    if (observation.standing || observation.repeats || observation.replaces)
      memory.standing.set(observation.id, { observation, by: record.by });
  }
  for (const id of record.closes ?? []) memory.closed.add(id);
  for (const path of record.files?.read ?? []) memory.files.read.add(path);
  for (const path of record.files?.modified ?? []) memory.files.modified.add(path);
  for (const [from, to] of lineRanges(record.covers)) {
    for (let line = from; line <= to; line++) memory.covered.add(line);
  }
  memory.coversTo = Math.max(memory.coversTo, record.coversTo);
}

function foldReflected(memory: Memory, { observations, dropped, tokens }: ReflectedRecord): void {
  const { live } = memory;
  memory.reflectedTokens = tokens;
  for (const id of dropped) live.delete(id);
  if (observations.length === 0) return;
  // A merged observation goes where it happened, not to the end.
  const sorted = [...live.values(), ...observations].toSorted((a, b) => firstSource(a) - firstSource(b));
  live.clear();
  for (const observation of sorted) live.set(observation.id, observation);
}

function foldDropped({ live, left, standing }: Memory, { ids, reason }: DroppedRecord): void {
  for (const id of ids) {
    live.delete(id);
    if (reason !== BRANCH_LEFT) continue;
    left.add(id);
    standing.delete(id);
  }
}

function firstSource(observation: Observation): number {
  return observation.sources[0] ?? 0;
}

/** Returns whether an observation must be kept: what the user wants or decided, not yet settled. */
export function isOpen(observation: Observation, memory: Memory): boolean {
  if (observation.text.startsWith(DONE)) return false;
  // A question is not 🔴, but open until it is answered.
  if (observation.priority !== "red" && !observation.thread) return false;
  return observation.rule === true || !memory.closed.has(observation.id);
}

/** Returns the requests that nothing has settled yet, oldest first. */
export function openThreads(memory: Memory): Observation[] {
  return memory.observations.filter(
    (observation) => observation.thread && isOpen(observation, memory) && !memory.closed.has(observation.id),
  );
}

/** Returns an observation's line as it is rendered. */
export function observationLine({ priority, local, text, id }: Observation): string {
  return `- ${MARKS[priority]} ${local ? `(${local.slice(11, 16)}) ` : ""}${text} [${id}]`;
}

/** Returns an upper bound of the tokens of these observations as rendered. */
export function observationTokens(observations: readonly Observation[]): number {
  return observations.reduce((sum, observation) => sum + estimateTokens(observationLine(observation)) + 1, 0);
}

/** Returns the entries of the conversation that no record covers. */
export function uncovered(entries: readonly Entry[], memory: Memory): Entry[] {
  return entries.filter(({ line }) => !memory.covered.has(line));
}

/** Gives drafts their ids and local times. An id is a hash of what it names; one that is taken already moves on. */
export function nameDrafts(
  drafts: readonly Draft[],
  { history }: Memory,
  timezone: string | undefined,
): Observation[] {
  const used = new Set<string>();
  const zone = timezone ?? systemTimezone();
  return drafts.map((draft) => {
    const id = freeId(draft, (candidate) => {
      const holder = history.get(candidate);
      return used.has(candidate) || (holder !== undefined && joinFields(holder) !== joinFields(draft));
    });
    used.add(id);
    const isDated = draft.at !== null && !Number.isNaN(Date.parse(draft.at));
    return { id, ...draft, ...(isDated && { local: `${formatMinute(draft.at ?? "", zone)} ${zone}` }) };
  });
}

function freeId(draft: Draft, isTaken: (id: string) => boolean): string {
  for (let turn = 0; ; turn++) {
    const id = shortKey(`${turn}\n${joinFields(draft)}`);
    // Only digits would look like a number of something.
    if (/[a-z]/.test(id) && !isTaken(id)) return id;
  }
}

/** Two thousand million ids: few in one session are alike, and those move on. */
const ID_LENGTH = 6;

/** Returns a short key of a text. */
export function shortKey(text: string): string {
  const number = sha256().update(text).digest().readUIntBE(0, 6);
  return number.toString(36).padStart(10, "0").slice(-ID_LENGTH);
}

function joinFields({ at, priority, sources, text }: Draft): string {
  return [at, priority, sources.join(), text].join("\n");
}

/** Returns lines as ascending ranges: `12-14,17`. */
export function lineSpans(lines: Iterable<number>): string {
  const ranges = rangesOf([...new Set(lines)].toSorted((a, b) => a - b));
  return ranges.map(([from, to]) => formatRange(from, to)).join();
}

/** Parses what `lineSpans` wrote. */
function lineRanges(spans: string): [from: number, to: number][] {
  return spans.split(",").flatMap((span): [number, number][] => {
    const [from, to = from] = span.split("-").map(Number);
    return from !== undefined && to !== undefined && span !== "" && to - from < 10_000_000
      ? [[from, to]]
      : [];
  });
}

/** Share of a shortened text that its beginning gets. */
const HEAD_SHARE = 0.7;

/** Puts a redacted text on one line, whole. */
export function asLine(text: string): string {
  return oneLine(text, Number.MAX_SAFE_INTEGER);
}

/** Returns a long text's beginning and end with a mark of what is missing between, at most `max` characters. */
export function excerpt(text: string, max: number): string {
  if (text.length <= max || (text.length <= max * 2 && [...text].length <= max)) return text;
  const mark = (missing: number) => ` … [${missing} characters] … `;
  return withoutMiddle(text, max, { mark, share: HEAD_SHARE });
}
