/** Tool calls with what came of them, cut to what is worth keeping: evidence, where words may be wrong. */

import { onlyChanges } from "./diff.ts";
import type { Deed, DeedKind, DeedOutcome, Entry, ToolCall } from "./session.ts";
import { deedKind } from "./tool-input.ts";

/** Characters kept of an input, by kind. */
const INPUT_MAX: Record<DeedKind, number> = {
  command: 1000,
  edit: 1500,
  write: 1500,
  read: 300,
  search: 500,
  fetch: 500,
  other: 600,
};
const PLAN_MAX = 1500;
const TARGET_MAX = 300;
/** Characters kept of a result: both ends of a failing one, the end of any other. */
const FAILED_MAX = 600;
const DONE_MAX = 300;
const PATHS_MAX = 50;
/** Asking the user is no deed: question and answer are in the user's own entry. */
const ASKING = /^(?:AskUserQuestion|request_user_input|question|questionnaire)$/;

/** Returns the deeds of entries that were read with their results, in call order. */
export function deedsIn(entries: readonly Entry[]): Deed[] {
  const results = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry.kind === "result" && entry.callId !== undefined) results.set(entry.callId, entry);
  }
  return entries.flatMap((entry) => {
    if (!entry.tool || ASKING.test(entry.tool.name)) return [];
    const result = entry.callId === undefined ? undefined : results.get(entry.callId);
    return [deedOf(entry, entry.tool, result)];
  });
}

function deedOf(entry: Entry, tool: ToolCall, result: Entry | undefined): Deed {
  const kind = deedKind(tool.name, tool.action);
  const outcome = outcomeOf(result);
  const target = cutHead(firstLine(tool), TARGET_MAX);
  const input = keptInput(tool, { kind, patch: result?.patch });
  return {
    line: entry.line,
    resultLine: result?.line,
    at: entry.at,
    kind,
    tool: cutHead(tool.name, 80),
    target,
    paths: tool.paths.slice(0, PATHS_MAX),
    input: input === target ? "" : input,
    outcome,
    result: outcome === "rejected" ? "" : keptResult(result?.text ?? "", outcome),
  };
}

function outcomeOf(result: Entry | undefined): DeedOutcome {
  if (!result) return "unknown";
  return result.state ?? (result.isError ? "failed" : "done");
}

/** Returns a command's first line as its target; the rest is in the input. */
function firstLine({ action, target, input }: ToolCall): string {
  if (action !== "run" || input === undefined) return target;
  return input.trim().split("\n", 1)[0] ?? target;
}

function keptInput(tool: ToolCall, { kind, patch }: { kind: DeedKind; patch: string | undefined }): string {
  const input = tool.input ?? tool.target;
  if (kind === "edit") return cutHead(onlyChanges(patch ?? input) || input, INPUT_MAX.edit);
  return cutHead(input, tool.name === "ExitPlanMode" ? PLAN_MAX : INPUT_MAX[kind]);
}

function keptResult(whole: string, outcome: DeedOutcome): string {
  const text = whole.trim();
  if (isBinary(text)) return "[binary]";
  if (outcome !== "failed") return cutTail(text, DONE_MAX);
  if (text.length <= 2 * FAILED_MAX) return text;
  return `${cutHead(text, FAILED_MAX)}\n${cutTail(text, FAILED_MAX)}`;
}

/** Bytes that were no text are replaced by the host, many of them by this mark. */
function isBinary(text: string): boolean {
  const start = text.slice(0, 2000);
  return (start.match(/[\ufffd\0]/g)?.length ?? 0) > start.length * 0.05;
}

/** Shortens a text to `max` UTF-16 units without splitting a character, marked with an ellipsis. */
function cutHead(text: string, max: number): string {
  const whole = text.trim();
  if (whole.length <= max) return whole;
  return `${whole.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

function cutTail(text: string, max: number): string {
  if (text.length <= max) return text;
  return `…${text.slice(1 - max).replace(/^[\udc00-\udfff]/, "")}`;
}
