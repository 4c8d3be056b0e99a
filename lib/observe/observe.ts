/**
 * Observes a conversation step by step into its ledger, by a model or by rule; the caller provides storage and model.
 *
 * A failure never advances the ledger, and only lines that a record covers count as observed.
 */

import { describeError, SessionMemoryError } from "../base/errors.ts";
import type { Settings } from "../config/config.ts";
import type { CompleteJson } from "../model/answers.ts";
import { oneLine } from "../redact/redact.ts";
import type { Entry } from "../transcripts/session.ts";
import {
  BRANCH_LEFT,
  type Draft,
  type Ledger,
  type LedgerRecord,
  lineSpans,
  type Memory,
  nameDrafts,
  type Observation,
  type ObservedRecord,
  openMemory,
} from "./observations.ts";
import { lastWords, observeByRule, observePrompt, touchedFiles } from "./observe-rules.ts";
import {
  cutStep,
  rawTokens,
  type Step,
  type StepNotes,
  splitTail,
  uncovered,
  windowOf,
} from "./observe-step.ts";

export type ObserveSettings = Settings["observe"];

export interface ObserveContext {
  /** The records so far. */
  ledger: Ledger;
  settings: ObserveSettings;
  /** IANA name. */
  timezone: string;
  redact: (text: string) => string;
  /** Stores a record; called for each as soon as it is made. */
  append: (record: LedgerRecord) => void | Promise<void>;
  /** The model. Without one, rules observe. */
  complete?: CompleteJson | undefined;
  signal?: AbortSignal | undefined;
  /** True to record row ids, for a ledger inside a transcript that can be forked (pi). @default {false} */
  rowIds?: boolean | undefined;
}

export interface ObserveOptions extends ObserveContext {
  /** The conversation with tool results, oldest first. */
  entries: readonly Entry[];
  /** `due`: full steps of what is older than the retained tail. `all`: everything. @default {"due"} */
  when?: "due" | "all" | undefined;
  /** Only lines before this one, where the raw tail begins. @default no limit */
  beforeLine?: number | undefined;
  /** Only lines after this one: the part of a branch that is left. @default {0} */
  afterLine?: number | undefined;
  /** Whether `entries` begin with the first that is not observed. @default {false} */
  isTail?: boolean | undefined;
  /** @default no limit */
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
  /** The reason it stopped early; what was observed before is kept. */
  failure?: string;
  tokens: number;
  /** Null where the price is unknown. */
  usd: number | null;
}

/** Attempts at a usable answer before giving up. */
const ATTEMPTS = 2;
/** A step is cut from a window of so many steps, so that the cost of a backlog stays linear. */
const WINDOW_STEPS = 4;
/** Some thirty observations: more would be an account of the step. */
const ANSWER_TOKENS = 3000;
/** A step that failed is tried again smaller, down to about a message. */
const STEP_TOKENS_MIN = 1000;

/** Observes what is not yet covered. */
export async function observe(options: ObserveOptions): Promise<ObserveOutcome> {
  const { settings, entries, when = "due", failures = 0, maxSteps = Number.POSITIVE_INFINITY } = options;
  const ledger = [...options.ledger];
  const outcome: ObserveOutcome = { ledger, steps: 0, observations: 0, tokens: 0, usd: 0 };
  const { memory, add } = openMemory(ledger);
  const put = async (record: LedgerRecord) => {
    await options.append(record);
    ledger.push(record);
    add(record);
  };
  // A tail says nothing of the rows before it.
  if (!options.isTail) for (const record of branchRecords(memory, entries)) await put(record);
  const maxTokens = Math.max(STEP_TOKENS_MIN, settings.stepTokens >> Math.min(failures, 3));
  const pending = pendingEntries(options, memory);
  const observing = { ...options, outcome, memory };
  for (let at = 0; at < pending.length && outcome.steps < maxSteps; ) {
    if (options.signal?.aborted || options.shouldStop?.()) break;
    options.onStep?.(at, pending.length);
    const next = windowOf(pending, at, Math.max(maxTokens, settings.stepTokens) * WINDOW_STEPS);
    const isLast = at + next.length === pending.length;
    if (when === "due" && isLast && rawTokens(next) < settings.stepTokens) break;
    const step = cutStep(next, { maxTokens, redact: options.redact });
    if (!step) break;
    const { complete } = options;
    const record = complete
      ? await observeByModel(step, { ...observing, complete })
      : ruleRecord(step, observing);
    if (!record) break;
    await put(record);
    at += step.entries.length;
    outcome.steps++;
    outcome.observations += record.observations.length;
  }
  return outcome;
}

/**
 * Observes a conversation again from its start. What the ledger held is dropped only after success; a failure leaves it
 * unchanged.
 */
export async function reobserve(options: ObserveOptions): Promise<ObserveOutcome> {
  const restart: LedgerRecord = { kind: "dropped", ids: "all", reason: "rebuild" };
  const made: LedgerRecord[] = [restart];
  const outcome = await observe({
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

/** Returns the requested entries that are not covered, oldest first. */
function pendingEntries(options: ObserveOptions, memory: Memory): Entry[] {
  const { entries, settings, when = "due", beforeLine = Number.POSITIVE_INFINITY, afterLine = 0 } = options;
  const older = when === "due" ? splitTail(entries, settings.retainTokens).older : entries;
  return uncovered(
    older.filter(({ line }) => line > afterLine && line < beforeLine),
    memory,
  );
}

/** Returns whether a step is due in the background: in buffered mode, when what is older than the retained tail fills one. */
export function isStepDue(entries: readonly Entry[], memory: Memory, settings: ObserveSettings): boolean {
  if (settings.mode !== "buffered") return false;
  const { older } = splitTail(entries, settings.retainTokens);
  return rawTokens(uncovered(older, memory)) >= settings.stepTokens;
}

/** Returns records that drop the observations of rows on an abandoned branch, and restore those of rows that are back. */
function branchRecords(memory: Memory, entries: readonly Entry[]): LedgerRecord[] {
  if (memory.covered.size === 0 || entries.length === 0) return [];
  const lines = new Set(entries.map(({ line }) => line));
  const isHere = ({ sources }: { sources: number[] }) => sources.some((line) => lines.has(line));
  const records: LedgerRecord[] = [];
  // Lines beyond the last one are no branch that was left: the file is shorter than it was, and nothing is known of them.
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

/** Redacts a text and puts it on one line. */
export function redactToLine({ redact }: Pick<ObserveContext, "redact">): (text: string) => string {
  return (text) => oneLine(redact(text), Number.MAX_SAFE_INTEGER);
}

type Recording = ObserveContext & { memory: Memory };

function ruleRecord(step: Step, context: Recording & Pick<ObserveOptions, "entries">): ObservedRecord {
  const first = step.entries[0]?.line ?? 0;
  const notes = observeByRule(step.entries, {
    memory: context.memory,
    clean: redactToLine(context),
    earlier: lastWords(context.entries.filter(({ line }) => line < first)),
  });
  return makeRecord(step, { by: "rules", ...notes }, context);
}

function makeRecord(
  step: Step,
  { by, drafts, settled, closes }: StepNotes & { by: string },
  context: Recording,
): ObservedRecord {
  const rows = step.entries.flatMap(({ line, id }): [number, string][] => (id ? [[line, id]] : []));
  const observations = nameDrafts(drafts, {
    taken: context.memory.history,
    timezone: context.timezone,
    idOfLine: context.rowIds ? new Map(rows) : undefined,
  });
  const settledHere = observations.filter((_, at) => settled.has(drafts[at] as Draft));
  const closed = [...closes, ...settledHere.map(({ id }) => id)];
  const files = touchedFiles(step.entries, redactToLine(context));
  const last = step.entries.at(-1);
  const covers = lineSpans(step.entries.map(({ line }) => line));
  const record: ObservedRecord = { kind: "observed", observations, coversTo: last?.line ?? 0, covers, by };
  if (last?.id !== undefined) record.coversToId = last.id;
  if (closed.length > 0) record.closes = closed;
  if (files.read.length + files.modified.length > 0) record.files = files;
  return record;
}

type ModelObserving = Recording & { complete: CompleteJson; outcome: ObserveOutcome };

/** Asks the model, once more when its answer is of no use; undefined, with the reason in the outcome, when that fails. */
async function observeByModel(step: Step, context: ModelObserving): Promise<ObservedRecord | undefined> {
  const { memory, complete, outcome, signal } = context;
  const { acceptObservations, OBSERVER_SYSTEM, observerAnswer, observerPrompt } = await import(
    "./observer.ts"
  );
  const clean = redactToLine(context);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      const answer = await complete({
        feature: "observe",
        system: OBSERVER_SYSTEM,
        prompt: context.redact(observerPrompt(memory, step)),
        schema: observerAnswer,
        maxTokens: ANSWER_TOKENS,
        signal,
      });
      outcome.tokens += answer.tokens;
      outcome.usd = outcome.usd === null || answer.usd === null ? null : outcome.usd + answer.usd;
      const accepted = acceptObservations(answer.value.observations, { step, memory, clean });
      if ("refused" in accepted) {
        outcome.failure = accepted.refused;
        continue;
      }
      delete outcome.failure;
      const drafts = withPrompts(accepted.drafts, step, clean);
      return makeRecord(step, { by: answer.model, ...accepted, drafts }, context);
    } catch (error) {
      if (signal?.aborted) return undefined; // called off, which says nothing of the model
      outcome.failure = context.redact(describeError(error));
      if (!mayPass(error)) return undefined;
    }
  }
  return undefined;
}

/** Returns whether a second call may succeed: malformed answers were retried already, and budgets and keys stay bad. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof SessionMemoryError)) return true;
  return error.type === "MODEL_FAILED" && error.recoverable && error.details.kind !== "malformed";
}

/** Adds the user's messages that the model left out. */
function withPrompts(drafts: Draft[], step: Step, clean: (text: string) => string): Draft[] {
  const cited = new Set(drafts.flatMap(({ sources }) => sources));
  const missed = step.entries.filter(({ kind, line }) => kind === "user" && !cited.has(line));
  if (missed.length === 0) return drafts;
  const added = missed.flatMap((prompt) => observePrompt(prompt, step.entries, clean));
  return [...drafts, ...added].toSorted((a, b) => (a.sources[0] ?? 0) - (b.sources[0] ?? 0));
}
