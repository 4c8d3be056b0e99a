/** Qwen Code's sessions: Claude Code's envelope and tree around Gemini's messages of parts. */

import { arrayOf, isRecord, type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { lastTitle, sumTokens, toCall, treeNode } from "./format.ts";
import { callResult, partsText, promptText, shellOutput } from "./gemini.ts";
import type { HostFile } from "./host.ts";

export const host: HostFile = {
  name: "Qwen Code",
  program: "qwen",
  resume: "qwen --resume <id>",
  skills: "($QWEN_HOME|~/.qwen)/skills",
  hooks: {
    installedIn: "settings.json",
    written: {
      second: 1000,
      events: {
        // it keeps of the start's text what the last one said
        SessionStart: {
          moment: { startup: "start", clear: "start", resume: "resume", compact: "compaction" },
        },
        UserPromptSubmit: { moment: "prompt" },
        PostToolUseFailure: { matcher: "run_shell_command", moment: "failure" },
        PreCompact: { moment: "summary" },
        Stop: { moment: "turn" },
      },
    },
  },

  matches(record) {
    const isRow = typeof record.sessionId === "string" && typeof record.uuid === "string";
    return isRow && (record.systemPayload !== undefined || Array.isArray(recordOf(record.message).parts));
  },

  facts({ isSidechain, agentId, sessionId, cwd }) {
    const agent = isSidechain === true ? stringOf(agentId) : undefined;
    return agent === undefined ? { id: sessionId, cwd } : { id: `agent-${agent}`, parentId: sessionId, cwd };
  },

  entries(record) {
    const { parts } = recordOf(record.message);
    switch (record.type) {
      case "user":
        return isTyped(record) ? [{ kind: "user", text: typedWords(record) }] : [];
      case "assistant": {
        const contextTokens = sumTokens(record.usageMetadata, ["promptTokenCount", "candidatesTokenCount"]);
        const calls = arrayOf(parts)
          .map((part) => recordOf(recordOf(part).functionCall))
          .filter(({ name }) => name !== undefined)
          .map(({ id, name, args }) => toCall({ id, name, input: args }));
        return [{ kind: "assistant", text: partsText(parts), contextTokens }, ...calls];
      }
      case "tool_result":
        return [callResult(recordOf(record.toolCallResult), parts)];
      case "system": {
        if (record.subtype !== "chat_compression") return [];
        const [first] = arrayOf(recordOf(record.systemPayload).compressedHistory);
        return [{ kind: "summary", text: partsText(recordOf(first).parts) }];
      }
      default:
        return [];
    }
  },

  failedOutput: ({ error }) => shellOutput(partsText(error)).text,

  tree: {
    live: "but edited away",
    node: (record) => treeNode(record, isTyped(record)),
  },

  title: (_, rowsWith) =>
    lastTitle(rowsWith, "custom_title", (row) => recordOf(row.systemPayload).customTitle),
};

/** Returns whether a row is a person's: newer versions say of each row where it is from. */
function isTyped({ type, provenance = "real_user", subtype, message }: JsonRecord): boolean {
  return type === "user" && provenance === "real_user" && subtype !== "notification" && isRecord(message);
}

/** Parts of a prompt that the client or a hook put there. */
const PUT_IN = /^\s*<(system-reminder|task-notification|qwen:[a-z-]+)[ >][\s\S]*<\/\1>\s*$/;

/** Returns the typed text: newer versions keep it apart from the model's input. */
function typedWords({ message, systemPayload }: JsonRecord): string {
  const shown = stringOf(recordOf(systemPayload).displayText);
  if (shown !== undefined) return shown;
  const parts = arrayOf(recordOf(message).parts);
  return promptText(parts.filter((part) => !PUT_IN.test(partsText([part]))));
}
