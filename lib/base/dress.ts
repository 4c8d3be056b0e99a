/**
 * Dresses finished lines for a person at a terminal: colours by meaning, a blank line between results, times as people
 * say them. Works on the plain lines that scripts print, so what is piped and what is counted stays the plain text.
 */

import { highlight, type Paint, sayTime, wrapColumns } from "./terminal.ts";

export interface DressOptions {
  paint: Paint;
  now: Date;
  timezone: string;
  /** Words that are marked in what was said and done. */
  words: readonly string[];
  /** Of the terminal: results and rows are broken between words there. @default {Number.POSITIVE_INFINITY} */
  columns?: number | undefined;
}

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
