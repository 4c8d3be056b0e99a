/** Finds where an error occurred before, and the commands and edits after which the same command ran without it. */

import { errorLines, errorWords, outputLines, sameLine } from "../base/error-lines.ts";
import { counted } from "../base/text.ts";
import type { Done } from "../hosts/session.ts";
import { readDone, type Stored } from "../index/stored-rows.ts";
import type { Hit } from "../search/hit.ts";
import type { ShownRow } from "../search/rows.ts";
import type { Store } from "../store/store.ts";
import { commandKey, commandOrTarget, isLooking } from "../transcripts/command-lines.ts";
import { isChange, onlyChanges } from "../transcripts/rows.ts";
import { changeAround, findEnding, rankSteps, stepsBetween } from "./endings.ts";
import {
  deedRow,
  doneHit,
  type FindScope,
  matchDeeds,
  matchMessages,
  messagesWithin,
  type SessionDeed,
  spokenHits,
} from "./finds.ts";

/** The most lines of the given error that are looked for. */
const LINES_MAX = 6;
const WORDS_MAX = 12;
/** The most deeds with words of a line that are compared with it, those with most of them first. */
const ALIKE_MAX = 300;
/** The most steps shown between the error and its end. */
const STEPS_MAX = 5;
/** The newest failures of a command in which an end is looked for: of an earlier one the error came back. */
const FAILURES_MAX = 5;
const TEXT_CHARS = 300;
/** Messages shown after an error without an end; the first two mostly say what became of it. */
const SAID_MAX = 2;
const ENDING_CHARS = 100;
/** The number of lines after the last row in which a comment on it is looked for. */
const SAID_LINES = 30;
/** The number of lines after a failure without an end in which the next steps are looked for. */
const NEXT_LINES = 120;

/** The most characters of a line that are compared: a pasted page is not an error. */
const SEARCHED_MAX = 2000;
const PATH = /(?:[a-z]:)?(?:[\w.@~+-]*[\\/])+[\w.@~+-]*/gi;
/** The share of an error's words that a line like it has, and the least of them: two words meet by chance. */
const LIKE_SHARE = 0.75;
const LIKE_WORDS = 3;

/** A deed with a line like the error in its output. */
interface ErrorRun extends SessionDeed {
  line: string;
  /** The share of the error's words that it has. */
  share: number;
}

/**
 * Finds the runs that printed an error: the ones with most of its lines first, then those with an end, then the newest. Where no
 * output has it, finds the messages that quote it.
 */
export function errorHistory(store: Store, error: string, scope: FindScope): Hit[] {
  const lines = errorLines(error, { max: LINES_MAX, maxChars: Number.POSITIVE_INFINITY, orAll: true })
    .map((line) => likeWords(line).slice(0, WORDS_MAX))
    .filter((words) => words.length > 0);
  const runs = lines.flatMap((words) => runsLike(store, words, scope));
  const same = runs.filter(({ share }) => share === 1);
  const [first] = lines;
  const quotes = first && same.length === 0 ? quotesOf(store, first, scope) : [];
  if (quotes.length > 0) return quotes;
  const groups = Map.groupBy(same.length > 0 ? same : runs, (run) => `${run.deed.session} ${doneKey(run)}`);
  return [...groups.values()]
    .map((group) => makeErrorHit(store, group, error))
    .sort(
      (a, b) => b.lines - a.lines || Number(b.hasEnd) - Number(a.hasEnd) || (a.hit.at < b.hit.at ? 1 : -1),
    )
    .map(({ hit }) => hit);
}

/** Returns the words that every run of an error has: none of its paths, numbers and codes. */
function likeWords(line: string): string[] {
  const same = sameLine(line.slice(0, SEARCHED_MAX).replace(PATH, "/"));
  return errorWords(same.replace(/[\p{L}_]*\d[\p{L}\d]*/gu, " "));
}

/** Returns the line of a text that has most of an error's words; undefined where none has enough of them. */
function likest(text: string, words: readonly string[]): Pick<ErrorRun, "line" | "share"> | undefined {
  const least = words.length < LIKE_WORDS ? words.length : Math.max(LIKE_WORDS, words.length * LIKE_SHARE);
  const shared = outputLines(text).map((line) => {
    const had = new Set(likeWords(line));
    return { line, count: words.filter((word) => had.has(word)).length };
  });
  const best = shared.reduce((a, b) => (b.count > a.count ? b : a));
  return best.count < least ? undefined : { line: best.line, share: best.count / words.length };
}

/** Returns the deeds whose output has a line like an error. */
function runsLike(store: Store, words: readonly string[], scope: FindScope): ErrorRun[] {
  const match = `result : (${words.map((word) => `"${word}"`).join(" OR ")})`;
  return matchDeeds(store, match, scope, ALIKE_MAX).flatMap((did) => {
    const found = mayFail(did) ? likest(did.deed.result, words) : undefined;
    return found ? [{ ...did, ...found }] : [];
  });
}

/** Returns whether a deed's output can be a failure: a read or search may only mention one. */
function mayFail({ deed }: SessionDeed): boolean {
  return deed.outcome === "failed" || (deed.kind === "command" && !isLooking(commandOrTarget(deed)));
}

/** Finds the messages that quote an error. */
function quotesOf(store: Store, words: readonly string[], scope: FindScope): Hit[] {
  const match = words.map((word) => `"${word}"`).join(" AND ");
  const isQuoting = (text: string) => likest(text, words)?.share === 1;
  return spokenHits(matchMessages(store, `(${match})`, scope, isQuoting), "quoted");
}

/** Returns a key that all runs of a command share, or all equal calls of another tool. */
function doneKey({ deed }: SessionDeed): string {
  return deed.kind === "command" ? commandKey(commandOrTarget(deed)) : `${deed.tool} ${deed.target}`;
}

/** Makes a hit of a session's runs of one command. */
function makeErrorHit(store: Store, group: readonly ErrorRun[], error: string) {
  const byDeed = [...Map.groupBy(group, ({ deed }) => deed.id).values()];
  // a deed whose output has several of the lines is shown with the first
  const own = byDeed.flatMap(([first]) => first ?? []).sort((a, b) => a.deed.line - b.deed.line);
  const { session, deed } = own[0] as ErrorRun;
  const all = readDone(store, session.number, { after: deed.line, to: Number.MAX_SAFE_INTEGER });
  const after = (run: ErrorRun) => all.filter(({ line }) => line > run.deed.line);
  const endOf = (run: ErrorRun) => endingOf(run, after(run));
  const last = own.slice(-FAILURES_MAX).findLast(endOf) ?? (own.at(-1) as ErrorRun);
  const [later, end, { line }] = [after(last), endOf(last), last.deed];
  const steps = end
    ? rankSteps(last.deed, end.steps, error, later).map(({ deed }) => deed)
    : stepsBetween(later, line, line + NEXT_LINES);
  const shown = steps.slice(0, STEPS_MAX).sort((a, b) => a.line - b.line);
  const { cwd } = session;
  const rows: ShownRow[] = [
    deedRow(last.deed, { cwd, text: last.line.slice(0, TEXT_CHARS) }),
    ...shown.map((step) => deedRow(step, { cwd, text: changeAbout(error, step) })),
    ...(end ? [deedRow(end.run, { cwd, text: end.run.result.slice(-ENDING_CHARS) })] : []),
  ];
  const to = rows.at(-1)?.line ?? line;
  const said = readSaid(store, session.number, { from: line + 1, to: to + SAID_LINES });
  const outcome = said.find((message) => message.line >= to) ?? said.at(-1);
  // without an end, the last deed about the error says most
  const comments = new Set([...(end ? [] : said.slice(0, SAID_MAX)), ...(outcome ? [outcome] : [])]);
  const count = own.length > 1 ? `${own.length}x, ` : "";
  const hit = doneHit({
    session,
    at: last.deed.at,
    summary: `${count}${howEnded(end?.steps.length, shown.length)}${last === own.at(-1) ? "" : ", came back later"}`,
    rows: [...rows, ...comments].sort((a, b) => a.line - b.line),
    from: line,
    to: Math.max(to, outcome?.line ?? 0),
    also: own.filter((each) => each !== last).map((each) => [each.deed.line, each.deed.line]),
  });
  return { hit, hasEnd: end !== undefined, lines: Math.max(...byDeed.map((same) => same.length)) };
}

/** Finds how a run's error ended: in a run whose output has no line like it. */
function endingOf({ deed, line }: ErrorRun, later: readonly Stored<Done>[]) {
  const words = likeWords(line);
  const isFree = ({ result }: { result: string }) => likest(result, words)?.share !== 1;
  return findEnding(deed, later, isFree);
}

/** Returns the part of a change that is about an error. */
function changeAbout(error: string, step: Stored<Done>): string {
  if (!isChange(step)) return "";
  const whole = onlyChanges(step.input) || step.input;
  return (whole.length <= TEXT_CHARS ? whole : changeAround(step, error)).slice(0, TEXT_CHARS);
}

/** Reads the beginnings of the agent's messages within lines. */
function readSaid(...within: Parameters<typeof messagesWithin>): ShownRow[] {
  return messagesWithin(...within)
    .filter(({ who }) => who === "assistant")
    .map((message) => ({ ...message, text: message.text.slice(0, TEXT_CHARS) }));
}

/** Says after how many steps the same command ran without the error, else whether anything was done next. */
function howEnded(steps: number | undefined, next: number): string {
  if (steps === 0) return "gone at the next run with nothing done in between";
  if (steps !== undefined) return `fixed after ${counted(steps, "step")}`;
  return next > 0 ? "what was done next, without a later run that proves it" : "nothing done next";
}
