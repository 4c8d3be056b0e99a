/** Reads hook runs from the event log: when each event last ran, what failed since yesterday, and when each host ran one. */

import { readIfExists } from "../base/files.ts";
import { type JsonRecord, parseRecord, stringOf } from "../base/json.ts";
import { truncate } from "../base/text.ts";
import { redact } from "../redact/redact.ts";
import type { Session } from "../transcripts/session.ts";

/** The hosts that call our hooks. */
export const HOSTS = ["claude", "pi"] as const;
export type Host = (typeof HOSTS)[number];

export interface HookRuns {
  event: string;
  lastRun: string;
  failures24h: number;
  /** The last failure of these 24 hours. */
  lastError: string | undefined;
}

export interface HookLog {
  /** The event that ran last first. */
  runs: HookRuns[];
  /** When each host last ran a hook. */
  lastBy: ReadonlyMap<Host, string>;
}

const DAY_MS = 24 * 3_600_000;
/** Events written only by a hook or by a process that a hook started: a script run by hand proves nothing. */
const OF_HOOKS = /^(?:hook\.|background\.|injected$|activity$|title$)/;
const ERROR_CHARS = 300;

/** Reads the log and the one before it. */
export function readHookLog(log: string, sessions: readonly Session[], now: Date): HookLog {
  const runs = new Map<string, HookRuns>();
  const lastBy = new Map<Host, string>();
  const agents = new Map(sessions.map(({ id, agent }) => [id, agent]));
  for (const text of [readIfExists(`${log}.1`), readIfExists(log)]) {
    for (const line of text?.split("\n") ?? []) {
      const row = parseRecord(line);
      const [event, at] = [stringOf(row?.event), stringOf(row?.at)];
      if (!row || !event || !at || !OF_HOOKS.test(event)) continue;
      addRun(runs, { event, at, row }, now);
      const agent = agents.get(stringOf(row.session) ?? "");
      for (const host of hostsOf(event, stringOf(row.source) ?? agent)) {
        if (at > (lastBy.get(host) ?? "")) lastBy.set(host, at);
      }
    }
  }
  return { runs: [...runs.values()].sort((a, b) => (a.lastRun < b.lastRun ? 1 : -1)), lastBy };
}

/** Returns the hosts that may have run a hook: all of them when the line names none. */
function hostsOf(event: string, agent: string | undefined): readonly Host[] {
  if (event.startsWith("hook.pi.")) return ["pi"];
  if (event.startsWith("hook.")) return ["claude"];
  const host = HOSTS.find((name) => name === agent);
  return host ? [host] : HOSTS;
}

function addRun(
  runs: Map<string, HookRuns>,
  { event, at, row }: { event: string; at: string; row: JsonRecord },
  now: Date,
): void {
  const name = event.replace(/^hook\./, "");
  const known = runs.get(name) ?? { event: name, lastRun: at, failures24h: 0, lastError: undefined };
  if (at > known.lastRun) known.lastRun = at;
  if (row.ok === false && now.getTime() - Date.parse(at) < DAY_MS) {
    known.failures24h++;
    const error = stringOf(row.error) ?? stringOf(row.problem) ?? "unknown";
    known.lastError = truncate(redact(error), ERROR_CHARS);
  }
  runs.set(name, known);
}
