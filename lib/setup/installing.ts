/** Installs into the hosts of this machine what they lack of us. */

import { existsSync } from "node:fs";
import { archiveLine } from "../archive/archive.ts";
import { replaceFile } from "../base/files.ts";
import { ROOT } from "../base/runtime.ts";
import { counted, quoted } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import { writeSettings } from "../config/config-file.ts";
import { recordWritten } from "../store/state.ts";
import { answerOwnQuestion, indexAndName } from "./answers.ts";
import { filesToWrite, type HostFile, outdatedPages } from "./host-files.ts";
import { hooksToWrite } from "./host-hooks.ts";
import { installedProgram } from "./removing.ts";
import {
  commandSteps,
  formatList,
  type HostStep,
  isSkillPage,
  placeOf,
  removeFiles,
  type Step,
  type Work,
} from "./step.ts";

const SENDS =
  "Indexing and naming send texts where config.json says: session-memory embed --dry-run shows what";
const NO_AGENT =
  "No agent was found, so there is nothing to install into: run setup again when one is on PATH";

/**
 * Shows what is to be done, does it where that is allowed, indexes and names in any case, and shows what can be asked now.
 * `describe` lists the hosts, unless nothing is to be done.
 */
export async function install(work: Work, describe: () => void): Promise<void> {
  const { config, say, report, found, note, particulars } = work;
  const pages = found.flatMap((host) => filesToWrite(host, config.paths));
  const steps = stepsToInstall(work, pages);
  const isAgain = existsSync(config.paths.database) && steps.length === 0 && found.length > 0;
  if (isAgain && !work.values.json) return await goOn(work);
  describe();
  report.pages = pages.map(({ file }) => file);
  say(...announce(work, steps));
  const chosen = await chooseHosts(work, steps);
  for (const { host, run } of steps) if (chosen.includes(host)) await run();
  say(...particulars.afterwards());
  await indexAndName(work);
  say("", `${counted(report.sessions ?? 0, "session")} can be searched now`);
  await answerOwnQuestion(work);
  await particulars.offer();
  say(...outcome(work, chosen));
  if (steps.length > 0 && chosen.length === 0)
    note("installed into no agent: session-memory setup --yes does what is listed above");
}

/** Returns what is to be done for each host: its commands, its files by folder, its hooks, and what it alone needs. */
function stepsToInstall(work: Work, pages: readonly HostFile[]): HostStep[] {
  const { paths } = work.config;
  const step = (host: string, line: string, run: () => void): HostStep => {
    return { host, lines: [`${line}   # ${host}`], run };
  };
  const folders = Map.groupBy(pages, ({ host, file }) =>
    isSkillPage(file) ? `${host} ${placeOf(file)}` : file,
  );
  const files = [...folders.values()].map((own) => {
    const [{ host, file }] = own as [HostFile];
    const what = isSkillPage(file)
      ? `${counted(own.length, "skill page")} in ${quoted(placeOf(file))}`
      : quoted(file);
    return step(host, `write ${what}`, () => writePages(paths, own));
  });
  const hooks = work.found.flatMap((host) => {
    const file = hooksToWrite(host, paths);
    if (file?.next === undefined) return [];
    return step(host.name, `add hooks to ${quoted(file.path)}`, () => writeSettings(file));
  });
  const outdated = work.found.flatMap(({ name, ...host }) => {
    const own = outdatedPages({ name, ...host }, paths);
    const what = `remove ${counted(own.length, "old skill page")}`;
    const [first] = own;
    if (first === undefined) return [];
    return step(name, `${what} in ${quoted(placeOf(first))}`, () => removeFiles(paths, own));
  });
  return [...commandSteps(work), ...files, ...hooks, ...outdated, ...work.particulars.installs];
}

function writePages(paths: PathsWithRules, pages: readonly HostFile[]): void {
  for (const { file, text } of pages) {
    replaceFile(file, text);
    recordWritten(paths, { path: file, content: text, sessionId: "" });
  }
}

/** Indexes and names what came since, where every agent has us as we are now, and says so in a line. */
async function goOn(work: Work): Promise<void> {
  await indexAndName({ ...work, values: { ...work.values, quiet: true } });
  const sessions = `${counted(work.report.sessions ?? 0, "session")} can be searched`;
  const hosts = work.found.map(({ name }) => name).join(", ");
  work.say(`nothing to do: session-memory is in ${hosts}; ${sessions}`);
}

/** Returns lines on what is to be done, and on whom that lets receive anything. */
function announce(work: Work, steps: readonly Step[]): string[] {
  const { config, values, report, particulars } = work;
  const { paths, settings } = config;
  const { embedding, llm } = settings;
  const title = values.yes || process.stdin.isTTY ? "To install:" : "To install with --yes:";
  const isAlone = steps.length === 0 && report.hosts.every(({ program }) => program === null);
  const kept = archiveLine(paths, settings);
  return [
    ...formatList(
      title,
      steps.flatMap(({ lines }) => lines),
    ),
    ...(isAlone ? [NO_AGENT] : []),
    ...unreadableSettings(work),
    ...((embedding ?? llm) ? [SENDS] : []),
    ...particulars.notices,
    ...(kept === undefined ? [] : [kept]),
  ];
}

/** Names settings that hooks cannot be written into. */
function unreadableSettings({ config: { paths }, found }: Work): string[] {
  return found.flatMap((host) => {
    const file = hooksToWrite(host, paths);
    return file?.isUnreadable ? [`${file.path}: not plain JSON, so no hooks for ${host.name}`] : [];
  });
}

/** Returns the hosts to install into: all by `--yes`, else the ones that somebody at the terminal chooses. */
async function chooseHosts({ values, confirm }: Work, steps: readonly HostStep[]): Promise<string[]> {
  const hosts = [...new Set(steps.map(({ host }) => host))];
  if (values.yes) return hosts;
  const chosen: string[] = [];
  for (const host of hosts) if (await confirm(`Install into ${host}?`)) chosen.push(host);
  return chosen;
}

function outcome({ config, report }: Work, chosen: readonly string[]): string[] {
  const failed = new Set(report.commands.filter(({ ok }) => ok === false).map(({ host }) => host));
  const wired = chosen.filter((host) => !failed.has(host));
  const installed = installedProgram(config.env);
  const result = [
    ...(wired.length > 0 ? [`Installed from ${ROOT} in ${wired.join(", ")}`] : []),
    ...(installed.length > 0 ? [`Installed on this machine: ${installed.join(", ")}`] : []),
  ];
  return result.length > 0 ? ["", ...result, "To undo: session-memory setup --remove"] : [];
}
