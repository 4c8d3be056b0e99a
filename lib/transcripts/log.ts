/** Formats rows as a log, as text and as JSON: chooses rows, their parts, and as many as fit. */

import { countPoints, cutLine, type Line, type Part, plainText } from "../base/output.ts";
import { counted, oneLine, withoutMiddle } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import type { CallKind, Done, LineRange, Row, Said } from "../hosts/session.ts";
import { countChanges, isChange } from "./rows.ts";

/** The choice of rows. */
export interface RowFilter {
  speaker?: "user" | "assistant" | undefined;
  /** Words that all must occur, in lower case. */
  words: readonly string[];
  /** True if tool calls are wanted. */
  tools: boolean;
  /** True if words may occur in tools' inputs and results too. */
  insideTools: boolean;
  /** ISO times. */
  since?: string | undefined;
  until?: string | undefined;
}

export const EVERY_ROW: RowFilter = { words: [], tools: true, insideTools: false };

/** Returns whether a row passes the filter. Rows without a time pass any times. */
export function isWanted(row: Row, filter: RowFilter): boolean {
  if (!isWantedKind(row, filter)) return false;
  if (filter.words.length === 0) return true;
  const text = searchedText(row, filter.insideTools).toLowerCase();
  return filter.words.every((word) => text.includes(word));
}

/** Returns whether a row passes the filter whatever its words. */
export function isWantedKind(
  { who, at }: Pick<Row, "who" | "at">,
  { speaker, tools, since, until }: RowFilter,
): boolean {
  if (speaker !== undefined && who !== speaker) return false;
  if (who === "tool" && !tools) return false;
  return at === undefined || !((since !== undefined && at < since) || (until !== undefined && at > until));
}

/** The span of rows that is read of a session. */
export interface RowRequest {
  lines: readonly LineRange[] | undefined;
  around: number | undefined;
  /** The most rows from the end, where no lines are asked for. */
  count: number;
  filter: RowFilter;
}

function searchedText(row: Row, insideTools: boolean): string {
  if (row.who !== "tool") return row.text;
  const called = callText(row);
  return insideTools ? [called, row.input, row.result, row.patch ?? ""].join("\n") : called;
}

/** Returns a call on one line: its tool and what it was called with. */
export function callText({ tool, target }: Done): string {
  return `${tool} ${target}`.trim();
}

/** Returns a call's outcome in a word: `failed`, an edit's `+4 -1`, or "". */
export function outcomeWord(row: Done): string {
  const { outcome } = row;
  if (outcome === "failed" || outcome === "rejected" || outcome === "running") return outcome;
  if (!isChange(row)) return "";
  const { added, removed } = countChanges(readChange(row));
  if (added + removed === 0) return "";
  return removed === 0 ? `+${added}` : `+${added} -${removed}`;
}

/** Returns the diff of an edit, or a written file as one. */
function readChange({ kind, input, patch }: Done): string {
  if (patch !== undefined) return patch;
  if (kind !== "write") return input;
  return input === "" ? "" : input.replace(/\n$/, "").replace(/^/gm, "+");
}

/** Returns a call's input and result as text, "" where it has none. */
export function describeInside(row: Done): { input: string; result: string } {
  const { kind, outcome, target, patch } = row;
  const input = (kind === "edit" ? patch : undefined) ?? (row.input || target);
  // Hosts answer an edit with a copy of the file.
  const isCopy = isChange(row) && outcome !== "failed" && outcome !== "rejected";
  return { input, result: isCopy ? "" : withoutBlankEnds(row.result) };
}

/** The form of a log. */
export interface LogStyle {
  /** IANA name. */
  timezone: string | undefined;
  /** The names of the two speakers. @default User and Assistant */
  participants?: Participants | undefined;
  /** True if nothing is cut: compaction summaries, inputs and results. */
  full: boolean;
  /** True if inputs and results are shown. */
  tools: boolean;
  /** True if a row was taken back: the conversation went on from a row before it. */
  isRewound: (row: Row) => boolean;
  /** The session's directory, from which paths within it are shown. @default none */
  cwd?: string | undefined;
}

/** A tool call's line, with all that is before it, in code points. */
const TOOL_LINE_MAX = 160;
/** Characters of an input or a result. */
const INSIDE_MAX = 4000;
/** A row cut shorter than this says nothing. */
const CUT_MIN = 40;
/** The least characters shown of each of several rows. */
const EXCERPT_MIN = 200;

/** Formats a row: line, time, text. Continuation lines are indented, so no text can forge another row. */
export function formatRow(row: Row, style: LogStyle): Line {
  const time = row.at ? formatLocal(row.at, style.timezone) : "no time";
  const start: Part[] = [["place", `L${row.line}`], " ", ["time", `[${time}]`], " "];
  if (style.isRewound(row)) start.push(["bad", "(rewound)"], " ");
  const parts = row.who === "tool" ? doneParts(row, style, start) : saidParts(row, style);
  return { kind: "row", parts: [...start, ...parts] };
}

function saidParts({ who, text }: Said, { full, participants = PARTICIPANTS }: LogStyle): Part[] {
  if (who !== "summary") return [[who, `${participants[who]}:`], " ", ["said", indented(text.trimStart())]];
  if (full) return [["tool", "[Compacted]"], "\n  ", ["said", indented(text.trimStart())]];
  return [["tool", `[Compacted: ${[...text].length} characters, --full to show]`]];
}

function doneParts(row: Done, style: LogStyle, start: readonly Part[]): Part[] {
  const word = outcomeWord(row);
  const end = word === "" ? "]" : `] ${word}`;
  const target = style.cwd === undefined ? row.target : withinFolder(row.target, style.cwd);
  const text = callText({ ...row, target });
  const room = TOOL_LINE_MAX - countPoints([{ kind: "row", parts: start }]);
  const call: Part = ["tool", `[${oneLine(text, room - end.length)}]`];
  const lines = style.tools ? undefined : smallChange(row, room - [...text].length - 2);
  const outcome: Part[] = word === "" ? [] : [" ", word === "failed" ? ["bad", word] : word];
  if (lines) return [call, ...lines.flatMap((line): Part[] => [" ", changed(line)])];
  return [call, ...outcome, ...(style.tools ? insideParts(row, style) : [])];
}

/** Returns a path from a folder that it is in. */
function withinFolder(path: string, folder: string): string {
  const isIn = path.startsWith(folder) && /^[/\\]./.test(path.slice(folder.length));
  return isIn ? path.slice(folder.length + 1) : path;
}

/** Returns the line that an edit changed, as it was and as it is, where both have room behind the call. */
function smallChange(row: Done, room: number): string[] | undefined {
  if (!isChange(row) || row.outcome === "failed" || row.outcome === "rejected") return undefined;
  const lines = readChange(row)
    .split("\n")
    .filter((line) => /^[+-]/.test(line));
  const { added, removed } = countChanges(readChange(row));
  if (lines.length !== added + removed || added !== 1 || removed > 1) return undefined;
  const shown = lines.map((line) => `${line[0]}${oneLine(line.slice(1).trim(), TOOL_LINE_MAX)}`);
  return [...shown.join(" ")].length < room ? shown : undefined;
}

function insideParts(row: Done, { full }: LogStyle): Part[] {
  const { input, result } = describeInside(row);
  const shown = (text: string) => indented(full ? text : cutInside(text, row.line));
  const texts = [row.kind === "command" ? `$ ${input}` : input, result]
    .filter((text) => text.trim() !== "" && text !== "$ ")
    .map(shown);
  if (!isChange(row)) return texts.map((text) => `\n  ${text}`);
  return texts.flatMap((text) => text.split("\n  ").flatMap((each) => ["\n  ", changed(each)]));
}

function changed(line: string): Part {
  const [sign] = line;
  return sign === "+" ? ["good", line] : sign === "-" ? ["bad", line] : line;
}

/** Keeps the beginning and end of a long text on a line, and says how to see the rest. */
export function cutInside(text: string, line: number, { max = INSIDE_MAX, start = "\n" } = {}): string {
  const mark = () => `${start}… ${text.length} characters, --line ${line} --full to show …${start}`;
  return withoutMiddle(text, max, { mark });
}

/** Characters of a row at a place. */
const ROW_MAX = 1500; // promised

/** Keeps the beginning and end of a long row at a place. */
export function cutRow(row: Line, line: number): Line {
  if (countPoints([row]) <= ROW_MAX) return row;
  return { ...row, parts: [cutInside(plainText(row), line, { max: ROW_MAX, start: "\n  " })] };
}

/** Returns a text without empty lines before it and blanks behind it: its first line stays indented. */
function withoutBlankEnds(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
}

/** Indents the lines after the first by two blanks. */
function indented(text: string): string {
  return withoutBlankEnds(text).replace(/\r\n?|[\n\u2028\u2029\u0085\v\f]/g, "\n  ");
}

/** The choice of formatted rows if not all fit. */
interface Fit {
  /** Code points, each row with its line break. */
  maxChars: number;
  /** The rows' lines. */
  lines: readonly number[];
  /** The lines that were asked for. @default the end */
  asked: readonly LineRange[] | undefined;
  /** True if the requested rows are shown at any length. */
  full: boolean;
  /** The session as a place names it. */
  id: string;
  /** The words that were searched: long rows are cut to the lines that hold some. */
  words: readonly string[];
}

/**
 * Returns the formatted rows that fit, in order, and a line that says what is left out: the newest; or where lines were asked
 * for, those on them, then the nearest.
 */
export function fitRows(whole: readonly Line[], fit: Fit): Line[] {
  const { maxChars, lines, asked, full, words } = fit;
  if (countPoints(whole) <= maxChars) return [...whole];
  const share = Math.max(EXCERPT_MIN, Math.floor(maxChars / whole.length));
  const rows = words.length === 0 ? whole : whole.map((row) => shortenRow(row, words, share));
  const end = rows.length - 1;
  const distance = (at: number, line = Number(lines[at])) =>
    Math.min(...(asked ?? []).map(({ from, to }) => Math.max(from - line, line - to, 0)));
  const first = asked ? lines.reduce((best, _, at) => (distance(at) < distance(best) ? at : best), 0) : end;
  let left = maxChars - countPoints([asked ? leftOut(rows.length, -1, fit) : leftOut(end, end, fit)]);
  const fits = (at: number) => {
    const row = rows[at];
    const rest = row ? left - countPoints([row]) : -1;
    const isKept = rest >= 0 || (row !== undefined && full && distance(at) === 0);
    if (isKept) left = rest;
    return isKept;
  };
  const cut = rows[first];
  if (!fits(first))
    return cut && (asked || words.length > 0) && left >= CUT_MIN
      ? [cutLine(cut, left - 1), leftOut(first, first, fit)]
      : [leftOut(rows.length, end, fit)];
  const [from, to] = growFrom(first, fits, distance);
  return [...rows.slice(from, to + 1), leftOut(from, to, fit)];
}

/** Adds the nearer neighbour of a row, and again of these, as long as one fits; returns the first and the last. */
function growFrom(
  first: number,
  fits: (at: number) => boolean,
  distance: (at: number) => number,
): [from: number, to: number] {
  let [from, to] = [first, first];
  for (let [isUp, isDown] = [true, true]; isUp || isDown; ) {
    if (isUp && !(isDown && distance(to + 1) < distance(from - 1))) {
      isUp = fits(from - 1);
      if (isUp) from--;
    } else {
      isDown = fits(to + 1);
      if (isDown) to++;
    }
  }
  return [from, to];
}

/** Returns the line that says what is left out before and after some rows, and how to go on. */
function leftOut(from: number, to: number, { lines, id }: Fit): Line {
  const end = lines.length - 1;
  const place = (a: number, b: number) => (a > b ? [] : `${id}:${lines[a]}-${lines[b]}`);
  const places = [place(0, from - 1), place(to + 1, end)].flat();
  const count = counted(from + end - to, "entry", "entries");
  const rest = `${count} left out; go on with ${places.join(" or ")}`;
  return {
    kind: "text",
    parts: [["faint", `[${places.length === 0 ? "the rest is cut to fit" : rest}]`]],
  };
}

/** Returns the first line of a row and the lines that hold the words, in at most `max` code points. */
function shortenRow(row: Line, words: readonly string[], max: number): Line {
  if (countPoints([row]) <= max) return row;
  const [first = "", ...lines] = plainText(row).split("\n");
  const holding = lines.filter((line) => words.some((word) => line.toLowerCase().includes(word)));
  return cutLine({ kind: row.kind, parts: [[first, ...holding].join("\n")] }, max - 1);
}

/** The actions of kinds that JSON calls otherwise: its words are promised. */
const ACTIONS: Partial<Record<CallKind, string>> = { command: "run", write: "edit", fetch: "search" };

/** Converts a row to JSON. */
export function rowJson(row: Row, { tools, isRewound }: LogStyle) {
  const { line, at, who: kind } = row;
  const text = row.who === "tool" ? callText(row) : row.text;
  const common = { line, at: at ?? null, kind, text, ...(isRewound(row) && { rewound: true }) };
  if (row.who !== "tool") return common;
  const { tool: name, target, outcome } = row;
  const called = {
    name,
    target,
    action: ACTIONS[row.kind] ?? row.kind,
    failed: outcome === "failed" || outcome === "rejected",
  };
  return { ...common, tool: { ...called, ...(tools && describeInside(row)) } };
}
