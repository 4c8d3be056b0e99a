#!/usr/bin/env bun

/**
 * Installs session-memory into the agents of this machine, and indexes and names the sessions there are.
 *
 * Says what it would run and changes nothing in an agent without `--yes` or an answer at the terminal.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { asCalled } from "../lib/base/command.ts";
import { findProgram, trustedPath } from "../lib/base/runtime.ts";
import { counted } from "../lib/base/text.ts";
import { choice, confirm, note, type Run, runScript, text, toggle } from "../lib/cli.ts";
import type { Config } from "../lib/config/config.ts";
import type { Host } from "../lib/hosts/host.ts";
import { HOSTS } from "../lib/hosts/hosts.ts";
import type { Agent, Session } from "../lib/hosts/session.ts";
import { listByLastRow } from "../lib/sessions/listing.ts";
import { install } from "../lib/setup/installing.ts";
import { uninstall } from "../lib/setup/removing.ts";
import type { Report, Start } from "../lib/setup/step.ts";

export type { Start };

const USAGE = `\
Usage: session-memory setup [options]

Finds the agents of this machine, installs session-memory into them with their own commands, or writes its hooks and skill
pages where they have none, then indexes and names the sessions there are. Shows what it does before it does it.

Options:
      --yes              Install without asking; needed where there is no terminal
      --only <agents>    Of these only: claude, pi, codex, copilot, qwen, … (with commas between them)
      --remove           Take session-memory out of the agents, remove what it wrote elsewhere, and list what stays
      --sessions <path>  Index and name this file or folder instead of the agents' own (repeatable)
      --json             One JSON document       --quiet  No remarks on stderr

Examples:
  session-memory setup
  session-memory setup --remove --yes
`;

const SCRIPT = {
  usage: USAGE,
  flags: { yes: toggle, remove: toggle, only: text },
} as const;

/** A host, and where its program is. */
type Placed = Host & { file: string | undefined };

async function main(run: Run<typeof SCRIPT.flags>, start: Start): Promise<void> {
  const { values, paths, show } = run;
  const { json = false, remove } = values;
  const only = agentsAsked(values.only);
  const say = (...lines: string[]) => {
    if (!json) for (const line of lines) show(undefined, [asCalled(line)]);
  };
  const hosts = placeHosts(run, only);
  const sessions = remove ? [] : listByLastRow(paths);
  // agents without such a command are named only where something of theirs is there
  const known = hosts.filter(
    ({ agent, file, wired }) =>
      (only ?? wired ?? file) !== undefined || sessions.some((session) => session.agent === agent),
  );
  const report: Report = {
    hosts: known.map(({ name, file }) => ({ name, program: file ?? null })),
    commands: hosts.flatMap((host) => commandsOf(host, run, remove ? "remove" : "install")),
    pages: [],
    statusLine: null,
    sessions: null,
    questions: [],
    removed: [],
    keptFiles: [],
  };
  const found = hosts.filter(({ file }) => file !== undefined);
  const work = { ...run, start, say, note, confirm, report, found };
  const describe = () => say(...known.map((host) => describeHost(host, sessions)));
  if (remove) describe();
  await (remove ? uninstall(work) : install(work, describe));
  if (json) show(report, []);
}

/** Reads `--only`: names of agents with commas between them. */
function agentsAsked(only: string | undefined): Agent[] | undefined {
  const agents = HOSTS.map(({ agent }) => agent);
  return only?.split(",").flatMap((name) => choice(agents)(name.trim().toLowerCase(), "--only"));
}

function placeHosts(config: Config, only: readonly Agent[] | undefined): Placed[] {
  const path = trustedPath(config);
  const asked = HOSTS.filter(({ agent }) => only?.includes(agent) ?? true);
  return asked.map((host) => ({ ...host, file: findProgram(host.program, path) }));
}

function commandsOf(
  { name, home, file, wired }: Placed,
  { paths }: Config,
  what: "install" | "remove",
): Report["commands"] {
  const steps = file === undefined ? undefined : wired?.(paths.expand(home));
  return (steps?.[what] ?? []).map((words) => ({ host: name, command: [file ?? "", ...words], ok: null }));
}

function describeHost({ name, program, agent, file }: Placed, all: readonly Session[]): string {
  const sessions = all.filter((session) => session.agent === agent);
  const [oldest] = sessions.map(({ startedAt, updatedAt }) => startedAt ?? updatedAt).sort();
  const since = oldest && `, ${counted(sessions.length, "session")} since ${oldest.slice(0, 10)}`;
  return `${name}: ${file ?? `no ${program} on PATH`}${since ?? ""}`;
}

const startProcess: Start = ([program = "", ...args], { stdout, ...options }) =>
  spawnSync(program, args, { ...options, stdio: ["ignore", stdout, "inherit"], killSignal: "SIGKILL" });

/** Runs the script. */
export function setup(start: Start): Promise<void> {
  return runScript(SCRIPT, (run) => main(run, start));
}

if (import.meta.main) await setup(startProcess);
