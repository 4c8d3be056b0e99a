/** Reads from the log when hooks ran, and finds failing ones, and hosts in whose sessions none runs. */

import { dirname, join, resolve } from "node:path";
import { changedAt, isDirectory, readIfExists, readText, resolveRealPath, statPath } from "../base/files.ts";
import { type Finding, info, warning } from "../base/findings.ts";
import { type JsonRecord, parseRecord, stringOf } from "../base/json.ts";
import { findProgram, ROOT, trustedPath } from "../base/runtime.ts";
import { truncate } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { Config, Paths } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS, listMoments } from "../hosts/hosts.ts";
import type { Agent, Session } from "../hosts/session.ts";

/** The runs of an event's hook. */
export interface HookRuns {
  event: string;
  lastRun: string;
  failures24h: number;
  /** The last failure of these 24 hours. */
  lastError?: string;
  /** Runs after it that went well. */
  goodSince: number;
}

interface HookLog {
  /** The event that ran last first. */
  runs: HookRuns[];
  /** The time of each host's last hook. */
  lastBy: ReadonlyMap<Agent, string>;
}

/** The environment and folder in which a program of a host would be started. */
interface HostPlace extends Pick<Config, "env" | "cwd"> {
  paths: Pick<Paths, "expand">;
}

interface HookCheck extends HostPlace {
  log: HookLog;
  /** Newest first. */
  sessions: readonly Session[];
  paths: Pick<Paths, "expand" | "transcripts" | "config">;
  now: Date;
  /** True if config.json can be used: what it broke is mended then. */
  isConfigFine: boolean;
}

/** The hosts that call our hooks. */
const HOOKED = HOSTS.filter((host) => listMoments(host).length > 0);
/** Events written only by a hook or by a process that a hook started: a script run by hand proves nothing. */
const OF_HOOKS = /^(?:hook\.|background\.|injected$|activity$)/;
/** The first lines of an error say what it is; the log has the rest. */
const ERROR_CHARS = 300;
/** A week off does not matter. */
const SILENT_DAYS = 7;

export function* checkHooks(check: HookCheck): Generator<Finding> {
  const { log, paths, env, isConfigFine } = check;
  for (const { event, failures24h, lastError, goodSince } of log.runs) {
    const isMended =
      goodSince >= failures24h || (isConfigFine && lastError?.includes(`Cannot use "${paths.config}"`));
    if (failures24h === 0 || isMended) continue;
    const times = failures24h === 1 ? "once" : `${failures24h} times`;
    yield warning(
      `${event} failed ${times} within a day: ${lastError}`,
      "see log.ndjson in the state folder",
    );
  }
  if (env.SESSION_MEMORY_DISABLE === "1")
    yield info("hooks are switched off by SESSION_MEMORY_DISABLE", "unset it to switch them on");
  // Transcripts given by path say nothing about the hosts on this machine.
  else if (paths.transcripts.length === 0) for (const host of HOOKED) yield* checkHost(host, check);
}

function* checkHost(host: Host, { log, sessions, now, ...place }: HookCheck): Generator<Finding> {
  const { agent, name, hooks } = host;
  const newest = sessions.find(
    (session) => session.agent === agent && session.machine === undefined,
  )?.updatedAt;
  const last = log.lastBy.get(agent);
  const silence = Math.min(Date.parse(newest ?? ""), now.getTime()) - Date.parse(last ?? "");
  if (newest === undefined || silence <= SILENT_DAYS * DAY_MS) return;
  const since = last === undefined ? "yet" : `since ${last.slice(0, 10)}, though there are newer sessions`;
  const installed = installedAt(host, place);
  // Fine if the program is not on the PATH, or if its sessions are older than our installation.
  const onPath = isOnPath(host, place);
  const isFine = installed === undefined ? !onPath : newest <= installed;
  const found = isFine && last === undefined ? info : warning;
  yield found(
    `no hook has run in ${name} ${since}`,
    installed
      ? `restart ${agent}, and ${hooks?.remedy ?? `check that its ${hooks ? "hooks" : "plugins"} are on`}`
      : `${onPath ? "" : `put ${host.program} on PATH, `}run session-memory setup, then take a turn`,
  );
}

/** Returns whether a host has a home here, and its program or a plugin of ours. */
export function isHere(host: Host, place: HostPlace): boolean {
  if (!isDirectory(place.paths.expand(host.home))) return false;
  return isOnPath(host, place) || installedAt(host, place) !== undefined;
}

function isOnPath({ program }: Host, place: HostPlace): boolean {
  return findProgram(program, trustedPath(place)) !== undefined;
}

/** Returns when a host last recorded its installed plugins; undefined where that record does not name us. */
function installedAt({ home, hooks, plugin }: Host, { paths: { expand } }: HostPlace): string | undefined {
  const record = plugin === undefined ? join(expand(home), hooks?.installedIn ?? "") : expand(plugin);
  const stat = statPath(record);
  return stat && isNamedIn(readText(record), dirname(record)) ? changedAt(stat) : undefined;
}

/** Returns whether a host's record names us, or our folder, whatever that is called. */
function isNamedIn(record: string, folder: string): boolean {
  if (record.includes("session-memory")) return true;
  const own = resolveRealPath(ROOT);
  return Array.from(record.matchAll(/"([^"\n]*\/[^"\n]*)"/g)).some(
    ([, path = ""]) => resolveRealPath(resolve(folder, path)) === own,
  );
}

/** Reads the log and the one before it. */
export function readHookLog(log: string, sessions: readonly Session[], now: Date): HookLog {
  const runs = new Map<string, HookRuns>();
  const lastBy = new Map<Agent, string>();
  const agents = new Map(sessions.map(({ id, agent }) => [id, agent]));
  const lines = [`${log}.1`, log].flatMap((file) => readIfExists(file)?.split("\n") ?? []);
  for (const line of lines) {
    const row = parseRecord(line);
    const [event, at] = [stringOf(row?.event), stringOf(row?.at)];
    if (!row || !event || !at || !OF_HOOKS.test(event)) continue;
    const name = event.replace(/^hook\./, "");
    const run = runs.get(name) ?? { event: name, lastRun: at, failures24h: 0, goodSince: 0 };
    runs.set(name, run);
    addRun(run, { at, row, now });
    const agent = stringOf(row.source) ?? agents.get(stringOf(row.session) ?? "");
    for (const host of findHosts(event, agent)) if (at > (lastBy.get(host) ?? "")) lastBy.set(host, at);
  }
  return { runs: [...runs.values()].sort((a, b) => (a.lastRun < b.lastRun ? 1 : -1)), lastBy };
}

/** Returns the hosts that may have run a hook: all of them when the line names none. */
function findHosts(event: string, agent: string | undefined): readonly Agent[] {
  const agents = HOOKED.map((host) => host.agent);
  const host =
    agents.find((each) => event.startsWith(`hook.${each}.`)) ?? agents.find((each) => each === agent);
  return host ? [host] : agents;
}

function addRun(run: HookRuns, { at, row, now }: { at: string; row: JsonRecord; now: Date }): void {
  if (at > run.lastRun) run.lastRun = at;
  if (row.ok !== false) run.goodSince++;
  else if (now.getTime() - Date.parse(at) < DAY_MS) {
    run.failures24h++;
    run.lastError = truncate(stringOf(row.error) ?? stringOf(row.problem) ?? "unknown", ERROR_CHARS);
    run.goodSince = 0;
  }
}
