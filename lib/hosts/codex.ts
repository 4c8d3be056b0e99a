/** Codex rollouts: `{timestamp, type, payload}` rows in which events repeat the response items. */

import { join } from "node:path";
import { isDirectory, namesIn, readBytes, readJson, readText } from "../base/files.ts";
import { warning } from "../base/findings.ts";
import {
  arrayOf,
  isRecord,
  type JsonRecord,
  numberOf,
  recordOf,
  recordsOf,
  stringOf,
  stringsOf,
  unpackJson,
} from "../base/json.ts";
import { ROOT } from "../base/runtime.ts";
import { counted } from "../base/text.ts";
import {
  type Answer,
  answerText,
  type BareEntry,
  type Head,
  optionLabels,
  textOf,
  toCall,
} from "./format.ts";
import { type HostFile, keepContent, moved, PLUGIN, pluginCommands, type Restorer } from "./host.ts";
import { linesForward, parseLine, withFile } from "./lines.ts";
import { PACKED } from "./names.ts";
import { canUnpack, findPacked, UNPACKING } from "./packed.ts";
import type { ToolCall } from "./session.ts";

const ROW_TYPES = new Set(["session_meta", "response_item", "event_msg", "turn_context", "compacted"]);
/** Beginnings of user items that the client wrote, for versions that do not mark typed ones by an event. */
const NOT_TYPED = [
  "<environment_context>",
  "<user_instructions>",
  "# AGENTS.md instructions",
  "<turn_aborted>",
  "<subagent_notification>",
];
/** The origins of sessions that a program or another session started. */
const PROGRAMS = /^\W*(?:exec|mcp|sub_?agent|thread_spawn|internal)\b/i;
/** Files, tabs and selected text that an editor puts before a prompt. */
const SHOWN = /^#[\s\S]*\n## My request for Codex:\s*/;

const MARKETPLACE = "[marketplaces.session-memory]";

const restorer: Restorer = {
  needsFolder: false,
  place(home, { id, at }) {
    const [day = "", time = ""] = at.slice(0, 19).split("T");
    const name = `rollout-${day}T${time.replaceAll(":", "-")}-${id}.jsonl`;
    return join(home, "sessions", ...day.split("-"), name);
  },
  begin: () => [],
  row(record, target) {
    const payload = recordOf(record.payload);
    const isMeta = record.type === "session_meta";
    if (isMeta && payload.id !== target.origin.id) return undefined; // of a session that it was forked from
    if (record.type === "response_item" && (payload.type === "reasoning" || isEmptyItem(payload)))
      return undefined;
    const { content } = payload;
    const shown = Array.isArray(content) ? { content: keepContent(content) } : {};
    const place = payload.cwd === undefined ? {} : { cwd: moved(payload.cwd, target) };
    const own = isMeta ? { id: target.id, timestamp: target.at, forked_from_id: target.origin.id } : {};
    return { ...record, payload: { ...payload, ...shown, ...place, ...own } };
  },
};

function isEmptyItem(payload: JsonRecord): boolean {
  return payload.type === undefined || (payload.type === "message" && arrayOf(payload.content).length === 0);
}

export const host: HostFile = {
  name: "Codex",
  program: "codex",
  resume: "codex resume <id>",
  isNamedById: true,
  restorer,
  hooks: { installedIn: "config.toml", remedy: "trust the hooks of session-memory with /hooks" },

  afterwards:
    "Codex runs no hook before you trust it: start codex once, and choose to trust those of session-memory",

  wired(home) {
    const config = readText(join(home, "config.toml"));
    const isKnown = config.includes(MARKETPLACE);
    const isOther = isKnown && !config.includes(`source = "${ROOT}"`);
    const isInstalled = config.includes(`[plugins."${PLUGIN}"]`);
    // It works with a copy, which the command that adds the plugin brings up to date.
    const isHere = isKnown && !isOther && isInstalled && isCopied(home);
    return pluginCommands({ isInstalled, isKnown, isHere, isOther }, ["add", "remove"]);
  },

  *check(files) {
    const packed = files.filter((file) => findPacked(file)?.end === PACKED).length;
    const what = `${counted(packed, "compressed session")} of Codex cannot be read here`;
    if (packed > 0 && !canUnpack()) yield warning(what, UNPACKING);
  },

  leftIn(home) {
    const config = join(home, "config.toml");
    const trusts = readText(config).match(/^\[hooks\.state\..*session-memory/gm)?.length ?? 0;
    if (trusts === 0) return [];
    return [`${config}: ${counted(trusts, "[hooks.state] block")} by which you trusted our hooks`];
  },

  matches(record) {
    return typeof record.type === "string" && ROW_TYPES.has(record.type) && isRecord(record.payload);
  },

  facts({ type, payload: given }, head) {
    const payload = recordOf(given);
    const { cwd, id, parent_thread_id, source, forked_from_id, git } = payload;
    const isTyped = type === "event_msg" && typedEvent(payload) !== undefined;
    if (type !== "session_meta") return { cwd, typedEvents: isTyped || undefined };
    return {
      cwd,
      id,
      forkedFrom: forked_from_id,
      remote: recordOf(git).repository_url,
      isHeadless: PROGRAMS.test(JSON.stringify(source) ?? ""),
      // Forks repeat the meta row of the session that they are of.
      parentId: head.id === undefined ? parent_thread_id : undefined,
    };
  },

  entries(record, { head }) {
    const payload = recordOf(record.payload);
    // The summariser's answer comes again as the summary.
    if (recordOf(record.metadata).compaction_output === true) return [];
    if (record.type === "response_item") return itemEntries(payload, head);
    if (record.type === "compacted") return [{ kind: "summary", text: textOf(payload.message) }];
    // The event follows its item at once and is used in its place where the version writes events.
    const typed = record.type === "event_msg" && head.typedEvents ? typedEvent(payload) : undefined;
    return typed === undefined ? [] : [{ kind: "user", text: typed.replace(SHOWN, "") }];
  },

  isHeadComplete: ({ id, typedEvents }) => id !== undefined && typedEvents === true,
  // The meta row begins with ids; what it goes on with may be long.
  parentIn: /^(?:(?!"cwd":)[^\n])*?"parent_thread_id":"([^"\n]+)"/,
};

/** Returns whether Codex's copy of the plugin is as ours is now: of an installed package its folder `plugin`, else all of it. */
function isCopied(home: string): boolean {
  const { version, files } = recordOf(readJson(join(ROOT, "package.json")));
  const plugin = join(ROOT, "plugin");
  const copy = join(home, "plugins", "cache", "session-memory", "session-memory", `${version}`);
  const isSame = (own: string, copied: string): boolean => {
    if (isDirectory(own)) return namesIn(own).every((name) => isSame(join(own, name), join(copied, name)));
    const [bytes, others] = [readBytes(own), readBytes(copied)];
    return bytes === undefined ? others === undefined : others?.equals(bytes) === true;
  };
  if (isDirectory(plugin)) return isSame(plugin, copy);
  return ["package.json", "bun.lock", ...stringsOf(files)].every((name) =>
    isSame(join(ROOT, name), join(copy, name)),
  );
}

/** Returns what a person typed where an event says so; undefined for any other event. */
function typedEvent({ type, message, item }: JsonRecord): string | undefined {
  if (type === "user_message") return textOf(message);
  const { type: kind, content } = recordOf(item);
  return type === "item_completed" && kind === "UserMessage" ? textOf(content) : undefined;
}

function itemEntries(payload: JsonRecord, head: Head): BareEntry[] {
  switch (payload.type) {
    case "message": {
      const text = textOf(payload.content);
      if (payload.role === "assistant") return [{ kind: "assistant", text, id: stringOf(payload.id) }];
      const start = text.trimStart();
      const isTyped = payload.role === "user" && !head.typedEvents;
      return isTyped && !NOT_TYPED.some((beginning) => start.startsWith(beginning))
        ? [{ kind: "user", text: text.replace(SHOWN, "") }]
        : [];
    }
    case "function_call":
      return [callEntry(payload, unpackJson(payload.arguments))];
    case "custom_tool_call":
      return [callEntry(payload, payload.input)];
    case "local_shell_call":
      return [callEntry({ ...payload, name: "local_shell_call" }, recordOf(payload.action))];
    case "web_search_call":
      return [callEntry({ ...payload, name: "web_search" }, recordOf(payload.action))];
    case "function_call_output":
    case "custom_tool_call_output":
      return outputEntries(payload);
    default:
      return [];
  }
}

function callEntry({ name, call_id: id }: JsonRecord, input: unknown): BareEntry {
  const patch = shellPatch(input);
  const call =
    patch === undefined ? { id, name, input: shellInput(input) } : { id, name: "apply_patch", input: patch };
  return { ...toCall(call), workdir: stringOf(recordOf(input).workdir) };
}

/** Returns the patch of an `apply_patch` that was called through a shell. */
function shellPatch(input: unknown): string | undefined {
  if (!isRecord(input)) return undefined;
  const command = input.command ?? input.cmd;
  const text = stringsOf(command).join("\n") || textOf(command);
  return /(?:^|\n)\s*apply_patch\b[\s\S]*\*\*\* Begin Patch/.test(text) ? text : undefined;
}

/** `["bash", "-lc", "npm test"]` says no more than its last word. */
function shellInput(input: unknown): unknown {
  if (!isRecord(input)) return input;
  const [shell = "", flag = "", command, ...more] = stringsOf(input.command);
  const isShell = /(?:^|\/)(?:ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(flag) && more.length === 0;
  return isShell && command !== undefined ? { ...input, command } : input;
}

function outputEntries(payload: JsonRecord): BareEntry[] {
  const { output } = payload;
  const callId = stringOf(payload.call_id);
  const result = resultEntry(output, callId);
  if (typeof output !== "string" || !output.startsWith('{"answers"')) return [result];
  const settle = ({ name, target }: ToolCall) =>
    name === "request_user_input" ? answerText(answersIn(output, target)) : "";
  return [result, { kind: "user", text: "", callId, settle }];
}

/** Reads `{"answers": {"<question id>": {"answers": ["…"]}}}`; the questions are in the call. */
function answersIn(output: string, call: string): Answer[] {
  const { answers } = recordOf(unpackJson(output));
  const asked = recordsOf(recordOf(unpackJson(call)).questions);
  return Object.entries(recordOf(answers)).flatMap(([id, given]) => {
    const answer = stringsOf(recordOf(given).answers).join(", ");
    const question = asked.find((each) => each.id === id);
    if (answer === "") return [];
    return [
      { question: stringOf(question?.question) ?? id, options: optionLabels(question?.options), answer },
    ];
  });
}

/** The client's text for a call that the user turned down. */
const REJECTED = /^(?:exec command|patch) rejected by user$/;
/** The text before a command's output in newer versions. */
const PREAMBLE = /^(?:Chunk ID|Wall time|Exit code|Process (?:exited|running)|Original token count)[^\n]*\n/;

function resultEntry(output: unknown, callId: string | undefined): BareEntry {
  const record = recordOf(unpackJson(output));
  const whole = stringOf(record.output) ?? stringOf(record.content) ?? textOf(output);
  const { text, exitCode, isRunning } = withoutPreamble(whole);
  const isRejected = REJECTED.test(text.trim());
  const failed =
    (numberOf(recordOf(record.metadata).exit_code) ?? exitCode) !== 0 || record.success === false;
  return {
    kind: "result",
    text,
    callId,
    isError: failed || isRejected,
    state: isRejected ? "rejected" : isRunning ? "running" : undefined,
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

/** The last bytes in which the end of a call is looked for: calls run side by side, and print much. */
const END_BYTES = 4 * 1024 * 1024;

/** Returns whether a transcript says of a command that has just ended that it failed; its hooks do not say. */
export function hasFailedInCodex(file: string, callId: string): boolean {
  return withFile(file, (descriptor, size) => {
    let hasFailed = false;
    for (const { bytes } of linesForward(descriptor, { from: Math.max(0, size - END_BYTES) })) {
      if (!bytes?.includes(callId)) continue;
      for (const { payload } of parseLine(bytes).records) {
        const event = recordOf(payload);
        const end = isRecord(event.item) ? event.item : event;
        if (callId === (end.call_id ?? end.id) && end.exit_code !== undefined)
          hasFailed = end.exit_code !== 0;
      }
    }
    return hasFailed;
  });
}
