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
import { join, resolve } from "node:path";
import { asCalled } from "../lib/base/command.ts";
import { readJson, realPathOf, textOf } from "../lib/base/files.ts";
import { arrayOf, recordOf, stringOf } from "../lib/base/json.ts";
import { findProgram, ownCommand, ROOT } from "../lib/base/runtime.ts";
import { counted, quoted } from "../lib/base/text.ts";
import { confirm, note, type Run, runScript } from "../lib/cli.ts";
import type { Config, Paths } from "../lib/config/config.ts";
import { describeReceivers } from "../lib/health/health.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { rulesOf } from "../lib/transcripts/rules.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { readEntries } from "../lib/transcripts/transcript.ts";

const USAGE = `\
Usage: session-memory setup [options]

Finds Claude Code, pi and Codex on this machine, installs session-memory into them with their own commands, then indexes
and names the sessions there are. Shows every command before it runs it.

Options:
      --yes              Run the commands without asking
      --remove           Take session-memory out of the agents again, and list what stays
      --sessions <path>  Index and name this file or folder instead of the agents' own (repeatable)
      --json             One JSON document
      --quiet            No remarks on stderr
  -h, --help             Show this help

Examples:
  session-memory setup
  session-memory setup --remove --yes
`;

/** An agent that can be wired with commands of its own. */
interface Host {
  name: string;
  program: string;
  install: string[][];
  /** Returns the commands that undo what is installed. */
  remove: (paths: Paths) => string[][];
}

const PLUGIN = "session-memory@session-memory";
const REMOVE_MARKETPLACE = ["plugin", "marketplace", "remove", "session-memory"];
const HOSTS: readonly Host[] = [
  {
    name: "Claude Code",
    program: "claude",
    install: [
      ["plugin", "marketplace", "add", ROOT],
      ["plugin", "install", PLUGIN],
    ],
    remove: ({ claude }) => {
      const has = (file: string, name: string) => textOf(join(claude, "plugins", file)).includes(`"${name}"`);
      return [
        ...(has("installed_plugins.json", PLUGIN) ? [["plugin", "uninstall", PLUGIN]] : []),
        ...(has("known_marketplaces.json", "session-memory") ? [REMOVE_MARKETPLACE] : []),
      ];
    },
  },
  {
    name: "pi",
    program: "pi",
    install: [["install", ROOT]],
    remove: ({ pi }) => piPackages(pi).map((source) => ["remove", source]),
  },
  {
    name: "Codex",
    program: "codex",
    install: [
      ["plugin", "marketplace", "add", ROOT],
      ["plugin", "add", PLUGIN],
    ],
    remove: ({ codex }) => {
      const config = textOf(join(codex, "config.toml"));
      return [
        ...(config.includes(`[plugins."${PLUGIN}"]`) ? [["plugin", "remove", PLUGIN]] : []),
        ...(config.includes("[marketplaces.session-memory]") ? [REMOVE_MARKETPLACE] : []),
      ];
    },
  },
];

/** A command of a host, ready to run. */
interface Step {
  host: string;
  command: string[];
}

/** What `--json` prints. */
interface Report {
  hosts: { name: string; program: string | null }[];
  commands: { host: string; command: string[]; ok: boolean | null }[];
  /** Null where nothing was indexed. */
  sessions: number | null;
  questions: string[];
}

const QUESTIONS = 3;
/** The newest sessions, of which the longest make the questions. */
const NEWEST = 50;
/** A session with fewer user messages, and no more bytes, is not worth a question. */
const MESSAGES_MIN = 3;
const WORK_BYTES = 200_000;
/** At most this many searches are made to find questions that have an answer. */
const TRIES = 12;

const SCRIPT = {
  usage: USAGE,
  flags: { yes: { type: "boolean", default: false }, remove: { type: "boolean", default: false } },
  words: { max: 0 },
} as const;

async function main({ values, config, show }: Run<typeof SCRIPT.flags>): Promise<void> {
  const { json = false, remove } = values;
  const say = (...lines: string[]) => json || show(undefined, lines);
  const hosts = HOSTS.map((host) => ({ ...host, file: findProgram(host.program, config.env) }));
  for (const { name, program, file } of hosts) say(`${name}: ${file ?? `no ${program} on PATH`}`);
  const steps = hosts.flatMap((host) => stepsOf(host, remove ? host.remove(config.paths) : host.install));
  say(...plan(steps, remove, config));
  const report: Report = {
    hosts: hosts.map(({ name, file }) => ({ name, program: file ?? null })),
    commands: steps.map((step) => ({ ...step, ok: null })),
    sessions: null,
    questions: [],
  };
  const isIdle = remove && steps.length === 0;
  if (isIdle || values.yes || (await confirm("Go on?"))) {
    for (const step of report.commands) step.ok = succeeds(step.command, json);
    const failed = report.commands.filter(({ ok }) => !ok);
    for (const step of failed) say(`failed: ${shown(step)}`);
    if (failed.length > 0) process.exitCode = 1;
    if (remove) say(...whatStays(config));
    else {
      if (steps.some(({ host }) => host === "Codex")) say(CODEX);
      Object.assign(report, await indexAndName(config, values, say));
    }
  } else note("nothing was changed: run it again with --yes");
  if (json) show(report, []);
}

function stepsOf(
  { name, file }: Pick<Host, "name"> & { file: string | undefined },
  commands: string[][],
): Step[] {
  return file === undefined ? [] : commands.map((words) => ({ host: name, command: [file, ...words] }));
}

/** Returns what would be done, and who would receive anything. */
function plan(steps: readonly Step[], remove: boolean, { settings, paths, env }: Config): string[] {
  const commands = steps.length > 0 ? ["Will run:", ...steps.map((step) => `  ${shown(step)}`)] : [];
  if (remove)
    return steps.length > 0 ? commands : ["nothing to remove: no agent found here has session-memory"];
  // In pi a session's own model observes it, which indexing and naming say nothing of.
  const receivers = steps.some(({ host }) => host === "pi") && describeReceivers(settings, paths, env);
  const observing = receivers && receivers !== "nothing" ? [`From then on sends: ${receivers}`] : [];
  const sends = (settings.embedding ?? settings.llm) ? SENDS : "that sends nothing";
  return [...commands, `Will index and name the sessions of this machine; ${sends}`, ...observing];
}

const CODEX =
  "Codex runs no hook before you trust it: start codex once, and choose to trust those of session-memory";
const SENDS = "texts are sent where config.json says (session-memory embed --dry-run shows what)";

function shown({ host, command }: Step): string {
  return `${command.map(quoted).join(" ")}   # ${host}`;
}

/** Returns pi's sources of this package: this folder, or the published one. */
function piPackages(pi: string): string[] {
  const packages = arrayOf(recordOf(readJson(join(pi, "settings.json"))).packages);
  const sources = packages.flatMap((entry) => stringOf(entry) ?? stringOf(recordOf(entry).source) ?? []);
  return sources.flatMap((source) => {
    if (/^npm:session-memory(?:@|$)/.test(source)) return source;
    const folder = resolve(pi, source);
    return folder === ROOT || realPathOf(folder) === realPathOf(ROOT) ? ROOT : [];
  });
}

/** Runs a command. With `--json` its output goes to stderr. */
function succeeds([program = "", ...args]: readonly string[], json: boolean): boolean {
  return spawnSync(program, args, { stdio: ["ignore", json ? 2 : "inherit", "inherit"] }).status === 0;
}

/** Runs two scripts of ours, whose progress goes to stderr, and suggests what to ask. */
async function indexAndName(
  config: Config,
  { sessions: given = [], quiet = false }: { sessions?: string[] | undefined; quiet?: boolean | undefined },
  say: (...lines: string[]) => void,
): Promise<Pick<Report, "sessions" | "questions">> {
  const flags = [...given.flatMap((path) => ["--sessions", path]), ...(quiet ? ["--quiet"] : [])];
  for (const script of ["embed", "index-meta"]) {
    const [shell = "", ...words] = ownCommand(script);
    const ran = spawnSync(shell, [...words, ...flags], { stdio: ["ignore", "ignore", "inherit"] });
    if (ran.status !== 0) process.exitCode = 1;
  }
  const sessions = listSessions(config.paths).length;
  say(`${counted(sessions, "session")} can be searched now`);
  const questions = await questionsOf(config);
  const commands = questions.map((question) => `  session-memory search ${quoted(question)}`);
  if (commands.length > 0) say(asCalled(["Questions to try:", ...commands].join("\n")));
  return { sessions, questions };
}

/** Returns questions about the user's own work that a search answers well; none about sessions in which little was said. */
async function questionsOf({ paths, settings, ...config }: Config): Promise<string[]> {
  const [{ sessionSearch }, { nameOf }, { isCircumstantial }] = await Promise.all([
    import("../lib/search/session-search.ts"),
    import("../lib/sessions/meta.ts"),
    import("../lib/naming/summarize.ts"),
  ]);
  const longest = listSessions(paths)
    .slice(0, NEWEST)
    .toSorted((a, b) => b.size - a.size);
  const questions: string[] = [];
  let tries = 0;
  for (const session of longest) {
    const name = nameOf(session, paths);
    if (name === undefined || isCircumstantial(name) || !isPlain(name) || isToy(session, paths)) continue;
    if (questions.length === QUESTIONS || ++tries > TRIES) break;
    const query = `what came of "${name}"?`;
    // By words alone: nothing is sent for a suggestion.
    const local = { ...config, paths, settings: { ...settings, embedding: undefined } };
    const { results } = await sessionSearch({ query, own: true }, { config: local, index: false });
    const [best] = results;
    const isAnswer = best?.strength === "strong" && best.session_id === session.id;
    if (isAnswer && !questions.includes(query)) questions.push(query);
  }
  return questions;
}

/** Returns whether a name is words: neither too few to ask about, nor ids, hashes and paths. */
function isPlain(name: string): boolean {
  const words = name.split(" ");
  return words.length >= 3 && !/[0-9a-f]{7,}|\d{4,}|["/\\@_~$`{}<>|]|[A-Z]{4,}/.test(name);
}

/** Returns whether hardly anything was said. A long transcript holds work, however little the user said. */
function isToy({ file, size }: Session, paths: Paths): boolean {
  if (size > WORK_BYTES) return false;
  let messages = 0;
  for (const { kind } of readEntries(file, { rules: rulesOf(paths) })) if (kind === "user") messages++;
  return messages < MESSAGES_MIN;
}

function whatStays({ paths }: Config): string[] {
  const copy = join(paths.claude, "plugins", "cache", "session-memory");
  const lines = [
    "What stays:",
    `  ${paths.home}: index, names, notes and observations; session-memory forget --everything removes them`,
    "  the agents' own transcripts, which are never written to",
    ...(existsSync(copy) ? [`  ${copy}: Claude Code's copy of the plugin, which you may delete`] : []),
    `  ${ROOT}: the program itself`,
  ];
  return lines.map(asCalled);
}

if (import.meta.main) await runScript(SCRIPT, main);
