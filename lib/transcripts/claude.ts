/** Claude Code's transcripts: one row per content block, a tree by `parentUuid`, and much that is not conversation. */

import { arrayOf, isRecord, type JsonRecord, recordOf, stringOf, stringsOf } from "../base/json.ts";
import {
  type Answer,
  answerText,
  assistantEntries,
  type EntryOptions,
  type Format,
  isoTime,
  isTextBlock,
  optionLabels,
  type Place,
  type RawEntry,
  sumTokens,
  textOf,
} from "./format.ts";
import type { Entry, ToolCall } from "./session.ts";
import { patchText } from "./tool-call.ts";

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
/** Put into a prompt by the client: reminders, and what the editor shows. */
const PUT_IN = /<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)>[\s\S]*?<\/\1>/g;

export const format: Format = {
  agent: "claude",

  matches(record) {
    if (typeof record.type !== "string" || isRecord(record.payload) || record.systemPayload) return false;
    if (Array.isArray(recordOf(record.message).parts)) return false; // a Qwen session
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
    if (record.type === "assistant") return assistantRowEntries(record, place, options);
    if (record.type === "user") return userEntries(record, place, options);
    return [];
  },

  tree: {
    live: "but edited away",

    node(record) {
      const id = stringOf(record.uuid);
      if (id === undefined) return undefined;
      const isPrompt = record.type === "user" && typedText(record) !== "";
      return { id, parentId: stringOf(record.parentUuid) ?? stringOf(record.logicalParentUuid), isPrompt };
    },

    leaf(record) {
      return record.type === "last-prompt" ? stringOf(record.leafUuid) : undefined;
    },
  },
};

function assistantRowEntries(record: JsonRecord, place: Place, { results }: EntryOptions): RawEntry[] {
  const message = recordOf(record.message);
  const common = { ...place, id: stringOf(record.uuid), at: isoTime(record.timestamp) };
  return assistantEntries(message.content, common, {
    contextTokens: contextTokens(message.usage),
    results,
    workdir: stringOf(record.cwd),
  });
}

function userEntries(record: JsonRecord, place: Place, { results }: EntryOptions): RawEntry[] {
  const common = { ...place, id: stringOf(record.uuid), at: isoTime(record.timestamp) };
  const content = recordOf(record.message).content;
  if (record.isCompactSummary === true) return [{ ...common, kind: "summary", text: textOf(content) }];
  const entries: RawEntry[] = [];
  for (const block of arrayOf(content)) {
    if (isRecord(block) && block.type === "tool_result") {
      if (results) entries.push({ ...common, ...readResult(block, record) });
      const answer = readAnswer(block, record);
      if (answer) entries.push({ ...common, ...answer });
    }
  }
  const text = typedText(record);
  if (text !== "") entries.push({ ...common, kind: "user", text });
  return entries;
}

function readResult(block: JsonRecord, record: JsonRecord): Omit<Entry, keyof Place> {
  const text = textOf(block.content);
  const extra = recordOf(record.toolUseResult);
  const isRejected = block.is_error === true && text.startsWith(REJECTION);
  const state = isRejected ? "rejected" : extra.backgroundTaskId === undefined ? undefined : "running";
  const patch = patchText(extra.structuredPatch);
  return {
    kind: "result",
    text,
    callId: stringOf(block.tool_use_id),
    isError: block.is_error === true,
    ...(state && { state }),
    ...(patch !== undefined && { patch }),
  };
}

/** What the host writes when the user turns a call down, and what then comes before the user's words. */
const REJECTION =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). ";
const REJECTION_WORDS = `${REJECTION}To tell you how to proceed, the user said:\n`;
/** The host's own note behind the user's words. */
const REJECTION_NOTE =
  /\s*\n\nNote: The user's next message may contain a correction or preference\.[\s\S]*$/;
const APPROVED_PLAN = /^User has approved (?:your plan|exiting plan mode)\b/;
/** A tool of somebody else's server may write any sentence into its error; so may, up to 1.x, a command: nothing came before its output. */
const OWN_TOOL = /^(?!mcp__)/;

/** Returns what the user answered to a tool, recognised by the row's shape: an answer, a rejection's words, an approved plan. */
function readAnswer(
  block: JsonRecord,
  record: JsonRecord,
): Pick<RawEntry, "kind" | "text" | "callId" | "settle"> | undefined {
  const callId = stringOf(block.tool_use_id);
  const extra = recordOf(record.toolUseResult);
  if (block.is_error === true) {
    const said = rejectionWords(textOf(block.content));
    if (said === "") return undefined;
    const isStamped =
      record.toolDenialKind !== undefined || record.toolUseResult === "User rejected tool use";
    const isBare = /^[01]\./.test(stringOf(record.version) ?? "");
    const settle = ({ name, action }: ToolCall) =>
      isStamped || (OWN_TOOL.test(name) && !(isBare && action === "run")) ? said : "";
    return { kind: "user", text: said, callId, settle };
  }
  if (Array.isArray(extra.questions) && isRecord(extra.answers)) {
    const text = answerText(answersIn(extra.questions, extra.answers));
    return text === ""
      ? undefined
      : { kind: "user", text, callId, settle: onlyFrom("AskUserQuestion", text) };
  }
  if (typeof extra.plan === "string" && APPROVED_PLAN.test(textOf(block.content))) {
    const text = approvalText(extra.plan);
    return { kind: "user", text, callId, settle: onlyFrom("ExitPlanMode", text) };
  }
  return undefined;
}

function onlyFrom(tool: string, text: string): (call: ToolCall) => string {
  return ({ name }) => (name === tool ? text : "");
}

function rejectionWords(text: string): string {
  if (!text.startsWith(REJECTION_WORDS)) return "";
  return text.slice(REJECTION_WORDS.length).replace(REJECTION_NOTE, "").trim();
}

function answersIn(questions: readonly unknown[], answers: JsonRecord): Answer[] {
  return questions.filter(isRecord).flatMap((asked) => {
    const question = stringOf(asked.question) ?? "";
    const given = answers[question];
    const answer = Array.isArray(given) ? stringsOf(given).join(", ") : stringOf(given);
    return answer ? [{ question, options: optionLabels(asked.options), answer }] : [];
  });
}

function approvalText(plan: string): string {
  const title = /^#*\s*(\S[^\n]*)/m.exec(plan)?.[1]?.trim();
  return title === undefined ? "Approved the plan." : `Approved the plan: ${title}`;
}

/** Returns what a person typed in a user row, or "" for rows the client wrote. */
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
  if (/^[<[CB]/.test(start) && NOT_TYPED.some((beginning) => start.startsWith(beginning))) return "";
  const typed = text.includes("<") ? withoutPutIn(text) : text;
  // The client warms a subagent up with this one word.
  return typed.trim() === "" || typed === "Warmup" ? "" : typed;
}

function withoutPutIn(text: string): string {
  const typed = text.replace(PUT_IN, "");
  return typed === text ? text : typed.trim();
}

/** Sums what was in the model's context and what it said. Each row of one message repeats the same usage. */
function contextTokens(usage: unknown): number | undefined {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } =
    recordOf(usage);
  return sumTokens([input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens]);
}
