/** A conversation as a log shows it: what was said, and each tool call together with its result. */

import { countChanges } from "./diff.ts";
import type { DeedOutcome, Entry } from "./session.ts";
import { deedKind } from "./tool-input.ts";

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

/** Pairs calls with their results. A result without its call is left out. */
export function stepsOf(entries: readonly Entry[]): Step[] {
  const results = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry.kind === "result" && entry.callId !== undefined) results.set(entry.callId, entry);
  }
  return entries
    .filter(({ kind }) => kind !== "result")
    .map((entry) => {
      const result = entry.tool && entry.callId !== undefined ? results.get(entry.callId) : undefined;
      return result ? { entry, result } : { entry };
    });
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

/** The last wanted steps, or those on some lines with as many more on both sides. */
export function pickSteps(
  steps: readonly Step[],
  {
    lines,
    around,
    count,
    filter,
  }: {
    lines: { from: number; to: number; isRange: boolean } | undefined;
    around: number | undefined;
    count: number;
    filter: StepFilter;
  },
): Step[] {
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

/** Returns the outcome of a call. */
export function outcomeOf(result: Entry | undefined): DeedOutcome {
  if (!result) return "unknown";
  return result.state ?? (result.isError ? "failed" : "done");
}

/** Returns a call's outcome in a word: `failed`, an edit's `+4 -1`, or "". */
export function outcomeWord({ entry: { tool }, result }: Step): string {
  const outcome = outcomeOf(result);
  if (outcome === "failed" || outcome === "rejected" || outcome === "running") return outcome;
  if (tool?.action !== "edit") return "";
  const { added, removed } = countChanges(changeOf({ tool, result }));
  if (added + removed === 0) return "";
  return removed === 0 ? `+${added}` : `+${added} -${removed}`;
}

/** Returns the diff of an edit, or a written file as one. */
function changeOf({ tool, result }: { tool: NonNullable<Entry["tool"]>; result: Entry | undefined }): string {
  if (result?.patch !== undefined) return result.patch;
  const input = tool.input ?? "";
  if (deedKind(tool.name, tool.action) !== "write") return input;
  return input === "" ? "" : input.replace(/\n$/, "").replace(/^/gm, "+");
}

/** Returns a call's input and result as text, "" when there is none. */
export function insideOf({ entry: { tool }, result }: Step): { input: string; result: string } {
  if (!tool) return { input: "", result: "" };
  const kind = deedKind(tool.name, tool.action);
  const isFailed = result?.isError === true;
  const text = result?.text.trim() ?? "";
  const input = (kind === "edit" ? result?.patch : undefined) ?? tool.input ?? "";
  // Hosts answer an edit with a copy of the file.
  const isCopy = (kind === "edit" || kind === "write") && !isFailed;
  return { input, result: isCopy ? "" : text };
}
