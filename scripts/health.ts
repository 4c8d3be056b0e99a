#!/usr/bin/env bun

/**
 * Reports whether everything works, and what to do where it does not.
 *
 * Changes nothing and sends nothing.
 *
 * @module
 */

import { asCalled } from "../lib/base/command.ts";
import { type Run, runScript } from "../lib/cli.ts";
import { checkHealth, type Health } from "../lib/health/health.ts";
import { listSessions } from "../lib/sessions/sessions.ts";

const USAGE = `\
Usage: bun scripts/health.ts [options]

Prints OK, DEGRADED or ERROR, then each finding with its remedy, then the index in numbers, what hooks did, what
leaves the machine, and what background work runs on. Exit 1 on ERROR.

Options:
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json             One JSON document
      --quiet            No warnings on stderr
  -h, --help             Show this help

Examples:
  bun scripts/health.ts
  bun scripts/health.ts --json
`;

export { checkHealth };

function main({ config, configError, cwd, show }: Run<Record<never, never>>): void {
  const { paths } = config;
  const sessions = listSessions(paths, { subagents: true, cwd });
  const checked = checkHealth({ config, configError, sessions, cwd, now: new Date() });
  const findings = checked.findings.map((found) => ({ ...found, remedy: asCalled(found.remedy) }));
  const health = { ...checked, findings };
  show(health, describe(health));
  if (health.status === "ERROR") process.exitCode = 1;
}

function* describe({ status, findings, metrics, hooks, sends, runtime }: Health): Generator<string> {
  yield status;
  for (const { level, what, remedy } of findings) yield `${level}: ${what} · ${remedy}`;
  const { behind, ...numbers } = metrics;
  const parts = Object.entries(numbers).map(([name, value]) => `${name} ${value ?? "-"}`);
  yield `index: ${parts.join(", ")}, behind ${behind.sessions} sessions ${behind.bytes} bytes`;
  for (const { event, lastRun, failures24h } of hooks) {
    yield `hook ${event}: last ${lastRun}, ${failures24h} failures within a day`;
  }
  yield `sends: ${sends}`;
  yield `runtime: ${runtime}`;
}

if (import.meta.main)
  await runScript({ usage: USAGE, flags: {}, words: { max: 0 }, needsNoConfig: true }, main);
