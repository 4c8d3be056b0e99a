/** Finds how a failure ended: the run that passed without its error, the steps in between, and which of them may have helped. */

import { errorWords, sameLine } from "../base/error-lines.ts";
import type { Done } from "../hosts/session.ts";
import type { Stored } from "../index/stored-rows.ts";
import {
  commandKey,
  commandOrTarget,
  commandsIn,
  findProgram,
  isLooking,
  RUNS_NEXT,
  shellParts,
  shellWords,
} from "../transcripts/command-lines.ts";
import { isChange, onlyChanges } from "../transcripts/rows.ts";

/** The run that passed without the error, and the steps before it. */
export interface Ending {
  run: Stored<Done>;
  /** Edits and commands in between, in order. */
  steps: Stored<Done>[];
  /** True if its command line differs from the failed one. */
  isOther: boolean;
}

/** Returns the ending of a failure: the same command, or another one for the same purpose, went well, free of the error. */
export function findEnding(
  failed: Stored<Done>,
  later: readonly Stored<Done>[],
  { error, isFree }: { error: string; isFree: (run: Stored<Done>) => boolean },
): Ending | undefined {
  const line = commandOrTarget(failed);
  const part = failingPart(line, failed.result, error);
  const goals = part.map(findProgram);
  const names = findComplained(failed.result);
  const alike = (run: Stored<Done>) =>
    commandsIn(commandOrTarget(run)).filter((command) => goals.includes(findProgram(command)));
  const isEnd = (run: Stored<Done>, commands: string[]) =>
    isShown(run, line) && doesAsMuch(commands, part, names) && isFree(run);
  const isSame = (run: Stored<Done>) => {
    if (failed.kind !== "command") return run.target === failed.target && isFree(run);
    const programs = alike(run).map(findProgram);
    const isWhole = goals.every((goal) => programs.includes(goal));
    return isWhole && isLooking(commandOrTarget(run)) === isLooking(line) && isEnd(run, alike(run));
  };
  const isOther = (run: Stored<Done>) =>
    isToSameEnd(line, commandOrTarget(run)) && isEnd(run, commandsIn(commandOrTarget(run)));
  const isAct = (run: Stored<Done>) => run.kind === "command" && !isLooking(commandOrTarget(run));
  const run = later
    .filter(({ kind, outcome }) => kind === failed.kind && outcome === "done")
    .find((run) => isSame(run) || (isAct(run) && isOther(run)));
  if (!run) return undefined;
  const isLess = (step: Stored<Done>) =>
    isWithinCommands(alike(step), part) && !doesAsMuch(alike(step), part, names);
  const steps = stepsBetween(later, failed.line, run.line).filter((step) => isChange(step) || !isLess(step));
  return { run, steps, isOther: cutEssence(line) !== cutEssence(commandOrTarget(run)) };
}

/** Returns the commands of a line that may have failed: those of the program the error names, else with a word of the output. */
export function failingPart(line: string, output: string, error: string): string[] {
  const commands = commandsIn(line);
  const doing = commands.filter((command) => !isLooking(command));
  const all = doing.length > 0 ? doing : commands;
  if (all.length < 2) return all;
  const program = programNamedIn(error);
  const named = all.filter((command) => findProgram(command).split(" ")[0] === program);
  if (named.length > 0) return named;
  const names = findComplained(output);
  const mentioned = all.filter((command) => listOperands([command]).some((word) => isNamed(word, names)));
  return mentioned.length > 0 ? mentioned : all;
}

/** Longer words are data, not names. */
const NAME_MAX = 300;

/** Returns the names in an output that its error may be about, with the folders above each path. */
function findComplained(output: string): Set<string> {
  const words = output.split(/[\s"'`:,()]+/).filter(({ length }) => length <= NAME_MAX);
  return new Set(words.flatMap(withFolders));
}

function withFolders(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, i) => parts.slice(0, i + 1).join("/")).filter((folder) => /\w/.test(folder));
}

/** Returns whether a word, or a folder above it, is among the names in an output. */
function isNamed(word: string, names: ReadonlySet<string>): boolean {
  return word.length <= NAME_MAX && withFolders(word).some((folder) => names.has(folder));
}

/** Returns whether commands cover what failed ones worked on: the operands that the output names, else all of them. */
function doesAsMuch(
  commands: readonly string[],
  failed: readonly string[],
  names: ReadonlySet<string>,
): boolean {
  const [had, words] = [listOperands(commands), commands.flatMap(shellWords)];
  const wanted = listOperands(failed);
  const named = wanted.filter((word) => isNamed(word, names));
  if (named.length > 0) return named.every((word) => words.includes(word));
  // further operands narrow a command to a part, unless that is the part that failed
  const more = had.filter((word) => !wanted.includes(word));
  if (more.length > 0 && !more.some((word) => isNamed(word, names))) return false;
  return had.length === 0 || wanted.every((word) => words.includes(word));
}

/** Returns whether commands have operands, all of them operands of others too. */
function isWithinCommands(commands: readonly string[], whole: readonly string[]): boolean {
  const [had, all] = [listOperands(commands), listOperands(whole)];
  return had.length > 0 && had.every((word) => all.includes(word));
}

/** Returns the operands of commands: not their options, texts and subcommands. */
export function listOperands(commands: readonly string[]): string[] {
  return commands.flatMap((command) => {
    const [, what = "", ...rest] = shellWords(command.replace(RUNS_NEXT, ""));
    return [...(/^[\w:-]+$/.test(what) ? [] : [what]), ...rest].filter((word) => /^[\w./@]\S*$/.test(word));
  });
}

/** Returns the commands of a line that do something, up to the last of some programs: no filters, none that only look. */
export function cutEssence(line: string, goals: readonly string[] = []): string {
  const parts = shellParts(line.trim());
  const doing = parts.filter(({ text }, i) => parts[i - 1]?.separator !== "|" && !isLooking(text));
  const last = doing.findLastIndex(({ text }) =>
    commandsIn(text).some((each) => goals.includes(findProgram(each))),
  );
  const shown = (doing.length > 0 ? doing : parts).slice(0, last < 0 ? undefined : last + 1);
  return shown.map(({ text }) => text.replace(/(?:\s*2>&1)+$/, "")).join(" && ");
}

/** Filters that let the last lines of an output through, where a program names its errors. */
const LETS_THROUGH = /^(?:tail|head|tee|cat)\b/;

/** Returns whether an output holds a program's errors: a filter that showed one before shows it again. */
function isShown(run: Stored<Done>, failed: string): boolean {
  return listFilters(commandOrTarget(run)).every((filter) => listFilters(failed).includes(filter));
}

/** Returns the filters and redirections of a line. */
function listFilters(line: string): string[] {
  return shellParts(line).flatMap(({ text }, i, parts) => [
    ...(parts[i - 1]?.separator === "|" && !LETS_THROUGH.test(text) ? [text] : []),
    ...(text.match(/(?<=\s)(?:[12&]?>>?)\s*[^\s&]\S*/g) ?? []),
  ]);
}

/** Returns whether the exit code of a command line shows whether any of its commands failed. */
export function hasOwnCode(line: string): boolean {
  return shellParts(line).every(({ separator }) => separator === "" || separator === "&&");
}

/** Returns what an error's line begins with, as programs begin it with their name. */
export function programNamedIn(error: string): string | undefined {
  return /^([\w.-]+): /.exec(sameLine(error))?.[1];
}

/** Returns whether a command serves the purpose of a failed one: it has the last of its words, and half of the shorter one's. */
function isToSameEnd(failed: string, run: string): boolean {
  const [wanted, had] = [splitLine(failed), splitLine(run)];
  const shared = wanted.filter((word) => had.includes(word)).length;
  return had.includes(wanted.at(-1) ?? "") && shared >= Math.min(wanted.length, had.length) / 2;
}

/** Returns the words of a line's last command. */
function splitLine(line: string): string[] {
  const words = (commandsIn(line).at(-1) ?? "").split(" ");
  return [...new Set(words.filter((word) => /^[\w./@]/.test(word)))];
}

/** Returns the name of a file, by its path on any system. */
export function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** Returns the deeds between two lines that may have changed something. */
export function stepsBetween(deeds: readonly Stored<Done>[], from: number, to: number): Stored<Done>[] {
  return deeds.filter(
    (deed) =>
      deed.line > from &&
      deed.line < to &&
      deed.outcome !== "rejected" &&
      !(deed.outcome === "failed" && deed.kind !== "command") &&
      (isChange(deed) || (deed.kind === "command" && !isLooking(commandOrTarget(deed)))),
  );
}

/** Commands that install something missing or start something that is not running, under any name. */
const REMEDIES: [error: RegExp, command: RegExp][] = [
  [
    /\bmissing\b|no such|\bno module|not (?:be )?(?:found|installed)|cannot find|(?:not|n't) exist/i,
    /\b(?:install|add)\b/,
  ],
  [/refused|not running|connect|\bdaemon\b|socket/i, /\b(?:start|restart|up)\b/],
];

/**
 * Ranks the steps before an ending by how likely they ended the failure: by the telling words of the error that they hold or
 * printed, and by whether a command is a remedy or begins like the one that failed; among equals changes come first, then later
 * ones.
 */
export function rankSteps(
  failed: Stored<Done>,
  steps: readonly Stored<Done>[],
  error: string,
  later: readonly Stored<Done>[],
): { deed: Stored<Done>; worth: number }[] {
  const line = commandOrTarget(failed);
  const words = tellingWords(error, later.map(describeDone));
  const begins = splitLine(line).join(" ");
  const cures = REMEDIES.flatMap(([of, cure]) => (of.test(error) ? [cure] : []));
  const worthOf = (step: Stored<Done>) => {
    if (step.outcome === "failed") return 0;
    const text = describeDone(step);
    const held = words.intersection(tokenize(isChange(step) ? text : `${text} ${step.result}`)).size;
    if (isChange(step)) return held;
    const isLike = splitLine(commandOrTarget(step)).join(" ").startsWith(begins);
    return held + Number(isLike) + Number(cures.some((cure) => cure.test(text)));
  };
  return steps
    .filter((deed) => isChange(deed) || commandKey(commandOrTarget(deed)) !== commandKey(line))
    .map((deed, i) => ({ deed, i, worth: worthOf(deed) }))
    .sort((a, b) => b.worth - a.worth || Number(isChange(b.deed)) - Number(isChange(a.deed)) || b.i - a.i);
}

function describeDone({ target, input }: Stored<Done>): string {
  return `${target} ${input}`.toLowerCase();
}

function tokenize(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

/** Returns the words of an error that few of the session's deeds hold. */
function tellingWords(error: string, contents: readonly string[]): Set<string> {
  const isRare = (word: string) =>
    contents.filter((content) => content.includes(word)).length <= Math.max(3, contents.length / 10);
  return new Set([...tokenize(error)].filter((word) => word.length > 3 && isRare(word)));
}

/** Returns what an edit changed, from the line on that says most about an error: with its words, and added. */
export function changeAround({ input }: Stored<Done>, error: string): string {
  const words = errorWords(error.toLowerCase()).filter((word) => word.length > 3);
  const worth = (line: string) =>
    2 * words.filter((word) => line.toLowerCase().includes(word)).length + Number(line.startsWith("+"));
  const lines = (onlyChanges(input) || input).split("\n").filter((line) => /\w/.test(line));
  const best = lines.reduce((best, line, i) => (worth(line) > worth(lines[best] ?? "") ? i : best), 0);
  return lines.slice(best).join("\n");
}
