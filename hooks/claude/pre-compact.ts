/**
 * Claude Code's PreCompact: observes what was said last, and says in one line that the observations follow the summary. It
 * prints no more than that, since the line becomes part of the summariser's prompt, is shown to the user and is stored. Never
 * blocks a compaction. For Codex it only observes.
 */

import { statSync } from "node:fs";
import { changedAt } from "../../lib/base/files.ts";
import { logEvent, writeFully } from "../../lib/base/output.ts";
import { loadConfig, type PathsWithRules, type Settings } from "../../lib/config/config.ts";
import { ledgerFile, observeSettings, readLedgerFile, redactLedger } from "../../lib/observe/ledger.ts";
import { observeSession } from "../../lib/observe/observe-session.ts";
import { observationsToCome } from "../../lib/observe/render-observations.ts";
import { readRules } from "../../lib/transcripts/rules.ts";
import type { Agent } from "../../lib/transcripts/session.ts";
import { sessionCleaner } from "../../lib/transcripts/transcript.ts";
import { isOfCodex, type Recorded, readRecorded, runHook } from "../hook.ts";

/** The maximum wait for the observer of the last turn, which may still be running. */
const OBSERVER_WAIT_MS = 600;
/** A larger transcript is not read before a compaction: what was observed after each turn must do. */
const READ_MAX_BYTES = 64 * 1024 * 1024;

await runHook("pre-compact", async ({ paths, env, input }) => {
  const session = readRecorded(input);
  const { settings } = await loadConfig(env, session.cwd);
  if (!observeSettings(paths, settings.observe).auto) return;
  await observeRest(session, paths, settings);
  // Codex writes its summary without us; what was observed comes back after it.
  if (isOfCodex(session.file)) return;
  const { records } = readLedgerFile(ledgerFile(paths, session.id));
  const ledger = redactLedger(records, sessionCleaner(session.file, readRules(settings)));
  const text = observationsToCome(ledger);
  if (text === undefined) return;
  const ok = writeFully(`${text}\n`);
  logEvent(paths.log, { event: "injected", ok, session: session.id, text });
});

/** Observes by rule what was said since the last step, since the retained tail is about to be summarised too. */
async function observeRest(
  { id, file, cwd }: Recorded,
  paths: PathsWithRules,
  settings: Settings,
): Promise<void> {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat || stat.size > READ_MAX_BYTES) return;
  const at = changedAt(stat);
  const agent: Agent = isOfCodex(file) ? "codex" : "claude";
  const session = { id, file, agent, cwd, size: stat.size, updatedAt: at, modifiedAt: at };
  await observeSession(session, { paths, settings, when: "all", waitMs: OBSERVER_WAIT_MS });
}
