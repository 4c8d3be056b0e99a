/**
 * Claude Code's PreCompact: its plain output becomes part of the summariser's prompt, so it lists what the summary must
 * keep. It never blocks a compaction.
 */

import { statSync } from "node:fs";
import { changedAt } from "../../lib/base/files.ts";
import { writeFully } from "../../lib/base/output.ts";
import { loadConfig, type Settings } from "../../lib/config/config.ts";
import { ledgerFile, readLedgerFile, redactLedger } from "../../lib/observe/ledger.ts";
import { observeSession } from "../../lib/observe/observe-session.ts";
import { observeSettings } from "../../lib/observe/observe-state.ts";
import { observationsToKeep } from "../../lib/observe/render-observations.ts";
import { type HookCall, runHook } from "./hook.ts";

/** The client truncates longer output. */
const OUTPUT_MAX_CHARS = 10_000;
/** The maximum wait for the observer of the last turn, which may still be running. */
const OBSERVER_WAIT_MS = 600;
/** A larger transcript is not read before a compaction: what was observed after each turn has to do. */
const READ_MAX_BYTES = 64 * 1024 * 1024;

await runHook("pre-compact", async (call) => {
  const { settings } = await loadConfig(call.env, call.session.cwd);
  if (!observeSettings(call.paths, settings.observe).auto) return;
  await catchUp(call, settings);
  const { records } = readLedgerFile(ledgerFile(call.paths, call.session.id));
  const ledger = redactLedger(records, settings.redact.extra);
  const text = observationsToKeep(ledger, { maxChars: OUTPUT_MAX_CHARS });
  if (text !== undefined) writeFully(`${text}\n`);
});

/** Observes by rule what was said since the last step, since the retained tail is about to be summarised too. */
async function catchUp({ paths, session: { id, file, cwd } }: HookCall, settings: Settings): Promise<void> {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat || stat.size > READ_MAX_BYTES) return;
  const session = {
    id,
    file,
    agent: "claude" as const,
    cwd,
    size: stat.size,
    updatedAt: changedAt(stat),
    modifiedAt: changedAt(stat),
  };
  await observeSession(session, { paths, settings, when: "all", waitMs: OBSERVER_WAIT_MS });
}
