/** Errors in outputs: their lines found, and compared without what differs between two runs. */

import { shortHash } from "../base/text.ts";

/** What says that something is not as it should be: negations, names of failure, and the crosses that tools print. */
const NAMES_ERROR =
  /error|exception|fail|\b(?:cannot|not|no)\b|n[’']t\b|denied|refused|undefined|invalid|missing|\bun(?:expected|able|known|recogni[sz]ed|resolved|terminated|supported|reachable)\b|fatal|panic|abort|timed? ?out|conflict|already|rejected|expected|illegal|[×✗✘✖❌]/i;
/** Says that there were none. */
const NAMES_NONE = /\b(?:0|no) (?:errors?|fail(?:ed|ures?|ing)?|issues?|problems?|warnings?)\b/i;
/** Frames of a report, which say nothing about the error: rules, echoes, excerpts, warnings, numbered titles, counts. */
const FRAME =
  /^(?:[=_*#~-]{3,}|\$ |(?:\d[\d\s]*)?[│|>]|exit code|traceback|at |file "|\^|stacktrace|\W*warn(?:ing)?\b|\d+\) |\d+ [\p{L}\s]+(?:$|[,;|]))/iu;
const COLOURS = /\x1b\[[0-9;]*m/g;
const LINE_MIN = 4; // less is a bracket or a number
/** Fewer words say too little to tell one error from another. */
const WORDS_MIN = 3;
/** A longer line is data. */
const LINE_MAX = 500;
/** Of a line that is searched so much is compared: a pasted page is no error. */
const SEARCHED_MAX = 2000;
/** Outputs repeat themselves: lines after these are hardly the first cause. */
const KEYS_MAX = 40;

/** Splits an output into lines, also one whose line breaks a tool has escaped. */
function outputLines(text: string): string[] {
  return text
    .replace(COLOURS, "")
    .split(/\r?\n|\\n/)
    .map((line) => line.trim());
}

function namesError(line: string): boolean {
  return NAMES_ERROR.test(line) && !FRAME.test(line) && !NAMES_NONE.test(line);
}

/** Which lines are wanted. */
interface LinesWanted {
  max: number;
  /** Longer ones are left out. @default {500} */
  maxChars?: number;
  /** Whether all lines that say anything are taken where none names an error. */
  orAll: boolean;
}

/** Returns the lines that name an error, in order. */
export function errorLines(text: string, { max, maxChars = LINE_MAX, orAll }: LinesWanted): string[] {
  const lines = outputLines(text).filter(
    (line) => line.length >= LINE_MIN && line.length <= maxChars && /\p{L}/u.test(line),
  );
  const named = lines.filter(namesError);
  const others = lines.filter((line) => !FRAME.test(line));
  const all = named.length > 0 || !orAll ? named : others.length > 0 ? others : lines;
  return [...new Set(all)].slice(0, max);
}

const DATE =
  /\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?/g;
const DURATION = /\b\d+(?:\.\d+)?\s?(?:[mµn]?s|sec(?:ond)?s?|min(?:ute)?s?)\b/g;
const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
/** Addresses, hashes and process numbers; a port says what is meant. */
const IDENTIFIER = /\b(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{6,}|(?<!:|port )\d{5,})\b/g;
/** Where an error is: before it, after a file's name, or in words. */
const PLACE_BEFORE = /^[^\s:()]+(?:\(\d+(?:,\d+)?\)|(?::\d+){1,2}):?(?:\s+-)?\s+/;
const PLACE = /(?<=\.[a-z]\w{0,9})(?:\(\d+(?:,\d+)?\)|(?::\d+){1,2})|\bline \d+\b|\bcolumn \d+\b/g;
const SHELL = /^\S*?\b\w*sh: (?:(?:line )?\d+: )?/;
const ABSOLUTE = /(?<![\w.~/\\-])(?:[a-z]:[\\/]|~?\/)(?:[^\s"'`:;,()<>[\]|]*[\\/])?/g;

const PATH = /(?:[a-z]:)?(?:[\w.@~+-]*[\\/])+[\w.@~+-]*/gi;

/** Returns a line without what differs between two runs of one failure: places, folders, times, addresses, quotes. */
export function sameLine(line: string): string {
  return line
    .replace(COLOURS, "")
    .trim()
    .toLowerCase()
    .replace(SHELL, "")
    .replace(PLACE_BEFORE, "")
    .replace(DATE, "#")
    .replace(DURATION, "#")
    .replace(UUID, "#")
    .replace(PLACE, "")
    .replace(ABSOLUTE, "")
    .replace(IDENTIFIER, "#")
    .replace(/["'`‘’“”]/g, "'")
    .replace(/\s+/g, " ")
    .trim();
}

/** Returns a line without any path and number, as errors are searched: they are others in another project. */
function likeLine(line: string): string {
  return sameLine(line.slice(0, SEARCHED_MAX).replace(PATH, "/")).replace(/\d+/g, "#");
}

/** Returns the words of an error's line, without those that hold a digit. */
export function errorWords(line: string): string[] {
  const words = (line.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((word) => word.split("_"));
  return [...new Set(words.filter((word) => word.length > 1 && !/\d/.test(word)))];
}

/** Returns the words that every run of an error has: none of its paths, numbers and codes. */
export function likeWords(line: string): string[] {
  return errorWords(likeLine(line).replace(/[\p{L}_]*#[\p{L}#_]*/gu, " "));
}

/** Returns the line of a text that contains an error; undefined when none does. */
export function lineWith(text: string, error: string): string | undefined {
  const wanted = likeLine(error);
  const [word = ""] = likeWords(error);
  // comparing costs far more than looking for one of its words
  return outputLines(text).find(
    (line) => line.toLowerCase().includes(word) && likeLine(line).includes(wanted),
  );
}

/** Of the words of an error so many must be in a line that is like it, and no fewer than these. */
const LIKE_SHARE = 0.75;
const LIKE_WORDS = 3; // two words meet by chance

/** Returns the line most similar to an error, in which names may differ; undefined when none is. */
export function lineLike(text: string, error: string): string | undefined {
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

/** Returns the key of an error's line; undefined for one of too few words to tell errors apart. */
function errorKey(line: string): number | undefined {
  const same = sameLine(line);
  return (same.match(/\p{L}{2,}/gu)?.length ?? 0) < WORDS_MIN ? undefined : shortHash(same);
}

/** Returns the keys of an output's error lines with the lines as they are. */
export function errorKeys(text: string, { hasFailed }: { hasFailed: boolean }): Map<number, string> {
  const keys = new Map<number, string>();
  for (const line of errorLines(text, { max: KEYS_MAX, orAll: hasFailed })) {
    const key = errorKey(line);
    if (key !== undefined && !keys.has(key)) keys.set(key, line);
  }
  return keys;
}
