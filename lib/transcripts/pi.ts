/** pi's transcripts (v1 without ids, v2, v3) and OpenClaw's: a header line, then a tree of entries by `parentId`. */

import { arrayOf, isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "../base/json.ts";
import {
  type Answer,
  answerText,
  assistantEntries,
  type EntryOptions,
  type Format,
  isoTime,
  optionLabels,
  type Place,
  sumTokens,
  textOf,
} from "./format.ts";
import type { Entry } from "./session.ts";
import { toolCall } from "./tool-call.ts";

export const format: Format = {
  agent: "pi",

  matches(record) {
    return record.type === "session" && typeof record.id === "string";
  },

  readHead(record, head) {
    if (record.type !== "session") {
      head.startedAt ??= isoTime(record.timestamp);
      return;
    }
    head.id ??= stringOf(record.id);
    head.cwd ??= stringOf(record.cwd);
    head.startedAt ??= isoTime(record.timestamp);
    head.forkedFrom ??= stringOf(record.parentSession) ?? stringOf(record.branchedFrom);
  },

  entries(record, place, options) {
    if (record.type === "message") return messageEntries(record, place, options);
    if (record.type === "compaction" || record.type === "branch_summary") {
      const text = stringOf(record.summary);
      return text ? [{ ...commonOf(record, place), kind: "summary", text }] : [];
    }
    return [];
  },

  tree: {
    live: "way to the last row",

    node(record) {
      const id = stringOf(record.id);
      if (id === undefined || record.type === "session") return undefined;
      const isPrompt = record.type === "message" && recordOf(record.message).role === "user";
      return { id, parentId: stringOf(record.parentId), isPrompt };
    },

    leaf(record) {
      return record.type === "leaf" ? stringOf(record.targetId) : undefined;
    },
  },
};

function commonOf(record: JsonRecord, place: Place) {
  const at = isoTime(record.timestamp) ?? isoTime(recordOf(record.message).timestamp);
  return { ...place, id: stringOf(record.id), at };
}

function messageEntries(record: JsonRecord, place: Place, { results }: EntryOptions): Entry[] {
  const message = recordOf(record.message);
  const common = commonOf(record, place);
  switch (message.role) {
    case "user": {
      const text = withoutSkillPage(textOf(message.content));
      return text.trim() === "" ? [] : [{ ...common, kind: "user", text }];
    }
    case "assistant":
      return assistantEntries(message.content, common, {
        contextTokens: contextTokens(message.usage),
        results,
      });
    case "bashExecution":
      return bashEntries(message, common, results);
    case "toolResult":
      return toolResultEntries(message, common, results);
    default:
      return []; // system prompts, injected messages of extensions, summaries replayed as messages
  }
}

function toolResultEntries(
  message: JsonRecord,
  common: ReturnType<typeof commonOf>,
  results: boolean,
): Entry[] {
  const callId = stringOf(message.toolCallId);
  const entries: Entry[] = [];
  if (results) {
    entries.push({
      ...common,
      kind: "result",
      text: textOf(message.content),
      callId,
      isError: message.isError === true,
    });
  }
  const text = message.isError === true ? "" : answerText(answersIn(recordOf(message.details)));
  if (text !== "" && ASKING_TOOL.test(stringOf(message.toolName) ?? "")) {
    entries.push({ ...common, kind: "user", text, callId });
  }
  return entries;
}

/** The tools of pi's own extensions that put questions to the user; what they keep is never a tool's free text. */
const ASKING_TOOL = /^(?:question|questionnaire|ask|ask_user|ask_user_question|request_user_input)$/;

function answersIn(details: JsonRecord): Answer[] {
  if (typeof details.question === "string") {
    const answer = stringOf(details.answer);
    return answer === undefined
      ? []
      : [{ question: details.question, options: optionLabels(details.options), answer }];
  }
  const asked = new Map(
    arrayOf(details.questions)
      .filter(isRecord)
      .map((question) => [question.id, question]),
  );
  return arrayOf(details.answers)
    .filter(isRecord)
    .flatMap(({ id, label, value }) => {
      const question = asked.get(id);
      const answer = stringOf(label) ?? stringOf(value);
      if (!question || answer === undefined) return [];
      const words = stringOf(question.prompt) ?? stringOf(question.question) ?? "";
      return [{ question: words, options: optionLabels(question.options), answer }];
    });
}

/** Returns the entries of a command that the user ran from the prompt. */
function bashEntries(message: JsonRecord, common: ReturnType<typeof commonOf>, results: boolean): Entry[] {
  const tool = toolCall("Bash", { command: message.command }, results);
  const callId = `!${common.offset}`;
  const entries: Entry[] = [{ ...common, kind: "tool", text: `Bash ${tool.target}`.trim(), tool, callId }];
  if (results) {
    const exitCode = numberOf(message.exitCode) ?? 0;
    entries.push({
      ...common,
      callId,
      kind: "result",
      text: stringOf(message.output) ?? "",
      isError: exitCode !== 0,
    });
  }
  return entries;
}

/** `/skill:name words` is stored with the skill's whole page before the words. */
function withoutSkillPage(text: string): string {
  const page = /^<skill name="?([^"\s>]+)"?[^>]*>[\s\S]*<\/skill>\s*/.exec(text);
  if (!page) return text;
  return `/skill:${page[1]} ${text.slice(page[0].length)}`.trim();
}

function contextTokens(usage: unknown): number | undefined {
  const { totalTokens, input, output, cacheRead, cacheWrite } = recordOf(usage);
  return numberOf(totalTokens) || sumTokens([input, output, cacheRead, cacheWrite]);
}

/** Returns the data of an extension's custom entry of one type; undefined for any other record. */
export function customEntry(record: JsonRecord, customType: string): unknown {
  return record.type === "custom" && record.customType === customType ? record.data : undefined;
}
