/** Qwen Code's sessions: Claude Code's envelope and tree around Gemini's messages of parts. */

import { arrayOf, isRecord, recordOf, stringOf } from "../base/json.ts";
import { callOf, type Format, isoTime, sumTokens, treeNode } from "./format.ts";
import { callResult, partsText, typedText } from "./gemini.ts";

export const format: Format = {
  agent: "qwen",

  matches(record) {
    const isRow = typeof record.sessionId === "string" && typeof record.uuid === "string";
    return isRow && (record.systemPayload !== undefined || Array.isArray(recordOf(record.message).parts));
  },

  readHead(record, head) {
    head.id ??= stringOf(record.sessionId);
    head.cwd ??= stringOf(record.cwd);
    head.startedAt ??= isoTime(record.timestamp);
  },

  entries(record, { results }) {
    const { parts } = recordOf(record.message);
    switch (record.type) {
      case "user":
        return [{ kind: "user", text: typedText(parts) }];
      case "assistant": {
        const contextTokens = sumTokens(record.usageMetadata, ["promptTokenCount", "candidatesTokenCount"]);
        const calls = arrayOf(parts)
          .map((part) => recordOf(recordOf(part).functionCall))
          .filter(({ name }) => name !== undefined)
          .map(({ id, name, args }) => callOf({ id, name, input: args }, results));
        return [{ kind: "assistant", text: partsText(parts), contextTokens }, ...calls];
      }
      case "tool_result":
        return results ? [callResult(recordOf(record.toolCallResult), parts)] : [];
      case "system": {
        if (record.subtype !== "chat_compression") return [];
        const [first] = arrayOf(recordOf(record.systemPayload).compressedHistory);
        return [{ kind: "summary", text: partsText(recordOf(first).parts) }];
      }
      default:
        return [];
    }
  },

  tree: {
    live: "but edited away",
    node: (record) => treeNode(record, record.type === "user" && isRecord(record.message)),
  },

  title(_, rowsWith) {
    for (const { subtype, systemPayload } of rowsWith('"custom_title"')) {
      if (subtype === "custom_title") return stringOf(recordOf(systemPayload).customTitle);
    }
    return undefined;
  },
};
