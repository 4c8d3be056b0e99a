/**
 * Observational memory in pi: steps after a turn, the rendered observations as compaction or branch summary, and a
 * compaction before pi must. The ledger is custom entries of the session, so branches and forks carry their own.
 */

import { arrayOf, isRecord, numberOf, recordOf, stringOf } from "../../lib/base/json.ts";
import type { Config } from "../../lib/config/config.ts";
import { formatCost } from "../../lib/model/spend.ts";
import type { ObserveOutcome } from "../../lib/observe/observe.ts";
import { noteAttempt, observeSettings, readBackoff } from "../../lib/observe/observe-state.ts";
import type { SessionMemoryState } from "../../lib/observe/session-memory.ts";
import type { PiEvent } from "./api.ts";
import { observing, type Turn } from "./observing.ts";
import { afterTurn, alone, currentSession, hostModel, inBackground, on, type PiState } from "./state.ts";
import { showStatus } from "./status.ts";

/** A token is more than two bytes of transcript, so less growth than this cannot hold a step. */
const BYTES_PER_TOKEN_MIN = 2;

/** Registers the events. */
export function registerObservations(state: PiState, config: Config): void {
  const sizes = new Map<string, number>();
  let isRunning = false;
  afterTurn(state, "observe", (context) => {
    const settings = observeSettings(config.paths, config.settings.observe);
    if (isRunning || !settings.auto || settings.mode !== "buffered") return;
    if (!settings.rules && hostModel(state, context) === undefined) return;
    const session = currentSession(context);
    const grown = session ? session.size - (sizes.get(session.id) ?? 0) : 0;
    if (!session || grown < settings.stepTokens * BYTES_PER_TOKEN_MIN) return;
    isRunning = true;
    inBackground(state, "observe", async () => {
      try {
        if (await alone(state, () => takeSteps(state, { config, context })))
          sizes.set(session.id, session.size);
      } finally {
        isRunning = false;
      }
    });
  });
  on(state, "session_before_compact", (event, context) =>
    alone(state, () => compactionOf(state, { config, context, event }), event.signal),
  );
  on(state, "session_before_tree", (event, context) =>
    alone(state, () => branchSummaryOf(state, { config, context, event }), event.signal),
  );
}

/** Observes what is due, reflects, and compacts when enough has come together. False: come again soon. */
async function takeSteps(state: PiState, turn: Turn): Promise<boolean> {
  const now = await observing(state, turn);
  if (!now?.canObserve) return true;
  const { session, memory, common } = now;
  const { paths } = turn.config;
  const [{ observe }, { reflect }] = await Promise.all([
    import("../../lib/observe/observe.ts"),
    import("../../lib/observe/reflect.ts"),
  ]);
  const backoff = readBackoff(paths, session.id);
  if (backoff && Date.now() < backoff.notBefore) return true;
  const { entries } = memory;
  // A compaction or a command waits for the step under way, not for all that are due.
  const shouldStop = () => state.observer.waiting > 0 || state.abort.signal.aborted;
  const append: typeof common.append = async (record) => {
    await common.append(record);
    await new Promise((resolve) => setTimeout(resolve)); // rules take no pause by themselves: the user types on
  };
  const steps = { ...common, append, entries, shouldStop, failures: backoff?.failures };
  const outcome = await observe(steps);
  const { failure, ledger } = outcome;
  if (failure !== undefined || backoff) {
    noteAttempt(paths, { sessionId: session.id, failure, now: Date.now() });
  }
  if (!state.abort.signal.aborted) tellSteps(turn, outcome);
  if (shouldStop()) return false;
  await reflect({ ...common, ledger });
  // After a failure pi's own summary would stand in, earlier than it must.
  if (failure === undefined && !shouldStop()) await compactWhenDue(turn, memory);
  return true;
}

function tellSteps(
  { context, config }: Turn,
  { failure, steps, observations, tokens, usd }: ObserveOutcome,
): void {
  if (failure === undefined && steps === 0) return;
  const cost = tokens === 0 ? "" : ` (${formatCost(usd, tokens)})`;
  const done = `${observations} observation${observations === 1 ? "" : "s"} made${cost}`;
  const remark = failure === undefined ? done : `observing failed: ${failure}`;
  showStatus(context, remark, { config, beside: "observations" });
}

async function compactWhenDue({ context }: Turn, { entries, settings }: SessionMemoryState) {
  const [{ isCompactionDue }, { rawTokens }] = await Promise.all([
    import("../../lib/observe/compaction.ts"),
    import("../../lib/observe/observe-step.ts"),
  ]);
  if (!isCompactionDue(rawTokens(afterSummary(entries)), settings)) return;
  // A prompt may have come while the model observed.
  if (context.isIdle() && !context.hasPendingMessages?.()) context.compact({});
}

/** What was said since the last compaction: only that grows, so one compaction does not lead to the next. */
function afterSummary<T extends { kind: string }>(entries: readonly T[]): T[] {
  return entries.slice(entries.findLastIndex(({ kind }) => kind === "summary") + 1);
}

/** Our compaction; undefined leaves it to pi. */
async function compactionOf(state: PiState, turn: Turn & { event: PiEvent }) {
  const preparation = recordOf(turn.event.preparation);
  const { messagesToSummarize, turnPrefixMessages } = preparation;
  const firstKeptEntryId = stringOf(preparation.firstKeptEntryId);
  const tokensBefore = numberOf(preparation.tokensBefore);
  const replaced = arrayOf(messagesToSummarize).length + arrayOf(turnPrefixMessages).length;
  if (firstKeptEntryId === undefined || tokensBefore === undefined || replaced === 0) return undefined;
  const branch = turn.event.branchEntries ?? turn.context.sessionManager.getBranch();
  const first = branch.findIndex(({ id }) => id === firstKeptEntryId);
  const now = first === -1 ? undefined : await observing(state, turn);
  if (!now) return undefined;
  const { compactionSummary } = await import("../../lib/observe/compaction.ts");
  const made = await compactionSummary({
    ...now.common,
    signal: turn.event.signal,
    entries: now.memory.entries,
    keptIds: new Set(branch.slice(first).map(({ id }) => id)),
    previousSummary: stringOf(preparation.previousSummary),
  });
  if (!made) return undefined;
  return { compaction: { summary: made.summary, firstKeptEntryId, tokensBefore, details: made.details } };
}

/** Our summary of a branch that is left; undefined leaves it to pi. */
async function branchSummaryOf(state: PiState, turn: Turn & { event: PiEvent }) {
  const preparation = recordOf(turn.event.preparation);
  if (preparation.userWantsSummary !== true) return undefined;
  const left = new Set(
    arrayOf(preparation.entriesToSummarize).map((entry) => (isRecord(entry) ? entry.id : undefined)),
  );
  const now = left.size === 0 ? undefined : await observing(state, turn);
  const start = now?.memory.entries.find(({ id }) => left.has(id));
  if (!now || !start) return undefined;
  const { compactionSummary } = await import("../../lib/observe/compaction.ts");
  const made = await compactionSummary({
    ...now.common,
    signal: turn.event.signal,
    entries: now.memory.entries,
    afterLine: start.line - 1,
  });
  return made && { summary: { summary: made.summary, details: made.details } };
}
