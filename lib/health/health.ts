/** Finds what is wrong or about to be, each with its remedy, and names who receives anything said on this machine. */

import { basename, dirname, join, resolve } from "node:path";
import { countSeen } from "../activity/seen.ts";
import { describeArchive, nothingNew, whyStopped } from "../archive/archive.ts";
import { SessionMemoryError } from "../base/errors.ts";
import {
  changedAt,
  isDirectory,
  readIfExists,
  readText,
  resolveRealPath,
  statPath,
  whyUnwritable,
} from "../base/files.ts";
import { type JsonRecord, parseRecord, stringOf } from "../base/json.ts";
import {
  type Environment,
  findProgram,
  findRuntime,
  ROOT,
  type Runtime,
  trustedPath,
} from "../base/runtime.ts";
import { counted, listed, truncate } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { Config, Paths, Settings } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS, listMoments, observingHost } from "../hosts/hosts.ts";
import { canUnpack, UNPACKING } from "../hosts/packed.ts";
import type { Agent, Session } from "../hosts/session.ts";
import type { Behind } from "../index/freshness.ts";
import { readSpendToday } from "../model/spend.ts";
import { readStanding } from "../observe/standing-rules.ts";
import { redact } from "../redact/redact.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { countWithExcluded, unfitLine, unfitProjects } from "../sessions/exclusions.ts";
import { findTranscripts } from "../sessions/found.ts";
import { damagedMetas } from "../sessions/meta.ts";
import { untakenVolute } from "../sessions/volute.ts";
import { refusedSessions } from "../share/replica.ts";
import { shareStatus } from "../share/share.ts";
import { readRefused } from "../share/share-state.ts";
import { withExistingState } from "../store/state.ts";
import { type Add, addError, checkIndex, type Finding, type IndexMetrics } from "./index-health.ts";

type HealthStatus = "OK" | "DEGRADED" | "ERROR";

export interface HealthOptions {
  config: Pick<Config, "paths" | "settings" | "env">;
  /** The reason that config.json cannot be used; the settings are then the defaults. */
  configError: SessionMemoryError | undefined;
  sessions: readonly Session[];
  /** A line for each host that changed where or how it writes. */
  movedHosts: readonly string[];
  cwd: string;
  now: Date;
}

export interface Health {
  status: HealthStatus;
  findings: Finding[];
  metrics: IndexMetrics & {
    behind: Behind;
    /** Sessions with a transcript that `exclude` keeps out. */
    excluded: number;
    spendToday: number;
    seenBefore24h: number;
  };
  hooks: Omit<HookRuns, "goodSince">[];
  /** The number of standing rules, and how they are heard. */
  rules: string;
  /** Receivers of what leaves the machine. */
  sends: string;
  /** The runtime of background work. */
  runtime: string;
}

/** Checks everything; changes nothing. */
export function checkHealth(options: HealthOptions): Health {
  const { config, sessions, now } = options;
  const { paths, settings } = config;
  const findings: Finding[] = [];
  const add: Add = (level, what, remedy) => findings.push({ level, what, remedy });
  if (options.configError) addError(add, options.configError);
  const index = checkIndex({ paths, settings, sessions, now }, add);
  const log = readHookLog(paths.log, sessions, now);
  const isConfigFine = options.configError === undefined;
  checkHooks({ log, sessions, paths, env: config.env, cwd: options.cwd, now, isConfigFine }, add);
  const runtime = findRuntime({ env: config.env, cwd: options.cwd });
  checkRuntime(runtime, add);
  checkStateFolder(paths.home, add);
  checkVolute(options.cwd, paths, add);
  for (const what of options.movedHosts) add("warning", what, FOLLOW);
  checkResumed(paths, add);
  checkCompressed(sessions, add);
  checkEmptied(paths, add);
  checkMetas(paths, add);
  if (!options.configError) checkArchive(config, add);
  for (const entry of unfitProjects({ paths, exclude: settings.exclude, cwd: options.cwd }))
    add("warning", unfitLine(entry), "correct it in config.json, or take it out");
  if (!options.configError) checkSharing(config, add);
  const spend = readSpendToday(paths.home, now);
  return {
    status: worstStatus(findings),
    findings: findings.sort((a, b) => RANKS.indexOf(a.level) - RANKS.indexOf(b.level)),
    metrics: {
      ...index.metrics,
      behind: index.behind,
      excluded: countWithExcluded({ paths, cwd: options.cwd }) - sessions.length,
      spendToday: spend.usd,
      seenBefore24h: withExistingState(paths, (state) => countSeen(state, now)) ?? 0,
    },
    hooks: log.runs.map(({ goodSince: _, ...run }) => run),
    rules: describeStanding(config),
    sends: describeReceivers({ ...config, cwd: options.cwd }),
    runtime: runtime
      ? `${runtime.name} ${runtime.command}`
      : "none: work is done in slices in the host's process",
  };
}

const FOLLOW = "update session-memory: this version may not know where, or how, it writes now";

const RANKS: Finding["level"][] = ["error", "warning", "info"];

function worstStatus(findings: readonly Finding[]): HealthStatus {
  if (findings.some(({ level }) => level === "error")) return "ERROR";
  return findings.some(({ level }) => level === "warning") ? "DEGRADED" : "OK";
}

/** Says what the archive holds, and why nothing new comes into it. */
function checkArchive({ paths, settings }: Pick<Config, "paths" | "settings">, add: Add): void {
  if (paths.transcripts.length > 0) return;
  keepCopyList(paths);
  const stopped = whyStopped(paths, settings);
  const { copies, bytes, alone, aloneBytes } = describeArchive(paths);
  const { maxMb } = settings.archive;
  if (copies > 0) {
    const only =
      alone === 0 ? "" : `; ${counted(alone, "session")} ${alone === 1 ? "lives" : "live"} only there`;
    const what = `the archive holds ${counted(copies, "session")} in ${(bytes / MB).toFixed(1)} of ${maxMb} MB${only}`;
    const remedy =
      stopped === "off"
        ? "archive.enabled is false: session-memory forget --archive removes it"
        : "session-memory forget --archive removes it; archive.enabled: false makes no more";
    add("info", what, remedy);
  }
  const nothing = nothingNew(paths, settings, { aloneBytes });
  if (nothing) add(nothing.isWarning ? "warning" : "info", nothing.what, nothing.remedy);
}

/** As `archive.maxMb` counts. */
const MB = 1024 * 1024;

/** Names a `.volute` folder that is not read: it may have come with a clone, or be the user's own. */
function checkVolute(cwd: string, paths: Paths, add: Add): void {
  const untaken = untakenVolute(cwd, paths.volute);
  if (!untaken) return;
  const { folder, transcripts } = untaken;
  const what = `${folder} holds ${counted(transcripts, "session")} that hooks and the index do not read`;
  add("info", what, `add ${JSON.stringify(folder)} to volute in config.json if it is yours`);
}

/** Names the sessions whose host does something to those with several files, as a resume makes them. */
function checkResumed(paths: Paths, add: Add): void {
  for (const { agent, severalFiles } of HOSTS) {
    if (!severalFiles) continue;
    const { names, shown, what, remedy } = severalFiles;
    const places = findTranscripts(paths, { agent }).flatMap(({ file }) => {
      const name = basename(file);
      return names.test(name) ? [join(dirname(file), name.replace(names, shown))] : [];
    });
    const resumed = places.filter((place, i) => places.indexOf(place) !== i);
    for (const place of new Set(resumed)) add("warning", `${what}: ${redact(place)}`, remedy);
  }
}

/** Names sessions that their host has compressed, where nothing here can unpack them. */
function checkCompressed(sessions: readonly Session[], add: Add): void {
  if (canUnpack()) return;
  for (const { agent, name } of HOSTS.filter((host) => host.compresses)) {
    const compressed = sessions.filter(
      (session) => session.agent === agent && !statPath(session.file),
    ).length;
    if (compressed > 0)
      add(
        "warning",
        `${counted(compressed, "compressed session")} of ${name} cannot be read here`,
        UNPACKING,
      );
  }
}

/** Names transcripts without a byte of hosts that keep those conversations elsewhere. */
function checkEmptied(paths: Paths, add: Add): void {
  for (const { agent, name, emptiedWhy } of HOSTS) {
    if (emptiedWhy === undefined) continue;
    const files = findTranscripts(paths, { agent, subagents: true }).map(({ file }) => file);
    const [first, ...others] = files.filter((file) => statPath(file)?.size === 0);
    if (first === undefined) continue;
    const more = others.length > 0 ? ` (and ${counted(others.length, "more like this")})` : "";
    add("info", `the transcript of a session of ${name} is empty: ${redact(first)}${more}`, emptiedWhy);
  }
}

/** Names the meta files that were damaged: another program or a hand wrote there. */
function checkMetas(paths: Pick<Paths, "meta">, add: Add): void {
  const damaged = damagedMetas(paths);
  const [first = ""] = damaged;
  if (damaged.length === 0) return;
  const what = `${counted(damaged.length, "damaged meta file")} set aside, the first as ${first}`;
  add("warning", what, "copy what you wrote there out of them, then delete them");
}

function checkStateFolder(home: string, add: Add): void {
  const why = whyUnwritable(home);
  const remedy = "make it writable, free some space, or set SESSION_MEMORY_HOME to another folder";
  if (why !== undefined) add("error", why, remedy);
  else if (process.platform !== "win32" && ((statPath(home)?.mode ?? 0) & 0o077) !== 0)
    add("warning", `others may read ${home}`, `chmod 700 ${home}`);
}

/** Says how many messages laid something down, and what a model would add. */
function describeStanding({ settings, paths }: Pick<Config, "settings" | "paths">): string {
  if (!settings.activity.rules) return "off (activity.rules)";
  const said = counted(readStanding(paths).marks.filter(({ kind }) => kind !== "end").length, "message");
  if (settings.llm) return `${said}; marked by the model that observes, and where said in so many words`;
  return `${said}; without a model (llm in config.json) only explicit ones ("from now on", "never") are recognised`;
}

/** Names every receiver that config.json, or the one default that sends, allows; `nothing` if there is none. */
export function describeReceivers({
  settings,
  paths,
  env,
  cwd,
}: Pick<Config, "settings" | "paths" | "env" | "cwd">): string {
  const { embedding, llm, share, modelKeys } = settings;
  const receivers = [
    ...(embedding ? [`embeddings to ${readHost(embedding.baseUrl)}`] : []),
    ...(llm
      ? [`conversation to ${llm.command ? `the program ${llm.command[0]}` : readHost(llm.baseUrl)}`]
      : []),
    ...modelKeys.map((key) => `conversation to ${modelThrough(observingHost(), key)}`),
    ...HOSTS.filter((host) => host.observesItself && isHere(host, { paths, env, cwd })).flatMap((host) =>
      observers(host, settings),
    ),
    ...(share && Object.keys(share.projects).length > 0
      ? [`shared sessions to ${nameHub(env[share.urlEnv], share.urlEnv)}`]
      : []),
  ];
  return receivers.length > 0 ? receivers.join(", ") : "nothing";
}

function isHere(
  host: Host,
  { paths, env, cwd }: Pick<Config, "env" | "cwd"> & { paths: Pick<Paths, "expand"> },
): boolean {
  if (!isDirectory(paths.expand(host.home))) return false;
  return (
    findProgram(host.program, trustedPath({ env, cwd })) !== undefined ||
    installedAt(host, paths) !== undefined
  );
}

/** There observing needs no setting: the session's own model receives the conversation anyway. */
function observers(host: Host, { observe }: Settings): string[] {
  if (!observe.auto || observe.model === "none") return [];
  const limit = `at most $${observe.dailyBudgetUsd.toFixed(2)} a day`;
  return [`conversation to ${modelThrough(host.name, observe.model)} for observing (${limit})`];
}

function modelThrough(host: string | undefined, key: string): string {
  return key === "active" ? `the model chosen in ${host}` : `${key} through ${host}`;
}

function nameHub(url: string | undefined, variable: string): string {
  if (!url) return `the hub of ${variable}, which is not set`;
  return URL.canParse(url) ? new URL(url).host : `the hub of ${variable}, which is no URL`;
}

function readHost(baseUrl: string | undefined): string {
  return new URL(baseUrl ?? "https://api.openai.com").host;
}

function checkSharing(config: Pick<Config, "env" | "paths" | "settings">, add: Add): void {
  const status = readStatus(config);
  const { urlEnv } = config.settings.share ?? { urlEnv: "" };
  if (status?.hub === null) {
    const what = `nothing is shared: ${urlEnv} is not set, or is no PostgreSQL URL`;
    add("warning", what, `set ${urlEnv} where your agents see it`);
  }
  if (status?.error !== undefined)
    add("warning", `sharing fails: ${status.error}`, "run session-memory share");
  if (status) checkUnsent(config.paths, add);
  const refused = status ? refusedSessions(config.paths) : [];
  if (refused.length > 0) {
    const what = `${counted(refused.length, "session")} of the hub cannot be read: ${listed(refused, REFUSED_SHOWN)}`;
    add("info", what, "ask who published them to update session-memory");
  }
}

function checkUnsent(paths: Config["paths"], add: Add): void {
  const unsent = readRefused(paths);
  if (unsent.length === 0) return;
  const what = `the hub does not take ${counted(unsent.length, "session")}: ${listed(unsent, REFUSED_SHOWN)}`;
  add("warning", what, "update session-memory, or name them in exclude.sessions");
}

const REFUSED_SHOWN = 3; // a line

/** A damaged index is a finding of its own. */
function readStatus(config: Parameters<typeof shareStatus>[0]): ReturnType<typeof shareStatus> {
  try {
    return shareStatus(config);
  } catch (error) {
    if (error instanceof SessionMemoryError) return undefined;
    throw error;
  }
}

/** A week off does not matter. */
const SILENT_DAYS = 7;

interface HookCheck {
  log: HookLog;
  /** Newest first. */
  sessions: readonly Session[];
  paths: Pick<Paths, "expand" | "transcripts" | "config">;
  env: Environment;
  cwd: string;
  now: Date;
  /** True if config.json can be used: what it broke is mended then. */
  isConfigFine: boolean;
}

/** Finds hooks that fail, and hosts in whose sessions no hook runs. */
function checkHooks(check: HookCheck, add: Add): void {
  for (const { event, failures24h, lastError, goodSince } of check.log.runs) {
    const isMended =
      goodSince >= failures24h ||
      (check.isConfigFine && lastError?.includes(`Cannot use "${redact(check.paths.config)}"`));
    if (failures24h === 0 || isMended) continue;
    const times = failures24h === 1 ? "once" : `${failures24h} times`;
    const what = `${event} failed ${times} within a day: ${lastError}`;
    add("warning", what, "see log.ndjson in the state folder");
  }
  if (check.env.SESSION_MEMORY_DISABLE === "1")
    add("info", "hooks are switched off by SESSION_MEMORY_DISABLE", "unset it to switch them on");
  // Transcripts given by path say nothing about the hosts on this machine.
  else if (check.paths.transcripts.length === 0) for (const host of HOOKED) checkHookedHost(host, check, add);
}

function checkHookedHost(host: Host, { log, sessions, paths, env, cwd, now }: HookCheck, add: Add): void {
  const { agent, name, program, hooks } = host;
  const newest = sessions.find(
    (session) => session.agent === agent && session.machine === undefined,
  )?.updatedAt;
  if (newest === undefined) return;
  const last = log.lastBy.get(agent);
  const silence = last === undefined ? 0 : Math.min(Date.parse(newest), now.getTime()) - Date.parse(last);
  if (last !== undefined && silence <= SILENT_DAYS * DAY_MS) return;
  const since = last === undefined ? "yet" : `since ${last.slice(0, 10)}, though there are newer sessions`;
  const installed = installedAt(host, paths);
  // Fine if the program is not on the PATH, or if its sessions are older than our installation.
  const isFine =
    installed === undefined ? !findProgram(program, trustedPath({ env, cwd })) : newest <= installed;
  const remedy = installed
    ? `restart ${agent}, and ${hooks?.remedy ?? "check that its plugins are on"}`
    : "run session-memory setup, then take a turn";
  const level = isFine && last === undefined ? "info" : "warning";
  add(level, `no hook has run in ${name} ${since}`, remedy);
}

/** Returns when a host last recorded its installed plugins; undefined where that record does not name us. */
function installedAt({ home, hooks, plugin }: Host, { expand }: Pick<Paths, "expand">): string | undefined {
  const record = plugin === undefined ? join(expand(home), hooks?.installedIn ?? "") : expand(plugin);
  const stat = statPath(record);
  return stat && isNamedIn(readText(record), dirname(record)) ? changedAt(stat) : undefined;
}

/** Returns whether a host's record names us, or our folder, whatever that is called. */
function isNamedIn(record: string, folder: string): boolean {
  if (record.includes("session-memory")) return true;
  const own = resolveRealPath(ROOT);
  return Array.from(record.matchAll(/"([^"\n]+)"/g)).some(
    ([, text = ""]) => text.includes("/") && resolveRealPath(resolve(folder, text)) === own,
  );
}

/** Finds that hooks cannot start, or start slower than they need to. */
function checkRuntime(runtime: Runtime | undefined, add: Add): void {
  if (runtime?.name === "bun") return;
  const remedy = "install Bun, or put it on the PATH of the shell that starts the agent";
  if (runtime) add("info", `found no Bun: hooks start on ${runtime.name}, slower`, remedy);
  else
    add("warning", "found no Bun, and no Node of 22.18 or later that can run us: hooks do nothing", remedy);
}

/** The hosts that call our hooks. */
const HOOKED = HOSTS.filter((host) => listMoments(host).length > 0);

interface HookRuns {
  event: string;
  lastRun: string;
  failures24h: number;
  /** The last failure of these 24 hours. */
  lastError: string | undefined;
  /** Runs after it that went well. */
  goodSince: number;
}

interface HookLog {
  /** The event that ran last first. */
  runs: HookRuns[];
  /** The time of each host's last hook. */
  lastBy: ReadonlyMap<Agent, string>;
}

/** Events written only by a hook or by a process that a hook started: a script run by hand proves nothing. */
const OF_HOOKS = /^(?:hook\.|background\.|injected$|activity$)/;
/** The first lines of an error say what it is; the log has the rest. */
const ERROR_CHARS = 300;

/** Reads the log and the one before it. */
function readHookLog(log: string, sessions: readonly Session[], now: Date): HookLog {
  const runs = new Map<string, HookRuns>();
  const lastBy = new Map<Agent, string>();
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
function findHosts(event: string, agent: string | undefined): readonly Agent[] {
  const agents = HOOKED.map((host) => host.agent);
  const host =
    agents.find((each) => event.startsWith(`hook.${each}.`)) ?? agents.find((each) => each === agent);
  return host ? [host] : agents;
}

function addRun(
  runs: Map<string, HookRuns>,
  { event, at, row }: { event: string; at: string; row: JsonRecord },
  now: Date,
): void {
  const name = event.replace(/^hook\./, "");
  const known = runs.get(name) ?? {
    event: name,
    lastRun: at,
    failures24h: 0,
    lastError: undefined,
    goodSince: 0,
  };
  if (at > known.lastRun) known.lastRun = at;
  if (row.ok === false && now.getTime() - Date.parse(at) < DAY_MS) {
    known.failures24h++;
    const error = stringOf(row.error) ?? stringOf(row.problem) ?? "unknown";
    known.lastError = truncate(redact(error), ERROR_CHARS);
    known.goodSince = 0;
  } else if (row.ok !== false) known.goodSince++;
  runs.set(name, known);
}
