/** Finds where an error occurred before, and the commands and edits after which the same command ran without it. */

import { errorLines, errorWords, outputLines, sameLine } from "../base/error-lines.ts";
import { counted } from "../base/text.ts";
import type { Done } from "../hosts/session.ts";
import { isChange, onlyChanges } from "../hosts/tool-call.ts";
import { readDone, type Stored } from "../index/stored-rows.ts";
import type { Hit } from "../search/hit.ts";
import type { ShownRow } from "../search/rows.ts";
import type { Store } from "../store/store.ts";
import { commandKey, isLooking } from "./commands.ts";
import { changeAround, type Ending, findEnding, rankSteps, stepsBetween } from "./endings.ts";
import {
  deedRow,
  doneHit,
  type FindScope,
  matchDeeds,
  matchMessages,
  messagesWithin,
  type RowStyle,
  type SessionDeed,
} from "./finds.ts";

const ALIKE_MAX = 300;
/** The most lines of the given error that are looked for. */
const LINES_MAX = 6;
const WORDS_MAX = 12;
/** The most steps shown between the error and its end; the last ones are. */
const STEPS_MAX = 5;
/** The newest failures of a command in which an end is looked for: of an earlier one the error came back. */
const FAILURES_MAX = 5;
const CHANGE_CHARS = 300;
const LINE_CHARS = 300;
const SAID_CHARS = 300;
/** Messages shown after an error without an end; the first two mostly say what became of it. */
const SAID_MAX = 2;
const ENDING_CHARS = 100;
/** The number of lines after the last row in which a comment on it is looked for. */
const SAID_LINES = 30;

/** The most characters of a line that are compared: a pasted page is not an error. */
const SEARCHED_MAX = 2000;
const PATH = /(?:[a-z]:)?(?:[\w.@~+-]*[\\/])+[\w.@~+-]*/gi;

interface ErrorRun extends SessionDeed {
  /** The line of its output that holds the error. */
  line: string;
}

/** Finds where an error occurred: what holds its rarest words first, then what came to an end, then the newest. */
export function errorHistory(store: Store, error: string, scope: FindScope): Hit[] {
  const lines = errorLines(error, { max: LINES_MAX, maxChars: Number.POSITIVE_INFINITY, orAll: true });
  for (const search of [
    () => lines.flatMap((line) => findOccurrences(store, line, scope)),
    () => said(store, lines, scope),
    () => lines.flatMap((line) => findOccurrences(store, line, scope, ALIKE_MAX)),
  ]) {
    const occurrences = search();
    if (occurrences.length > 0) return makeErrorHits(store, occurrences, { scope, error });
  }
  return [];
}

/** Returns the deeds whose output has a line, or else a similar line, at most a number of them. */
function findOccurrences(store: Store, line: string, scope: FindScope, alike?: number): ErrorRun[] {
  const words = likeWords(line).slice(0, WORDS_MAX);
  if (words.length === 0) return [];
  const match = `result : (${words.map((word) => `"${word}"`).join(alike ? " OR " : " AND ")})`;
  return matchDeeds(store, match, scope, alike).flatMap((did) => {
    const { result } = did.deed;
    const found = mayFail(did.deed) ? (alike ? lineLike : lineWith)(result, line) : undefined;
    return found === undefined ? [] : [{ ...did, line: found }];
  });
}

/** Returns whether a deed's output can be a failure: a read or search may only mention one. */
function mayFail({ kind, outcome, target, input }: Stored<Done>): boolean {
  if (outcome === "failed") return true;
  return kind === "command" && !isLooking(input || target);
}

/** Returns the messages that quote an error no output has, as deeds of their own. */
function said(store: Store, lines: readonly string[], scope: FindScope): ErrorRun[] {
  const words = likeWords(lines[0] ?? "").slice(0, WORDS_MAX);
  if (words.length === 0) return [];
  const match = `(${words.map((word) => `"${word}"`).join(" AND ")})`;
  const isQuoting = (text: string) => lines.some((line) => lineWith(text, line) !== undefined);
  return matchMessages(store, match, scope, isQuoting).map(({ message, at, session }) => {
    const deed: Stored<Done> = {
      id: -1,
      session: session.number,
      line: message.line,
      nth: 0,
      at,
      who: "tool",
      kind: "other",
      tool: "",
      target: message.who,
      paths: [],
      input: "",
      outcome: "failed",
      result: message.text,
    };
    return { deed, session, line: message.text };
  });
}

/** Returns a line without any path and number, as errors are searched: they are others in another project. */
function likeLine(line: string): string {
  return sameLine(line.slice(0, SEARCHED_MAX).replace(PATH, "/")).replace(/\d+/g, "#");
}

/** Returns the words that every run of an error has: none of its paths, numbers and codes. */
function likeWords(line: string): string[] {
  return errorWords(likeLine(line).replace(/[\p{L}_]*#[\p{L}#_]*/gu, " "));
}

/** Returns the line of a text that contains an error; undefined when none does. */
function lineWith(text: string, error: string): string | undefined {
  const wanted = likeLine(error);
  const [word = ""] = likeWords(error);
  // comparing costs far more than looking for one of its words
  return outputLines(text).find(
    (line) => line.toLowerCase().includes(word) && likeLine(line).includes(wanted),
  );
}

/** The share of an error's words that a line like it has, and the least of them. */
const LIKE_SHARE = 0.75;
const LIKE_WORDS = 3; // two words meet by chance

/** Returns the line most similar to an error, in which names may differ; undefined when none is. */
function lineLike(text: string, error: string): string | undefined {
  const wanted = likeWords(error);
  if (wanted.length < LIKE_WORDS) return undefined;
  const least = Math.max(LIKE_WORDS, Math.ceil(wanted.length * LIKE_SHARE));
  let best: { line: string; held: number } | undefined;
  for (const line of outputLines(text)) {
    const words = new Set(likeWords(line));
    const held = wanted.filter((word) => words.has(word)).length;
    if (held >= least && held > (best?.held ?? 0)) best = { line, held };
  }
  return best?.line;
}

/** Makes one hit for each session and command. */
function makeErrorHits(
  store: Store,
  occurrences: readonly ErrorRun[],
  { scope, error }: { scope: FindScope; error: string },
): Hit[] {
  const rarity = rarityIn(occurrences, error);
  return [...Map.groupBy(occurrences, ({ deed }) => `${deed.session} ${doneKey(deed)}`).values()]
    .map((group) => {
      // a deed whose output has several of the lines is shown with the first
      const own = [...Map.groupBy(group, ({ deed: { id, line } }) => `${id}:${line}`).values()].flatMap(
        (same) => same[0] ?? [],
      );
      own.sort((a, b) => a.deed.line - b.deed.line);
      return { ...makeErrorHit(store, own, { scope, error }), rare: Math.max(...own.map(rarity)) };
    })
    .sort((a, b) => b.rare - a.rare || Number(b.hasEnd) - Number(a.hasEnd) || (a.hit.at < b.hit.at ? 1 : -1))
    .map(({ hit }) => hit);
}

/** Returns how rare the words of an error are that an occurrence holds, in steps that a common word does not make. */
function rarityIn(occurrences: readonly ErrorRun[], error: string): (one: ErrorRun) => number {
  const words = errorWords(error.toLowerCase());
  const textOfOne = ({ deed, line }: ErrorRun) => `${line}\n${deed.result}`.toLowerCase();
  const texts = occurrences.map(textOfOne);
  const weights = words.map((word) => {
    const held = texts.filter((text) => text.includes(word)).length;
    return Math.log2(texts.length / Math.max(1, held));
  });
  return (one) => {
    const text = textOfOne(one);
    return Math.round(words.reduce((sum, word, i) => sum + (text.includes(word) ? (weights[i] ?? 0) : 0), 0));
  };
}

/** Returns a key that all runs of a command share, or all equal calls of another tool. */
function doneKey({ kind, tool, target, input, id }: Stored<Done>): string {
  if (id < 0) return "said";
  return kind === "command" ? commandKey(input || target) : `${tool} ${target}`;
}

function makeErrorHit(
  store: Store,
  own: readonly ErrorRun[],
  { scope: { clean }, error }: { scope: FindScope; error: string },
): { hit: Hit; hasEnd: boolean } {
  const { session, deed } = own[0] as ErrorRun;
  const all = readDone(store, session.number, { after: deed.line, to: Number.MAX_SAFE_INTEGER });
  const after = (run: ErrorRun) => all.filter(({ line }) => line > run.deed.line);
  const fixed = own.slice(-FAILURES_MAX).findLast((run) => findEnd(run, after(run)) !== undefined);
  const last = fixed ?? (own.at(-1) as ErrorRun);
  const later = after(last);
  const end = findEnd(last, later);
  const next = stepsBetween(later, last.deed.line, last.deed.line + SAID_LINES * 4).slice(0, STEPS_MAX);
  const ranked = end && rankSteps(last.deed, end.steps, error, later).slice(0, STEPS_MAX);
  const shown = ranked?.map(({ deed }) => deed).sort((a, b) => a.line - b.line) ?? next;
  const style = { cwd: session.cwd, clean };
  const rows: ShownRow[] = [
    errorRow(last, style),
    ...shown.map((deed) => deedRow(deed, { ...style, text: isChange(deed) ? changeShown(deed, error) : "" })),
    ...(end ? [deedRow(end.run, { ...style, text: end.run.result.slice(-ENDING_CHARS) })] : []),
  ];
  const lastLine = rows.at(-1)?.line ?? last.deed.line;
  const said = messagesWithin(store, session.number, { from: last.deed.line + 1, to: lastLine + SAID_LINES })
    .filter(({ who }) => who === "assistant")
    .map((message) => ({ ...message, text: clean(message.text).slice(0, SAID_CHARS) }));
  const outcome = said.find(({ line }) => line >= lastLine) ?? said.at(-1);
  // without an end, the last deed about the error says most
  const comments = new Set([...(end ? [] : said.slice(0, SAID_MAX)), ...(outcome ? [outcome] : [])]);
  const count = own.length > 1 ? `${own.length}x, ` : "";
  const unproven =
    shown.length > 0 ? "what was done next, without a later run that proves it" : "nothing done next";
  const hit = doneHit({
    session,
    at: last.deed.at,
    summary: `${count}${end ? fixedAfter(end.steps.length) : unproven}${last === own.at(-1) ? "" : ", came back later"}`,
    rows: [...rows, ...comments].sort((a, b) => a.line - b.line),
    from: last.deed.line,
    to: Math.max(lastLine, outcome?.line ?? 0),
    also: own.filter((each) => each !== last).map(({ deed: { line } }) => [line, line]),
  });
  return { hit, hasEnd: end !== undefined };
}

/** Says after how many steps the same command ran without the error. */
function fixedAfter(steps: number): string {
  return steps === 0
    ? "gone at the next run with nothing done in between"
    : `fixed after ${counted(steps, "step")}`;
}

/** Returns how a failure ended, as far as its output tells. */
function findEnd(last: ErrorRun, later: readonly Stored<Done>[]): Ending | undefined {
  if (last.deed.id < 0) return undefined;
  return findEnding(last.deed, later, {
    error: last.line,
    isFree: ({ result }) => lineWith(result, last.line) === undefined,
  });
}

function errorRow({ deed, line }: ErrorRun, style: RowStyle): ShownRow {
  const text = line.trim().slice(0, LINE_CHARS);
  if (deed.id >= 0) return deedRow(deed, { ...style, text });
  return { line: deed.line, who: deed.target === "user" ? "user" : "assistant", text: style.clean(text) };
}

/** Returns the change around the words of the error: from the beginning where all of it fits. */
function changeShown(deed: Stored<Done>, error: string): string {
  const whole = onlyChanges(deed.input) || deed.input;
  return (whole.length <= CHANGE_CHARS ? whole : changeAround(deed, error)).slice(0, CHANGE_CHARS);
}
