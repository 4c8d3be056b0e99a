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

/** Returns the ending of a failure: the same programs, or another command for the same purpose, went well without the error. */
export function findEnding(
  failed: Stored<Done>,
  later: readonly Stored<Done>[],
  isFree: (run: Stored<Done>) => boolean,
): Ending | undefined {
  const line = commandOrTarget(failed);
  const part = failingPart(line, failed.result);
  const programs = part.map(findProgram);
  const coversAll = coverTest(part, failed.result);
  const alike = (run: Stored<Done>) =>
    commandsIn(commandOrTarget(run)).filter((command) => programs.includes(findProgram(command)));
  const isAgain = (run: Stored<Done>) => {
    if (failed.kind !== "command") return run.target === failed.target;
    const same = alike(run);
    if (programs.every((program) => same.map(findProgram).includes(program))) return coversAll(same);
    const other = commandOrTarget(run);
    return isToSameEnd(line, other) && coversAll(commandsIn(other));
  };
  const proves = (run: Stored<Done>) => {
    const again = commandOrTarget(run);
    // the error would show through the filters through which it was seen
    const isShown = listFilters(again).every((filter) => listFilters(line).includes(filter));
    return isShown && isLooking(line) === isLooking(again);
  };
  const run = later
    .filter(({ kind, outcome }) => kind === failed.kind && outcome === "done")
    .find((each) => proves(each) && isAgain(each) && isFree(each));
  if (!run) return undefined;
  const isTrial = (step: Stored<Done>) => alike(step).length > 0 && !coversAll(alike(step));
  const steps = stepsBetween(later, failed.line, run.line).filter((step) => isChange(step) || !isTrial(step));
  return { run, steps, isOther: cutEssence(line) !== cutEssence(commandOrTarget(run)) };
}

/** Returns the commands of a line that may have failed: the ones with a word of the output, else all. */
export function failingPart(line: string, output: string): string[] {
  const commands = commandsIn(line);
  const names = findNames(output);
  const mentioned = commands.filter((command) =>
    listOperands([command]).some((word) => isNamed(word, names)),
  );
  return mentioned.length > 0 ? mentioned : commands;
}

/** Returns the names in an output that its error may be about, with the folders above each path. */
function findNames(output: string): Set<string> {
  return new Set(output.split(/[\s"'`:,()]+/).flatMap(withFolders));
}

/** Longer words are data, not names. */
const NAME_MAX = 300;

function withFolders(path: string): string[] {
  const parts = path.slice(0, NAME_MAX).split("/");
  return parts.map((_, i) => parts.slice(0, i + 1).join("/")).filter((folder) => /\w/.test(folder));
}

/** Returns whether a word, or a folder above it, is among the names in an output. */
function isNamed(word: string, names: ReadonlySet<string>): boolean {
  return withFolders(word).some((folder) => names.has(folder));
}

/**
 * Makes a test for commands that work on all that failed ones worked on: the operands that the output names, else all. A
 * command without operands works on whatever there is; one with further ones on a part of it, unless the output names them.
 */
function coverTest(failed: readonly string[], output: string): (commands: readonly string[]) => boolean {
  const [operands, names] = [listOperands(failed), findNames(output)];
  const named = operands.filter((word) => isNamed(word, names));
  const targets = named.length > 0 ? named : operands;
  return (commands) => {
    const had = listOperands(commands);
    if (had.length === 0) return true;
    if (targets.length === 0) return had.some((word) => isNamed(word, names));
    const words = commands.flatMap(shellWords);
    return targets.every((target) => words.includes(target));
  };
}

/** Returns the operands of commands: not their options, texts and subcommands. */
function listOperands(commands: readonly string[]): string[] {
  return commands.flatMap((command) => {
    const [, what = "", ...rest] = shellWords(command);
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

/** Returns the filters of a line that may hide an error. */
function listFilters(line: string): string[] {
  const texts = shellParts(line).map(({ text }, i, parts) => (parts[i - 1]?.separator === "|" ? text : ""));
  return texts.filter((text) => text !== "" && !LETS_THROUGH.test(text));
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
