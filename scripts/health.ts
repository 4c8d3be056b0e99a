#!/usr/bin/env bun

/**
 * Tells whether everything works, and what to do where it does not.
 *
 * Changes nothing and sends nothing.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { parseFlags, print, printJson, runMain, useConfig } from "../lib/cli.ts";
import {
  type Config,
  defaultSettings,
  loadConfig,
  pathsReading,
  resolvePaths,
  trustedEnvironment,
} from "../lib/config/config.ts";
import { checkHealth, type Health } from "../lib/health/health.ts";
import { redact } from "../lib/redact/redact.ts";
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

async function main(args: string[]): Promise<void> {
  const { values } = parseFlags(
    args,
    { sessions: { type: "string", multiple: true }, json: { type: "boolean", default: false } },
    { max: 0 },
  );
  const { config, configError } = await loadAnyConfig();
  useConfig(config);
  const paths = pathsReading(config, values.sessions, process.cwd());
  const health = checkHealth({
    config: { ...config, paths },
    configError,
    sessions: listSessions(paths, { subagents: true, cwd: process.cwd() }),
    cwd: process.cwd(),
    now: new Date(),
  });
  if (values.json) printJson(health);
  else for (const line of describe(health)) print(redact(line));
  if (health.status === "ERROR") process.exitCode = 1;
}

/** A report is wanted most where the configuration is broken: it is made with the defaults then. */
async function loadAnyConfig(): Promise<{
  config: Pick<Config, "paths" | "settings" | "env" | "ignored" | "currentSession">;
  configError: SessionMemoryError | undefined;
}> {
  try {
    return { config: await loadConfig(process.env, process.cwd()), configError: undefined };
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    const { env, ignored } = trustedEnvironment(process.env, process.cwd());
    const config = {
      paths: resolvePaths(env),
      settings: defaultSettings(),
      env,
      ignored,
      currentSession: undefined,
    };
    return { config, configError: error };
  }
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

if (import.meta.main) await runMain(USAGE, main);
