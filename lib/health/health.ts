/** Finds what is wrong or about to be, each with its remedy, and names who receives anything said on this machine. */

import { countSeen } from "../activity/seen.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { isDirectory, statOf, whyUnwritable } from "../base/files.ts";
import { type Environment, findRuntime } from "../base/runtime.ts";
import { counted } from "../base/text.ts";
import type { Config, Paths, Settings } from "../config/config.ts";
import type { Behind } from "../index/freshness.ts";
import { readSpendToday } from "../model/spend.ts";
import { untakenVolute } from "../sessions/find.ts";
import { shareStatus } from "../share/share-status.ts";
import { withExistingState } from "../store/state.ts";
import type { Session } from "../transcripts/session.ts";
import { checkHooks, checkRuntime, type HookRuns, readHookLog } from "./hook-health.ts";
import { checkIndex, type Finding, fromError, type IndexMetrics } from "./index-health.ts";
import { checkSkills } from "./skill-pages.ts";

type HealthStatus = "OK" | "DEGRADED" | "ERROR";

export interface HealthOptions {
  config: Pick<Config, "paths" | "settings" | "env">;
  /** Why config.json cannot be used; the settings are the defaults then. */
  configError: SessionMemoryError | undefined;
  sessions: readonly Session[];
  cwd: string;
  now: Date;
}

export interface Health {
  status: HealthStatus;
  findings: Finding[];
  metrics: IndexMetrics & { behind: Behind; spendToday: number; seenBefore24h: number };
  hooks: HookRuns[];
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
  if (options.configError) findings.push(fromError(options.configError));
  const index = checkIndex({ paths, settings, sessions, now }, findings);
  const log = readHookLog(paths.log, sessions, now);
  findings.push(...checkHooks({ log, sessions, paths, env: config.env, now }));
  findings.push(...checkSkills(sessions, paths, config.env));
  const runtime = findRuntime({ env: config.env, cwd: options.cwd });
  findings.push(...checkRuntime(runtime), ...checkStateFolder(paths.home));
  findings.push(...checkVolute(options.cwd, paths));
  if (!options.configError) findings.push(...checkSharing(config, now));
  const spend = readSpendToday(paths.home, settings.timezone, now);
  findings.push(...checkSpend(spend.usd, settings));
  return {
    status: worstStatus(findings),
    findings: findings.sort((a, b) => RANKS.indexOf(a.level) - RANKS.indexOf(b.level)),
    metrics: {
      ...index.metrics,
      behind: index.behind,
      spendToday: spend.usd,
      seenBefore24h: withExistingState(paths, (state) => countSeen(state, now)) ?? 0,
    },
    hooks: log.runs,
    sends: describeReceivers(settings, paths, config.env),
    runtime: runtime
      ? `${runtime.name} ${runtime.command}`
      : "none: work is done in slices in the host's process",
  };
}

const RANKS: Finding["level"][] = ["error", "warning", "info"];

function worstStatus(findings: readonly Finding[]): HealthStatus {
  if (findings.some(({ level }) => level === "error")) return "ERROR";
  return findings.some(({ level }) => level === "warning") ? "DEGRADED" : "OK";
}

/** Names a `.volute` folder that is not read: it may have come with a clone, or be the user's own. */
function checkVolute(cwd: string, paths: Paths): Finding[] {
  const untaken = untakenVolute(cwd, paths.volute);
  if (!untaken) return [];
  const { folder, transcripts } = untaken;
  const what = `${folder} holds ${counted(transcripts, "session")} that hooks and the index do not read`;
  return [
    { level: "info", what, remedy: `add ${JSON.stringify(folder)} to volute in config.json if it is yours` },
  ];
}

function checkSpend(usd: number, { llm }: Settings): Finding[] {
  if (!llm || llm.command || usd < llm.dailyBudgetUsd) return [];
  const what = `the daily budget of $${llm.dailyBudgetUsd.toFixed(2)} is spent`;
  return [
    { level: "warning", what, remedy: "wait until tomorrow, or raise llm.dailyBudgetUsd in config.json" },
  ];
}

function checkStateFolder(home: string): Finding[] {
  const why = whyUnwritable(home);
  if (why !== undefined) {
    const remedy = "make it writable, free some space, or set SESSION_MEMORY_HOME to another folder";
    return [{ level: "error", what: why, remedy }];
  }
  const isOpen = process.platform !== "win32" && ((statOf(home)?.mode ?? 0) & 0o077) !== 0;
  return isOpen ? [{ level: "warning", what: `others may read ${home}`, remedy: `chmod 700 ${home}` }] : [];
}

/** Names every receiver that config.json, or the one default that sends, allows; `nothing` where there is none. */
export function describeReceivers(settings: Settings, paths: Pick<Paths, "pi">, env: Environment): string {
  const { embedding, llm, share, modelKeys } = settings;
  const receivers = [
    ...(embedding ? [`embeddings to ${readHost(embedding.baseUrl)}`] : []),
    ...(llm
      ? [`conversation to ${llm.command ? `the program ${llm.command[0]}` : readHost(llm.baseUrl)}`]
      : []),
    ...modelKeys.map((key) => `conversation to ${piModel(key)}`),
    ...observers(settings, paths),
    ...(share && Object.keys(share.projects).length > 0
      ? [`shared sessions to ${nameHub(env[share.urlEnv], share.urlEnv)}`]
      : []),
  ];
  return receivers.length > 0 ? receivers.join(", ") : "nothing";
}

/** In pi observing needs no setting: the session's own model receives the conversation anyway. */
function observers({ observe }: Settings, { pi }: Pick<Paths, "pi">): string[] {
  if (!observe.auto || observe.model === "none" || !isDirectory(pi)) return [];
  const limit = `at most $${observe.dailyBudgetUsd.toFixed(2)} a day`;
  return [`conversation to ${piModel(observe.model)} for observing (${limit})`];
}

function piModel(key: string): string {
  return key === "active" ? "pi's active model" : `${key} through pi`;
}

function nameHub(url: string | undefined, variable: string): string {
  if (!url) return `the hub of ${variable}, which is not set`;
  return URL.canParse(url) ? new URL(url).host : `the hub of ${variable}, which is no URL`;
}

function readHost(baseUrl: string | undefined): string {
  return new URL(baseUrl ?? "https://api.openai.com").host;
}

const DAY_MS = 24 * 3_600_000;
/** A hub that was away for a night is nothing to worry about. */
const STALE_DAYS = 3;

function checkSharing(config: Pick<Config, "env" | "paths" | "settings">, now: Date): Finding[] {
  const status = readStatus(config);
  if (!status) return [];
  const { hub, lastPull, error } = status;
  const findings: Finding[] = [];
  if (hub === null) {
    const { urlEnv } = config.settings.share ?? { urlEnv: "" };
    const what = `nothing is shared: ${urlEnv} is not set, or is no PostgreSQL URL`;
    findings.push({ level: "warning", what, remedy: `set ${urlEnv} where your agents see it` });
  }
  if (error !== undefined) {
    findings.push({ level: "warning", what: `sharing fails: ${error}`, remedy: "run session-memory share" });
  }
  const age = lastPull === null ? undefined : (now.getTime() - Date.parse(lastPull)) / DAY_MS;
  if (age !== undefined && age > STALE_DAYS) {
    const what = `what others share was last read ${Math.floor(age)} days ago`;
    findings.push({ level: "warning", what, remedy: "run session-memory share" });
  }
  return findings;
}

/** A damaged index is a finding of its own. */
function readStatus(config: Parameters<typeof shareStatus>[0]): ReturnType<typeof shareStatus> {
  try {
    return shareStatus(config);
  } catch (error) {
    if (error instanceof SessionMemoryError) return undefined;
    throw error;
  }
}
