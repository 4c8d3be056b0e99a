/** What a host that lets us summarise is given when it compacts: observations in the place of history (pi). */

import type { CompleteJson } from "../model/answers.ts";
import type { Entry } from "../transcripts/session.ts";
import { foldLedger, type Ledger } from "./observations.ts";
import { type ObserveContext, type ObserveSettings, observe } from "./observe.ts";
import { uncovered } from "./observe-step.ts";
import { filesIn, renderObservations } from "./render-observations.ts";

/** Grows when `details` changes its meaning. */
export const COMPACTION_SCHEMA_VERSION = 1;

/** In buffered mode a backlog of more steps than this is not waited for: the host summarises itself. */
const GAP_STEPS_MAX = 6;

interface CompactionOptions extends ObserveContext {
  /** The whole conversation with tool results. */
  entries: readonly Entry[];
  /** Ids of the rows that stay raw: those from `firstKeptEntryId` on. */
  keptIds?: ReadonlySet<string> | undefined;
  /** Only lines after this one: an abandoned branch, from its fork. */
  afterLine?: number | undefined;
  /** The summary before this one: the files it names are carried on. */
  previousSummary?: string | undefined;
  /** How long the host is kept waiting for a model. @default no limit */
  timeoutMs?: number | undefined;
  /** Called when something is still to be observed. */
  onGap?: (() => void) | undefined;
}

interface CompactionSummary {
  summary: string;
  ledger: Ledger;
  details: {
    schemaVersion: number;
    readFiles: string[];
    modifiedFiles: string[];
    observations: number;
    coversTo: number;
  };
}

/**
 * The observations that stand in for everything but the kept rows; undefined when they do not cover it, or there are
 * none: then the host's own summary is better.
 *
 * In buffered mode the steps have run before, and this only renders. What is still uncovered is observed now, by the
 * model, or by rule when `settings.rules` allows it.
 */
export async function compactionSummary(options: CompactionOptions): Promise<CompactionSummary | undefined> {
  const { entries, keptIds, afterLine = 0, settings, previousSummary = "" } = options;
  const firstKept = keptIds && entries.find(({ id }) => id !== undefined && keptIds.has(id));
  if (keptIds && !firstKept) return undefined; // what was read is not the conversation that the host compacts
  const beforeLine = firstKept?.line ?? Number.POSITIVE_INFINITY;
  const replaced = entries.filter(({ line }) => line > afterLine && line < beforeLine);
  let { ledger } = options;
  const hasGap = () => uncovered(replaced, foldLedger(ledger)).length > 0;
  const close = async (complete: ObserveContext["complete"], maxSteps?: number) => {
    const part = { ...options, ledger, complete, when: "all" as const, beforeLine, afterLine, maxSteps };
    ledger = (await observe(part)).ledger;
  };
  const limit = options.timeoutMs === undefined ? undefined : AbortSignal.timeout(options.timeoutMs);
  // A late record may describe a branch that was abandoned meanwhile: it must not count for this one.
  await close(undefined, 0);
  if (hasGap() && options.complete) {
    options.onGap?.();
    const complete = limit ? within(options.complete, limit) : options.complete;
    await close(complete, settings.mode === "blocking" ? undefined : GAP_STEPS_MAX);
  }
  // A model that hangs would hang the host's own summary too: what it observed before, and rules for the rest.
  const isCutShort = limit?.aborted === true && foldLedger(ledger).observations.length > 0;
  if (hasGap() && (settings.rules || isCutShort)) await close(undefined);
  if (hasGap() || options.signal?.aborted) return undefined;
  const summary = renderObservations(ledger, {
    earlier: filesIn(previousSummary),
    ...(afterLine > 0 ? { afterLine } : {}),
  });
  if (summary === undefined) return undefined;
  const files = filesIn(summary);
  const memory = foldLedger(ledger);
  return {
    summary,
    ledger,
    details: {
      schemaVersion: COMPACTION_SCHEMA_VERSION,
      readFiles: files.read,
      modifiedFiles: files.modified,
      observations: memory.observations.length,
      coversTo: memory.coversTo,
    },
  };
}

/** Returns a model that is asked within a limit. */
function within(complete: CompleteJson, limit: AbortSignal): CompleteJson {
  return (request) => {
    const signal = request.signal ? AbortSignal.any([request.signal, limit]) : limit;
    return complete({ ...request, signal });
  };
}

/** Returns whether a host should compact early: the raw part has reached observer plus retained tail. */
export function isCompactionDue(rawTokens: number, settings: ObserveSettings): boolean {
  const { auto, mode, observerTokens, retainTokens } = settings;
  return auto && mode === "buffered" && rawTokens >= observerTokens + retainTokens;
}
