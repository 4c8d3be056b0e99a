/** Claude Code's transcripts: one row per content block, a tree by `parentUuid`, and much that is not conversation. */

import { arrayOf, isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "../base/json.ts";
import {
  assistantEntries,
  type EntryOptions,
  type Format,
  isoTime,
  isTextBlock,
  type Place,
  textOf,
} from "./format.ts";
import type { Entry } from "./session.ts";

/** Beginnings of user texts that the client wrote itself. */
const NOT_TYPED = [
  "<command-name>",
  "<command-message>",
  "<local-command-",
  "<bash-input>",
  "<bash-stdout>",
  "<bash-stderr>",
  "<task-notification>",
  "<system-reminder>",
  "[Request interrupted by user",
  "Caveat: The messages below",
  "Base directory for this skill:",
];
const REMINDER = /<system-reminder>[\s\S]*?<\/system-reminder>/g;

export const claude: Format = {
  agent: "claude",

  matches(record) {
    if (typeof record.type !== "string" || isRecord(record.payload)) return false;
    if (typeof record.sessionId === "string" || typeof record.parentUuid === "string") return true;
    if (record.type === "summary") return typeof record.leafUuid === "string";
    if (record.type === "file-history-snapshot") return isRecord(record.snapshot);
    return (record.type === "user" || record.type === "assistant") && isRecord(record.message);
  },

  readHead(record, head) {
    head.cwd ??= stringOf(record.cwd);
    head.startedAt ??= isoTime(record.timestamp);
    if (record.isSidechain === true && typeof record.agentId === "string") {
      head.parentId ??= stringOf(record.sessionId);
    }
  },

  entries(record, place, options) {
    if (record.type === "assistant") return assistantRowEntries(record, place);
    if (record.type === "user") return userEntries(record, place, options);
    return [];
  },

  treeNode(record) {
    const id = stringOf(record.uuid);
    if (id === undefined) return undefined;
    const isPrompt = record.type === "user" && typedText(record) !== "";
    return { id, parentId: stringOf(record.parentUuid) ?? stringOf(record.logicalParentUuid), isPrompt };
  },

  leafOf(record) {
    return record.type === "last-prompt" ? stringOf(record.leafUuid) : undefined;
  },
};

function assistantRowEntries(record: JsonRecord, place: Place): Entry[] {
  const message = recordOf(record.message);
  const common = { ...place, id: stringOf(record.uuid), at: isoTime(record.timestamp) };
  return assistantEntries(message.content, common, contextTokens(message.usage));
}

function userEntries(record: JsonRecord, place: Place, { results }: EntryOptions): Entry[] {
  const common = { ...place, id: stringOf(record.uuid), at: isoTime(record.timestamp) };
  const content = recordOf(record.message).content;
  if (record.isCompactSummary === true) return [{ ...common, kind: "summary", text: textOf(content) }];
  const entries: Entry[] = results ? resultEntries(content, common) : [];
  const text = typedText(record);
  if (text !== "") entries.push({ ...common, kind: "user", text });
  return entries;
}

function resultEntries(content: unknown, common: Omit<Entry, "kind" | "text">): Entry[] {
  const entries: Entry[] = [];
  for (const block of arrayOf(content)) {
    if (!isRecord(block) || block.type !== "tool_result") continue;
    entries.push({
      ...common,
      kind: "result",
      text: textOf(block.content),
      callId: stringOf(block.tool_use_id),
      isError: block.is_error === true,
    });
  }
  return entries;
}

/** What a person typed in a user row, or "" for rows the client wrote. */
function typedText(record: JsonRecord): string {
  if (record.isMeta === true || record.isCompactSummary === true) return "";
  const content = recordOf(record.message).content;
  if (typeof content === "string") return typedPart(content);
  const parts: string[] = [];
  for (const block of arrayOf(content)) {
    if (!isRecord(block)) continue;
    if (block.type === "tool_result") return "";
    const part = isTextBlock(block) && typeof block.text === "string" ? typedPart(block.text) : "";
    if (part !== "") parts.push(part);
  }
  return parts.join("\n");
}

function typedPart(text: string): string {
  const start = text.trimStart();
  if (NOT_TYPED.some((beginning) => start.startsWith(beginning))) return "";
  const typed = text.includes("<system-reminder>") ? text.replace(REMINDER, "").trim() : text;
  // The client warms a subagent up with this one word.
  return typed.trim() === "" || typed === "Warmup" ? "" : typed;
}

/** All that the model had before it, and what it said. The same usage stands on each row of one message. */
function contextTokens(usage: unknown): number | undefined {
  if (!isRecord(usage)) return undefined;
  const parts = [
    usage.input_tokens,
    usage.cache_creation_input_tokens,
    usage.cache_read_input_tokens,
    usage.output_tokens,
  ];
  const sum = parts.reduce<number>((total, part) => total + (numberOf(part) ?? 0), 0);
  return sum > 0 ? sum : undefined;
}
