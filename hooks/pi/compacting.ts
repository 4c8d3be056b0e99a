/** Replaces history in pi: with the rendered observations as compaction or branch summary, or leaves it to pi. */

import { arrayOf, isRecord, numberOf, recordOf, stringOf } from "../../lib/base/json.ts";
import { observeSettings } from "../../lib/observe/observe-state.ts";
import type { PiEvent } from "./api.ts";
import { observing, type Turn } from "./observing.ts";
import { exclusively, type PiState } from "./state.ts";
import { showStatus } from "./status.ts";

type Compacting = Turn & { event: PiEvent };

/** Returns our compaction; undefined leaves it to pi. */
export async function compactionOf(state: PiState, turn: Compacting) {
  const preparation = recordOf(turn.event.preparation);
  const { messagesToSummarize, turnPrefixMessages } = preparation;
  const firstKeptEntryId = stringOf(preparation.firstKeptEntryId);
  const tokensBefore = numberOf(preparation.tokensBefore);
  const replaced = arrayOf(messagesToSummarize).length + arrayOf(turnPrefixMessages).length;
  if (firstKeptEntryId === undefined || tokensBefore === undefined || replaced === 0) return undefined;
  const branch = turn.event.branchEntries ?? turn.context.sessionManager.getBranch();
  const first = branch.findIndex(({ id }) => id === firstKeptEntryId);
  if (first === -1 || !(await isOurs(branch))) return undefined;
  const made = await summaryOf(state, turn, {
    keptIds: new Set(branch.slice(first).map(({ id }) => id)),
    previousSummary: stringOf(preparation.previousSummary),
  });
  if (!made) return undefined;
  return { compaction: { summary: made.summary, firstKeptEntryId, tokensBefore, details: made.details } };
}

/** Returns our summary of an abandoned branch; undefined leaves it to pi. */
export async function branchSummaryOf(state: PiState, turn: Compacting) {
  const preparation = recordOf(turn.event.preparation);
  if (preparation.userWantsSummary !== true) return undefined;
  const left = new Set(
    arrayOf(preparation.entriesToSummarize).map((entry) => (isRecord(entry) ? entry.id : undefined)),
  );
  if (left.size === 0) return undefined;
  const made = await summaryOf(state, turn, { leftIds: left });
  return made && { summary: { summary: made.summary, details: made.details } };
}

/** Returns whether the last compaction's details are of a version that we know; a later one's are left alone. */
async function isOurs(branch: readonly { type?: string; details?: unknown }[]): Promise<boolean> {
  const { COMPACTION_SCHEMA_VERSION } = await import("../../lib/observe/render-observations.ts");
  const last = branch.findLast(({ type }) => type === "compaction");
  const version = numberOf(recordOf(last?.details).schemaVersion);
  return version === undefined || version <= COMPACTION_SCHEMA_VERSION;
}

interface Replaced {
  keptIds?: ReadonlySet<string>;
  leftIds?: ReadonlySet<unknown>;
  previousSummary?: string | undefined;
}

/**
 * The observations in place of what is replaced. Waits at most `observe.timeoutMs`: half of it for a step under way,
 * the rest for what is not observed yet.
 */
async function summaryOf(state: PiState, turn: Compacting, { leftIds, ...replaced }: Replaced) {
  const { config, context, event } = turn;
  const { timeoutMs } = observeSettings(config.paths, config.settings.observe);
  const end = Date.now() + timeoutMs;
  const stopStep = setTimeout(() => state.observer.step?.abort(), timeoutMs / 2);
  const say = (text: string) => showStatus(context, text, { config, beside: "compaction" });
  if (state.observer.waiting > 0 || state.pending.size > 0) say("compaction: waiting for the observer");
  const work = async () => {
    clearTimeout(stopStep);
    const now = await observing(state, turn);
    const start = leftIds && now?.memory.entries.find(({ id }) => leftIds.has(id));
    if (!now || (leftIds && !start)) return undefined;
    const { compactionSummary } = await import("../../lib/observe/render-observations.ts");
    return await compactionSummary({
      ...now.common,
      ...replaced,
      signal: event.signal,
      timeoutMs: Math.max(1, end - Date.now()),
      entries: now.memory.entries,
      afterLine: start ? start.line - 1 : undefined,
      onGap: () => say("compaction: observing what is left"),
    });
  };
  try {
    return await exclusively(state, work, event.signal);
  } finally {
    clearTimeout(stopStep);
  }
}
