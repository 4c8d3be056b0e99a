#!/usr/bin/env bun

/**
 * Installs session-memory into the agents of this machine, and indexes and names the sessions there are.
 *
 * Says what it would run and changes nothing in an agent without `--yes` or an answer at the terminal.
 *
 * @module
 */

import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { existsSync, lstatSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { archiveLine } from "../lib/archive/archive.ts";
import { asCalled } from "../lib/base/command.ts";
import { readJson, replaceFile, resolveRealPath } from "../lib/base/files.ts";
import { recordOf } from "../lib/base/json.ts";
import { findProgram, ownCommand, ROOT, trustedPath } from "../lib/base/runtime.ts";
import { counted, quoted } from "../lib/base/text.ts";
import { choiceFlag, confirm, note, type Run, runScript, switches, texts } from "../lib/cli.ts";
import type { Config, Paths, PathsWithRules } from "../lib/config/config.ts";
import { isHostModel, readStatusLine, setHostAsModel, setStatusLine } from "../lib/config/config-file.ts";
import { describeReceivers } from "../lib/health/health.ts";
import type { Host } from "../lib/hosts/host.ts";
import { findHost, HOSTS } from "../lib/hosts/hosts.ts";
import type { Agent, Session } from "../lib/hosts/session.ts";
import { countKnown } from "../lib/index/known-sessions.ts";
import { suggestQuestions } from "../lib/naming/own-questions.ts";
import { observeSettings } from "../lib/observe/ledger.ts";
import { isCompactionDue } from "../lib/observe/render-observations.ts";
import { listByLastRow } from "../lib/sessions/listing.ts";
import { metaFolders } from "../lib/sessions/meta.ts";
import { filesToWrite, type HostFile, hostFiles, outdatedPages, realPlace } from "../lib/setup/host-files.ts";
import { hooksToRemove, hooksToWrite, writeHooks } from "../lib/setup/host-hooks.ts";
import { publishedAt } from "../lib/share/share-state.ts";
import { isAsWritten, isInState, recordWritten, removeWritten, writtenFiles } from "../lib/store/state.ts";

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

/** The document that `--json` prints. */
interface Report {
  hosts: { name: string; program: string | null }[];
  commands: { host: string; command: string[]; ok: boolean | null }[];
  /** Skill pages that are written, or that would be. */
  pages: string[];
  /** The command that is set as Claude Code's status line, or would be. */
  statusLine: string | null;
  /** Null where nothing was indexed. */
  sessions: number | null;
  questions: string[];
  /** Files of ours outside the state folder that were removed, and the ones that stay: changed by somebody, or exported. */
  removed: string[];
  keptFiles: string[];
}

/** A host's command that takes longer hangs. */
const COMMAND_TIMEOUT_MS = 60_000;
/** The characters of the first answer: a part of a screen. */
const ANSWER_CHARS = "1200";

const SCRIPT = {
  usage: USAGE,
  flags: { ...switches("yes", "remove"), ...texts("only") },
  words: { max: 0 },
} as const;

/** Starts a program of an agent's, or a script of ours, and returns how it ended. */
export type Start = (
  command: readonly string[],
  options: { stdout: "ignore" | "inherit" | 2; env?: Config["env"]; timeout?: number },
) => Ended | Promise<Ended>;
type Ended = Pick<SpawnSyncReturns<Buffer>, "status" | "error">;

/** A run: its request, its output and its result. */
interface Work extends Pick<Run<typeof SCRIPT.flags>, "config" | "values" | "cwd"> {
  start: Start;
  say: (...lines: string[]) => void;
  report: Report;
  /** The hosts whose program is here. */
  found: readonly Host[];
}

async function main({ values, config, cwd, show }: Run<typeof SCRIPT.flags>, start: Start): Promise<void> {
  const { json = false, remove } = values;
  const only = agentsAsked(values.only);
  const say: Work["say"] = (...lines) => json || lines.every((line) => show(undefined, [asCalled(line)]));
  const path = trustedPath(config);
  const hosts = HOSTS.filter(({ agent }) => only?.includes(agent) ?? true).map((host) => ({
    ...host,
    file: findProgram(host.program, path),
  }));
  const commands = hosts.flatMap(({ name, home, file, wired }) => {
    const steps = file === undefined ? undefined : wired?.(config.paths.expand(home));
    return (steps?.[remove ? "remove" : "install"] ?? []).map((words) => ({
      host: name,
      command: [file ?? "", ...words],
      ok: null,
    }));
  });
  const sessions = remove ? [] : listByLastRow(config.paths);
  // agents without such a command are named only where something of theirs is there
  const known = hosts.filter(
    ({ agent, file, wired }) =>
      only !== undefined ||
      wired !== undefined ||
      file !== undefined ||
      sessions.some((session) => session.agent === agent),
  );
  const report: Report = {
    hosts: known.map(({ name, file }) => ({ name, program: file ?? null })),
    commands,
    ...{ pages: [], statusLine: null, sessions: null, questions: [], removed: [], keptFiles: [] },
  };
  const found = hosts.filter(({ file }) => file !== undefined);
  const work = { start, config, values, cwd, say, report, found };
  const pages = found.flatMap((host) => filesToWrite(host, config.paths));
  const line = found.some(({ agent }) => agent === "claude") && statusLineToWrite(config);
  const changes = commands.length + pages.length + quietSteps(work).length;
  const isAgain = existsSync(config.paths.database) && changes === 0 && !line;
  if (!remove && !json && isAgain && found.length > 0) return goOn(work, found);
  say(...known.map((host) => describeHost(host, sessions)));
  await (remove ? takeOut(work) : putIn(work, pages, line || undefined));
  if (json) show(report, []);
}

/** Reads `--only`: names of agents with commas between them. */
function agentsAsked(only: string | undefined): Agent[] | undefined {
  const agents = HOSTS.map(({ agent }) => agent);
  return only?.split(",").flatMap((name) => choiceFlag("--only", name.trim().toLowerCase(), agents) ?? []);
}

function describeHost(
  { name, program, agent, file }: Host & { file: string | undefined },
  all: readonly Session[],
): string {
  const sessions = all.filter((session) => session.agent === agent);
  const [oldest] = sessions.map(({ startedAt, updatedAt }) => startedAt ?? updatedAt).sort();
  const since = oldest && `, ${counted(sessions.length, "session")} since ${oldest.slice(0, 10)}`;
  return `${name}: ${file ?? `no ${program} on PATH`}${since ?? ""}`;
}

/** A thing to do for a host: a command of its own, or files that it reads. */
interface Step {
  host: string;
  /** The line that is shown: the command or the file, and the place. */
  line: string;
  run: () => void | Promise<void>;
}

/** Returns what is to be done for each host: its commands, its files by folder, and Claude Code's status line. */
function stepsToInstall(work: Work, pages: readonly HostFile[], statusLine: string | undefined): Step[] {
  const { config, report } = work;
  const commands = report.commands.map((command): Step => {
    return { host: command.host, line: shown(command), run: () => runCommand(work, command) };
  });
  const folders = Map.groupBy(pages, ({ host, file }) =>
    isSkillPage(file) ? `${host} ${dirname(dirname(file))}` : file,
  );
  const files = [...folders.values()].map((own): Step => {
    const [{ host, file }] = own as [HostFile];
    const what = !isSkillPage(file)
      ? quoted(file)
      : `${counted(own.length, "skill page")} in ${quoted(dirname(dirname(file)))}`;
    return { host, line: `write ${what}   # ${host}`, run: () => writePages(config.paths, own) };
  });
  const line = statusLine === undefined ? [] : [statusLineStep(config.paths, statusLine)];
  return [...commands, ...files, ...quietSteps(work), ...line];
}

/** Returns what is to be changed where a host has no command to install us, beside the files that it lacks. */
function quietSteps(work: Work): Step[] {
  return [...hookSteps(work), ...outdatedSteps(work)];
}

/** Returns what is to be removed of the pages that we wrote before. */
function outdatedSteps({ config: { paths }, found }: Work): Step[] {
  return found.flatMap((host) => {
    const own = outdatedPages(host, paths);
    const [first] = own;
    if (first === undefined) return [];
    const line = `remove ${counted(own.length, "old skill page")} in ${quoted(dirname(dirname(first)))}   # ${host.name}`;
    return [{ host: host.name, line, run: () => removePages(paths, own) }];
  });
}

function removePages(paths: PathsWithRules, files: readonly string[]): void {
  removeWritten(paths, files);
  for (const file of files) removeOwnFolder(file);
}

/** Returns what is to be written into the settings of hosts that have no command to install us. */
function hookSteps({ config: { paths }, found }: Work): Step[] {
  return found.flatMap((host) => {
    const file = hooksToWrite(host, paths);
    if (file?.next === undefined) return [];
    const line = `add hooks to ${quoted(file.path)}   # ${host.name}`;
    return [{ host: host.name, line, run: () => writeHooks(file) }];
  });
}

function writePages(paths: PathsWithRules, pages: readonly HostFile[]): void {
  for (const { file, text } of pages) {
    replaceFile(file, text);
    recordWritten(paths, { path: file, content: text, sessionId: "" });
  }
}

/** Returns the hosts to install into: all by `--yes`, else the ones that somebody at the terminal chooses. */
async function chosenHosts(work: Work, steps: readonly Step[]): Promise<string[]> {
  const hosts = [...new Set(steps.map(({ host }) => host))];
  if (work.values.yes) return hosts;
  const chosen: string[] = [];
  for (const host of hosts) if (await confirm(`Install into ${host}?`)) chosen.push(host);
  return chosen;
}

/** Installs into the agents where that is allowed, indexes and names in any case, and shows what can be asked now. */
async function putIn(work: Work, pages: readonly HostFile[], statusLine: string | undefined): Promise<void> {
  const { config, say, report } = work;
  const { commands, hosts } = report;
  report.pages = pages.map(({ file }) => file);
  report.statusLine = statusLine ?? null;
  const steps = stepsToInstall(work, pages, statusLine);
  const title = work.values.yes || process.stdin.isTTY ? "To install:" : "To install with --yes:";
  say(
    ...formatList(
      title,
      steps.map(({ line }) => line),
    ),
  );
  if (steps.length === 0 && hosts.every(({ program }) => program === null)) say(NO_AGENT);
  say(...unreadableSettings(work));
  const kept = archiveLine(config.paths, config.settings);
  say(...receivers(config, commands), ...(kept === undefined ? [] : [kept]));
  const chosen = await chosenHosts(work, steps);
  for (const { host, run } of steps) if (chosen.includes(host)) await run();
  if (commands.some(({ host, ok }) => host === "Codex" && ok)) say(CODEX);
  await indexAndName(work);
  say("", `${counted(report.sessions ?? 0, "session")} can be searched now`);
  await answerOwnQuestion(work);
  // asked last: the names of a first run are made by rule, and the rest in the background
  const canAsk = hosts.some(({ name, program }) => name === "Claude Code" && program !== null);
  if (canAsk && !config.settings.llm && process.stdin.isTTY) {
    say(...OFFER);
    if (await confirm("Use Claude Code for this?")) await setHostAsModel(config.paths.config, true);
  }
  const failed = new Set(commands.filter(({ ok }) => ok === false).map(({ host }) => host));
  const wired = chosen.filter((host) => !failed.has(host));
  const installed = installedProgram(config.env);
  const result = [
    ...(wired.length > 0 ? [`Installed from ${ROOT} in ${wired.join(", ")}`] : []),
    ...(installed.length > 0 ? [`Installed on this machine: ${installed.join(", ")}`] : []),
  ];
  if (result.length > 0) say("", ...result, "To undo: session-memory setup --remove");
  const left = [...new Set(steps.map(({ host }) => host))].filter((host) => !chosen.includes(host));
  if (left.length > 0 && chosen.length === 0)
    note("installed into no agent: session-memory setup --yes does what is listed above");
}

/** Names settings that hooks cannot be written into. */
function unreadableSettings({ config: { paths }, found }: Work): string[] {
  return found.flatMap((host) => {
    const file = hooksToWrite(host, paths);
    return file?.isUnreadable ? [`${file.path}: not plain JSON, so no hooks for ${host.name}`] : [];
  });
}

/** Says in Claude Code's settings what its status line shows. */
function statusLineStep(paths: PathsWithRules, command: string): Step {
  const file = claudeSettings(paths);
  return {
    host: "Claude Code",
    line: `set statusLine in ${quoted(file)}   # Claude Code`,
    run: () => setStatusLine(file, command),
  };
}

function claudeSettings({ expand }: Pick<Paths, "expand">): string {
  return join(expand(findHost("claude")?.home ?? ""), "settings.json");
}

/** Returns the command for Claude Code's status line; undefined if there is one, or none is wanted. */
function statusLineToWrite({ paths, settings }: Config): string | undefined {
  const starter = join(ROOT, "bin", "session-memory");
  const isPlain = !/["$`\\\n]/.test(starter); // what means something between the quotes of a shell
  const isWanted = settings.activity.statusLine && readStatusLine(claudeSettings(paths))?.isNone;
  return isPlain && isWanted ? `/bin/sh "${starter}" status-line` : undefined;
}

/** Indexes and names what came since, where every agent has us as we are now, and says so in a line. */
async function goOn(work: Work, hosts: readonly Host[]): Promise<void> {
  await indexAndName({ ...work, values: { ...work.values, quiet: true } });
  const sessions = `${counted(work.report.sessions ?? 0, "session")} can be searched`;
  work.say(`nothing to do: session-memory is in ${hosts.map(({ name }) => name).join(", ")}; ${sessions}`);
}

/** Removes everything of ours from the agents and other folders. */
async function takeOut(work: Work): Promise<void> {
  const { config, values, say, report } = work;
  const { paths } = config;
  const { commands } = report;
  const { own, changed, exported } = writtenElsewhere(paths);
  const removed = [...own, ...installedProgram(config.env)];
  const block = isHostModel(recordOf(readJson(paths.config)).llm) ? [`"llm" in ${paths.config}`] : [];
  const settings = claudeSettings(paths);
  const line = readStatusLine(settings)?.isOurs ? [`"statusLine" in ${settings}`] : [];
  const hooks = HOSTS.flatMap((host) => hooksToRemove(host, paths) ?? []).filter(
    ({ next }) => next !== undefined,
  );
  const isNothing = commands.length + removed.length + block.length + line.length + hooks.length === 0;
  if (isNothing) say("nothing to remove: no agent found here has session-memory");
  say(...formatList("To run:", commands.map(shown)));
  say(
    ...formatList("To remove:", [
      ...byFolder(removed),
      ...block,
      ...line,
      ...hooks.map(({ path }) => `hooks in ${path}`),
    ]),
  );
  say(...whatStays(paths, { changed, exported }));
  if (isNothing) return;
  if (!values.yes && !(await confirm("Remove?"))) return note("nothing was changed: run it again with --yes");
  for (const command of commands) await runCommand(work, command);
  removePages(paths, own);
  for (const path of removed) rmSync(path, { recursive: true, force: true });
  if (block.length > 0) await setHostAsModel(paths.config, false);
  if (line.length > 0) setStatusLine(settings, undefined);
  for (const file of hooks) writeHooks(file);
  Object.assign(report, { removed, keptFiles: [...changed, ...exported] });
}

/** Names several files of one folder, or skill pages of one folder of skills, by the folder. */
function byFolder(files: readonly string[]): string[] {
  const folderOf = (file: string) => (isSkillPage(file) ? dirname(dirname(file)) : dirname(file));
  return [...Map.groupBy(files, folderOf)].flatMap(([folder, own]) => {
    if (own.length < 2) return own;
    const isPages = own.every(isSkillPage);
    return `${folder}: ${counted(own.length, isPages ? "skill page" : "file")}`;
  });
}

function isSkillPage(file: string): boolean {
  return file.endsWith(".md");
}

/** Removes the folder of a file of ours, and a host's folder of skill pages, once nothing is in it. */
function removeOwnFolder(file: string): void {
  try {
    rmdirSync(dirname(file));
    if (isSkillPage(file)) rmdirSync(dirname(dirname(file)));
  } catch {
    // gone, or something else is in it
  }
}

function formatList(title: string, items: readonly string[]): string[] {
  return items.length > 0 ? [title, ...items.map((item) => `  ${item}`)] : [];
}

/** The files outside the state folder that are recorded as ours. */
interface Written {
  /** The files that we installed, or wrote into a host's own place, unchanged. */
  own: string[];
  /** The same, changed since. */
  changed: string[];
  /** Notes and pages that the user had written: theirs. */
  exported: string[];
}

function writtenElsewhere(paths: PathsWithRules): Written {
  const metas = metaFolders(paths).map((folder) => resolveRealPath(folder) ?? folder);
  const files = new Set(HOSTS.flatMap((host) => hostFiles(host, paths)).map(({ file }) => realPlace(file)));
  const written: Written = { own: [], changed: [], exported: [] };
  for (const { path, sessionId } of writtenFiles(paths)) {
    if (!existsSync(path) || isInState(path, paths)) continue;
    const isPage = sessionId === "" && (basename(path) === "SKILL.md" || files.has(path));
    const isInstalled = isPage || metas.includes(dirname(path));
    const kind = isAsWritten(paths, path) ? "own" : "changed";
    written[isInstalled ? kind : "exported"].push(path);
  }
  return written;
}

/** Returns what `npm start` installed: the package, its Bun, and the link to them. */
function installedProgram(env: Config["env"]): string[] {
  const folder = installFolder(env);
  const link = join(env.HOME ?? "", ".local", "bin", "session-memory");
  const isOurs =
    lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() &&
    readlinkSync(link).startsWith(`${folder}/`);
  const isInstalled = ["package", "runtime"].some((name) => existsSync(join(folder, name)));
  return [...(isInstalled ? [folder] : []), ...(isOurs ? [link] : [])];
}

function installFolder({ XDG_DATA_HOME = "", HOME = "" }: Config["env"]): string {
  return join(isAbsolute(XDG_DATA_HOME) ? XDG_DATA_HOME : join(HOME, ".local", "share"), "session-memory");
}

/** Names who receives anything: texts of sessions by indexing, and in pi a session's own model, which observes it. */
function receivers(config: Config, commands: Report["commands"]): string[] {
  const { embedding, llm } = config.settings;
  const sends = (embedding ?? llm) ? [SENDS] : [];
  const hasPi = commands.some(({ host }) => host === "pi");
  const observing = hasPi && describeReceivers(config);
  return [
    ...sends,
    ...(observing && observing !== "nothing" ? [`From then on sends: ${observing}`] : []),
    ...(hasPi ? compactsEarly(config) : []),
  ];
}

/** Says at what length conversations are compacted in pi, which its user would take for a fault. */
function compactsEarly({ paths, settings }: Config): string[] {
  const observe = observeSettings(paths, settings.observe);
  if (observe.model === "none" && !observe.rules) return [];
  if (!isCompactionDue(Number.POSITIVE_INFINITY, observe)) return [];
  const tokens = (observe.observerTokens + observe.retainTokens).toLocaleString("en-US");
  return [
    `In pi, a conversation is compacted at ${tokens} tokens, whatever the model's window; pi asks first, once`,
  ];
}

const SENDS =
  "Indexing and naming send texts where config.json says: session-memory embed --dry-run shows what";
const OFFER = [
  "",
  "Without a model sessions are named and observed by their own words, and cannot answer questions. Claude Code can",
  "do that without a key: `claude -p` with its small model, no tools, no hooks and no transcript. It is given the redacted text",
  "of your sessions by your own account: in the background from the next turn on, and by commands, at most 30 times a day.",
];
const NO_AGENT =
  "No agent was found, so there is nothing to install into: run setup again when one is on PATH";
const CODEX =
  "Codex runs no hook before you trust it: start codex once, and choose to trust those of session-memory";

function shown({ host, command }: Pick<Report["commands"][number], "host" | "command">): string {
  return `${command.map(quoted).join(" ")}   # ${host}`;
}

/** Runs a host's command, whose output goes to stderr with `--json`, and names one that fails or hangs. */
async function runCommand(
  { start, config, values, say }: Work,
  step: Report["commands"][number],
): Promise<void> {
  const { status, error } = await start(step.command, {
    stdout: values.json ? 2 : "inherit",
    env: { ...process.env, PATH: trustedPath(config) },
    timeout: COMMAND_TIMEOUT_MS,
  });
  step.ok = status === 0;
  if (step.ok) return;
  const isHung = error && "code" in error && error.code === "ETIMEDOUT";
  say(`${isHung ? `gave up after ${COMMAND_TIMEOUT_MS / 1000} s` : "failed"}: ${shown(step)}`);
  process.exitCode = 1;
}

/** Runs two scripts of ours, whose progress goes to stderr; without a session nothing is to be named. */
async function indexAndName(work: Work): Promise<void> {
  const run = async (name: string) => {
    if ((await startOwn(work, [name], "ignore")).status !== 0) process.exitCode = 1;
  };
  await run("embed");
  work.report.sessions = countKnown(work.config.paths, "").count;
  if (work.report.sessions > 0) await run("index-meta");
}

/** Answers a question of the user's own, and shows how to ask it. */
async function answerOwnQuestion(work: Work): Promise<void> {
  const { config, cwd, report, say, values } = work;
  report.questions = await suggestQuestions(config, cwd);
  const [first] = report.questions;
  if (first === undefined || values.json) return;
  const commands = report.questions.map((question) => `session-memory search ${quoted(question)}`);
  say(...formatList("Questions of your own history:", commands), "", "The first one's answer:");
  await startOwn(work, ["search", "--limit", "1", "--max-chars", ANSWER_CHARS, "--quiet", first], "inherit");
}

/** Runs a script of ours on the same sessions. */
function startOwn(
  { start, values: { sessions = [], quiet } }: Work,
  [name = "", ...words]: readonly string[],
  stdout: "ignore" | "inherit",
): ReturnType<Start> {
  const flags = [...sessions.flatMap((path) => ["--sessions", path]), ...(quiet ? ["--quiet"] : [])];
  return start([...ownCommand(name), ...words, ...flags], { stdout });
}

/** Lists what the user may delete, or take back, by hand; docs/uninstalling.md names the rest. */
function whatStays(paths: PathsWithRules, { changed, exported }: Omit<Written, "own">): string[] {
  const folders = [...Map.groupBy(exported, (file) => dirname(file))];
  const left = HOSTS.toReversed().flatMap(({ home, leftIn }) => leftIn?.(paths.expand(home), paths) ?? []);
  const hub = publishedAt(paths);
  return formatList("What stays:", [
    ...(existsSync(paths.home) ? [`${paths.home}: index, names, notes, observations and config.json`] : []),
    ...changed.map((file) => `${file}: changed since we wrote it`),
    ...folders.map(
      ([folder, { length }]) => `${folder}: ${counted(length, "note or page", "notes and pages")} of yours`,
    ),
    ...(hub ? [`what was shared at ${hub}: before you delete anything, session-memory share --leave`] : []),
    ...left,
  ]);
}

const startProcess: Start = ([program = "", ...args], { stdout, ...options }) =>
  spawnSync(program, args, { ...options, stdio: ["ignore", stdout, "inherit"], killSignal: "SIGKILL" });

/** Runs the script. */
export function setup(start: Start): Promise<void> {
  return runScript(SCRIPT, (run) => main(run, start));
}

if (import.meta.main) await setup(startProcess);
