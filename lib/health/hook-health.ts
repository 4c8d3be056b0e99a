/** Checks that the hosts run our hooks, and that those succeed. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { changedAt, statOf, textOf } from "../base/files.ts";
import type { Runtime } from "../base/runtime.ts";
import type { Environment, Paths } from "../config/config.ts";
import type { Session } from "../transcripts/session.ts";
import type { Finding } from "./finding.ts";
import { HOSTS, type HookLog, type HookRuns, type Host } from "./hook-log.ts";

const DAY_MS = 24 * 3_600_000;
const SILENT_DAYS = 7;
const HOST_NAMES: Record<Host, string> = { claude: "Claude Code", pi: "pi" };

interface HookCheck {
  log: HookLog;
  /** Newest first. */
  sessions: readonly Session[];
  paths: Pick<Paths, "transcripts" | "claude" | "pi">;
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
  return [...failures, ...HOSTS.flatMap((host) => checkHost(host, { log, sessions, paths, now }))];
}

function checkHost(
  host: Host,
  { log, sessions, paths, now }: Pick<HookCheck, "log" | "sessions" | "paths" | "now">,
): Finding[] {
  const newest = sessions.find(({ agent, machine }) => agent === host && machine === undefined)?.updatedAt;
  if (newest === undefined) return [];
  const last = log.lastBy.get(host);
  if (last === undefined) {
    const what = `no hook has run in ${HOST_NAMES[host]} yet`;
    const installed = installedAt(host, paths);
    if (installed === undefined)
      return [{ level: "warning", what, remedy: "run bun scripts/setup.ts, then take a turn" }];
    if (newest <= installed) return [{ level: "info", what, remedy: "it is installed: take a turn" }];
    return [{ level: "warning", what, remedy: "restart the agent, and check that it is enabled there" }];
  }
  const isSilent = [Date.parse(newest), now.getTime()].every(
    (at) => at - Date.parse(last) > SILENT_DAYS * DAY_MS,
  );
  if (!isSilent) return [];
  const what = `no hook has run in ${HOST_NAMES[host]} since ${last.slice(0, 10)}, though there are newer sessions`;
  return [{ level: "warning", what, remedy: "check that the plugin or extension is installed and enabled" }];
}

/** When a host's own record of what is installed in it was last written; undefined where that does not name us. */
function installedAt(host: Host, { claude, pi }: Pick<Paths, "claude" | "pi">): string | undefined {
  const record =
    host === "claude" ? join(claude, "plugins", "installed_plugins.json") : join(pi, "settings.json");
  const stat = statOf(record);
  return stat && textOf(record).includes("session-memory") ? changedAt(stat) : undefined;
}

function describeFailure({ event, failures24h, lastError }: HookRuns): Finding {
  return {
    level: "warning",
    what: `${event} failed ${failures24h === 1 ? "once" : `${failures24h} times`} within a day: ${lastError}`,
    remedy: "see log.ndjson in the state folder",
  };
}

/** Finds that Claude Code's hooks cannot start, or start slower than they need to, as hooks/claude/run.sh looks for Bun. */
export function checkRuntime(runtime: Runtime | undefined, env: Environment): Finding[] {
  const folders = (env.PATH ?? "").split(delimiter).filter(Boolean);
  if (env.HOME) folders.push(join(env.HOME, ".bun", "bin"));
  const names = process.platform === "win32" ? ["bun.exe", "bun.cmd"] : ["bun"];
  if (folders.some((folder) => names.some((name) => existsSync(join(folder, name))))) return [];
  const remedy = "install Bun, or put it on the PATH of the shell that starts the agent";
  if (runtime?.name === "node")
    return [{ level: "info", what: "Bun is not on PATH: Claude Code's hooks start on Node, slower", remedy }];
  return [{ level: "warning", what: "Bun is not on PATH: Claude Code cannot start the hooks", remedy }];
}
