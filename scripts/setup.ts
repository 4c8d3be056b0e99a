#!/usr/bin/env bun

/**
 * Installs session-memory into the agents of this machine, and indexes and names the sessions there are.
 *
 * Says what it would run and changes nothing in an agent without `--yes` or an answer at the terminal.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { asCalled } from "../lib/base/command.ts";
import { readJson } from "../lib/base/files.ts";
import { recordOf } from "../lib/base/json.ts";
import { findProgram, trustedPath } from "../lib/base/runtime.ts";
import { counted, quoted } from "../lib/base/text.ts";
import { choice, confirm, note, type Run, runScript, text, toggle } from "../lib/cli.ts";
import type { Config } from "../lib/config/config.ts";
import { describeReceivers } from "../lib/health/receivers.ts";
import { isHostModel, readStatusLine, setHostAsModel, setStatusLine } from "../lib/hosts/claude-settings.ts";
import type { Host } from "../lib/hosts/host.ts";
import { findHost, HOSTS } from "../lib/hosts/hosts.ts";
import type { Agent, Session } from "../lib/hosts/session.ts";
import { observeSettings } from "../lib/observe/ledger.ts";
import { isCompactionDue } from "../lib/observe/render-observations.ts";
import { listByLastRow } from "../lib/sessions/listing.ts";
import { starterCommand } from "../lib/setup/host-hooks.ts";
import { install } from "../lib/setup/installing.ts";
import { uninstall } from "../lib/setup/removing.ts";
import type { HostStep, Particulars, Report, Start, Step, Work } from "../lib/setup/step.ts";

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
  const { values, paths, cwd, show } = run;
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
    ...{ pages: [], statusLine: null, sessions: null, questions: [], removed: [], keptFiles: [] },
  };
  const found = hosts.filter(({ file }) => file !== undefined);
  const particulars = particularsOf(run, { found, report, say, values });
  const work = { start, config: run, values, cwd, say, note, confirm, report, found, particulars };
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

const OFFER = [
  "",
  "Without a model sessions are named and observed by their own words, and cannot answer questions. Claude Code can",
  "do that without a key: `claude -p` with its small model, no tools, no hooks and no transcript. It is given the redacted text",
  "of your sessions by your own account: in the background from the next turn on, and by commands, at most 30 times a day.",
];
const CODEX =
  "Codex runs no hook before you trust it: start codex once, and choose to trust those of session-memory";

/** Returns the particulars of Claude Code, Codex and pi. */
function particularsOf(
  config: Config,
  { found, report, say, values: { remove } }: Pick<Work, "found" | "report" | "say" | "values">,
): Particulars {
  const { paths, settings } = config;
  const file = join(paths.expand(findHost("claude")?.home ?? ""), "settings.json");
  const isFound = found.some(({ agent }) => agent === "claude");
  const line = isFound ? statusLineToWrite(config, file) : undefined;
  if (!remove) report.statusLine = line ?? null;
  const step = (text: string, run: Step["run"]): Step => ({ lines: [text], run });
  const isModel = isHostModel(recordOf(readJson(paths.config)).llm);
  return {
    installs: line === undefined ? [] : [statusLineStep(file, line)],
    removals: [
      ...(isModel ? [step(`"llm" in ${paths.config}`, () => setHostAsModel(paths.config, false))] : []),
      ...(readStatusLine(file)?.isOurs
        ? [step(`"statusLine" in ${file}`, () => setStatusLine(file, undefined))]
        : []),
    ],
    notices: report.commands.some(({ host }) => host === "pi") ? observedInPi(config) : [],
    afterwards: () => (report.commands.some(({ host, ok }) => host === "Codex" && ok) ? [CODEX] : []),
    async offer() {
      if (!isFound || settings.llm || !process.stdin.isTTY) return;
      say(...OFFER);
      if (await confirm("Use Claude Code for this?")) await setHostAsModel(paths.config, true);
    },
  };
}

function statusLineStep(file: string, command: string): HostStep {
  const host = "Claude Code";
  const run = () => setStatusLine(file, command);
  return { host, lines: [`set statusLine in ${quoted(file)}   # ${host}`], run };
}

/** Returns the command for Claude Code's status line; undefined if there is one, or none is wanted. */
function statusLineToWrite({ settings }: Config, file: string): string | undefined {
  const starter = starterCommand();
  const isWanted = settings.activity.statusLine && readStatusLine(file)?.isNone;
  return starter && isWanted ? `${starter} status-line` : undefined;
}

/** Says who receives a session in pi, whose own model observes it, and at what length it is compacted, which its user would take for a fault. */
function observedInPi(config: Config): string[] {
  const observe = observeSettings(config.paths, config.settings.observe);
  const receivers = describeReceivers(config);
  const isOn = observe.model !== "none" || observe.rules;
  const tokens = (observe.observerTokens + observe.retainTokens).toLocaleString("en-US");
  return [
    ...(receivers === "nothing" ? [] : [`From then on sends: ${receivers}`]),
    ...(isOn && isCompactionDue(Number.POSITIVE_INFINITY, observe)
      ? [
          `In pi, a conversation is compacted at ${tokens} tokens, whatever the model's window; pi asks first, once`,
        ]
      : []),
  ];
}

const startProcess: Start = ([program = "", ...args], { stdout, ...options }) =>
  spawnSync(program, args, { ...options, stdio: ["ignore", stdout, "inherit"], killSignal: "SIGKILL" });

/** Runs the script. */
export function setup(start: Start): Promise<void> {
  return runScript(SCRIPT, (run) => main(run, start));
}

if (import.meta.main) await setup(startProcess);
