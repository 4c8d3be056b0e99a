/** Checks that the hosts run our hooks, and that those succeed, by the event log. */

import { join } from "node:path";
import { changedAt, readIfExists, readText, statOf } from "../base/files.ts";
import { type JsonRecord, parseRecord, stringOf } from "../base/json.ts";
import { type Environment, findProgram, type Runtime } from "../base/runtime.ts";
import { truncate } from "../base/text.ts";
import type { Paths } from "../config/config.ts";
import { redact } from "../redact/redact.ts";
import { hostName } from "../transcripts/hosts.ts";
import type { Session } from "../transcripts/session.ts";
import type { Finding } from "./index-health.ts";

const DAY_MS = 24 * 3_600_000;
/** A week off is no reason for concern. */
const SILENT_DAYS = 7;

const RESTART = "restart the agent, and check that it is enabled there";
const REMEDIES: Record<Host, string> = {
  claude: RESTART,
  pi: RESTART,
  codex: "start codex, and trust the hooks of session-memory with /hooks",
};

interface HookCheck {
  log: HookLog;
  /** Newest first. */
  sessions: readonly Session[];
  paths: Pick<Paths, "transcripts" | "claude" | "pi" | "codex">;
  env: Environment;
  now: Date;
}

/** Finds hooks that fail, and hosts in whose sessions no hook runs. */
export function checkHooks({ log, sessions, paths, env, now }: HookCheck): Finding[] {
  const failures = log.runs.filter(({ failures24h }) => failures24h > 0).map(describeFailure);
  if (env.SESSION_MEMORY_DISABLE === "1") {
    const what = "hooks are switched off by SESSION_MEMORY_DISABLE";
    return [...failures, { level: "info", what, remedy: "unset it to switch them on" }];
  }
  // Transcripts given by path say nothing about the hosts on this machine.
  if (paths.transcripts.length > 0) return failures;
  return [...failures, ...HOSTS.flatMap((host) => checkHost(host, { log, sessions, paths, env, now }))];
}

function checkHost(host: Host, { log, sessions, paths, env, now }: HookCheck): Finding[] {
  const newest = sessions.find(({ agent, machine }) => agent === host && machine === undefined)?.updatedAt;
  if (newest === undefined) return [];
  const last = log.lastBy.get(host);
  if (last === undefined) {
    const what = `no hook has run in ${hostName(host)} yet`;
    const installed = installedAt(host, paths);
    // Codex is a program and nothing else: sessions without it are of another time or machine.
    if (installed === undefined && host === "codex" && !findProgram("codex", env))
      return [{ level: "info", what, remedy: "nothing to do: codex is not on PATH" }];
    if (installed !== undefined && newest <= installed)
      return [{ level: "info", what, remedy: "it is installed: take a turn" }];
    const remedy = installed === undefined ? "run session-memory setup, then take a turn" : REMEDIES[host];
    return [{ level: "warning", what, remedy }];
  }
  const isSilent = [Date.parse(newest), now.getTime()].every(
    (at) => at - Date.parse(last) > SILENT_DAYS * DAY_MS,
  );
  if (!isSilent) return [];
  const what = `no hook has run in ${hostName(host)} since ${last.slice(0, 10)}, though there are newer sessions`;
  return [{ level: "warning", what, remedy: "check that the plugin or extension is installed and enabled" }];
}

/** Returns when a host last recorded its installed plugins; undefined where that record does not name us. */
function installedAt(
  host: Host,
  { claude, pi, codex }: Pick<Paths, "claude" | "pi" | "codex">,
): string | undefined {
  const record = {
    claude: join(claude, "plugins", "installed_plugins.json"),
    pi: join(pi, "settings.json"),
    codex: join(codex, "config.toml"),
  }[host];
  const stat = statOf(record);
  return stat && readText(record).includes("session-memory") ? changedAt(stat) : undefined;
}

function describeFailure({ event, failures24h, lastError }: HookRuns): Finding {
  return {
    level: "warning",
    what: `${event} failed ${failures24h === 1 ? "once" : `${failures24h} times`} within a day: ${lastError}`,
    remedy: "see log.ndjson in the state folder",
  };
}

/** Finds that hooks cannot start, or start slower than they need to. */
export function checkRuntime(runtime: Runtime | undefined): Finding[] {
  if (runtime?.name === "bun") return [];
  const remedy = "install Bun, or put it on the PATH of the shell that starts the agent";
  if (runtime)
    return [{ level: "info", what: `found no Bun: hooks start on ${runtime.name}, slower`, remedy }];
  return [{ level: "warning", what: "found neither Bun nor Node 22.18: hooks do nothing", remedy }];
}

/** The hosts that call our hooks. */
const HOSTS = ["claude", "pi", "codex"] as const;
type Host = (typeof HOSTS)[number];

export interface HookRuns {
  event: string;
  lastRun: string;
  failures24h: number;
  /** The last failure of these 24 hours. */
  lastError: string | undefined;
}

interface HookLog {
  /** The event that ran last first. */
  runs: HookRuns[];
  /** When each host last ran a hook. */
  lastBy: ReadonlyMap<Host, string>;
}

/** Events written only by a hook or by a process that a hook started: a script run by hand proves nothing. */
const OF_HOOKS = /^(?:hook\.|background\.|injected$|activity$|title$)/;
/** The first lines of an error say what it is; the log has the rest. */
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
      for (const host of findHosts(event, stringOf(row.source) ?? agent)) {
        if (at > (lastBy.get(host) ?? "")) lastBy.set(host, at);
      }
    }
  }
  return { runs: [...runs.values()].sort((a, b) => (a.lastRun < b.lastRun ? 1 : -1)), lastBy };
}

/** Returns the hosts that may have run a hook: all of them when the line names none. */
function findHosts(event: string, agent: string | undefined): readonly Host[] {
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
