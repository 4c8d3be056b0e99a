/** What hooks and background work wrote into the event log: when each ran last, and what failed since yesterday. */

import { readIfExists } from "../base/files.ts";
import { parseRecord, stringOf } from "../base/json.ts";
import { redact } from "../redact/redact.ts";

export interface HookRuns {
  event: string;
  lastRun: string;
  failures24h: number;
  /** The last failure of these 24 hours. */
  lastError: string | undefined;
}

const DAY_MS = 24 * 3_600_000;
const OF_HOOKS = /^(?:hook\.|background\.|injected$|activity$|embed$)/;
const ERROR_CHARS = 300;

/** Reads the log and the one before it, the event that ran last first. */
export function readHookRuns(log: string, now: Date): HookRuns[] {
  const runs = new Map<string, HookRuns>();
  for (const text of [readIfExists(`${log}.1`), readIfExists(log)]) {
    for (const line of text?.split("\n") ?? []) addLine(runs, line, now);
  }
  return [...runs.values()].sort((a, b) => (a.lastRun < b.lastRun ? 1 : -1));
}

function addLine(runs: Map<string, HookRuns>, line: string, now: Date): void {
  const row = parseRecord(line);
  const event = stringOf(row?.event);
  const at = stringOf(row?.at);
  if (!row || !event || !at || !OF_HOOKS.test(event)) return;
  const name = event.replace(/^hook\./, "");
  const known = runs.get(name) ?? { event: name, lastRun: at, failures24h: 0, lastError: undefined };
  if (at > known.lastRun) known.lastRun = at;
  if (row.ok === false && now.getTime() - Date.parse(at) < DAY_MS) {
    known.failures24h++;
    known.lastError = redact(stringOf(row.error) ?? stringOf(row.problem) ?? "unknown").slice(0, ERROR_CHARS);
  }
  runs.set(name, known);
}
