/** Steps of a conversation as lines that say where they are from, and as JSON. */

import { formatLocal } from "../base/time.ts";
import { oneLine } from "../redact/redact.ts";
import { insideOf, outcomeWord, type Step } from "./steps.ts";

/** How a log is written. */
export interface LogStyle {
  /** IANA name. */
  timezone: string;
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
const REWOUND = "(rewound) ";

/** Formats a step: line, time, text. Continuation lines are indented, so no text can forge another step. */
export function formatStep(step: Step, style: LogStyle): string {
  const { entry } = step;
  const time = entry.at ? formatLocal(entry.at, style.timezone) : "no time";
  const start = `L${entry.line} [${time}] ${style.isRewound(step) ? REWOUND : ""}`;
  switch (entry.kind) {
    case "user":
      return `${start}User: ${indented(entry.text)}`;
    case "assistant":
      return `${start}Assistant: ${indented(entry.text)}`;
    case "summary":
      if (style.full) return `${start}[Compacted]\n  ${indented(entry.text)}`;
      return `${start}[Compacted: ${[...entry.text].length} characters, --full to show]`;
    default:
      return [`${start}${toolLine(step, start)}`, ...(style.tools ? insideLines(step, style) : [])].join(
        "\n",
      );
  }
}

function toolLine(step: Step, start: string): string {
  const word = outcomeWord(step);
  const end = word === "" ? "]" : `] ${word}`;
  return `[${oneLine(step.entry.text, TOOL_LINE_MAX - [...start].length - 1 - end.length)}${end}`;
}

function insideLines(step: Step, { full }: LogStyle): string[] {
  const { input, result } = insideOf(step);
  const shownInput = step.entry.tool?.action === "run" ? `$ ${input}` : input;
  return [shownInput, result]
    .filter((text) => text.trim() !== "" && text !== "$ ")
    .map((text) => `  ${indented(full ? text : cutMiddle(text, step.entry.line))}`);
}

/** Keeps a long text's beginning and end, and says how to see the rest. */
function cutMiddle(text: string, line: number): string {
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

/**
 * The newest of some formatted steps that fit into a number of code points, each with its line break, and a line that
 * says what is left out. `placeOf` names the place from the first step to one of them.
 */
export function fitSteps(
  texts: readonly string[],
  maxChars: number,
  placeOf: (last: number) => string,
): string[] {
  const lengths = texts.map((text) => [...text].length + 1);
  if (lengths.reduce((sum, length) => sum + length, 0) <= maxChars) return [...texts];
  const leftOut = (count: number) =>
    `[${count} ${count === 1 ? "entry" : "entries"} left out; go on with ${placeOf(count - 1)}]`;
  let left = maxChars - [...leftOut(texts.length)].length - 1;
  let from = texts.length;
  while (from > 0 && (lengths[from - 1] ?? 0) <= left) left -= lengths[--from] ?? 0;
  return [...texts.slice(from), leftOut(from)];
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
