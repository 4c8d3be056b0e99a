/**
 * Copilot CLI's sessions: `events.jsonl`, a chain of `{type, data, id, timestamp, parentId}`, and `workspace.yaml` beside it,
 * which holds the title.
 */

import { dirname, join } from "node:path";
import { readText } from "../base/files.ts";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { type BareEntry, textOf, toCall, treeNode } from "./format.ts";
import type { HostFile } from "./host.ts";
import { cutToHunks } from "./tool-call.ts";

/** The line that the client appends to a command's output. */
const SHELL_END = /\n?<(?:shellId: \S+ )?(?:completed|exited) with exit code (-?\d+)>\s*$/;
/** The name in `workspace.yaml`, with its further lines, which are indented: of a prompt of several lines, or a long one. */
const NAME = /^name: *(.*(?:\n(?:[ \t].*)?$)*)/m;
/** A hook's words about a result, which the client appends to it. */
const GUIDANCE =
  /\n*Tool "[^"\n]+" (?:succeeded|failed)\. Additional guidance from postToolUse(?:Failure)? hooks:\n[\s\S]*$/;

export const host: HostFile = {
  name: "Copilot CLI",
  program: "copilot",
  resume: "copilot --resume <id>",
  skills: "($COPILOT_HOME|~/.copilot)/skills",
  hooks: {
    installedIn: "hooks/session-memory.json",
    written: {
      second: 1,
      ownFile: { version: 1 },
      saysAtTop: true,
      events: {
        // what was said at the start is replaced when a session is resumed
        SessionStart: { moment: { new: "start", startup: "start", resume: "resume" } },
        UserPromptSubmit: { moment: "prompt" },
        PostToolUse: { matcher: "bash|Bash|powershell", moment: "failure" },
        Stop: { moment: "turn" },
      },
    },
  },

  matches(record) {
    return /^[a-z]+\.[a-z_]+$/.test(textOf(record.type)) && typeof record.data === "object";
  },

  facts({ type, data }) {
    const { sessionId, startTime, context } = recordOf(data);
    return type === "session.start"
      ? { id: sessionId, startedAt: startTime, cwd: recordOf(context).cwd }
      : {};
  },

  entries(record) {
    const data = recordOf(record.data);
    // Events of subagents are written into the session's file, and say whose they are.
    if (record.agentId !== undefined || data.parentToolCallId !== undefined) return [];
    switch (record.type) {
      case "user.message": {
        // Skill pages and prompts that the client itself writes have another source.
        const isTyped = data.source === undefined || data.source === "user";
        return isTyped ? [{ kind: "user", text: textOf(data.content) }] : [];
      }
      case "assistant.message":
        return [{ kind: "assistant", text: textOf(data.content) }];
      case "session.compaction_complete":
        return data.success === false ? [] : [{ kind: "summary", text: textOf(data.summaryContent) }];
      case "tool.execution_start":
        return [toCall({ id: data.toolCallId, name: data.toolName, input: data.arguments })];
      case "tool.execution_complete":
        return [readResult(data)];
      default:
        return [];
    }
  },

  failedOutput({ tool_result }) {
    const text = textOf(recordOf(tool_result).text_result_for_llm);
    const [end, code = "0"] = SHELL_END.exec(text) ?? [];
    return end === undefined || code === "0" ? undefined : text.slice(0, -end.length);
  },

  tree: {
    live: "but edited away",
    node(record) {
      const isRewind = record.type === "session.snapshot_rewind";
      const target = isRewind ? stringOf(recordOf(record.data).upToEventId) : undefined;
      return treeNode(record, record.type === "user.message", target);
    },
  },

  title(file) {
    const [, name = ""] = NAME.exec(readText(join(dirname(file), "workspace.yaml"))) ?? [];
    return unquoted(
      name
        .replace(/^[|>][-+\d]*\n/, "")
        .trim()
        .replace(/\s*\n\s*/g, " "),
    );
  },
};

function readResult(data: JsonRecord): BareEntry {
  const { content, detailedContent } = recordOf(data.result);
  const { exitCode } = recordOf(data.shellExecution);
  const error = recordOf(data.error);
  const isRejected = error.code === "rejected" || error.code === "denied";
  const patch = cutToHunks(detailedContent);
  // a command's is its output alone; another tool's is something else, or missing
  const output = typeof exitCode === "number" ? stringOf(detailedContent) : undefined;
  const given = (textOf(content) || textOf(error.message)).replace(GUIDANCE, "");
  return {
    kind: "result",
    text: (output ?? given).replace(SHELL_END, ""),
    callId: stringOf(data.toolCallId),
    isError: data.success === false || (typeof exitCode === "number" && exitCode !== 0),
    state: isRejected ? "rejected" : undefined,
    patch,
  };
}

/** Returns a YAML scalar on one line. */
function unquoted(scalar: string): string {
  const [, single, double] = /^(?:'(.*)'|"(.*)")\s*$/.exec(scalar) ?? [];
  return single?.replaceAll("''", "'") ?? double?.replace(/\\(["\\])/g, "$1") ?? scalar;
}
