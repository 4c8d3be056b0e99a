/** What observing pi's present session needs: its conversation, its ledger, the host's model, and where records go. */

import type { Config } from "../../lib/config/config.ts";
import { LEDGER_ENTRY_TYPE } from "../../lib/observe/ledger.ts";
import type { LedgerRecord } from "../../lib/observe/observations.ts";
import type { ObserveContext } from "../../lib/observe/observe.ts";
import { compilePatterns, redact } from "../../lib/redact/redact.ts";
import type { PiContext } from "./api.ts";
import { currentSession, hostModel, type PiState } from "./state.ts";

export interface Turn {
  config: Config;
  context: PiContext;
}

/** All that observing the present session needs; undefined when it is not kept, or when nothing may observe it. */
export async function observing(state: PiState, { config, context }: Turn) {
  const session = currentSession(context);
  if (!session) return undefined;
  const [{ readSessionMemory }, { currentExclude, isKeptOut }] = await Promise.all([
    import("../../lib/observe/session-memory.ts"),
    import("../../lib/sessions/kept-out.ts"),
  ]);
  const { paths, settings } = config;
  if (isKeptOut(session, { paths, exclude: currentExclude(paths, settings.exclude) })) return undefined;
  // By pi's own leaf: where two pi work on one file, its last row may be the other's.
  const leafId = context.sessionManager.getLeafId() ?? undefined;
  const memory = readSessionMemory(session, { paths, settings, leafId });
  const patterns = compilePatterns(config.settings.redact.extra);
  const common: ObserveContext = {
    ledger: memory.ledger,
    settings: memory.settings,
    timezone: config.settings.timezone,
    redact: (text) => redact(text, patterns),
    append: (record: LedgerRecord) => state.pi.appendEntry(LEDGER_ENTRY_TYPE, record),
    complete: hostModel(state, context),
    signal: state.abort.signal,
    rowIds: true,
  };
  return { session, memory, common, canObserve: common.complete !== undefined || memory.settings.rules };
}
