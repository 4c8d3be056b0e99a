/** Finds what is wrong or about to be, each with its remedy: asks every room. */

import type { SessionMemoryError } from "../base/errors.ts";
import { statPath, whyUnwritable } from "../base/files.ts";
import { type Finding, failed, info, warning } from "../base/findings.ts";
import { findRuntime, type Runtime } from "../base/runtime.ts";
import { counted } from "../base/text.ts";
import type { Config, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { checkIndex, type IndexMetrics } from "../index/check.ts";
import type { Behind } from "../index/freshness.ts";
import { readSpendToday } from "../model/spend.ts";
import { checkSessions } from "../sessions/check.ts";
import { countWithExcluded } from "../sessions/exclusions.ts";
import { checkHooks, type HookRuns, readHookLog } from "./hook-runs.ts";
import { findMovedHosts } from "./moved-hosts.ts";
import { describeReceivers } from "./receivers.ts";

interface HealthOptions {
  config: Pick<Config, "paths" | "settings" | "env">;
  /** The reason that config.json cannot be used; the settings are then the defaults. */
  configError: SessionMemoryError | undefined;
  sessions: readonly Session[];
  cwd: string;
  now: Date;
  rooms: RoomChecks;
}

/** Asks the rooms beside this one about themselves. */
interface RoomChecks {
  /** Asked where config.json can be used. */
  findings: () => Iterable<Finding>;
  /** Errors whose end was told in the last day. */
  countSeen: () => number;
  /** Messages that laid something down. */
  countRules: () => number;
}

export interface Health {
  status: "OK" | "DEGRADED" | "ERROR";
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

const RANKS: Finding["level"][] = ["error", "warning", "info"];

/** Checks everything; changes nothing. */
export function checkHealth({ config, configError, sessions, cwd, now, rooms }: HealthOptions): Health {
  const { paths, settings, env } = config;
  const place = { paths, env, cwd };
  const { behind, ...index } = checkIndex({ paths, settings, sessions, now });
  const log = readHookLog(paths.log, sessions, now);
  const runtime = findRuntime(place);
  const findings = [
    ...(configError ? [failed(configError)] : []),
    ...index.findings,
    ...checkHooks({ ...place, log, sessions, now, isConfigFine: !configError }),
    ...checkRuntime(runtime),
    ...checkStateFolder(paths.home),
    ...findMovedHosts(paths, now.getTime()),
    ...checkSessions({ paths, exclude: settings.exclude, cwd }),
    ...(configError ? [] : rooms.findings()),
  ].sort((a, b) => RANKS.indexOf(a.level) - RANKS.indexOf(b.level));
  const worst = findings[0]?.level ?? "info";
  return {
    status: worst === "error" ? "ERROR" : worst === "warning" ? "DEGRADED" : "OK",
    findings,
    metrics: {
      ...index.metrics,
      behind,
      excluded: countWithExcluded({ paths, cwd }) - sessions.length,
      spendToday: readSpendToday(paths.home, now).usd,
      seenBefore24h: rooms.countSeen(),
    },
    hooks: log.runs.map(({ goodSince: _, ...run }) => run),
    rules: describeStanding(settings, rooms.countRules),
    sends: describeReceivers({ ...place, settings }),
    runtime: runtime
      ? `${runtime.name} ${runtime.command}`
      : "none: work is done in slices in the host's process",
  };
}

/** Finds that hooks cannot start, or start slower than they need to. */
function* checkRuntime(runtime: Runtime | undefined): Generator<Finding> {
  if (runtime?.name === "bun") return;
  const remedy = "install Bun, or put it on the PATH of the shell that starts the agent";
  yield runtime
    ? info(`found no Bun: hooks start on ${runtime.name}, slower`, remedy)
    : warning("found no Bun, and no Node of 22.18 or later that can run us: hooks do nothing", remedy);
}

function* checkStateFolder(home: string): Generator<Finding> {
  const why = whyUnwritable(home);
  const remedy = "make it writable, free some space, or set SESSION_MEMORY_HOME to another folder";
  if (why !== undefined) yield { level: "error", what: why, remedy };
  else if (((statPath(home)?.mode ?? 0) & 0o077) !== 0)
    yield warning(`others may read ${home}`, `chmod 700 ${home}`);
}

/** Says how many messages laid something down, and what a model would add. */
function describeStanding({ activity, llm }: Settings, countRules: RoomChecks["countRules"]): string {
  if (!activity.rules) return "off (activity.rules)";
  const said = counted(countRules(), "message");
  if (llm) return `${said}; marked by the model that observes, and where said in so many words`;
  return `${said}; without a model (llm in config.json) only explicit ones ("from now on", "never") are recognised`;
}
