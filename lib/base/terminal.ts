/**
 * Formats text for a person at a terminal: colours by meaning, widths in columns, times as people say them. When output is
 * piped, or `NO_COLOR` is set, nothing is coloured.
 *
 * `dresser` works on the plain lines that scripts print, so what is piped or counted stays plain text.
 */

/** The meaning of a part of a line. */
type Meaning = "name" | "time" | "user" | "assistant" | "tool" | "match" | "good" | "bad" | "faint";

export type Paint = (meaning: Meaning, text: string) => string;

/** Colours of the terminal's own palette, so that light and dark themes both stay readable. */
const CODES: Record<Meaning, [on: number, off: number]> = {
  name: [1, 22],
  time: [36, 39],
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

const RESULT = /^(\d+\. )(\S+)( · .*)?$/;
const ROW =
  /^( *)(L\d+)((?: \(rewound\))?)((?: \[\d{4}-\d\d-\d\d[^\]]*\])?) (User:|Assistant:|\[[^\]]*\])?(.*)$/s;
const LISTED =
  /^((?:today|yesterday) \d\d:\d\d|\d{1,2} [A-Z][a-z]{2,3}(?: \d{4})?)( {2,})(.*?)( {2,})(\S+)( {2,}(?:claude|pi|codex|plain) .*)$/;
/** What was done, in an outline. */
const DONE = /^ {2}(?:edited|wrote|ran|failed|committed|decided)\b/;
const DIFF = /^ {2,}([+-])/;
const STATUS = /^(?:OK|DEGRADED|ERROR)$/;
const FINDING = /^(error|warning|info): /;
const MINUTE = /\d{4}-\d\d-\d\d \d\d:\d\d/;

/** Returns how to paint, or to leave text as it is. */
export function painter(isColoured: boolean): Paint {
  if (!isColoured) return (_, text) => text;
  return (meaning, text) => {
    const [on, off] = CODES[meaning];
    return text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`;
  };
}

/** Returns whether a stream's reader wants colours. https://no-color.org: any value but the empty one turns them off. */
export function wantsColour(stream: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

/** Paints the given words wherever they begin a word of the text, ignoring case. */
export function highlight(text: string, words: readonly string[], paint: Paint): string {
  const wanted = words.filter(Boolean).sort((a, b) => b.length - a.length);
  if (wanted.length === 0) return text;
  const pattern = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})[\\p{L}\\p{N}]*`, "giu"), (word) =>
    paint("match", word),
  );
}

/** Returns the columns that a text takes: wide scripts and emoji two, combining and invisible characters none. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text.replace(/\x1b\[[0-9;]*m/g, "")) columns += columnsOfOne(character);
  return columns;
}

/** Fills or cuts a text to a number of columns; what is cut ends in `…`. */
export function fitColumns(text: string, columns: number): string {
  const width = columnsOf(text);
  if (width <= columns) return text + " ".repeat(columns - width);
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
export function wrapColumns(line: string, { columns, indent }: { columns: number; indent: number }): string {
  if (columns <= 0 || columnsOf(line) <= columns) return line; // a terminal whose size nobody set says 0
  let [wrapped, used] = ["", 0];
  for (const part of line.split(/(?<=\S)(?= )/)) {
    const word = part.trimStart();
    const [width, bare] = [columnsOf(part), columnsOf(word)];
    // A word longer than a line goes on where it begins: the terminal breaks it anyway.
    const breaks = used + width > columns && indent + bare <= columns;
    wrapped += breaks ? `\n${" ".repeat(indent)}${word}` : part;
    used = breaks ? indent + bare : used + width;
    while (used > columns) used -= columns;
  }
  return wrapped;
}

/** Lines up rows of cells; the last cell of a row keeps its length. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, columnsOf(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell + " ".repeat((widths[i] ?? 0) - columnsOf(cell))))
      .join("  ")
      .trimEnd(),
  );
}

/** Returns a time as people say it: `today 14:30`, `yesterday 09:05`, `3 Feb`, `3 Feb 2025`. */
export function sayTime(time: Date, { now, timezone }: { now: Date; timezone: string }): string {
  const days = dayOf(now, timezone) - dayOf(time, timezone);
  const part = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: timezone, ...options }).format(time);
  if (days === 0 || days === 1) {
    const clock = part({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    return `${days === 0 ? "today" : "yesterday"} ${clock}`;
  }
  const isThisYear = part({ year: "numeric" }) === yearOf(now, timezone);
  return part({ day: "numeric", month: "short", ...(isThisYear ? {} : { year: "numeric" }) });
}

/** Returns the days since 1970 of a time's local date. */
function dayOf(time: Date, timezone: string): number {
  const format = new Intl.DateTimeFormat("en-CA", { timeZone: timezone });
  return Date.parse(`${format.format(time)}T00:00:00Z`) / 86_400_000;
}

function yearOf(time: Date, timezone: string): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone: timezone, year: "numeric" }).format(time);
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
  now: Date;
  timezone: string;
  /** Words that are marked in what was said and done. */
  words: readonly string[];
  /** Of the terminal: results and rows are broken between words there. @default {Number.POSITIVE_INFINITY} */
  columns?: number | undefined;
}

/** Returns a function that dresses one printed text after the other. */
export function dresser(options: DressOptions): (text: string) => string {
  let isFirst = true;
  return (text) => {
    const lines = text.split("\n").flatMap((line) => {
      const isResult = RESULT.test(line);
      const gap = isResult && !isFirst ? [""] : [];
      isFirst = false;
      return [...gap, dressLine(line, options)];
    });
    return lines.join("\n");
  };
}

function dressLine(line: string, options: DressOptions): string {
  const { paint, words, columns = Number.POSITIVE_INFINITY } = options;
  const result = RESULT.exec(line);
  if (result) return wrapColumns(dressResult(result, options), { columns, indent: HANGING + 1 });
  const row = ROW.exec(line);
  if (row) {
    const [, indent = "", place = "", rewound = "", time = "", who = "", said = ""] = row;
    const start = [paint("faint", place), paint("bad", rewound), paint("time", time)].join("");
    const rest = who.startsWith("[")
      ? said.replace(/\bfailed\b/, (word) => paint("bad", word))
      : highlight(said, words, paint);
    const dressed = `${indent}${start} ${paint(meaningOf(who), who)}${rest}`;
    return wrapColumns(dressed, { columns, indent: indent.length + HANGING });
  }
  const listed = LISTED.exec(line);
  if (listed) {
    const [, time = "", gap = "", name = "", gap2 = "", id = "", rest = ""] = listed;
    return `${paint("time", time)}${gap}${paint("name", name)}${gap2}${paint("faint", id)}${rest}`;
  }
  if (line.startsWith("# ")) return wrapColumns(paint("name", line), { columns, indent: HANGING });
  if (DONE.test(line)) return wrapColumns(line, { columns, indent: HANGING });
  const sign = DIFF.exec(line)?.[1];
  if (sign) return paint(sign === "+" ? "good" : "bad", line);
  if (STATUS.test(line)) return paint(line === "OK" ? "good" : "bad", line);
  if (FINDING.test(line)) {
    return line.replace(/^\w+/, (level) => paint(level === "info" ? "time" : "bad", level));
  }
  return /^ {3}also |^… |^nothing certain|^ {2}\(/.test(line) ? paint("faint", line) : line;
}

function dressResult(
  [, number = "", place = "", facts = ""]: RegExpExecArray,
  options: DressOptions,
): string {
  const { paint, now, timezone } = options;
  const cells = facts
    .split(" · ")
    .slice(1)
    .map((cell) => {
      if (cell === "strong") return paint("good", cell);
      if (cell === "weak") return paint("faint", cell);
      const time = MINUTE.exec(cell);
      if (!time || time[0] !== cell) return cell;
      return paint("time", sayTime(instant(cell, timezone), { now, timezone }));
    });
  return [`${paint("faint", number)}${paint("name", place)}`, ...cells].join(" · ");
}

function meaningOf(who: string) {
  if (who === "User:") return "user";
  return who === "Assistant:" ? "assistant" : "tool";
}

/** The instant of a local date and minute, as our lines print them. */
function instant(local: string, timezone: string): Date {
  const utc = new Date(`${local.replace(" ", "T")}:00Z`);
  const shown = new Intl.DateTimeFormat("sv-SE", {
    timeZone: timezone,
    dateStyle: "short",
    timeStyle: "short",
  });
  const offset = Date.parse(`${shown.format(utc).replace(" ", "T")}:00Z`) - utc.getTime();
  return new Date(utc.getTime() - offset);
}
