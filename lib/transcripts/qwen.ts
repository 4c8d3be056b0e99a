/** Qwen Code's sessions: Claude Code's envelope and tree around Gemini's messages of parts. */

import { arrayOf, isRecord, recordOf, stringOf } from "../base/json.ts";
import { callOf, type Format, isoTime, type RawEntry, sumTokens } from "./format.ts";
import { callResult, partsText, typedText } from "./gemini.ts";
import type { Entry } from "./session.ts";

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

  entries(record, place, { results }) {
    const common = { ...place, id: stringOf(record.uuid), at: isoTime(record.timestamp) };
    const { parts } = recordOf(record.message);
    const said = (kind: Entry["kind"], text: string, tokens?: number): RawEntry[] =>
      text.trim() === "" ? [] : [{ ...common, kind, text, contextTokens: tokens }];
    switch (record.type) {
      case "user":
        return said("user", typedText(parts));
      case "assistant": {
        const { promptTokenCount, candidatesTokenCount } = recordOf(record.usageMetadata);
        const calls = arrayOf(parts)
          .map((part) => recordOf(recordOf(part).functionCall))
          .filter(({ name }) => name !== undefined)
          .map(({ id, name, args }) => ({ ...common, ...callOf({ id, name, input: args }, results) }));
        return [
          ...said("assistant", partsText(parts), sumTokens([promptTokenCount, candidatesTokenCount])),
          ...calls,
        ];
      }
      case "tool_result":
        return results ? [{ ...common, ...callResult(recordOf(record.toolCallResult), parts) }] : [];
      case "system": {
        if (record.subtype !== "chat_compression") return [];
        const [first] = arrayOf(recordOf(record.systemPayload).compressedHistory);
        return said("summary", partsText(recordOf(first).parts));
      }
      default:
        return [];
    }
  },

  tree: {
    live: "but edited away",

    node(record) {
      const id = stringOf(record.uuid);
      if (id === undefined) return undefined;
      const isPrompt = record.type === "user" && isRecord(record.message);
      return { id, parentId: stringOf(record.parentUuid), isPrompt };
    },

    leaf() {
      return undefined;
    },
  },

  title(_, rowsWith) {
    for (const { subtype, systemPayload } of rowsWith('"custom_title"')) {
      if (subtype === "custom_title") return stringOf(recordOf(systemPayload).customTitle);
    }
    return undefined;
  },
};
