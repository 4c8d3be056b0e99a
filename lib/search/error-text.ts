/** Error texts compared: what differs between two runs of the same failure is left out. */

/** Words that name a failure, and lines that say nothing about it. */
const NAMES_ERROR =
  /error|exception|fail|cannot|can't|could not|couldn't|not found|no such|denied|refused|undefined|invalid|missing|unexpected|unable|fatal|panic|timed? ?out|conflict|already|rejected|expected|illegal|unknown/i;
const FRAME = /^(?:[=_*#~-]{3,}|exit code|traceback|at |file "|\^|\d+ (?:pass|fail)|stacktrace)/i;
const LINES_MAX = 6;
const LINE_MIN = 4;

/** Removes what differs between two runs: numbers, ids, quotes, colours, spacing. */
function normalized(text: string): string {
  return text
    .replace(/\x1b\[[0-9;]*m/g, "")
    .toLowerCase()
    .replace(/\b(?:0x)?(?=[0-9a-f]*\d)[0-9a-f]{6,}\b/g, "#")
    .replace(/\d+/g, "#")
    .replace(/["'`‘’“”]/g, "'")
    .replace(/\s+/g, " ")
    .trim();
}

/** Splits an output into lines, also one whose line breaks a tool has escaped. */
function linesOf(text: string): string[] {
  return text.split(/\n|\\n/);
}

/** Returns the lines that name an error, the most specific first. */
export function errorLines(text: string): string[] {
  const lines = linesOf(text)
    .map((line) => line.trim())
    .filter((line) => normalized(line).length >= LINE_MIN && /\p{L}/u.test(line));
  const useful = lines.filter((line) => !FRAME.test(line));
  const all = useful.length > 0 ? useful : lines;
  const named = all.filter((line) => NAMES_ERROR.test(line));
  return [...new Set([...named, ...(named.length > 0 ? [] : all)])].slice(0, LINES_MAX);
}

/** Returns the words to search an error by: those that every run of it has. */
export function errorWords(line: string): string[] {
  const words = line.match(/[\p{L}\p{N}_]+/gu) ?? [];
  return [
    ...new Set(
      words.flatMap((word) => word.split("_")).filter((word) => word.length > 1 && !/\d/.test(word)),
    ),
  ];
}

/** Returns the line of a text that contains an error; undefined when none does. */
export function lineWith(text: string, error: string): string | undefined {
  const wanted = normalized(error);
  if (!normalized(text).includes(wanted)) return undefined;
  return linesOf(text).find((line) => normalized(line).includes(wanted)) ?? text;
}

/** Of the words of an error so many must be in a line that is like it, and no fewer than these. */
const LIKE_SHARE = 0.75;
const LIKE_WORDS = 3;

/** Returns the line most similar to an error, in which names may differ; undefined when none is. */
export function lineLike(text: string, error: string): string | undefined {
  const wanted = errorWords(normalized(error));
  if (wanted.length < LIKE_WORDS) return undefined;
  const least = Math.max(LIKE_WORDS, Math.ceil(wanted.length * LIKE_SHARE));
  let best: { line: string; held: number } | undefined;
  for (const line of linesOf(text)) {
    const words = new Set(errorWords(normalized(line)));
    const held = wanted.filter((word) => words.has(word)).length;
    if (held >= least && held > (best?.held ?? 0)) best = { line, held };
  }
  return best?.line;
}
