/** Installs into the hosts of this machine what they lack of us, and shows what can be asked. */

import { existsSync } from "node:fs";
import { archiveLine } from "../archive/archive.ts";
import { replaceFile } from "../base/files.ts";
import { ownCommand, ROOT } from "../base/runtime.ts";
import { counted, quoted } from "../base/text.ts";
import { describeReceivers } from "../health/receivers.ts";
import { ASKED_HOST, setHostAsModel } from "../hosts/asked-host.ts";
import type { Host } from "../hosts/host.ts";
import { countKnown } from "../index/known-sessions.ts";
import { suggestQuestions } from "../naming/own-questions.ts";
import { isCompactionDue } from "../observe/render-observations.ts";
import { recordWritten } from "../store/state.ts";
import { filesToWrite, isSkillPage, outdatedPages, placeOf, removeFiles } from "./host-files.ts";
import { hooksToWrite, statusLineToWrite } from "./host-settings.ts";
import { installedProgram } from "./removing.ts";
import { commandSteps, formatList, type Setup, type Start, type Step, stepIn } from "./step.ts";

const SENDS =
  "Indexing and naming send texts where config.json says: session-memory embed --dry-run shows what";
const NO_AGENT =
  "No agent was found, so there is nothing to install into: run setup again when one is on PATH";
/** The characters of the first answer: a part of a screen. */
const ANSWER_CHARS = "1200";

/**
 * Shows what is to be done, does it where that is allowed, indexes and names in any case, and shows what can be asked now.
 * `describe` lists the hosts, unless nothing is to be done.
 */
export async function install(setup: Setup, describe: () => void): Promise<void> {
  const { paths, say, report, found, note, values } = setup;
  const steps = stepsToInstall(setup);
  const isAgain = existsSync(paths.database) && steps.length === 0 && found.length > 0;
  if (isAgain && !values.json) {
    await indexAndName({ ...setup, values: { ...values, quiet: true } });
    const hosts = found.map(({ name }) => name).join(", ");
    return say(`nothing to do: session-memory is in ${hosts}; ${searchable(setup)} searched`);
  }
  describe();
  say(...announce(setup, steps));
  const chosen = await chooseHosts(setup, steps);
  for (const { host, run } of steps) if (chosen.includes(host)) await run();
  const failed = report.commands.filter(({ ok }) => ok === false).map(({ host }) => host);
  const wired = chosen.filter((host) => !failed.includes(host));
  say(...found.flatMap(({ name, afterwards }) => (wired.includes(name) ? (afterwards ?? []) : [])));
  await indexAndName(setup);
  say("", `${searchable(setup)} searched now`);
  await answerOwnQuestion(setup);
  await offerModel(setup);
  say(...outcome(setup, wired));
  if (steps.length > 0 && chosen.length === 0)
    note("installed into no agent: session-memory setup --yes does what is listed above");
}

function searchable({ report: { sessions } }: Setup): string {
  return `${counted(sessions ?? 0, "session")} can be`;
}

/** Returns what is to be done: the hosts' commands, files by host, hooks, pages that are outdated, and the status line. */
function stepsToInstall(setup: Setup): Step[] {
  const { paths, report, found, settings } = setup;
  const hooks = found.flatMap((host) => {
    const file = hooksToWrite(host, paths);
    if (!file?.isNeeded) return [];
    return stepIn(host.name, `add hooks to ${quoted(file.path)}`, file.write);
  });
  const outdated = found.flatMap((host) => {
    const own = outdatedPages(host, paths);
    if (own[0] === undefined) return [];
    const what = `remove ${counted(own.length, "old skill page")} in ${quoted(placeOf(own[0]))}`;
    return stepIn(host.name, what, () => removeFiles(paths, own));
  });
  const statusLines = (settings.activity.statusLine ? found : []).flatMap((host) => {
    const line = statusLineToWrite(host, paths);
    if (line === undefined) return [];
    report.statusLine = line.command;
    return stepIn(host.name, `set statusLine in ${quoted(line.file.path)}`, line.file.write);
  });
  const files = found.flatMap((host) => fileSteps(host, setup));
  return [...commandSteps(setup), ...files, ...hooks, ...outdated, ...statusLines];
}

/** Returns the steps that write a host's files; its skill pages are one. */
function fileSteps(host: Host, { paths, report }: Setup): Step[] {
  const files = filesToWrite(host, paths);
  report.pages.push(...files.map(({ file }) => file));
  const write = (what: string, own: typeof files) =>
    stepIn(host.name, `write ${what}`, () => {
      for (const { file, text } of own) {
        replaceFile(file, text);
        recordWritten(paths, { path: file, content: text, sessionId: "" });
      }
    });
  const { pages = [], others = [] } = Object.groupBy(files, ({ file }) =>
    isSkillPage(file) ? "pages" : "others",
  );
  const [first] = pages;
  const place = first && `${counted(pages.length, "skill page")} in ${quoted(placeOf(first.file))}`;
  return [
    ...(place === undefined ? [] : [write(place, pages)]),
    ...others.map((other) => write(quoted(other.file), [other])),
  ];
}

/** Returns lines on what is to be done, and on whom that lets receive anything. */
function announce(setup: Setup, steps: readonly Step[]): string[] {
  const { paths, settings, values, report, found } = setup;
  const { embedding, llm } = settings;
  const title = values.yes || process.stdin.isTTY ? "To install:" : "To install with --yes:";
  const isAlone = steps.length === 0 && report.hosts.every(({ program }) => program === null);
  const unreadable = found.flatMap((host) => {
    const file = hooksToWrite(host, paths);
    return file?.isUnreadable ? [`${file.path}: not plain JSON, so no hooks for ${host.name}`] : [];
  });
  const lines = steps.map(({ line }) => line);
  return [
    ...formatList(title, lines),
    ...(isAlone ? [NO_AGENT] : []),
    ...unreadable,
    ...((embedding ?? llm) ? [SENDS] : []),
    ...found.flatMap((host) => observedIn(host, setup)),
    ...[archiveLine(paths, settings) ?? []].flat(),
  ];
}

/**
 * Says who receives a session in a host whose own model will observe it, and at what length it is compacted, which its user
 * would take for a fault.
 */
function observedIn({ name, observesItself }: Host, setup: Setup): string[] {
  if (!observesItself || !setup.report.commands.some(({ host }) => host === name)) return [];
  const { observe } = setup.settings;
  const receivers = describeReceivers(setup);
  const isOn = observe.model !== "none" || observe.rules;
  const tokens = (observe.observerTokens + observe.retainTokens).toLocaleString("en-US");
  const compacted = `In ${name}, a conversation is compacted at ${tokens} tokens, whatever the model's window; ${name} asks first, once`;
  return [
    ...(receivers === "nothing" ? [] : [`From then on sends: ${receivers}`]),
    ...(isOn && isCompactionDue(Number.POSITIVE_INFINITY, observe) ? [compacted] : []),
  ];
}

/** Returns the hosts to install into: all by `--yes`, else the ones that somebody at the terminal chooses. */
async function chooseHosts({ values, confirm }: Setup, steps: readonly Step[]): Promise<string[]> {
  const hosts = [...new Set(steps.map(({ host }) => host))];
  if (values.yes) return hosts;
  const chosen: string[] = [];
  for (const host of hosts) if (await confirm(`Install into ${host}?`)) chosen.push(host);
  return chosen;
}

/** Runs two scripts of ours, whose progress goes to stderr; without a session nothing is to be named. */
async function indexAndName(setup: Setup): Promise<void> {
  const run = async (name: string) => {
    if ((await startOwn(setup, [name], "ignore")).status !== 0) process.exitCode = 1;
  };
  await run("embed");
  setup.report.sessions = countKnown(setup.paths, "").count;
  if (setup.report.sessions > 0) await run("index-meta");
}

/** Answers a question of the user's own, and shows how to ask it. */
async function answerOwnQuestion(setup: Setup): Promise<void> {
  const { report, say } = setup;
  report.questions = await suggestQuestions(setup, setup.cwd);
  const [first] = report.questions;
  if (first === undefined || setup.values.json) return;
  const commands = report.questions.map((question) => `session-memory search ${quoted(question)}`);
  say(...formatList("Questions from your own history:", commands), "", "The first one's answer:");
  await startOwn(setup, ["search", "--limit", "1", "--max-chars", ANSWER_CHARS, "--quiet", first], "inherit");
}

/** Runs a script of ours on the same sessions. */
function startOwn(
  { start, values: { sessions = [], quiet } }: Setup,
  [name = "", ...words]: readonly string[],
  stdout: "ignore" | "inherit",
): ReturnType<Start> {
  const flags = [...sessions.flatMap((path) => ["--sessions", path]), ...(quiet ? ["--quiet"] : [])];
  return start([...ownCommand(name), ...words, ...flags], { stdout });
}

/** Asks a person whether a host is to be the model, if none is configured. */
async function offerModel({ found, settings, paths, say, confirm }: Setup): Promise<void> {
  const { name, offer } = ASKED_HOST;
  if (settings.llm || !process.stdin.isTTY || !found.some((host) => host.name === name)) return;
  say("", ...offer);
  if (await confirm(`Use ${name} for this?`)) await setHostAsModel(paths.config, true);
}

function outcome({ env }: Setup, wired: readonly string[]): string[] {
  const installed = installedProgram(env);
  const result = [
    ...(wired.length > 0 ? [`Installed from ${ROOT} in ${wired.join(", ")}`] : []),
    ...(installed.length > 0 ? [`Installed on this machine: ${installed.join(", ")}`] : []),
  ];
  return result.length > 0 ? ["", ...result, "To undo: session-memory setup --remove"] : [];
}
