/** How a failure ended: the run that went without it, what was done in between, and which of that may have helped. */

import type { StoredDeed } from "../index/session-rows.ts";
import { errorWords, sameLine } from "../transcripts/error-lines.ts";
import { onlyChanges } from "../transcripts/tool-call.ts";
import { commandKey, commandsIn, isLooking, programOf, shellParts } from "./commands.ts";

/** A run without the error, and what was done before it. */
export interface Ending {
  run: StoredDeed;
  /** Edits and commands in between, in order. */
  steps: StoredDeed[];
  /** Whether it is another command line than the one that failed. */
  isOther: boolean;
}

/** What is known of the error, and of a run's output. */
interface Judge {
  /** The line of the error. */
  error: string;
  /** Whether it is without the error. */
  isFree: (run: StoredDeed) => boolean;
  /** Whether it complains about nothing. */
  isClean: (run: StoredDeed) => boolean;
}

/** Another command to the same end comes soon: it is one of the next that do something. */
const OTHER_WITHIN = 3;
/** Of the shorter command's words so many are in one that takes the place of another. */
const SHARED_WORDS = 0.5;

/** Returns how a failure ended: the same went well without the error, or another command to the same end. */
export function findEnding(
  failed: StoredDeed,
  later: readonly StoredDeed[],
  { error, isFree, isClean }: Judge,
): Ending | undefined {
  const line = textOf(failed);
  const goal = goalOf(line, error);
  const runs = later.filter(
    ({ kind, outcome }) => kind === failed.kind && (outcome === "done" || outcome === "failed"),
  );
  const doesLess = (run: StoredDeed) => leavesOut(textOf(run), line, failed.result);
  const isFreeRun = (run: StoredDeed) => isShown(run, line) && isFree(run) && !doesLess(run);
  // a filter hides the exit code
  const wentWell = (run: StoredDeed) => run.outcome === "done" && (hasOwnCode(textOf(run)) || isClean(run));
  const isSame = (run: StoredDeed) =>
    failed.kind === "command" ? goalsOf(textOf(run)).includes(goal) : run.target === failed.target;
  const same = runs.find((run) => isSame(run) && isFreeRun(run));
  const isProven = same && runs.some((run) => isSame(run) && wentWell(run) && isFreeRun(run));
  const other = runs
    .filter((run) => !isLooking(textOf(run)))
    .slice(0, OTHER_WITHIN)
    .find((run) => isFreeRun(run) && wentWell(run) && isToSameEnd(line, textOf(run)));
  const [run] = [isProven ? same : undefined, other]
    .flatMap((each) => each ?? [])
    .sort((a, b) => a.line - b.line);
  if (!run) return undefined;
  const steps = stepsBetween(later, failed.line, run.line).filter(
    (step) => isChange(step) || !doesLess(step),
  );
  return { run, steps, isOther: line !== textOf(run) };
}

/** Returns whether a run only leaves out what a failure complained of: it does less, and ends nothing. */
function leavesOut(run: string, failed: string, output: string): boolean {
  const [had, wanted] = [operandsOf(run), operandsOf(failed)];
  const complained = output.split(/[\s"'`:,()]+/).filter(Boolean);
  const isNamed = (word: string) => complained.some((name) => word === name || word.startsWith(`${name}/`));
  const words = commandsIn(run).join(" ").split(" ");
  const isPart = had.length > 0 && had.every((word) => wanted.includes(word));
  return isPart && wanted.some((word) => isNamed(word) && !words.includes(word));
}

/** Returns what the programs of a line are told to work on: not their options and subcommands. */
function operandsOf(line: string): string[] {
  return commandsIn(line).flatMap((command) => {
    const [, what = "", ...rest] = command.split(" ");
    return [...(/^[\w:-]+$/.test(what) ? [] : [what]), ...rest].filter((word) => /^[\w./@]/.test(word));
  });
}

/** Filters that let the last lines of an output through, where a program names its errors. */
const LETS_THROUGH = /^(?:tail|head|tee|cat)\b/;

/** Returns whether an output holds a program's errors: a filter that showed one before shows it again. */
function isShown(run: StoredDeed, failed: string): boolean {
  return filtersOf(textOf(run)).every((filter) => filtersOf(failed).includes(filter));
}

function filtersOf(line: string): string[] {
  return shellParts(line).flatMap(({ text }, i, parts) =>
    parts[i - 1]?.separator === "|" && !LETS_THROUGH.test(text) ? [text] : [],
  );
}

/** Returns whether the exit code of a command line is that of its commands. */
export function hasOwnCode(line: string): boolean {
  return shellParts(line).every(({ separator }) => separator === "" || separator === "&&");
}

/** Returns the program that a line is run for: that which an error names, else the last of those that do something. */
export function goalOf(line: string, error = ""): string {
  const goals = goalsOf(line);
  const named = programNamedIn(error);
  return goals.find((goal) => goal.split(" ")[0] === named) ?? goals.at(-1) ?? "";
}

/** Returns what an error's line begins with, as programs begin it with their name. */
export function programNamedIn(error: string): string | undefined {
  return /^([\w.-]+): /.exec(sameLine(error))?.[1];
}

/** Returns the programs of a line that do something, else all, in order. */
export function goalsOf(line: string): string[] {
  const commands = commandsIn(line);
  const doing = commands.filter((command) => !isLooking(command));
  return (doing.length > 0 ? doing : commands).map(programOf);
}

/** Returns whether a run has the last word of a failed command, and half of the shorter one's words in common with it. */
function isToSameEnd(failed: string, run: string): boolean {
  const [wanted, had] = [wordsOf(failed), wordsOf(run)];
  const shared = new Set(wanted.filter((word) => had.includes(word))).size;
  const least = SHARED_WORDS * Math.min(new Set(wanted).size, new Set(had).size);
  return had.includes(wanted.at(-1) ?? "") && shared >= least;
}

function wordsOf(line: string): string[] {
  return (commandsIn(line).at(-1) ?? "").split(" ").filter((word) => /^[\w./@]/.test(word));
}

/** Returns what a deed was done with: a command line, else its target. */
export function textOf({ input, target }: StoredDeed): string {
  return input || target;
}

export function isChange({ kind }: StoredDeed): boolean {
  return kind === "edit" || kind === "write";
}

/** Returns the deeds between two lines that may have changed something. */
export function stepsBetween(deeds: readonly StoredDeed[], from: number, to: number): StoredDeed[] {
  return deeds.filter(
    (deed) =>
      deed.line > from &&
      deed.line < to &&
      deed.outcome !== "rejected" &&
      !(deed.outcome === "failed" && deed.kind !== "command") &&
      (isChange(deed) || (deed.kind === "command" && !isLooking(textOf(deed)))),
  );
}

/** A step that failed may have gone on by hand: it says so much less. */
const FAILED_STEP = 4;

/** A step, and how likely it ended an error: by its telling words, and as a command much like the one that failed. */
interface RankedStep {
  deed: StoredDeed;
  worth: number;
}

/** Ranks the steps to an ending, the likeliest first: of equals changes, then the last. */
export function rankSteps(
  failed: StoredDeed,
  { steps }: Ending,
  line: string,
  later: readonly StoredDeed[],
): RankedStep[] {
  const key = commandKey(textOf(failed));
  const words = tellingWords(line, later.map(contentOf));
  const command = wordsOf(textOf(failed)).join(" ");
  return steps
    .filter((deed) => isChange(deed) || commandKey(textOf(deed)) !== key)
    .map((deed, i) => {
      const text = contentOf(deed);
      const held = words.filter((word) => text.includes(word)).length;
      const isLike = deed.kind === "command" && wordsOf(textOf(deed)).join(" ").startsWith(command);
      return { deed, i, worth: deed.outcome === "failed" ? held / FAILED_STEP : held + Number(isLike) };
    })
    .sort((a, b) => b.worth - a.worth || Number(isChange(b.deed)) - Number(isChange(a.deed)) || b.i - a.i);
}

function contentOf({ target, input }: StoredDeed): string {
  return `${target} ${input}`.toLowerCase();
}

/** Returns the words of an error that few of the session's deeds hold. */
function tellingWords(line: string, texts: readonly string[]): string[] {
  return longWords(line).filter((word) => {
    const held = texts.filter((text) => text.includes(word)).length;
    return held > 0 && held <= Math.max(3, texts.length / 10);
  });
}

function longWords(line: string): string[] {
  return errorWords(line.toLowerCase()).filter((word) => word.length > 3);
}

/** Returns what an edit changed, from the line on that says most about an error: with its words, and added. */
export function changeAround({ input }: StoredDeed, error: string): string {
  const words = longWords(error);
  const worth = (line: string) =>
    2 * words.filter((word) => line.toLowerCase().includes(word)).length + Number(line.startsWith("+"));
  const lines = (onlyChanges(input) || input).split("\n").filter((line) => /\w/.test(line));
  const best = lines.reduce((best, line, i) => (worth(line) > worth(lines[best] ?? "") ? i : best), 0);
  return lines.slice(best).join("\n");
}
