/**
 * Observational memory in pi: observes after a turn, compacts before pi has to, and replaces history with the rendered
 * observations when it is compacted or a branch is left. The ledger is custom entries of the session, so branches and
 * forks carry their own.
 */

import { numberOf, recordOf } from "../../lib/base/json.ts";
import { counted } from "../../lib/base/text.ts";
import { loadConfig, type ObserveSettings } from "../../lib/config/config.ts";
import type { Entry } from "../../lib/hosts/session.ts";
import type { LedgerRecord } from "../../lib/observe/observations.ts";
import type { ObserveOutcome } from "../../lib/observe/observe.ts";
import { logFailure } from "../hook.ts";
import type { PiContext, PiEntry, PiEvent } from "./api.ts";
import { observingModel } from "./models.ts";
import { afterTurn, currentSession, exclusively, on, type PiState, shownRows, showStatus } from "./state.ts";

/** A token takes at least two bytes of transcript: growth too small for a step or a compaction is not read. */
const BYTES_PER_TOKEN_MIN = 2;

/** Registers the events. */
export function registerObservations(state: PiState): void {
  const { config } = state;
  /** The size of each session when it was last read, and its raw tokens in the model's context. */
  const looks = new Map<string, { size: number; raw: number }>();
  const announced = new Set<string>();
  afterTurn(state, "observe", async (_, context) => {
    const settings = await readObserving(state);
    if (!settings.auto || settings.mode !== "buffered") return;
    if (!settings.rules && observingModel(config, context) === undefined) return;
    const session = await currentSession(context);
    if (!session) return;
    announceOnce(announced, state, context);
    const { size, raw } = looks.get(session.id) ?? { size: 0, raw: 0 };
    const mayHold = (session.size - size) / BYTES_PER_TOKEN_MIN;
    const threshold = settings.observerTokens + settings.retainTokens;
    if (mayHold < settings.stepTokens && raw + mayHold < threshold) return;
    const rawAfter = await exclusively(state, () => takeSteps(state, context));
    if (rawAfter !== undefined) looks.set(session.id, { size: session.size, raw: rawAfter });
  });
  on(state, { session_before_compact: makeCompaction, session_before_tree: summarizeBranch });
}

/** Reads anew how to observe: it may have been changed meanwhile, here or elsewhere. */
async function readObserving({ config }: PiState): Promise<ObserveSettings> {
  return (await loadConfig(config.env, config.cwd)).settings.observe;
}

/** Sets how to observe, for all sessions. */
export async function changeObserving(
  state: PiState,
  changes: Record<string, string>,
): Promise<ObserveSettings> {
  const { setObserving } = await import("../../lib/observe/set-observing.ts");
  await setObserving(state.config.paths, changes);
  return await readObserving(state);
}

/** Announces once per session which model observes and its daily cap, since nobody was asked. */
function announceOnce(announced: Set<string>, state: PiState, context: PiContext): void {
  const { config } = state;
  const model = observingModel(config, context)?.name;
  const id = context.sessionManager.getSessionId();
  if (model === undefined || announced.has(id)) return;
  announced.add(id);
  const cap = config.settings.observe.dailyBudgetUsd.toFixed(2);
  const text = `observing with ${model}, at most $${cap} a day · to switch it off: /obs-auto-compact off`;
  showStatus(state, context, { text, beside: "observer" });
}

/**
 * Observes what is due, reflects, and compacts when enough has accumulated. Returns the number of raw tokens; undefined when
 * it was interrupted and should run again soon.
 */
async function takeSteps(state: PiState, context: PiContext): Promise<number | undefined> {
  const memory = await readForObserving(state, context);
  if (!memory?.canObserve) return 0;
  const { runSteps } = await import("../../lib/observe/observe-session.ts");
  const { isCompactionDue } = await import("../../lib/observe/render-observations.ts");
  const raw = await rawInContext(context, memory.entries);
  // A compaction or a command waits for the current step, not for all that are due.
  const shouldStop = () => state.observer.waiting > 0 || state.abort.signal.aborted;
  const step = new AbortController();
  state.observer.step = step;
  const { status, observed, reflected } = await runSteps({
    ...memory,
    when: "due",
    signal: AbortSignal.any([state.abort.signal, step.signal]),
    shouldStop,
    async append(record) {
      memory.append(record);
      await new Promise((resolve) => setTimeout(resolve)); // rules never yield by themselves, and the user is typing
    },
    async onObserved(observed) {
      if (!state.abort.signal.aborted) await showSteps(state, context, observed);
    },
  });
  if (observed && !reflected) return undefined;
  // After a failure a compaction would use pi's own summary, earlier than necessary; the user may have sent a prompt meanwhile.
  const isFine = (status === "observed" || status === "nothing") && !shouldStop();
  if (isFine && isCompactionDue(raw, memory.settings) && isQuiet(context))
    compactEarly(state, context, memory.settings);
  return raw;
}

function isQuiet(context: PiContext): boolean {
  return context.isIdle() && !context.hasPendingMessages?.();
}

/** Compacts before pi has to: where a person can be asked, once one has agreed to it. */
function compactEarly(state: PiState, context: PiContext, settings: ObserveSettings): void {
  const { select } = context.ui;
  const canAsk = settings.early === "ask" && context.hasUI === true && select !== undefined;
  if (!canAsk) context.compact({});
  if (!canAsk || state.observer.isAsked) return;
  state.observer.isAsked = true;
  // Not part of the turn's work: a question may stay open, and the next turn is observed all the same.
  askToCompact(state, context, settings).catch(async (error: unknown) => {
    if (!state.abort.signal.aborted) await logFailure(state.config.paths, "pi.observe", error);
  });
}

/** Asks whether to compact early, from now on, and remembers the answer; a dismissed question is asked another time. */
async function askToCompact(state: PiState, context: PiContext, settings: ObserveSettings): Promise<void> {
  const tokens = (settings.observerTokens + settings.retainTokens).toLocaleString("en-US");
  const answers: [option: string, changes: Record<string, string>][] = [
    [`Yes: at ${tokens} tokens`, { early: "yes" }],
    ["Only when pi compacts by itself", { early: "no" }],
    ["Off: no observations either", { auto: "off" }],
  ];
  const title = `session-memory can compact a conversation at ${tokens} tokens, before pi has to: observations replace what is older. From now on?`;
  const options = answers.map(([option]) => option);
  const answer = await context.ui.select?.(title, options, { signal: state.abort.signal });
  const [, changes] = answers.find(([option]) => option === answer) ?? [];
  if (changes === undefined) return;
  const { early } = await changeObserving(state, changes);
  if (early === "yes" && changes.early !== undefined && isQuiet(context)) context.compact({});
}

async function showSteps(
  state: PiState,
  context: PiContext,
  { failure, steps, observations, tokens, usd }: ObserveOutcome,
): Promise<void> {
  if (failure === undefined && steps === 0) return;
  const { formatCost } = await import("../../lib/model/spend.ts");
  const cost = tokens === 0 ? "" : ` (${formatCost(usd, tokens)})`;
  const done = `${counted(observations, "observation")} made${cost}`;
  const text = failure === undefined ? done : `observing failed: ${failure}`;
  showStatus(state, context, { text, beside: "observations" });
}

/** Returns what is needed to observe the current session; undefined when it is not kept or is excluded. */
export async function readForObserving(state: PiState, context: PiContext) {
  const { config } = state;
  const session = await currentSession(context);
  if (!session) return undefined;
  const { LEDGER_ENTRY_TYPE } = await import("../../lib/observe/ledger.ts");
  const { readSessionMemory } = await import("../../lib/observe/observe-session.ts");
  const { isStillVisible } = await import("../../lib/sessions/sessions.ts");
  const { paths } = config;
  if (!isStillVisible(session, paths)) return undefined;
  // From pi's own leaf: when two instances write one file, its last row may be the other's.
  const leafId = context.sessionManager.getLeafId() ?? undefined;
  const settings = { ...config.settings, observe: await readObserving(state) };
  const memory = readSessionMemory(session, { paths, settings, leafId });
  const complete = observingModel(config, context)?.complete;
  return {
    ...memory,
    complete,
    canObserve: complete !== undefined || memory.settings.rules,
    signal: state.abort.signal,
    append: (record: LedgerRecord) => state.pi.appendEntry(LEDGER_ENTRY_TYPE, record),
    rowIds: true,
  };
}

/** Counts the tokens of the rows that the model sees unchanged. */
async function rawInContext(context: PiContext, entries: readonly Entry[]): Promise<number> {
  const { rawTokens } = await import("../../lib/observe/observe.ts");
  const ids = collectIds(shownRows(context));
  return rawTokens(entries.filter(({ kind, id }) => kind !== "summary" && (id === undefined || ids.has(id))));
}

function collectIds(rows: readonly { id: string }[]): ReadonlySet<string> {
  return new Set(rows.map(({ id }) => id));
}

/** Returns our compaction; undefined leaves it to pi. */
async function makeCompaction(state: PiState, context: PiContext, event: PiEvent) {
  const { preparation = {}, branchEntries: branch = [] } = event;
  const { firstKeptEntryId, tokensBefore, previousSummary } = preparation;
  const { messagesToSummarize = [], turnPrefixMessages = [] } = preparation;
  if (messagesToSummarize.length + turnPrefixMessages.length === 0) return undefined;
  const first = branch.findIndex(({ id }) => id === firstKeptEntryId);
  if (first === -1 || !(await isOurs(branch))) return undefined;
  const replaced = { signal: event.signal, keptIds: collectIds(branch.slice(first)), previousSummary };
  const made = await makeSummary(state, context, replaced);
  return made && { compaction: { ...made, firstKeptEntryId, tokensBefore } };
}

/** Returns our summary of an abandoned branch; undefined leaves it to pi. */
async function summarizeBranch(state: PiState, context: PiContext, { preparation = {}, signal }: PiEvent) {
  const { userWantsSummary, entriesToSummarize = [] } = preparation;
  if (!userWantsSummary || entriesToSummarize.length === 0) return undefined;
  const made = await makeSummary(state, context, { signal, leftIds: collectIds(entriesToSummarize) });
  return made && { summary: made };
}

/** Returns whether the last compaction's details are of a version that we know; a later one's are left alone. */
async function isOurs(branch: readonly PiEntry[]): Promise<boolean> {
  const { COMPACTION_SCHEMA_VERSION } = await import("../../lib/observe/render-observations.ts");
  const last = branch.findLast(({ type }) => type === "compaction");
  const version = numberOf(recordOf(last?.details).schemaVersion);
  return version === undefined || version <= COMPACTION_SCHEMA_VERSION;
}

interface Replaced {
  signal: AbortSignal | undefined;
  keptIds?: ReadonlySet<string>;
  leftIds?: ReadonlySet<string>;
  previousSummary?: string | undefined;
}

/**
 * Renders the observations that replace history. Waits at most `observe.timeoutMs`: half of it for the current step, the rest
 * for what is not observed yet.
 */
async function makeSummary(state: PiState, context: PiContext, { leftIds, ...replaced }: Replaced) {
  const { timeoutMs } = await readObserving(state);
  const end = Date.now() + timeoutMs;
  const stopStep = setTimeout(() => state.observer.step?.abort(), timeoutMs / 2);
  const say = (text: string) => showStatus(state, context, { text, beside: "compaction" });
  if (state.observer.waiting > 0 || state.pending.size > 0) say("compaction: waiting for the observer");
  const work = async () => {
    clearTimeout(stopStep);
    const memory = await readForObserving(state, context);
    const start = leftIds && memory?.entries.find(({ id = "" }) => leftIds.has(id));
    if (!memory || (leftIds && !start)) return undefined;
    const { compactionSummary } = await import("../../lib/observe/render-observations.ts");
    const made = await compactionSummary({
      ...memory,
      ...replaced,
      timeoutMs: Math.max(1, end - Date.now()),
      afterLine: start ? start.line - 1 : undefined,
      onGap: () => say("compaction: observing what is left"),
    });
    return made && { summary: made.summary, details: made.details };
  };
  try {
    return await exclusively(state, work, replaced.signal);
  } finally {
    clearTimeout(stopStep);
  }
}
