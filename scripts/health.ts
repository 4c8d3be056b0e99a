#!/usr/bin/env bun

/**
 * Reports whether everything works, and what to do where it does not.
 *
 * Changes nothing and sends nothing.
 *
 * @module
 */

import { asCalled } from "../lib/base/command.ts";
import type { Line } from "../lib/base/output.ts";
import { counted } from "../lib/base/text.ts";
import { formatLocal } from "../lib/base/time.ts";
import { type Run, runScript } from "../lib/cli.ts";
import { checkHealth, type Health } from "../lib/health/health.ts";
import { ensureIndex } from "../lib/index/freshness.ts";
import { listSessions } from "../lib/sessions/sessions.ts";

const USAGE = `\
Usage: session-memory health [options]

Prints OK, DEGRADED or ERROR, then each finding with its remedy, then the index in numbers, what hooks did, what
leaves the machine, and what background work runs on. Exit 1 on ERROR.

Options:
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json             One JSON document       --quiet  No warnings on stderr

Examples:
  session-memory health
  session-memory health --json
`;

export { checkHealth };

async function main({ config, configError, cwd, show }: Run<Record<never, never>>): Promise<void> {
  const { paths } = config;
  // what cannot be carried over is a finding
  if (!configError) await ensureIndex(paths.database, config.settings).catch(() => {});
  const sessions = listSessions(paths, { subagents: true, cwd });
  const checked = checkHealth({ config, configError, sessions, cwd, now: new Date() });
  const findings = checked.findings.map((found) => ({ ...found, remedy: asCalled(found.remedy) }));
  const health = { ...checked, findings };
  show(health, describe(health, config.settings.timezone));
  if (health.status === "ERROR") process.exitCode = 1;
}

function* describe(
  { status, findings, metrics, hooks, sends, runtime }: Health,
  timezone: string | undefined,
): Generator<Line | string> {
  const minute = (iso: string) => formatLocal(iso, timezone).slice(0, 16);
  yield { kind: "text", parts: [[status === "OK" ? "good" : "bad", status]] };
  for (const { level, what, remedy } of findings) {
    yield { kind: "text", parts: [[level === "info" ? "time" : "bad", level], `: ${what} · ${remedy}`] };
  }
  const { lastIndexed, redactions, spendToday, avgIndexTimePerSession: indexing } = metrics;
  const size = `${counted(metrics.totalSessions, "session")}, ${counted(metrics.totalChunks, "chunk")}, ${metrics.storageUsedMB} MB`;
  const took = indexing === null ? "" : `, ${indexing} ms a session`;
  yield `index: ${size}, ${describeBehind(metrics.behind)}; ${lastIndexed ? `last written ${minute(lastIndexed)}${took}` : "not written yet"}`;
  const each = metrics.avgSearchLatency === null ? "" : `, ${metrics.avgSearchLatency} ms each`;
  yield `searches within a day: ${metrics.searchCount24h}${each} · ends of errors told: ${metrics.seenBefore24h}`;
  for (const { event, lastRun, failures24h } of hooks) {
    yield `hook ${event}: last ${minute(lastRun)}, ${counted(failures24h, "failure")} within a day`;
  }
  yield `redacted: ${counted(redactions, "secret")} in what is stored · spent today: $${spendToday.toFixed(4)}`;
  yield `sends: ${sends}`;
  yield `runtime: ${runtime}`;
}

function describeBehind({ sessions, bytes }: Health["metrics"]["behind"]): string {
  if (sessions === 0) return "up to date";
  return `behind by ${counted(sessions, "session")} (${(bytes / 1e6).toFixed(1)} MB)`;
}

if (import.meta.main)
  await runScript({ usage: USAGE, flags: {}, words: { max: 0 }, needsNoConfig: true }, main);
