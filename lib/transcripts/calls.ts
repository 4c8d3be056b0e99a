/**
 * What rows of a session say only together: an answer counts when its call was a question, and our own commands go
 * with their output.
 */

import { onlyChanges } from "./diff.ts";
import { bothEnds, headOf, tailOf } from "./ends.ts";
import type { RawEntry, Results } from "./format.ts";
import { defineLazy } from "./lazy.ts";
import { isOwnTool, withoutOwnCommands, withoutOwnOutput } from "./own-commands.ts";
import type { Entry, ToolCall } from "./session.ts";

interface CallOptions {
  /** The session's directory. */
  cwd: string | undefined;
  /** Whether calls keep their input, and how much is kept of it and of results. */
  results: Results;
  /** The calls shortly before the first entry, asked for when one is missed. */
  callsBefore?: (() => Iterable<RawEntry>) | undefined;
}

/** Sessions have thousands of calls; a result follows its call closely. */
const CALLS_HELD = 512;

interface Call {
  /** Its name and target: what it was given may be large. */
  tool: ToolCall;
  isOurs: boolean;
  /** Whether other commands ran beside ours. */
  isMixed: boolean;
}

/** Makes what raw entries are passed through in file order: none for one that does not count. */
export function callCheck({
  cwd = "/",
  results,
  callsBefore,
}: CallOptions): (raw: RawEntry) => Entry | undefined {
  const calls = new Map<string, Call>();
  const take = (callId: string | undefined, tool: ToolCall, workdir: string) => {
    const { rest, isOurs, isMixed } = checkedCall(tool, workdir);
    if (callId !== undefined) hold(calls, callId, { tool: briefOf(tool), isOurs, isMixed });
    return { rest, isOurs };
  };
  let before = callsBefore;
  const callOf = (callId: string) => {
    if (!calls.has(callId) && before) {
      const earlier = [...before()];
      before = undefined;
      for (const { callId: id, tool, workdir = cwd } of earlier) {
        if (tool && id !== undefined && !calls.has(id)) take(id, tool, workdir);
      }
    }
    return calls.get(callId);
  };
  return (raw) => {
    const { callId, tool, settle } = raw;
    if (tool) {
      const { rest, isOurs } = take(callId, tool, raw.workdir ?? cwd);
      return isOurs ? undefined : callEntry(raw, rest, results);
    }
    if (callId === undefined) return raw;
    const call = callOf(callId);
    if (settle) {
      const text = call ? settle(call.tool) : "";
      return text === "" ? undefined : { ...raw, text };
    }
    if (call?.isOurs) return undefined;
    if (call?.isMixed) raw.text = withoutOwnOutput(raw.text);
    return results === "ends" ? resultEnds(raw) : raw;
  };
}

function resultEnds(entry: Entry): Entry {
  if (entry.kind !== "result") return entry;
  entry.text = entry.isError ? bothEnds(entry.text) : tailOf(entry.text);
  if (entry.patch !== undefined) entry.patch = headOf(onlyChanges(entry.patch));
  return entry;
}

function hold(calls: Map<string, Call>, callId: string, call: Call): void {
  calls.set(callId, call);
  if (calls.size > CALLS_HELD) calls.delete(calls.keys().next().value ?? "");
}

function checkedCall(tool: ToolCall, cwd: string): { rest: ToolCall; isOurs: boolean; isMixed: boolean } {
  const rest = isOwnTool(tool.name) ? undefined : restOf(tool, cwd);
  return { rest: rest ?? tool, isOurs: rest === undefined, isMixed: rest !== tool };
}

function callEntry(entry: Entry, tool: ToolCall, results: Results): Entry {
  const brief = briefOf(tool);
  entry.tool = brief;
  if (!results || !Object.hasOwn(tool, "input")) return entry;
  const kept = () => (results === "ends" ? headOf(tool.input ?? "") : (tool.input ?? ""));
  // A diff is worked out only where the host kept none; what else is held would keep the whole input in memory.
  if (tool.action === "edit") defineLazy(brief, "input", kept);
  else brief.input = kept();
  return entry;
}

function briefOf({ name, target, action, paths }: ToolCall): ToolCall {
  return { name, target, action, paths };
}

/** Removes our own commands from a call: returns the same call when it has none, undefined when nothing else is left. */
function restOf(tool: ToolCall, cwd: string): ToolCall | undefined {
  if (tool.action !== "run") return tool;
  const command = tool.input ?? tool.target;
  const rest = withoutOwnCommands(command, cwd);
  if (rest === command) return tool;
  return rest === undefined ? undefined : { ...tool, target: rest.replace(/\s+/g, " ").trim(), input: rest };
}
