/**
 * Observes a conversation step by step into its ledger, by a model or by rule; the caller provides storage and model.
 *
 * A failure never advances the ledger, and only lines that a record covers count as observed.
 */

import { formatMinute } from "../base/time.ts";
import type { ObserveSettings } from "../config/config.ts";
import type { Entry, Row } from "../hosts/session.ts";
import { estimateTokens } from "../language/tokens.ts";
import type { CompleteJson } from "../model/answers.ts";
import { toRows } from "../transcripts/calls.ts";
import { exchangesIn } from "../transcripts/exchanges.ts";
import { tally } from "../transcripts/tally.ts";
import {
  type Append,
  asLine,
  BRANCH_LEFT,
  type Draft,
  excerpt,
  type Files,
  growing,
  type Ledger,
  type LedgerRecord,
  lineSpans,
  type Memory,
  nameDrafts,
  type Observation,
  type ObservationStep,
  type ObservedRecord,
  type StepNotes,
  uncovered,
} from "./observations.ts";
import { observeByRule } from "./observe-rules.ts";

export interface ObserveContext {
  /** The records so far. */
  ledger: Ledger;
  settings: ObserveSettings;
  /** IANA name. */
  timezone: string | undefined;
  append: Append;
  /** The model. Without one, rules observe. */
  complete?: CompleteJson | undefined;
  /** The standing rules of this project, for the model to replace. @default none */
  standing?: readonly { id: string; words: string }[] | undefined;
  signal?: AbortSignal | undefined;
  /** True to record row ids, for a ledger inside a transcript that can be forked. @default {false} */
  rowIds?: boolean | undefined;
}

export interface ObserveOptions extends ObserveContext {
  /** The conversation with tool results, oldest first. */
  entries: readonly Entry[];
  /**
   * `due`: full steps of what is older than the retained tail. `all`: everything. `again`: everything from the start; what
   * the ledger held is dropped only after success. @default {"due"}
   */
  when?: "due" | "all" | "again" | undefined;
  /** Returns whether an entry is among those to observe. @default all are */
  isAsked?: ((entry: Entry) => boolean) | undefined;
  /** The most steps to take. @default no limit */
  maxSteps?: number | undefined;
  /** Called before each step with the entries covered and to cover. */
  onStep?: ((done: number, total: number) => void) | undefined;
  /** Returns true, before a step, when another observer waits for this session. @default never */
  shouldStop?: (() => boolean) | undefined;
  /** Failed attempts before this one: each makes the steps smaller. @default {0} */
  failures?: number | undefined;
}

export interface ObserveOutcome {
  /** The ledger with what was added. */
  ledger: Ledger;
  steps: number;
  /** Observations added. */
  observations: number;
  /** The reason it stopped early; earlier observations are kept. */
  failure?: string;
  /** The error that kept the model from answering, where that is the reason. */
  error?: unknown;
  tokens: number;
  /** Null where the price is unknown. */
  usd: number | null;
}

/** A step that failed is tried again smaller, down to about a message. */
const STEP_TOKENS_MIN = 1000;

/** Observes what is not yet covered. */
export function observe(options: ObserveOptions): Promise<ObserveOutcome> {
  return options.when === "again" ? observeAgain(options) : observeLeft(options);
}

async function observeLeft(options: ObserveOptions): Promise<ObserveOutcome> {
  const { settings, entries, when = "due", isAsked = () => true, failures = 0 } = options;
  const { maxSteps = Number.POSITIVE_INFINITY } = options;
  const { ledger, memory, put } = growing(options);
  for (const record of branchRecords(memory, entries)) await put(record);
  const outcome: ObserveOutcome = { ledger, steps: 0, observations: 0, tokens: 0, usd: 0 };
  const maxTokens = Math.max(STEP_TOKENS_MIN, settings.stepTokens >> Math.min(failures, 3));
  const older = when === "due" ? beforeTail(entries, settings.retainTokens) : entries;
  const pending = uncovered(older, memory).filter(isAsked);
  let left = when === "due" ? rawTokens(pending) : Number.POSITIVE_INFINITY;
  for (let at = 0; at < pending.length && outcome.steps < maxSteps; ) {
    if (options.signal?.aborted || options.shouldStop?.()) break;
    if (left < settings.stepTokens) break;
    options.onStep?.(at, pending.length);
    const step = cutStep(pending, at, maxTokens);
    if (!step) break;
    const notes = await notesOn(step, { ...options, outcome, memory });
    if (!notes) break;
    const record = makeRecord(step, notes, { ...options, memory });
    await put(record);
    at += step.entries.length;
    left -= rawTokens(step.entries);
    outcome.steps++;
    outcome.observations += record.observations.length;
  }
  return outcome;
}

/** Observes from the start; a failure leaves the ledger as it was. */
async function observeAgain(options: ObserveOptions): Promise<ObserveOutcome> {
  const restart: LedgerRecord = { kind: "dropped", ids: "all", reason: "rebuild" };
  const made: LedgerRecord[] = [restart];
  const outcome = await observeLeft({
    ...options,
    ledger: [...options.ledger, restart],
    when: "all",
    append: (record) => void made.push(record),
  });
  if (outcome.failure !== undefined || options.signal?.aborted) {
    return { ...outcome, ledger: options.ledger, steps: 0, observations: 0 };
  }
  for (const record of made) await options.append(record);
  return outcome;
}

/** Returns whether a step is due in the background: the rows before the retained tail fill one. */
export function isStepDue(entries: readonly Entry[], memory: Memory, settings: ObserveSettings): boolean {
  const older = beforeTail(entries, settings.retainTokens);
  return rawTokens(uncovered(older, memory)) >= settings.stepTokens;
}

/** Returns records that drop the observations of rows on an abandoned branch, and restore those of rows that are back. */
function branchRecords(memory: Memory, entries: readonly Entry[]): LedgerRecord[] {
  if (memory.covered.size === 0 || entries.length === 0) return [];
  const lines = new Set(entries.map(({ line }) => line));
  const isHere = ({ sources }: { sources: number[] }) => sources.some((line) => lines.has(line));
  const records: LedgerRecord[] = [];
  // Lines beyond the last one are not an abandoned branch: the file was cut, and nothing is known of them.
  const last = entries.at(-1)?.line ?? 0;
  const isLeft = (item: Observation) => !isHere(item) && item.sources.every((line) => line < last);
  const gone = memory.observations.filter(isLeft).map(({ id }) => id);
  if (gone.length > 0) records.push({ kind: "dropped", ids: gone, reason: BRANCH_LEFT });
  const back = [...memory.left].flatMap((id) => memory.history.get(id) ?? []).filter(isHere);
  const { coversTo } = memory;
  if (back.length > 0)
    records.push({ kind: "observed", observations: back, coversTo, covers: "", by: "branch" });
  return records;
}

type Recording = ObserveContext & { memory: Memory };

/** Returns the notes on a step by the model or by rule; undefined, with the reason in the outcome, where the model fails. */
async function notesOn(
  step: ObservationStep,
  { complete, entries, outcome, ...context }: Recording & ObserveOptions & { outcome: ObserveOutcome },
): Promise<(StepNotes & { by: string }) | undefined> {
  const { memory } = context;
  if (!complete) {
    const first = step.entries[0]?.line ?? 0;
    const earlier = entries.findLast(({ kind, line }) => kind === "assistant" && line < first)?.text;
    return { ...observeByRule(step.rows, { memory, earlier }), by: "rules" };
  }
  const { askObserver } = await import("./observer.ts");
  const { tokens, usd, ...answer } = await askObserver(step, { ...context, complete });
  outcome.tokens += tokens;
  outcome.usd = outcome.usd === null || usd === null ? null : outcome.usd + usd;
  if ("taken" in answer) return { ...answer.taken, by: answer.by };
  // One that was called off says nothing of the model.
  if (!context.signal?.aborted) Object.assign(outcome, { failure: answer.refused, error: answer.error });
  return undefined;
}

function makeRecord(
  step: { entries: readonly Pick<Entry, "line" | "id">[]; rows: readonly Row[] },
  { by, drafts, settled, closes }: StepNotes & { by: string },
  context: Pick<Recording, "memory" | "timezone" | "rowIds">,
): ObservedRecord {
  const named = nameDrafts(drafts, context.memory, context.timezone);
  const idOf = new Map(step.entries.map(({ line, id = "" }) => [line, id]));
  const withIds = (item: Observation) => ({
    ...item,
    sourceIds: item.sources.map((line) => idOf.get(line) ?? ""),
  });
  const observations = context.rowIds ? named.map(withIds) : named;
  const settledHere = observations.filter((_, at) => settled.has(drafts[at] as Draft));
  const closed = [...closes, ...settledHere.map(({ id }) => id)];
  const files = touchedFiles(step.rows);
  const last = step.entries.at(-1);
  const covers = lineSpans(step.entries.map(({ line }) => line));
  const record: ObservedRecord = { kind: "observed", observations, coversTo: last?.line ?? 0, covers, by };
  if (last?.id !== undefined) record.coversToId = last.id;
  if (closed.length > 0) record.closes = closed;
  if (files.read.length + files.modified.length > 0) record.files = files;
  return record;
}

/** Returns the files that were read and modified. */
function touchedFiles(rows: readonly Row[]): Files {
  const { read, edited } = tally(rows);
  const shown = (paths: Iterable<string>) => [...new Set(Array.from(paths, asLine))].filter(Boolean);
  return { read: shown(read), modified: shown(edited.keys()) };
}

/** The most characters kept of a tool result, as hosts do in their own summaries. */
const RESULT_CHARS = 2000;
/** One line of a tool call. */
const TOOL_CHARS = 300;
/** Context that a host reports beyond this multiple of the estimate is not the conversation's. */
const CALIBRATION_MAX = 3;

/** Returns the tokens that entries take in the model's context, tool results included: as the host reported them, else an estimate. */
export function rawTokens(entries: readonly Entry[]): number {
  let total = 0;
  let pending = 0;
  let before: number | undefined;
  for (const { text, contextTokens } of entries) {
    pending += estimateTokens(text) + 4;
    if (contextTokens === undefined) continue;
    const grown = before === undefined ? 0 : contextTokens - before;
    // After a compaction the context is smaller than before it: that says nothing of these rows.
    const isPlausible = grown > 0 && grown <= pending * CALIBRATION_MAX + 2000;
    total += isPlausible ? grown : pending;
    before = contextTokens;
    pending = 0;
  }
  return total + pending;
}

/** Returns the entries before the newest ones that make up `tokens`. A message and its calls stay together. */
function beforeTail(entries: readonly Entry[], tokens: number): Entry[] {
  let at = entries.length;
  for (let sum = 0; at > 0 && sum < tokens; at--) {
    sum += rawTokens([entries[at - 1] as Entry]);
  }
  while (at > 0 && at < entries.length && entries[at]?.line === entries[at - 1]?.line) at--;
  return entries.slice(0, at);
}

/** Returns the first piece from a place on that fits, ending before a user message where that costs less than half of it. */
function cutStep(entries: readonly Entry[], from: number, maxTokens: number): ObservationStep | undefined {
  const texts: string[] = [];
  let [to, prompt] = [from, from];
  let textsBeforePrompt = 0;
  for (let left = maxTokens; to < entries.length; ) {
    const row = rowAt(entries, to);
    if (row.some(({ kind }) => kind === "user")) [prompt, textsBeforePrompt] = [to, texts.length];
    const whole = lineText(row);
    const isTooLong = texts.length === 0 && estimateTokens(whole) >= maxTokens;
    const text = isTooLong ? excerptTokens(whole, maxTokens - 1) : whole;
    left -= estimateTokens(text) + 1;
    if (left < 0) break;
    texts.push(text);
    to += row.length;
  }
  if (texts.length === 0) return undefined;
  const endsEarly = to < entries.length && textsBeforePrompt > texts.length / 2;
  const own = entries.slice(from, endsEarly ? prompt : to);
  const text = (endsEarly ? texts.slice(0, textsBeforePrompt) : texts).filter(Boolean).join("\n");
  return { entries: own, rows: Array.from(exchangesIn(own)).flatMap(({ items }) => toRows(items)), text };
}

/** Returns the entries of the line that begins at a place. */
function rowAt(entries: readonly Entry[], from: number): Entry[] {
  let to = from + 1;
  while (entries[to]?.line === entries[from]?.line && to < entries.length) to++;
  return entries.slice(from, to);
}

function excerptTokens(text: string, maxTokens: number): string {
  let max = Math.min(text.length, maxTokens * 5);
  let cut = excerpt(text, max);
  while (estimateTokens(cut) > maxTokens && max > 40) {
    max = Math.floor(max * Math.min(0.9, maxTokens / estimateTokens(cut)));
    cut = excerpt(text, max);
  }
  return cut;
}

const SPEAKERS: Record<Entry["kind"], string> = {
  user: "User",
  assistant: "Assistant",
  tool: "Tool call",
  result: "Tool result",
  summary: "Summary of what came before",
};

function lineText(row: readonly Entry[]): string {
  return row
    .map((entry) => {
      const time = entry.at ? ` (${formatMinute(entry.at, "UTC")}Z)` : "";
      const speaker =
        entry.typed === false ? "A program" : entry.isError ? "Tool error" : SPEAKERS[entry.kind];
      return `[${entry.line}]${time} ${speaker}: ${asData(entryText(entry))}`;
    })
    .join("\n");
}

/** Escapes a text so that it can neither end the surrounding conversation nor begin a message. */
function asData(text: string): string {
  return text
    .trim()
    .replace(/<(?=\/?(?:new-conversation|observations))/gi, "‹")
    .replace(/^\[(?=\d+\])/gm, " [");
}

function entryText({ kind, text }: Entry): string {
  if (kind === "result") return excerpt(text, RESULT_CHARS);
  return kind === "tool" ? excerpt(text.replace(/\s+/g, " "), TOOL_CHARS) : text;
}
