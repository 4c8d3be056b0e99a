/**
 * Gemini CLI's sessions: a header, then messages, each state in a row of its own, and `$set` rows that patch the
 * whole. What Qwen Code, its fork, writes alike is here too.
 */

import { basename, dirname, join } from "node:path";
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
} from "../base/json.ts";
import { type BareEntry, toCall, treeNode, withoutOwnWords } from "./format.ts";
import type { HostFile } from "./host.ts";
import { cutToHunks } from "./tool-call.ts";

export const host: HostFile = {
  name: "Gemini CLI",
  program: "gemini",
  resume: "gemini --resume <id>",
  resumeNote: "Gemini CLI 0.61 deletes a resumed session at its next start: copy its transcript first",
  skills: "($GEMINI_CLI_HOME|~)/.gemini/skills",
  hooks: {
    installedIn: "settings.json",
    written: {
      second: 1000,
      events: {
        // a session that is resumed has lost what hooks said
        SessionStart: { moment: { startup: "start", clear: "start", resume: "resume" } },
        BeforeAgent: { moment: "prompt" },
        AfterTool: { matcher: "run_shell_command", moment: "failure" },
        AfterAgent: { moment: "turn" },
      },
    },
  },

  /** Finds sessions that were resumed: each has a second file, whose name ends as that of the first. */
  *check(files) {
    const places = files.flatMap((file) => {
      const [, end] = /^session-.+-([0-9a-f]{8})\.jsonl$/.exec(basename(file)) ?? [];
      return end === undefined ? [] : join(dirname(file), `session-*-${end}.jsonl`);
    });
    const what = "Gemini CLI 0.61 deletes a session that was resumed when it next starts in that project";
    for (const place of new Set(places.filter((place, i) => places.indexOf(place) !== i)))
      yield warning(`${what}: ${place}`, "copy these files to another folder before");
  },

  matches(record) {
    return (
      (typeof record.projectHash === "string" && typeof record.sessionId === "string") ||
      record.type === "gemini" ||
      isRecord(record.$set)
    );
  },

  facts(record) {
    const { sessionId: id, startTime, directories, messages } = { ...record, ...recordOf(record.$set) };
    const cwd = stringsOf(directories)[0] ?? workspaceIn(arrayOf(messages)[0]) ?? workspaceIn(record);
    return { id, startedAt: startTime, cwd };
  },

  entries(record) {
    if (record.type === "user") {
      const text = withoutHookText(promptText(record.displayContent ?? record.content));
      return text.startsWith("<session_context>") ? [] : [{ kind: "user", text }];
    }
    if (record.type !== "gemini") return [];
    const calls = recordsOf(record.toolCalls).flatMap((call) => [
      toCall({ id: call.id, name: call.name, input: call.args }),
      callResult(call, call.result),
    ]);
    return [{ kind: "assistant", text: partsText(record.content) }, ...calls];
  },

  messageOf(record) {
    return record.type === "gemini" ? stringOf(record.id) : undefined;
  },

  typedPrompt: withoutHookText,

  failedOutput({ tool_response }) {
    const { text, exitCode } = shellOutput(withoutOwnWords(partsText(recordOf(tool_response).llmContent)));
    return exitCode === 0 ? undefined : text;
  },

  tree: {
    live: "but edited away",
    node(record) {
      const target = stringOf(record.$rewindTo);
      return target === undefined ? treeNode(record, false) : { id: "", takesBackFrom: target };
    },
  },

  title(_, rowsWith) {
    for (const { $set } of rowsWith('"summary"')) {
      const summary = stringOf(recordOf($set).summary);
      if (summary !== undefined) return summary;
    }
    return undefined;
  },
};

/** The client begins with a message of its own, in which it names the directory it works in. */
function workspaceIn(message: unknown): string | undefined {
  const text = partsText(recordOf(message).content);
  return /^<session_context>[\s\S]*?Workspace Directories:\*\*\s+- (.+)$/m.exec(text)?.[1];
}

/** Returns the words of a message's parts, without thoughts. */
export function partsText(parts: unknown): string {
  if (typeof parts === "string") return parts;
  return recordsOf(parts)
    .flatMap(({ text, thought }) => (typeof text === "string" && thought !== true ? [text] : []))
    .join("\n");
}

/** Returns what a person typed: files that a prompt names follow in parts of their own. */
export function promptText(parts: unknown): string {
  const isFile = (part: unknown) => /^\s*--- Content from referenced files ---/.test(partsText([part]));
  const end = arrayOf(parts).findIndex(isFile);
  return partsText(end === -1 ? parts : arrayOf(parts).slice(0, end));
}

/** Gemini CLI's frame around a hook's words, in which their own `<` is escaped. */
const HOOK_TEXT = /<hook_context>[^<]*<\/hook_context>/g;

function withoutHookText(text: string): string {
  return text.includes("<hook_context>") ? text.replace(HOOK_TEXT, "").trim() : text;
}

/**
 * Returns a call's result from its state and the parts that the model received. These hold hooks' additions: what a
 * command printed is taken from the state where that has it alone.
 */
export function callResult(state: JsonRecord, parts: unknown): BareEntry {
  const answer = recordsOf(parts)
    .map(({ functionResponse }) => recordOf(functionResponse))
    .find(({ response }) => response !== undefined);
  const { output, error } = recordOf(answer?.response);
  const shown = recordOf(state.resultDisplay);
  const isShell = shown.type === "shell_result";
  const given = shellOutput(withoutOwnWords(withoutHookText(partsText(output) || partsText(error))));
  const text = (isShell ? stringOf(shown.output) : undefined) ?? given.text;
  const exitCode = (isShell ? numberOf(shown.exitCode) : undefined) ?? given.exitCode;
  return {
    kind: "result",
    text,
    callId: stringOf(state.id) ?? stringOf(state.callId) ?? stringOf(answer?.id),
    isError:
      state.status === "error" || state.status === "cancelled" || error !== undefined || exitCode !== 0,
    state: state.status === "cancelled" ? "rejected" : undefined,
    patch: cutToHunks(shown.fileDiff),
  };
}

const SHELL_FIELD =
  /^(Command|Directory|Output|Error|Exit Code|Signal|Background PIDs|Process Group PGID): /m;

/** Separates what a command printed from the fields that the client writes around it. */
export function shellOutput(whole: string): { text: string; exitCode: number } {
  const bare = whole.replace(/^<untrusted_context>\n|\n<\/untrusted_context>$/g, "");
  if (!/^(?:Command|Output): /.test(bare)) return { text: bare, exitCode: 0 };
  const [, ...fields] = bare.split(SHELL_FIELD);
  const field = (name: string) =>
    (fields.includes(name) ? fields[fields.indexOf(name) + 1]?.trim() : "") ?? "";
  const texts = [field("Output"), field("Error")].filter((text) => !/^(?:\((?:none|empty)\))?$/.test(text));
  return { text: texts.join("\n"), exitCode: Number.parseInt(field("Exit Code"), 10) || 0 };
}
