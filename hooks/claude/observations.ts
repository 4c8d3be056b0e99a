/** Renders a Claude Code session's observations for its compaction hooks. */

import { ownCommand } from "../../lib/base/runtime.ts";
import type { Paths, Settings } from "../../lib/config/config.ts";
import { ledgerFile, readLedgerFile, redactLedger } from "../../lib/observe/ledger.ts";
import { observationsAfterCompaction } from "../../lib/observe/render-observations.ts";
import type { HookCall } from "./hook.ts";

/** Returns what the model gets after a compaction, with the commands to look up more; undefined without observations. */
export function observationsOf({
  paths,
  settings,
  session,
  maxChars,
}: {
  paths: Paths;
  settings: Pick<Settings, "redact">;
  session: HookCall["session"];
  maxChars: number;
}): string | undefined {
  const { records } = readLedgerFile(ledgerFile(paths, session.id));
  const run = (script: string) => [...ownCommand(`scripts/${script}`), session.id].join(" ");
  const lookUp = [
    "The rows before the compaction are still in the transcript. To see what an observation stands on:",
    `${run("observe-compact.ts")} --recall <id in brackets>`,
    "To read on around a line of it:",
    `${run("session-reader.ts")} --line <line> --around 10`,
  ].join("\n");
  const ledger = redactLedger(records, settings.redact.extra);
  return observationsAfterCompaction(ledger, { maxChars, lookUp });
}
