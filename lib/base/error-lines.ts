/** Finds the error lines of outputs, and makes keys of them that leave out what differs between two runs. */

import { shortHash, UUID } from "./text.ts";

/** Matches words of failure: negations, names of failure, and the crosses that tools print. */
const NAMES_ERROR =
  /error|exception|fail|\b(?:cannot|not|no)\b|n[’']t\b|denied|refused|undefined|invalid|missing|\bun(?:expected|able|known|recogni[sz]ed|resolved|terminated|supported|reachable)\b|fatal|panic|abort|timed? ?out|conflict|already|rejected|expected|illegal|[×✗✘✖❌]/gi;
/** Says that there were none. */
const NAMES_NONE = /\b(?:0|no) (?:errors?|fail(?:ed|ures?|ing)?|issues?|problems?|warnings?)\b/i;
/** Frames of a report, which say nothing about the error: rules, echoes, excerpts, warnings, numbered titles, counts. */
const FRAME =
  /^(?:[=_*#~-]{3,}|\$ |(?:\d[\d\s]*)?[│|>]|exit code|traceback|at |file "|\^|stacktrace|\W*warn(?:ing)?\b|\d+\) |\d+ [\p{L}\s]+(?:$|[,;|]))/iu;
const COLOURS = /\x1b\[[0-9;]*m/g;
const LINE_MIN = 4; // less is a bracket or a number
/** A line of fewer words is too short to identify an error. */
const WORDS_MIN = 3;
/** A longer line is data. */
const LINE_MAX = 500;
/** Outputs repeat themselves: lines after these are hardly the first cause. */
const KEYS_MAX = 40;

/** Splits an output into lines, also one whose line breaks a tool has escaped. */
export function outputLines(text: string): string[] {
  return plainOutput(text)
    .split("\n")
    .map((line) => line.trim());
}

function plainOutput(text: string): string {
  return text.replace(COLOURS, "").replaceAll("\\n", "\n");
}

/** Returns the first lines that name an error, in order; with `orAll` any that say something where none does. */
export function errorLines(
  text: string,
  { max, maxChars = LINE_MAX, orAll }: { max: number; maxChars?: number; orAll: boolean },
): string[] {
  const says = (line: string) => line.length >= LINE_MIN && line.length <= maxChars && /\p{L}/u.test(line);
  const plain = plainOutput(text);
  const named = new Set<string>();
  NAMES_ERROR.lastIndex = 0;
  // line by line, but only where an error is named
  while (named.size < max && NAMES_ERROR.test(plain)) {
    const at = NAMES_ERROR.lastIndex - 1;
    const [start, end] = [plain.lastIndexOf("\n", at) + 1, plain.indexOf("\n", at)];
    const line = plain.slice(start, end === -1 ? undefined : end).trim();
    if (says(line) && !FRAME.test(line) && !NAMES_NONE.test(line)) named.add(line);
    if (end === -1) break;
    NAMES_ERROR.lastIndex = end;
  }
  if (named.size > 0 || !orAll) return [...named];
  const lines = outputLines(text).filter(says);
  const others = lines.filter((line) => !FRAME.test(line));
  return [...new Set(others.length > 0 ? others : lines)].slice(0, max);
}

const DATE =
  /\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?/g;
const DURATION = /\b\d+(?:\.\d+)?\s?(?:[mµn]?s|sec(?:ond)?s?|min(?:ute)?s?)\b/g;
const IDS = new RegExp(`\\b${UUID}\\b`, "g");
/** Addresses, hashes and process numbers; a port says what is meant. */
const IDENTIFIER = /\b(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{6,}|(?<!:|port )\d{5,})\b/g;
/** Matches the place of an error: before it, after a file's name, or in words. */
const PLACE_BEFORE = /^[^\s:()]+(?:\(\d+(?:,\d+)?\)|(?::\d+){1,2}):?(?:\s+-)?\s+/;
const PLACE = /(?<=\.[a-z]\w{0,9})(?:\(\d+(?:,\d+)?\)|(?::\d+){1,2})|\bline \d+\b|\bcolumn \d+\b/g;
const SHELL = /^\S*?\b\w*sh: (?:(?:line )?\d+: )?/;
const ABSOLUTE = /(?<![\w.~/\\-])(?:[a-z]:[\\/]|~?\/)(?:[^\s"'`:;,()<>[\]|]*[\\/])?/g;

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
    .replace(IDS, "#")
    .replace(PLACE, "")
    .replace(ABSOLUTE, "")
    .replace(IDENTIFIER, "#")
    .replace(/["'`‘’“”]/g, "'")
    .replace(/\s+/g, " ")
    .trim();
}

/** Returns the words of an error's line, without the ones that hold a digit. */
export function errorWords(line: string): string[] {
  const words = (line.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((word) => word.split("_"));
  return [...new Set(words.filter((word) => word.length > 1 && !/\d/.test(word)))];
}

/** Returns the keys of an output's error lines with the lines as they are, without those too short to tell errors apart. */
export function errorKeys(text: string, { hasFailed }: { hasFailed: boolean }): Map<number, string> {
  const keys = new Map<number, string>();
  for (const line of errorLines(text, { max: KEYS_MAX, orAll: hasFailed })) {
    const same = sameLine(line);
    if ((same.match(/\p{L}{2,}/gu)?.length ?? 0) < WORDS_MIN) continue;
    const key = shortHash(same);
    if (!keys.has(key)) keys.set(key, line);
  }
  return keys;
}
