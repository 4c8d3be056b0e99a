/** What is wrong or about to be, and what to do about each: the index, its sources, the hooks, the configuration. */

import { existsSync, statSync } from "node:fs";
import type { SessionMemoryError } from "../base/errors.ts";
import { findRuntime, type Runtime } from "../base/runtime.ts";
import type { Config, Environment, Paths, Settings } from "../config/config.ts";
import type { Behind } from "../index/freshness.ts";
import { readSpendToday } from "../model/spend.ts";
import { untakenVolute } from "../sessions/volute.ts";
import type { Session } from "../transcripts/session.ts";
import { type Finding, fromError } from "./finding.ts";
import { type HookRuns, readHookRuns } from "./hook-log.ts";
import { checkIndex } from "./index-health.ts";
import type { IndexMetrics } from "./index-metrics.ts";

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
  metrics: IndexMetrics & { behind: Behind; spendToday: number };
  hooks: HookRuns[];
  /** What leaves the machine. */
  sends: string;
  /** What background work runs on. */
  runtime: string;
}

const DAY_MS = 24 * 3_600_000;
const HOOKS_SILENT_DAYS = 7;

/** Looks at everything and changes nothing but an index of an older version. */
export function checkHealth(options: HealthOptions): Health {
  const { config, sessions, now } = options;
  const { paths, settings } = config;
  const findings: Finding[] = [];
  if (options.configError) findings.push(fromError(options.configError));
  const index = checkIndex({ paths, settings, sessions, now }, findings);
  const hooks = readHookRuns(paths.log, now);
  findings.push(...checkHooks(hooks, sessions, now));
  const runtime = findRuntime({ env: config.env, cwd: options.cwd });
  findings.push(...checkRuntime(runtime, config.env), ...checkPrivacy(paths));
  findings.push(...checkVolute(options.cwd, paths));
  const spend = readSpendToday(paths.home, settings.timezone, now);
  findings.push(...checkSpend(spend, settings));
  return {
    status: statusOf(findings),
    findings: findings.sort((a, b) => RANKS.indexOf(a.level) - RANKS.indexOf(b.level)),
    metrics: { ...index.metrics, behind: index.behind, spendToday: spend.usd },
    hooks,
    sends: describeSends(settings),
    runtime: runtime
      ? `${runtime.name} ${runtime.command}`
      : "none: work is done in slices in the host's process",
  };
}

const RANKS: Finding["level"][] = ["error", "warning", "info"];

function statusOf(findings: readonly Finding[]): HealthStatus {
  if (findings.some(({ level }) => level === "error")) return "ERROR";
  return findings.some(({ level }) => level === "warning") ? "DEGRADED" : "OK";
}

function checkHooks(hooks: readonly HookRuns[], sessions: readonly Session[], now: Date): Finding[] {
  const findings: Finding[] = hooks
    .filter(({ failures24h }) => failures24h > 0)
    .map(({ event, failures24h, lastError }) => ({
      level: "warning",
      what: `${event} failed ${failures24h === 1 ? "once" : `${failures24h} times`} within a day: ${lastError}`,
      remedy: "see log.ndjson in the state folder",
    }));
  const last = hooks[0]?.lastRun;
  const newest = sessions.find(({ agent }) => agent === "claude" || agent === "pi")?.updatedAt;
  if (last === undefined || newest === undefined) return findings;
  const silentDays = (Date.parse(newest) - Date.parse(last)) / DAY_MS;
  if (silentDays > HOOKS_SILENT_DAYS && now.getTime() - Date.parse(last) > HOOKS_SILENT_DAYS * DAY_MS) {
    const what = `no hook has run since ${last.slice(0, 10)}, though there are newer sessions`;
    findings.push({
      level: "warning",
      what,
      remedy: "check that the plugin or extension is still installed and enabled",
    });
  }
  return findings;
}

function checkRuntime(runtime: Runtime | undefined, env: Environment): Finding[] {
  if (runtime?.name === "bun" && onPath(env)) return [];
  const remedy = "install Bun, or put ~/.bun/bin on the PATH of the shell that starts the agent";
  return [{ level: "warning", what: "Bun is not on PATH: Claude Code cannot start the hooks", remedy }];
}

function onPath({ PATH = "" }: Environment): boolean {
  const names = process.platform === "win32" ? ["bun.exe", "bun.cmd"] : ["bun"];
  return PATH.split(process.platform === "win32" ? ";" : ":").some(
    (folder) => folder !== "" && names.some((name) => existsSync(`${folder}/${name}`)),
  );
}

function checkPrivacy({ home }: Paths): Finding[] {
  const mode = process.platform === "win32" ? undefined : statSync(home, { throwIfNoEntry: false })?.mode;
  if (mode === undefined || (mode & 0o077) === 0) return [];
  return [{ level: "warning", what: `others may read ${home}`, remedy: `chmod 700 ${home}` }];
}

/** A folder that came with a clone is left alone for good; one of the user's own is listed once. */
function checkVolute(cwd: string, paths: Paths): Finding[] {
  const untaken = untakenVolute(cwd, paths.volute);
  if (!untaken) return [];
  const { folder, transcripts } = untaken;
  const what = `${folder} holds ${transcripts} session${transcripts === 1 ? "" : "s"} that hooks and the index do not read`;
  return [
    { level: "info", what, remedy: `add ${JSON.stringify(folder)} to volute in config.json if it is yours` },
  ];
}

function checkSpend({ usd, unpriced }: { usd: number; unpriced: string[] }, { llm }: Settings): Finding[] {
  const findings: Finding[] = [];
  if (llm && usd >= llm.dailyBudgetUsd) {
    const what = `the daily budget of $${llm.dailyBudgetUsd.toFixed(2)} is spent`;
    findings.push({
      level: "warning",
      what,
      remedy: "wait until tomorrow, or raise llm.dailyBudgetUsd in config.json",
    });
  }
  if (unpriced.length > 0) {
    const what = `the price of ${unpriced.join(", ")} is unknown: its calls are not in spendToday`;
    findings.push({ level: "info", what, remedy: "add it to llm.prices in config.json" });
  }
  return findings;
}

function describeSends({ embedding, llm }: Settings): string {
  const parts = [
    embedding ? `embeddings to ${hostOf(embedding.baseUrl)}` : "",
    llm ? `conversation to ${hostOf(llm.baseUrl)}` : "",
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "nothing";
}

function hostOf(baseUrl: string | undefined): string {
  return new URL(baseUrl ?? "https://api.openai.com").host;
}
