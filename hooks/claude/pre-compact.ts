/**
 * Claude Code's PreCompact: its plain output is added to the summariser's prompt, so it says what the summary must keep.
 * It never blocks a compaction.
 */

import { statSync } from "node:fs";
import { observationsToKeep } from "../../lib/compaction.ts";
import { loadConfig } from "../../lib/config.ts";
import { handOver } from "../../lib/hand-over.ts";
import { ledgerFile, readLedgerFile } from "../../lib/ledger.ts";
import { observeSession } from "../../lib/observe-session.ts";
import { type HookCall, runHook } from "./hook.ts";

/** The client cuts what is longer. */
const OUTPUT_MAX_CHARS = 10_000;
/** A larger transcript is not read before a compaction: what was observed after its turns must do. */
const READ_MAX_BYTES = 64 * 1024 * 1024;

await runHook("pre-compact", async (call) => {
  await catchUp(call);
  const { records } = readLedgerFile(ledgerFile(call.paths, call.session.id));
  const text = observationsToKeep(records, { maxChars: OUTPUT_MAX_CHARS });
  if (text !== undefined) handOver(`${text}\n`);
});

/** Observes by rule what was said since the last step: the retained tail is about to be summarised too. */
async function catchUp({ paths, env, session: { id, file, cwd } }: HookCall): Promise<void> {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat || stat.size > READ_MAX_BYTES) return;
  const { settings } = await loadConfig(env, cwd);
  const session = {
    id,
    file,
    agent: "claude" as const,
    cwd,
    size: stat.size,
    updatedAt: stat.mtime.toISOString(),
  };
  await observeSession(session, { paths, settings, when: "all" });
}
