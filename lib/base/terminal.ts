/**
 * Formats lines for a person at a terminal: colours by meaning, widths in columns, times as people say them. Piped output is
 * left as it is.
 */

import type { Line, Part, PartKind } from "./output.ts";
import { escapePattern } from "./text.ts";
import { DAY_MS, formatDate, formatMinute, MONTHS } from "./time.ts";

/** The kinds of parts that can be painted: of a `said` part only the words that were asked for, as `match`. */
type Painted = Exclude<PartKind, "said"> | "match";

type Paint = (kind: Painted, text: string) => string;

/** Colours of the terminal's own palette, so that light and dark themes both stay readable. */
const CODES: Record<Painted, [on: number, off: number]> = {
  name: [1, 22],
  time: [36, 39],
  place: [2, 22],
  user: [32, 39],
  assistant: [34, 39],
  tool: [33, 39],
  match: [1, 22],
  good: [32, 39],
  bad: [31, 39],
  faint: [2, 22],
};

/** Columns by which the rest of a broken line is indented. */
const HANGING = 2;

/** Returns how to paint, or to leave text as it is. https://no-color.org: any value but the empty one turns colours off. */
export function painter(env: Record<string, string | undefined>): Paint {
  if (env.NO_COLOR || env.TERM === "dumb") return (_, text) => text;
  return (kind, text) => {
    const [on, off] = CODES[kind];
    return text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`;
  };
}

/** Paints the given words wherever they begin a word of the text, ignoring case. */
function highlight(text: string, words: readonly string[], paint: Paint): string {
  const wanted = words.filter(Boolean).sort((a, b) => b.length - a.length);
  if (wanted.length === 0) return text;
  const pattern = wanted.map(escapePattern).join("|");
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})[\\p{L}\\p{N}]*`, "giu"), (word) =>
    paint("match", word),
  );
}

/** Returns the columns that a text takes: wide scripts and emoji two, combining and invisible characters none. */
export function countColumns(text: string): number {
  let columns = 0;
  for (const character of text.replace(/\x1b\[[0-9;]*m/g, "")) columns += columnsOfOne(character);
  return columns;
}

/** Cuts a text to a number of columns; a cut text ends in `…`. */
export function cutColumns(text: string, columns: number): string {
  if (countColumns(text) <= columns) return text;
  let [fitted, used] = ["", 0];
  for (const character of text) {
    const next = columnsOfOne(character);
    if (used + next > columns - 1) break;
    fitted += character;
    used += next;
  }
  return `${fitted}…${" ".repeat(Math.max(0, columns - used - 1))}`;
}

/** Breaks a line between words where a terminal would break it within one; what follows is indented. */
export function wrapColumns(
  line: string,
  columns: number,
  indent = (/^ */.exec(line)?.[0].length ?? 0) + HANGING,
): string {
  let [wrapped, used] = ["", 0];
  for (const word of line.split(/(?<=\S)(?= )/)) {
    const width = countColumns(word);
    const breaks = used > 0 && used + width > columns;
    wrapped += breaks ? `\n${" ".repeat(indent)}${word.trimStart()}` : word;
    used = breaks ? indent + countColumns(word.trimStart()) : used + width;
  }
  return wrapped;
}

/** Returns a time as people say it: `today 14:30`, `yesterday 09:05`, `3 Feb`, `3 Feb 2025`. */
export function sayTime(iso: string, timezone: string | undefined): string {
  const [day = "", clock = ""] = formatMinute(iso, timezone).split(" ");
  const dayAgo = (ms: number) => formatDate(new Date(Date.now() - ms).toISOString(), timezone);
  if (day === dayAgo(0)) return `today ${clock}`;
  if (day === dayAgo(DAY_MS)) return `yesterday ${clock}`;
  const said = `${Number(day.slice(8))} ${MONTHS[Number(day.slice(5, 7)) - 1]?.slice(0, 3)}`;
  return day.slice(0, 4) === dayAgo(0).slice(0, 4) ? said : `${said} ${day.slice(0, 4)}`;
}

/** East Asian Wide and Fullwidth (UAX 11) and what terminals draw as emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;

function columnsOfOne(character: string): number {
  if (/^[ -~]$/.test(character)) return 1;
  if (NO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

interface DressOptions {
  paint: Paint;
  /** Words that are marked in what was said and done. */
  words: readonly string[];
  /** IANA name. @default the system's */
  timezone?: string | undefined;
  /** The terminal's width, at which results and rows are broken between words. */
  columns: number;
}

/** Returns a function that dresses one line after the other, with a blank one between results. */
export function dresser(options: DressOptions): (line: Line) => string {
  let isFirst = true;
  return ({ kind, parts }) => {
    const gap = kind === "result" && !isFirst ? "\n" : "";
    isFirst = false;
    const dressed = parts.map((part) => dressPart(part, options)).join("");
    if (kind === "text") return dressed;
    return (
      gap +
      dressed
        .split("\n")
        .map((line) => wrapColumns(line, options.columns))
        .join("\n")
    );
  };
}

function dressPart(part: Part, { paint, words, timezone }: DressOptions): string {
  if (typeof part === "string") return part;
  const [kind, text, instant] = part;
  if (kind === "said") return highlight(text, words, paint);
  return paint(kind, instant === undefined ? text : sayTime(instant, timezone));
}
