/**
 * Observational memory in pi: steps after a turn, and a compaction before pi must. The ledger is custom entries of the
 * session, so branches and forks carry their own. compacting.ts replaces history.
 */

import type { Config } from "../../lib/config/config.ts";
import { formatCost } from "../../lib/model/spend.ts";
import type { ObserveOutcome } from "../../lib/observe/observe.ts";
import { noteAttempt, observeSettings, readBackoff } from "../../lib/observe/observe-state.ts";
import { branchSummaryOf, compactionOf } from "./compacting.ts";
import { observingModel, observingModelName } from "./models.ts";
import { observing, rawInContext, type Turn } from "./observing.ts";
import { afterTurn, currentSession, exclusively, inBackground, on, type PiState } from "./state.ts";
import { showStatus } from "./status.ts";

/** A token is more than two bytes of transcript: what cannot hold a step or a compaction is not looked at. */
const BYTES_PER_TOKEN_MIN = 2;

/** The result of the last look at a session. */
interface Look {
  size: number;
  /** Tokens that are raw in the model's context. */
  raw: number;
}

/** Registers the events. */
export function registerObservations(state: PiState, config: Config): void {
  const looks = new Map<string, Look>();
  const announced = new Set<string>();
  let isRunning = false;
  afterTurn(state, "observe", (context) => {
    const settings = observeSettings(config.paths, config.settings.observe);
    if (isRunning || !settings.auto || settings.mode !== "buffered") return;
    if (!settings.rules && observingModel(config, context) === undefined) return;
    const session = currentSession(context);
    if (!session) return;
    announceOnce(announced, { config, context });
    const { size, raw } = looks.get(session.id) ?? { size: 0, raw: 0 };
    const mayHold = (session.size - size) / BYTES_PER_TOKEN_MIN;
    const threshold = settings.observerTokens + settings.retainTokens;
    if (mayHold < settings.stepTokens && raw + mayHold < threshold) return;
    isRunning = true;
    inBackground(state, "observe", async () => {
      try {
        const now = await exclusively(state, () => takeSteps(state, { config, context }));
        if (now !== undefined) looks.set(session.id, { size: session.size, raw: now });
      } finally {
        isRunning = false;
      }
    });
  });
  on(state, "session_start", (_, context) => {
    const { auto, mode } = observeSettings(config.paths, config.settings.observe);
    if (auto && mode === "buffered") announceOnce(announced, { config, context });
  });
  on(state, "session_before_compact", (event, context) => compactionOf(state, { config, context, event }));
  on(state, "session_before_tree", (event, context) => branchSummaryOf(state, { config, context, event }));
}

/** Says once per session who observes, and what that costs at most: nobody was asked. */
function announceOnce(announced: Set<string>, { config, context }: Turn): void {
  const model = observingModelName(config, context);
  const id = context.sessionManager.getSessionId();
  if (model === undefined || announced.has(id)) return;
  announced.add(id);
  const cap = config.settings.observe.dailyBudgetUsd.toFixed(2);
  const text = `observing with ${model}, at most $${cap} a day; /obs-auto-compact off`;
  showStatus(context, text, { config, beside: "observer" });
}

/**
 * Observes what is due, reflects, and compacts when enough has come together. Returns the tokens that are raw;
 * undefined: come again soon.
 */
async function takeSteps(state: PiState, turn: Turn): Promise<number | undefined> {
  const now = await observing(state, turn);
  if (!now?.canObserve) return 0;
  const { session, memory, common } = now;
  const { paths } = turn.config;
  const backoff = readBackoff(paths, session.id);
  const raw = await rawInContext(turn.context, memory.entries);
  if (backoff && Date.now() < backoff.notBefore) return raw;
  const [{ observe }, { reflect }] = await Promise.all([
    import("../../lib/observe/observe.ts"),
    import("../../lib/observe/reflect.ts"),
  ]);
  const { entries } = memory;
  // A compaction or a command waits for the step under way, not for all that are due.
  const shouldStop = () => state.observer.waiting > 0 || state.abort.signal.aborted;
  const step = new AbortController();
  state.observer.step = step;
  const signal = AbortSignal.any([state.abort.signal, step.signal]);
  const append: typeof common.append = async (record) => {
    await common.append(record);
    await new Promise((resolve) => setTimeout(resolve)); // rules take no pause by themselves: the user types on
  };
  const outcome = await observe({
    ...common,
    append,
    signal,
    entries,
    shouldStop,
    failures: backoff?.failures,
  });
  const { failure, ledger } = outcome;
  if (failure !== undefined || backoff) {
    noteAttempt(paths, { sessionId: session.id, failure, now: Date.now() });
  }
  if (!state.abort.signal.aborted) showSteps(turn, outcome);
  if (shouldStop() || signal.aborted) return undefined;
  await reflect({ ...common, signal, ledger });
  // After a failure pi's own summary would be used, earlier than necessary.
  if (failure !== undefined || shouldStop()) return raw;
  const { isCompactionDue } = await import("../../lib/observe/render-observations.ts");
  const { context } = turn;
  // A prompt may have come while the model observed.
  if (isCompactionDue(raw, memory.settings) && context.isIdle() && !context.hasPendingMessages?.())
    context.compact({});
  return raw;
}

function showSteps(
  { context, config }: Turn,
  { failure, steps, observations, tokens, usd }: ObserveOutcome,
): void {
  if (failure === undefined && steps === 0) return;
  const cost = tokens === 0 ? "" : ` (${formatCost(usd, tokens)})`;
  const done = `${observations} observation${observations === 1 ? "" : "s"} made${cost}`;
  const remark = failure === undefined ? done : `observing failed: ${failure}`;
  showStatus(context, remark, { config, beside: "observations" });
}
