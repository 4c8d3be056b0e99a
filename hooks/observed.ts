/** Gives back after a compaction what was observed of the session, and says how to look up more. */

import type { Viewer } from "../lib/activity/look.ts";
import { ownCommand } from "../lib/base/runtime.ts";
import { quoted } from "../lib/base/text.ts";
import type { Paths, Settings } from "../lib/config/config.ts";
import { ledgerFile, readLedgerFile, redactLedger } from "../lib/observe/ledger.ts";
import { observationsAfterCompaction } from "../lib/observe/render-observations.ts";
import { readRules } from "../lib/transcripts/rules.ts";
import { sessionCleaner } from "../lib/transcripts/transcript.ts";

/** Claude Code takes 10,000 and shows the model a file's name in place of more; a host's own summary comes with it. */
const CONTEXT_MAX_CHARS = 8000;

/** Returns what was observed before the compaction, with the commands to look up more; undefined without observations. */
export function describeObserved(
  { id, file }: Pick<Viewer, "id" | "file">,
  paths: Paths,
  settings: Pick<Settings, "redact" | "exclude">,
): string | undefined {
  const run = (name: string) => [...ownCommand(name), id].map(quoted).join(" ");
  const lookUp = [
    "The rows before the compaction are still in the transcript. To see the source of an observation:",
    `${run("observe-compact")} --recall <id in brackets>`,
    "To read on around a line of it:",
    `${run("session-reader")} --line <line> --around 10`,
  ].join("\n");
  const { records } = readLedgerFile(ledgerFile(paths, id));
  const ledger = redactLedger(records, sessionCleaner(file, readRules(settings)));
  return observationsAfterCompaction(ledger, { maxChars: CONTEXT_MAX_CHARS, lookUp });
}
