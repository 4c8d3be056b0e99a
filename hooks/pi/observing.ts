/** Gathers the parts to observe pi's present session: its conversation, ledger, the host's model, the record writer. */

import type { Config } from "../../lib/config/config.ts";
import { LEDGER_ENTRY_TYPE } from "../../lib/observe/ledger.ts";
import type { LedgerRecord } from "../../lib/observe/observations.ts";
import type { ObserveContext } from "../../lib/observe/observe.ts";
import { redactor } from "../../lib/redact/redact.ts";
import type { PiContext } from "./api.ts";
import { observingModel } from "./models.ts";
import { currentSession, type PiState } from "./state.ts";

export interface Turn {
  config: Config;
  context: PiContext;
}

/** Returns all that observing the present session needs; undefined when it is not kept, or when nothing may observe it. */
export async function observing(state: PiState, { config, context }: Turn) {
  const session = currentSession(context);
  if (!session) return undefined;
  const [{ readSessionMemory }, { currentExclude, isExcluded }] = await Promise.all([
    import("../../lib/observe/session-memory.ts"),
    import("../../lib/sessions/unlisted.ts"),
  ]);
  const { paths, settings } = config;
  if (isExcluded(session, { paths, exclude: currentExclude(paths, settings.exclude) })) return undefined;
  // By pi's own leaf: where two pi work on one file, its last row may be the other's.
  const leafId = context.sessionManager.getLeafId() ?? undefined;
  const memory = readSessionMemory(session, { paths, settings, leafId });
  const common: ObserveContext = {
    ledger: memory.ledger,
    settings: memory.settings,
    timezone: config.settings.timezone,
    redact: redactor(config.settings.redact.extra),
    append: (record: LedgerRecord) => state.pi.appendEntry(LEDGER_ENTRY_TYPE, record),
    complete: observingModel(config, context),
    signal: state.abort.signal,
    rowIds: true,
  };
  return { session, memory, common, canObserve: common.complete !== undefined || memory.settings.rules };
}

/** Returns tokens of the rows that the model sees as they are: the tail that the last compaction kept, and all since. */
export async function rawInContext(
  { sessionManager }: PiContext,
  entries: Parameters<typeof import("../../lib/observe/observe-step.ts").rawTokens>[0],
): Promise<number> {
  const { rawTokens } = await import("../../lib/observe/observe-step.ts");
  const branch = sessionManager.getBranch();
  const kept = branch.findLast(({ type }) => type === "compaction")?.firstKeptEntryId;
  const rows = branch.slice(
    Math.max(
      0,
      branch.findIndex(({ id }) => id === kept),
    ),
  );
  const ids = new Set(rows.map(({ id }) => id));
  return rawTokens(entries.filter(({ kind, id }) => kind !== "summary" && (id === undefined || ids.has(id))));
}
