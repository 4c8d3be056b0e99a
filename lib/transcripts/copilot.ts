/** Copilot CLI's sessions: `events.jsonl`, a chain of `{type, data, id, timestamp, parentId}`, with `workspace.yaml` beside it. */

import { dirname, join } from "node:path";
import { readText } from "../base/files.ts";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { callOf, type Format, isoTime, type RawEntry } from "./format.ts";
import type { Entry } from "./session.ts";
import { cutToHunks } from "./tool-call.ts";

/** What the client adds below a command's output. */
const SHELL_END = /\n?<(?:shellId: \S+ )?(?:completed|exited) with exit code -?\d+>\s*$/;

export const format: Format = {
  agent: "copilot",

  matches(record) {
    return /^[a-z]+\.[a-z_]+$/.test(stringOf(record.type) ?? "") && typeof record.data === "object";
  },

  readHead(record, head) {
    if (record.type !== "session.start") return;
    const { sessionId, startTime, context } = recordOf(record.data);
    head.id ??= stringOf(sessionId);
    head.startedAt ??= isoTime(startTime) ?? isoTime(record.timestamp);
    head.cwd ??= stringOf(recordOf(context).cwd);
  },

  entries(record, place, { results }) {
    const data = recordOf(record.data);
    // A subagent's events stand among the session's, under the call that started it.
    if (data.parentToolCallId !== undefined) return [];
    const common = { ...place, id: stringOf(record.id), at: isoTime(record.timestamp) };
    const said = (kind: Entry["kind"], words: unknown): RawEntry[] => {
      const text = stringOf(words) ?? "";
      return text.trim() === "" ? [] : [{ ...common, kind, text }];
    };
    switch (record.type) {
      case "user.message":
        // A skill's page and the client's own prompts name their source.
        return data.source === undefined || data.source === "user" ? said("user", data.content) : [];
      case "assistant.message":
        return said("assistant", data.content);
      case "session.compaction_complete":
        return said("summary", data.summaryContent);
      case "tool.execution_start": {
        const call = { id: data.toolCallId, name: data.toolName, input: data.arguments };
        return [{ ...common, ...callOf(call, results) }];
      }
      case "tool.execution_complete":
        return results ? [{ ...common, ...readResult(data) }] : [];
      default:
        return [];
    }
  },

  tree: {
    live: "but edited away",

    node(record) {
      const id = stringOf(record.id);
      if (id === undefined) return undefined;
      const target = stringOf(recordOf(record.data).upToEventId);
      if (record.type === "session.snapshot_rewind" && target !== undefined)
        return { id, parentId: undefined, isPrompt: false, takesBackFrom: target };
      return { id, parentId: stringOf(record.parentId), isPrompt: record.type === "user.message" };
    },

    leaf() {
      return undefined;
    },
  },

  title(file) {
    const [, line = ""] = /^name: *(.*)$/m.exec(readText(join(dirname(file), "workspace.yaml"))) ?? [];
    return unquoted(line);
  },
};

function readResult(
  data: JsonRecord,
): Pick<Entry, "kind" | "text" | "callId" | "isError" | "state" | "patch"> {
  const { content, detailedContent } = recordOf(data.result);
  const { exitCode } = recordOf(data.shellExecution);
  const error = recordOf(data.error);
  const patch = cutToHunks(detailedContent);
  const isRejected = /^(?:rejected|denied)$/.test(stringOf(error.code) ?? "");
  return {
    kind: "result",
    text: (stringOf(content) ?? stringOf(error.message) ?? "").replace(SHELL_END, ""),
    callId: stringOf(data.toolCallId),
    isError: data.success === false || (typeof exitCode === "number" && exitCode !== 0),
    ...(isRejected && { state: "rejected" as const }),
    ...(patch !== undefined && { patch }),
  };
}

/** Returns a YAML scalar on one line. */
function unquoted(scalar: string): string {
  const [, single, double] = /^(?:'(.*)'|"(.*)")\s*$/.exec(scalar) ?? [];
  return single?.replaceAll("''", "'") ?? double?.replace(/\\(["\\])/g, "$1") ?? scalar.trim();
}
