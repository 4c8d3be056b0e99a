/** Formats a conversation as steps, each a message or a tool call with its result, as text and as JSON. */

import { countPoints, cutLine, type Line, type Part, plainText } from "../base/output.ts";
import { counted } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import { oneLine } from "../redact/redact.ts";
import { outcomeOf } from "./outcome.ts";
import type { Entry } from "./session.ts";
import { callKind, countChanges } from "./tool-call.ts";

/** One thing said or done. */
export interface Step {
  /** Never a result. */
  entry: Entry;
  /** On tool calls, where the transcript holds it. */
  result?: Entry | undefined;
}

/** Steps shown before and after a line that is asked for alone. */
export const AROUND = 10;

/** Which steps are wanted. */
export interface StepFilter {
  speaker?: "user" | "assistant" | undefined;
  /** Words that all must occur, in lower case. */
  words: readonly string[];
  /** Whether tool calls are wanted. */
  tools: boolean;
  /** Whether words may occur in tools' inputs and results too. */
  insideTools: boolean;
  /** ISO times. */
  since?: string | undefined;
  until?: string | undefined;
}

export const EVERY_STEP: StepFilter = { words: [], tools: true, insideTools: false };

/** Pairs calls with their results. A result without its call is left out. */
export function stepsOf(entries: readonly Entry[]): Step[] {
  const results = new Map<string, Entry>();
  for (const entry of entries)
    if (entry.kind === "result" && entry.callId !== undefined) results.set(entry.callId, entry);
  return entries
    .filter(({ kind }) => kind !== "result")
    .map((entry) => {
      const result = entry.tool && entry.callId !== undefined ? results.get(entry.callId) : undefined;
      return result ? { entry, result } : { entry };
    });
}

/** Returns steps as the entries that they were made of, each result behind its call. */
export function entriesOf(steps: readonly Step[]): Entry[] {
  return steps.flatMap(({ entry, result }) => (result ? [entry, result] : [entry]));
}

/** Returns whether a step passes the filter. Steps without a time pass any times. */
export function isWanted(
  step: Step,
  { speaker, words, tools, insideTools, since, until }: StepFilter,
): boolean {
  const { kind, at } = step.entry;
  if (speaker !== undefined && kind !== speaker) return false;
  if (kind === "tool" && !tools) return false;
  if (at !== undefined && ((since !== undefined && at < since) || (until !== undefined && at > until)))
    return false;
  if (words.length === 0) return true;
  const text = searchedText(step, insideTools).toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Which steps of a session are read. */
export interface StepRequest {
  lines: { from: number; to: number; isRange: boolean } | undefined;
  around: number | undefined;
  /** Of the last ones, where no lines are asked for. */
  count: number;
  filter: StepFilter;
}

/** Picks the last wanted steps, or those on some lines with as many more on both sides. */
export function pickSteps(steps: readonly Step[], { lines, around, count, filter }: StepRequest): Step[] {
  const wanted = steps.filter((step) => isWanted(step, filter));
  if (!lines) return wanted.slice(-count);
  const first = wanted.findIndex(({ entry }) => entry.line >= lines.from);
  if (first === -1) return [];
  const last = wanted.findLastIndex(({ entry }) => entry.line <= lines.to);
  const reach = around ?? (lines.isRange ? 0 : AROUND);
  return wanted.slice(Math.max(0, first - reach), Math.max(first, last) + reach + 1);
}

function searchedText({ entry, result }: Step, insideTools: boolean): string {
  if (!entry.tool || !insideTools) return entry.text;
  return [entry.text, entry.tool.input ?? "", result?.text ?? "", result?.patch ?? ""].join("\n");
}

/** Returns a call's outcome in a word: `failed`, an edit's `+4 -1`, or "". */
export function outcomeWord({ entry: { tool }, result }: Step): string {
  const outcome = outcomeOf(result);
  if (outcome === "failed" || outcome === "rejected" || outcome === "running") return outcome;
  if (tool?.action !== "edit") return "";
  const { added, removed } = countChanges(readChange({ tool, result }));
  if (added + removed === 0) return "";
  return removed === 0 ? `+${added}` : `+${added} -${removed}`;
}

/** Returns the diff of an edit, or a written file as one. */
function readChange({
  tool,
  result,
}: {
  tool: NonNullable<Entry["tool"]>;
  result: Entry | undefined;
}): string {
  if (result?.patch !== undefined) return result.patch;
  const input = tool.input ?? "";
  if (callKind(tool.name, tool.action) !== "write") return input;
  return input === "" ? "" : input.replace(/\n$/, "").replace(/^/gm, "+");
}

/** Returns a call's input and result as text, "" when there is none. */
export function insideOf({ entry: { tool }, result }: Step): { input: string; result: string } {
  if (!tool) return { input: "", result: "" };
  const kind = callKind(tool.name, tool.action);
  const isFailed = result?.isError === true;
  const text = result?.text.trim() ?? "";
  const input = (kind === "edit" ? result?.patch : undefined) ?? tool.input ?? "";
  // Hosts answer an edit with a copy of the file.
  const isCopy = (kind === "edit" || kind === "write") && !isFailed;
  return { input, result: isCopy ? "" : text };
}

/** How a log is written. */
export interface LogStyle {
  /** IANA name. */
  timezone: string | undefined;
  /** What the two who talk are called. @default User and Assistant */
  participants?: Participants | undefined;
  /** Whether nothing is cut: compaction summaries, inputs and results. */
  full: boolean;
  /** Whether inputs and results are shown. */
  tools: boolean;
  /** Whether a row was taken back: the conversation went on from a row before it. */
  isRewound: (step: Step) => boolean;
}

/** A tool call's line, with all that is before it, in code points. */
const TOOL_LINE_MAX = 160;
/** Characters of an input or a result. */
const INSIDE_MAX = 4000;
/** A step cut shorter than this says nothing. */
const CUT_MIN = 40;
/** Of each of several steps so much is shown at least. */
const EXCERPT_MIN = 200;

/** Formats a step: line, time, text. Continuation lines are indented, so no text can forge another step. */
export function formatStep(step: Step, style: LogStyle): Line {
  const { entry } = step;
  const time = entry.at ? formatLocal(entry.at, style.timezone) : "no time";
  const start: Part[] = [["place", `L${entry.line}`], " ", ["time", `[${time}]`], " "];
  if (style.isRewound(step)) start.push(["bad", "(rewound)"], " ");
  return { kind: "row", parts: [...start, ...stepParts(step, style, start)] };
}

function stepParts(step: Step, style: LogStyle, start: readonly Part[]): Part[] {
  const { kind, text } = step.entry;
  const { participants = PARTICIPANTS } = style;
  switch (kind) {
    case "user":
    case "assistant":
      return [[kind, `${participants[kind]}:`], " ", ["said", indented(text)]];
    case "summary":
      if (style.full) return [["tool", "[Compacted]"], "\n  ", ["said", indented(text)]];
      return [["tool", `[Compacted: ${[...text].length} characters, --full to show]`]];
    default:
      return [...toolParts(step, start), ...(style.tools ? insideParts(step, style) : [])];
  }
}

function toolParts(step: Step, start: readonly Part[]): Part[] {
  const word = outcomeWord(step);
  const end = word === "" ? "]" : `] ${word}`;
  const room = TOOL_LINE_MAX - countPoints([{ kind: "row", parts: start }]) - end.length;
  const call: Part = ["tool", `[${oneLine(step.entry.text, room)}]`];
  return word === "" ? [call] : [call, " ", word === "failed" ? ["bad", word] : word];
}

function insideParts(step: Step, { full }: LogStyle): Part[] {
  const { input, result } = insideOf(step);
  const { line, tool } = step.entry;
  const shown = (text: string) => indented(full ? text : cutInside(text, line));
  const texts = [tool?.action === "run" ? `$ ${input}` : input, result]
    .filter((text) => text.trim() !== "" && text !== "$ ")
    .map(shown);
  if (tool?.action !== "edit") return texts.map((text) => `\n  ${text}`);
  return texts.flatMap((text) => text.split("\n  ").flatMap((each) => ["\n  ", changed(each)]));
}

function changed(line: string): Part {
  const [sign] = line;
  return sign === "+" ? ["good", line] : sign === "-" ? ["bad", line] : line;
}

/** Keeps the beginning and end of a tool call's long input or result, and says how to see the rest. */
export function cutInside(text: string, line: number): string {
  if (text.length <= INSIDE_MAX) return text;
  const mark = `… ${text.length} characters, --line ${line} --full to show …`;
  const rest = INSIDE_MAX - mark.length - 2;
  const head = text.slice(0, Math.ceil(rest / 2)).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(-Math.floor(rest / 2)).replace(/^[\udc00-\udfff]/, "");
  return `${head}\n${mark}\n${tail}`;
}

/** Indents the lines after the first by two blanks. */
function indented(text: string): string {
  return text.trim().replace(/\r\n?|[\n\u2028\u2029\u0085\v\f]/g, "\n  ");
}

/** Which of some formatted steps are shown where not all fit. */
interface Fit {
  /** Code points, each step with its line break. */
  maxChars: number;
  /** The steps' lines. */
  lines: readonly number[];
  /** The first line that was asked for. @default the newest steps are kept */
  asked: number | undefined;
  /** The session as a place names it. */
  id: string;
  /** The words that were searched: long steps are cut to the rows that hold some. */
  words: readonly string[];
}

/**
 * Returns the formatted steps that fit, in order, and a line that says what is left out: the newest; or where a line was
 * asked for, those from it on, then those before it.
 */
export function fitSteps(whole: readonly Line[], { maxChars, lines, asked, id, words }: Fit): Line[] {
  if (countPoints(whole) <= maxChars) return [...whole];
  const share = Math.max(EXCERPT_MIN, Math.floor(maxChars / whole.length));
  const steps = words.length === 0 ? whole : whole.map((step) => shortenStep(step, words, share));
  const end = steps.length - 1;
  const place = (from: number, to: number) => (from > to ? [] : [`${id}:${lines[from]}-${lines[to]}`]);
  const leftOut = (from: number, to: number): Line => {
    const places = [...place(0, from - 1), ...place(to + 1, end)];
    const count = counted(from + end - to, "entry", "entries");
    const text =
      places.length === 0
        ? "[the rest is cut to fit]"
        : `[${count} left out; go on with ${places.join(" or ")}]`;
    return { kind: "text", parts: [["faint", text]] };
  };
  const found = asked === undefined ? -1 : lines.findIndex((line) => line >= asked);
  const first = found === -1 ? end : found;
  let left = maxChars - countPoints([found === -1 ? leftOut(end, end) : leftOut(steps.length, -1)]);
  const fits = (at: number) => {
    const step = steps[at];
    const rest = step ? left - countPoints([step]) : -1;
    if (rest >= 0) left = rest;
    return rest >= 0;
  };
  let [from, to] = [first, first - 1];
  while (fits(to + 1)) to++;
  const cut = steps[first];
  if (to < first)
    return cut && (found !== -1 || words.length > 0) && left >= CUT_MIN
      ? [cutLine(cut, left - 1), leftOut(first, first)]
      : [leftOut(steps.length, end)];
  while (fits(from - 1)) from--;
  return [...steps.slice(from, to + 1), leftOut(from, to)];
}

/** Returns of a step its first row and the rows that hold the words, in at most `max` code points. */
function shortenStep(step: Line, words: readonly string[], max: number): Line {
  if (countPoints([step]) <= max) return step;
  const [first = "", ...rows] = plainText(step).split("\n");
  const holding = rows.filter((row) => words.some((word) => row.toLowerCase().includes(word)));
  return cutLine({ kind: step.kind, parts: [[first, ...holding].join("\n")] }, max - 1);
}

/** Converts a step to JSON. */
export function stepJson(step: Step, { tools, isRewound }: Pick<LogStyle, "tools" | "isRewound">) {
  const { line, at, kind, text, tool } = step.entry;
  const common = { line, at: at ?? null, kind, text, ...(isRewound(step) && { rewound: true }) };
  if (!tool) return common;
  const { name, target, action } = tool;
  const failed = step.result?.isError === true;
  return { ...common, tool: { name, target, action, failed, ...(tools && insideOf(step)) } };
}
