/** Plain transcripts: lines of `{role, content, timestamp}` or `{type: "message", message: {role, content}}`. */

import { arrayOf, isRecord, type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { callOf, type Format, isoTime, isTextBlock, type Place, textOf } from "./format.ts";
import type { Entry } from "./session.ts";

export const plain: Format = {
  agent: "plain",

  matches(record) {
    return plainMessage(record) !== undefined;
  },

  readHead(record, head) {
    head.startedAt ??= isoTime(record.timestamp) ?? isoTime(recordOf(record.message).timestamp);
    head.cwd ??= stringOf(record.cwd);
  },

  entries(record, place, { results }) {
    const message = plainMessage(record);
    if (!message) return [];
    const at = isoTime(record.timestamp) ?? isoTime(message.timestamp);
    const common = { ...place, id: stringOf(record.id) ?? stringOf(record.uuid), at };
    if (message.role === "user" || message.role === "assistant") {
      return blockEntries(message, message.role, common, results);
    }
    const isResult = message.role === "tool" || message.role === "toolResult";
    return isResult && results ? [{ ...common, kind: "result", text: textOf(message.content) }] : [];
  },

  treeNode() {
    return undefined; // linear
  },

  leafOf() {
    return undefined;
  },
};

/** Returns the message of a plain line, or undefined when it is none. */
export function plainMessage(record: JsonRecord): JsonRecord | undefined {
  const message = record.type === "message" ? recordOf(record.message) : record;
  const hasContent = typeof message.content === "string" || Array.isArray(message.content);
  return typeof message.role === "string" && hasContent ? message : undefined;
}

function blockEntries(
  message: JsonRecord,
  kind: "user" | "assistant",
  common: Place & Pick<Entry, "id" | "at">,
  results: boolean,
): Entry[] {
  const entries: Entry[] = [];
  const text = textOf(message.content);
  if (text.trim() !== "") entries.push({ ...common, kind, text });
  for (const block of arrayOf(message.content)) {
    if (!isRecord(block) || isTextBlock(block)) continue;
    if (block.type === "tool_use" || block.type === "toolCall") {
      entries.push({ ...common, ...callOf(block, results) });
    } else if (block.type === "tool_result" && results) {
      const isError = block.is_error === true;
      entries.push({
        ...common,
        kind: "result",
        text: textOf(block.content),
        callId: stringOf(block.tool_use_id),
        isError,
      });
    }
  }
  return entries;
}
