#!/usr/bin/env bun

/**
 * Installs session-memory into the agents of this machine, and indexes and names the sessions there are.
 *
 * Says what it would run and changes nothing without `--yes` or an answer at the terminal.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { asCalled } from "../lib/base/command.ts";
import { findProgram, ownCommand, ROOT } from "../lib/base/runtime.ts";
import { quoted } from "../lib/base/text.ts";
import { note, parseFlags, print, runMain } from "../lib/cli.ts";
import { type Config, loadConfig } from "../lib/config/config.ts";
import { describeReceivers } from "../lib/health/health.ts";
import { nameOf } from "../lib/sessions/meta.ts";
import { listSessions } from "../lib/sessions/sessions.ts";

const USAGE = `\
Usage: bun scripts/setup.ts [options]

Finds Claude Code, pi and Codex on this machine, installs session-memory into them with their own commands, then indexes
and names the sessions there are. Shows every command before it runs it.

Options:
      --yes      Run the commands without asking
      --remove   Take session-memory out of the agents again, and list what stays
      --quiet    No remarks on stderr
  -h, --help     Show this help

Examples:
  bun scripts/setup.ts
  bun scripts/setup.ts --remove --yes
`;

/** An agent that can be wired with commands of its own. */
interface Host {
  name: string;
  program: string;
  install: string[][];
  remove: string[][];
}

const PLUGIN = "session-memory@session-memory";
const HOSTS: readonly Host[] = [
  {
    name: "Claude Code",
    program: "claude",
    install: [
      ["plugin", "marketplace", "add", ROOT],
      ["plugin", "install", PLUGIN],
    ],
    remove: [
      ["plugin", "uninstall", PLUGIN],
      ["plugin", "marketplace", "remove", "session-memory"],
    ],
  },
  { name: "pi", program: "pi", install: [["install", ROOT]], remove: [["remove", ROOT]] },
  {
    name: "Codex",
    program: "codex",
    install: [
      ["plugin", "marketplace", "add", ROOT],
      ["plugin", "add", PLUGIN],
    ],
    remove: [
      ["plugin", "remove", PLUGIN],
      ["plugin", "marketplace", "remove", "session-memory"],
    ],
  },
];

/** A command of a host, ready to run. */
interface Step {
  host: string;
  command: string[];
}

const QUESTIONS = 3;
/** Sessions looked at for names that make a question, the longest of them first. */
const NEWEST = 50;
const NAME_WORDS = 8;

async function main(args: string[]): Promise<void> {
  const flags = {
    yes: { type: "boolean", default: false },
    remove: { type: "boolean", default: false },
  } as const;
  const { values } = parseFlags(args, flags, { max: 0 });
  const config = await loadConfig(process.env, process.cwd());
  const steps = HOSTS.flatMap((host) => stepsOf(host, values.remove ? host.remove : host.install, config));
  if (steps.length > 0) print(["Will run:", ...steps.map((step) => `  ${shown(step)}`)].join("\n"));
  if (!values.remove && steps.some(({ host }) => host === "pi")) printReceivers(config);
  if (!values.remove) print(`Will index and name the sessions of this machine; ${whatIsSent(config)}`);
  if (!(values.yes || (await isConfirmed()))) {
    note("nothing was changed: run it again with --yes");
    return;
  }
  const failed = steps.filter(({ command }) => !succeeds(command));
  for (const step of failed) print(`failed: ${shown(step)}`);
  if (failed.length > 0) process.exitCode = 1;
  if (values.remove) print(whatStays(config));
  else {
    if (steps.some(({ host }) => host === "Codex")) print(CODEX);
    indexAndName(config);
  }
}

/** In pi a session's own model observes it, which indexing and naming say nothing of. */
function printReceivers({ settings, paths, env }: Config): void {
  const receivers = describeReceivers(settings, paths, env);
  if (receivers !== "nothing") print(`Once installed sends: ${receivers}`);
}

function whatIsSent({ settings: { embedding, llm } }: Config): string {
  if (!embedding && !llm) return "nothing is sent anywhere";
  return "texts are sent where config.json says (bun scripts/embed.ts --dry-run shows what)";
}

const CODEX =
  "Codex runs no hook before you trust it: start codex once, and choose to trust those of session-memory";

function stepsOf({ name, program }: Host, commands: string[][], { env }: Config): Step[] {
  const file = findProgram(program, env);
  print(file === undefined ? `${name}: no ${program} on PATH` : `${name}: ${file}`);
  return file === undefined ? [] : commands.map((words) => ({ host: name, command: [file, ...words] }));
}

function shown({ host, command }: Step): string {
  return `${command.map(quoted).join(" ")}   # ${host}`;
}

/** Asks at a terminal; anywhere else nobody can answer. */
async function isConfirmed(): Promise<boolean> {
  if (!(process.stdin.isTTY && process.stderr.isTTY)) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question("Go on? [y/N] ");
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

function succeeds([program = "", ...args]: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: ["ignore", "inherit", "inherit"] }).status === 0;
}

/** Runs two scripts of ours, whose progress goes to stderr, and names three things to ask. */
function indexAndName(config: Config): void {
  for (const script of ["embed", "index-meta"]) {
    const [, ...args] = ownCommand(`scripts/${script}.ts`);
    const ran = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    if (ran.status !== 0) process.exitCode = 1;
  }
  const sessions = listSessions(config.paths);
  print(`${sessions.length} sessions can be searched now`);
  const worth = sessions.slice(0, NEWEST).toSorted((a, b) => b.size - a.size);
  const names = worth.flatMap((session) => nameOf(session, config.paths) ?? []);
  const short = names.map((name) => name.split(" ").slice(0, NAME_WORDS).join(" "));
  const questions = [...new Set(short)].slice(0, QUESTIONS);
  if (questions.length === 0) return;
  const commands = questions.map((name) => `  bun scripts/search.ts ${quoted(`what came of ${name}?`)}`);
  print(asCalled(["Questions to try:", ...commands].join("\n")));
}

function whatStays({ paths }: Config): string {
  const copy = join(paths.claude, "plugins", "cache", "session-memory");
  const lines = [
    "What stays:",
    `  ${paths.home}: index, names, notes and observations; bun scripts/forget.ts --everything removes them`,
    "  the agents' own transcripts, which are never written to",
    ...(existsSync(copy) ? [`  ${copy}: Claude Code's copy of the plugin, which you may delete`] : []),
    `  ${ROOT}: the program itself`,
  ];
  return asCalled(lines.join("\n"));
}

if (import.meta.main) await runMain(USAGE, main);
