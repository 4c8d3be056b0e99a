#!/usr/bin/env bun

/**
 * Reports whether everything works, and what to do where it does not.
 *
 * Changes nothing and sends nothing.
 *
 * @module
 */

import { countSeen } from "../lib/activity/seen.ts";
import { readTold, type Told } from "../lib/activity/told.ts";
import { checkArchive } from "../lib/archive/check.ts";
import { asCalled } from "../lib/base/command.ts";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { failed } from "../lib/base/findings.ts";
import type { Line } from "../lib/base/output.ts";
import { counted, shortId, unbroken } from "../lib/base/text.ts";
import { formatLocal, formatMinute } from "../lib/base/time.ts";
import { integer, type Run, runScript, toggle, usageError } from "../lib/cli.ts";
import { checkHealth, type Health } from "../lib/health/health.ts";
import { describeBehind } from "../lib/index/freshness.ts";
import { readStanding } from "../lib/observe/standing-rules.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { checkSharing } from "../lib/share/check.ts";
import { withExistingState } from "../lib/store/state.ts";

const USAGE = `\
Usage: session-memory health [options]

Prints OK, DEGRADED or ERROR, then each finding with its remedy, then the index in numbers, what hooks did, what
leaves the machine, and what background work runs on. Exit 1 on ERROR.

Options:
      --told             Every text that agents were given lately, whole, with session and time
  -n <count>             With --told: the last so many (default: 10)
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json             One JSON document       --quiet  No warnings on stderr

Examples:
  session-memory health
  session-memory health --told -n 3
`;

export { checkHealth };

const SCRIPT = {
  usage: USAGE,
  flags: { told: toggle, n: integer({ min: 1 }) },
  needsNoConfig: true,
} as const;

const TOLD_SHOWN = 10; // a screen or two

async function main(run: Run<typeof SCRIPT.flags>): Promise<void> {
  const { values, paths, settings, cwd, show } = run;
  if (values.n !== undefined && !values.told)
    throw usageError("Cannot use -n without --told", "try --told -n 3");
  if (values.told) {
    const told = readTold(paths.log).slice(-(values.n ?? TOLD_SHOWN));
    show({ told }, describeTold(told, settings.timezone));
    return;
  }
  // what cannot be carried over is a finding
  const check = () => {
    const sessions = listSessions(paths, { subagents: true, cwd });
    const now = new Date();
    const rooms = {
      findings: () => [...checkArchive(paths, settings), ...checkSharing(run)],
      countSeen: () => withExistingState(paths, (state) => countSeen(state, now)) ?? 0,
      countRules: () => readStanding(paths).marks.filter(({ kind }) => kind !== "end").length,
    };
    return checkHealth({ config: run, configError: run.configError, sessions, cwd, now, rooms });
  };
  const checked = checkAgain(check);
  const findings = checked.findings.map((found) => ({ ...found, remedy: asCalled(found.remedy) }));
  const health = { ...checked, findings };
  show(health, healthLines(health, settings.timezone));
  if (health.status === "ERROR") process.exitCode = 1;
}

/** Checks; and again where that met a damaged file, which is set aside once it is known to be one: the damage is a finding. */
function checkAgain(check: () => Health): Health {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    const health = check();
    return { ...health, status: "ERROR", findings: [failed(error), ...health.findings] };
  }
}

/** Returns each text below its session and time, indented as it cannot be mistaken for the next one's. */
function describeTold(told: readonly Told[], timezone: string | undefined): Line[] {
  if (told.length === 0) return [{ kind: "text", parts: ["no text was given to an agent yet"] }];
  return told.flatMap(({ at, session, text }): Line[] => [
    {
      kind: "result",
      parts: [["time", formatLocal(at, timezone)], " · session ", ["name", unbroken(shortId(session))]],
    },
    { kind: "row", parts: [text.replace(/^/gm, "  ")] },
  ]);
}

function* healthLines(
  { status, findings, metrics, hooks, rules, sends, runtime }: Health,
  timezone: string | undefined,
): Generator<Line | string> {
  const minute = (iso: string) => formatMinute(iso, timezone);
  yield { kind: "text", parts: [[status === "OK" ? "good" : "bad", status]] };
  for (const { level, what, remedy } of findings) {
    yield { kind: "text", parts: [[level === "info" ? "time" : "bad", level], `: ${what} · ${remedy}`] };
  }
  const { lastIndexed, redactions, spendToday, avgIndexTimePerSession: indexing } = metrics;
  const size = `${counted(metrics.knownSessions, "session")}, ${counted(metrics.totalChunks, "chunk")}, ${metrics.storageUsedMB} MB`;
  const took = indexing === null ? "" : `, ${indexing} ms a session`;
  yield `index: ${size}, ${describeBehind(metrics.behind)}; ${lastIndexed ? `last written ${minute(lastIndexed)}${took}` : "not written yet"}`;
  if (metrics.excluded > 0)
    yield `excluded: ${counted(metrics.excluded, "session")} (exclude in config.json)`;
  const each = metrics.avgSearchLatency === null ? "" : `, ${metrics.avgSearchLatency} ms each`;
  yield `searches in 24 h: ${metrics.searchCount24h}${each} · fixes told after failed commands: ${metrics.seenBefore24h}`;
  for (const { event, lastRun, failures24h } of hooks) {
    yield `hook ${event}: last ${minute(lastRun)}, ${counted(failures24h, "failure")} within a day`;
  }
  yield `standing rules: ${rules}`;
  yield `redacted: ${counted(redactions, "secret")} in what is stored · spent today: $${spendToday.toFixed(4)}`;
  yield `sends: ${sends}`;
  yield `runtime: ${runtime}`;
}

if (import.meta.main) await runScript(SCRIPT, main);
