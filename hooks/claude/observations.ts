/** A Claude Code session's observations as its compaction hooks hand them out. */

import { join } from "node:path";
import { observationsAfterCompaction } from "../../lib/compaction.ts";
import type { Paths } from "../../lib/config.ts";
import { ledgerFile, readLedgerFile } from "../../lib/ledger.ts";
import { bunFlags } from "../../lib/runtime.ts";
import type { HookCall } from "./hook.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** What to tell the model after a compaction, and how it can look up more; undefined when nothing was observed. */
export function observationsOf({
  paths,
  session,
  maxChars,
}: {
  paths: Paths;
  session: HookCall["session"];
  maxChars: number;
}): string | undefined {
  const { records } = readLedgerFile(ledgerFile(paths, session.id));
  const run = (script: string) =>
    ["bun", ...bunFlags(ROOT), join(ROOT, "scripts", script), session.id].join(" ");
  const lookUp = [
    "The rows before the compaction are still in the transcript. To see what an observation stands on:",
    `${run("observe-compact.ts")} --recall <id in brackets>`,
    "To read on around a line of it:",
    `${run("session-reader.ts")} --line <line> --around 10`,
  ].join("\n");
  return observationsAfterCompaction(records, { maxChars, lookUp });
}
