/** Codex rollouts: `{timestamp, type, payload}` rows in which events repeat the response items. */

import { arrayOf, isRecord, type JsonRecord, numberOf, recordOf, stringOf, stringsOf } from "../base/json.ts";
import {
  type Answer,
  answerText,
  type EntryOptions,
  type Format,
  isoTime,
  optionLabels,
  type Place,
  type RawEntry,
  textOf,
} from "./format.ts";
import { linesBackward, parseLine, withFile } from "./jsonl.ts";
import type { Entry, ToolCall } from "./session.ts";
import { toolCall } from "./tool-call.ts";

const ROW_TYPES = new Set(["session_meta", "response_item", "event_msg", "turn_context", "compacted"]);
/** Beginnings of user items that the client wrote, for versions that do not mark typed ones by an event. */
const NOT_TYPED = [
  "<environment_context>",
  "<user_instructions>",
  "# AGENTS.md instructions",
  "<turn_aborted>",
  "<subagent_notification>",
];

export const format: Format = {
  agent: "codex",

  matches(record) {
    return typeof record.type === "string" && ROW_TYPES.has(record.type) && isRecord(record.payload);
  },

  readHead(record, head) {
    const payload = recordOf(record.payload);
    head.startedAt ??= isoTime(record.timestamp);
    head.cwd ??= stringOf(payload.cwd);
    if (record.type === "session_meta") {
      head.id ??= stringOf(payload.id);
      head.remote ??= stringOf(recordOf(payload.git).repository_url);
    }
    if (record.type === "event_msg" && payload.type === "user_message") head.typedEvents = true;
  },

  entries(record, place, options) {
    const payload = recordOf(record.payload);
    const common = { ...place, at: isoTime(record.timestamp) };
    if (record.type === "event_msg") {
      // The event follows its item at once and is used in its place where the version writes events.
      const text = stringOf(payload.message) ?? "";
      const typed = payload.type === "user_message" && options.head.typedEvents && text.trim() !== "";
      return typed ? [{ ...common, kind: "user", text }] : [];
    }
    if (record.type === "compacted") {
      const text = stringOf(payload.message);
      return text ? [{ ...common, kind: "summary", text }] : [];
    }
    return record.type === "response_item" ? itemEntries(payload, common, options) : [];
  },
};

type Common = Place & { at: string | undefined };

function itemEntries(payload: JsonRecord, common: Common, { head, results }: EntryOptions): RawEntry[] {
  switch (payload.type) {
    case "message": {
      const text = textOf(payload.content);
      if (text.trim() === "") return [];
      if (payload.role === "assistant")
        return [{ ...common, id: stringOf(payload.id), kind: "assistant", text }];
      if (payload.role !== "user" || head.typedEvents) return [];
      const start = text.trimStart();
      return NOT_TYPED.some((beginning) => start.startsWith(beginning))
        ? []
        : [{ ...common, kind: "user", text }];
    }
    case "function_call":
      return [toolEntry(payload, parsedArguments(payload.arguments), { common, results })];
    case "custom_tool_call":
      return [toolEntry(payload, payload.input, { common, results })];
    case "local_shell_call": {
      const call = { ...payload, name: "local_shell_call" };
      return [toolEntry(call, recordOf(payload.action), { common, results })];
    }
    case "web_search_call":
      return [toolEntry({ ...payload, name: "web_search" }, recordOf(payload.action), { common, results })];
    case "function_call_output":
    case "custom_tool_call_output":
      return outputEntries(payload, common, results);
    default:
      return [];
  }
}

function toolEntry(
  payload: JsonRecord,
  input: unknown,
  { common, results }: { common: Common; results: boolean },
): RawEntry {
  const patch = shellPatch(input);
  const name = stringOf(payload.name) ?? "tool";
  const tool =
    patch === undefined
      ? toolCall(name, shellInput(input), results)
      : toolCall("apply_patch", patch, results);
  return {
    ...common,
    kind: "tool",
    text: `${tool.name} ${tool.target}`.trim(),
    tool,
    callId: stringOf(payload.call_id),
    ...(isRecord(input) && typeof input.workdir === "string" && { workdir: input.workdir }),
  };
}

function parsedArguments(text: unknown): unknown {
  try {
    return JSON.parse(typeof text === "string" ? text : "");
  } catch {
    return text;
  }
}

/** Returns the patch of an `apply_patch` that was called through a shell. */
function shellPatch(input: unknown): string | undefined {
  if (!isRecord(input)) return undefined;
  const command = input.command ?? input.cmd;
  const text = stringsOf(command).join("\n") || (stringOf(command) ?? "");
  return /(?:^|\n)\s*apply_patch\b[\s\S]*\*\*\* Begin Patch/.test(text) ? text : undefined;
}

/** `["bash", "-lc", "npm test"]` says no more than its last word. */
function shellInput(input: unknown): unknown {
  if (!isRecord(input)) return input;
  const words = stringsOf(input.command);
  if (
    words.length !== 3 ||
    !/(?:^|\/)(?:ba|z|da)?sh$/.test(String(words[0])) ||
    !/^-l?c$/.test(String(words[1]))
  ) {
    return input;
  }
  return { ...input, command: words[2] };
}

function outputEntries(payload: JsonRecord, common: Common, results: boolean): RawEntry[] {
  const entries: RawEntry[] = results ? [resultEntry(payload, common)] : [];
  const { output } = payload;
  if (typeof output === "string" && output.startsWith('{"answers"')) {
    const settle = ({ name, target }: ToolCall) =>
      name === "request_user_input" ? answerText(answersIn(output, target)) : "";
    entries.push({ ...common, kind: "user", text: "", callId: stringOf(payload.call_id), settle });
  }
  return entries;
}

/** Reads `{"answers": {"<question id>": {"answers": ["…"]}}}`; the questions are in the call. */
function answersIn(output: string, call: string): Answer[] {
  const { answers } = recordOf(parsedArguments(output));
  const asked = arrayOf(recordOf(parsedArguments(call)).questions).filter(isRecord);
  return Object.entries(recordOf(answers)).flatMap(([id, given]) => {
    const answer = stringsOf(recordOf(given).answers).join(", ");
    const question = asked.find((each) => each.id === id);
    if (answer === "") return [];
    return [
      { question: stringOf(question?.question) ?? id, options: optionLabels(question?.options), answer },
    ];
  });
}

/** What the client writes when the user turns a call down. */
const REJECTED = /^(?:exec command|patch) rejected by user$/;
/** What newer versions write before a command's output. */
const PREAMBLE = /^(?:Chunk ID|Wall time|Exit code|Process (?:exited|running)|Original token count)[^\n]*\n/;

function resultEntry(payload: JsonRecord, common: Common): Entry {
  const output = payload.output;
  const parsed = typeof output === "string" && output.startsWith("{") ? parsedArguments(output) : output;
  const record = recordOf(parsed);
  const whole =
    stringOf(record.output) ??
    stringOf(record.content) ??
    (typeof output === "string" ? output : textOf(output));
  const { text, exitCode, isRunning } = withoutPreamble(whole);
  const isRejected = REJECTED.test(text.trim());
  const failed =
    (numberOf(recordOf(record.metadata).exit_code) ?? exitCode) !== 0 || record.success === false;
  const state = isRejected ? "rejected" : isRunning ? "running" : undefined;
  return {
    ...common,
    kind: "result",
    text,
    callId: stringOf(payload.call_id),
    isError: failed || isRejected,
    ...(state && { state }),
  };
}

/** Separates a command's own output from the lines before it that say how it ended. */
function withoutPreamble(text: string): { text: string; exitCode: number; isRunning: boolean } {
  const start = PREAMBLE.test(text) ? text.indexOf("\nOutput:\n") : -1;
  if (start === -1) return { text, exitCode: 0, isRunning: false };
  const preamble = text.slice(0, start);
  const code = /^(?:Exit code: |Process exited with code )(-?\d+)/m.exec(preamble)?.[1];
  return {
    text: text.slice(start + "\nOutput:\n".length),
    exitCode: Number(code ?? 0),
    isRunning: /^Process running with session ID/m.test(preamble),
  };
}

/** Calls run side by side: the end of one is among so many last lines. */
const END_LINES = 50;

/** Returns whether a transcript says of a command that has just ended that it failed; its hooks do not say. */
export function hasFailedInCodex(file: string, callId: string): boolean {
  return withFile(file, (descriptor, size) => {
    let left = END_LINES;
    for (const { bytes } of linesBackward(descriptor, size)) {
      for (const { payload } of parseLine(bytes).records) {
        const event = recordOf(payload);
        const end = isRecord(event.item) ? event.item : event;
        if (callId === (end.call_id ?? end.id) && end.exit_code !== undefined) return end.exit_code !== 0;
      }
      if (--left === 0) break;
    }
    return false;
  });
}
