/** pi's transcripts (v1 without ids, v2, v3) and OpenClaw's before its database: a header line, then a tree of entries by `parentId`. */

import { join, resolve } from "node:path";
import { readJson, resolveRealPath } from "../base/files.ts";
import { arrayOf, type JsonRecord, numberOf, recordOf, recordsOf, stringOf } from "../base/json.ts";
import { ROOT } from "../base/runtime.ts";
import {
  type Answer,
  answerText,
  assistantEntries,
  type BareEntry,
  lastTitle,
  optionLabels,
  sumTokens,
  textOf,
  toCall,
  treeNode,
  typedText,
  withoutAttached,
} from "./format.ts";
import { type HostFile, keepContent, type Restorer } from "./host.ts";

const restorer: Restorer = {
  needsFolder: true,
  place(home, { id, folder, at }, { expand, folderBegin }) {
    const name = `${at.replace(/[:.]/g, "-")}_${id}.jsonl`;
    const elsewhere = expand("($PI_CODING_AGENT_SESSION_DIR|)");
    return elsewhere === ""
      ? join(home, "sessions", `${folderBegin?.(folder)}--`, name)
      : join(elsewhere, name);
  },
  begin: ({ id, folder, origin, at }) => [
    { type: "session", version: 3, id, timestamp: at, cwd: folder, parentSession: origin.file },
  ],
  row(record) {
    if (record.type === "session") return undefined;
    if (record.type !== "message") return record;
    const message = recordOf(record.message);
    const content = keepContent(message.content);
    const hasContent = message.role === "bashExecution" || (content !== undefined && content.length > 0);
    if (!hasContent) return undefined;
    return { ...record, message: content === undefined ? message : { ...message, content } };
  },
};

export const host: HostFile = {
  name: "pi",
  program: "pi",
  resume: "pi --session <file>",
  hasOtherFiles: true,
  metas: "sessions-meta",
  observesItself: true,
  ownTools: ["session_search", "query_session", "recall_observation"],
  restorer,
  hooks: { installedIn: "settings.json", remedy: "check that it is enabled" },

  wired(home) {
    const sources = ownPackages(home);
    const others = sources.filter((source) => source !== ROOT).map((source) => ["remove", source]);
    return {
      install: sources.includes(ROOT) ? others : [...others, ["install", ROOT]],
      remove: sources.map((source) => ["remove", source]),
    };
  },

  matches(record) {
    return record.type === "session" && typeof record.id === "string";
  },

  facts: ({ type, id, cwd, branchedFrom, parentSession: forkedFrom = branchedFrom }) =>
    type === "session" ? { id, cwd, forkedFrom } : {},

  entries(record) {
    if (record.type === "message") return messageEntries(record);
    const isSummary = record.type === "compaction" || record.type === "branch_summary";
    return isSummary ? [{ kind: "summary", text: textOf(record.summary) }] : [];
  },

  tree: {
    live: "way to the last row",
    node(record) {
      if (record.type === "session") return undefined;
      return treeNode(record, record.type === "message" && recordOf(record.message).role === "user");
    },
    leaf: (record) => (record.type === "leaf" ? stringOf(record.targetId) : undefined),
  },

  title: (_, rowsWith) => lastTitle(rowsWith, "session_info", ({ name }) => name),

  kept: (record, type) => (record.type === "custom" && record.customType === type ? record.data : undefined),
};

/** Returns the sources of this package: this folder, another one of it, or the published one. */
function ownPackages(home: string): string[] {
  const packages = arrayOf(recordOf(readJson(join(home, "settings.json"))).packages);
  const sources = packages.flatMap((entry) => stringOf(entry) ?? stringOf(recordOf(entry).source) ?? []);
  return sources.flatMap((source) => {
    if (/^npm:session-memory(?:@|$)/.test(source)) return source;
    const folder = resolve(home, source);
    if (folder === ROOT || resolveRealPath(folder) === resolveRealPath(ROOT)) return ROOT;
    return recordOf(readJson(join(folder, "package.json"))).name === "session-memory" ? folder : [];
  });
}

function messageEntries(record: JsonRecord): BareEntry[] {
  const message = recordOf(record.message);
  const { role, content, usage, output, exitCode, command } = message;
  switch (role) {
    case "user":
      return [{ kind: "user", ...saidToPi(content) }];
    case "assistant":
      return assistantEntries(content, {
        contextTokens:
          numberOf(recordOf(usage).totalTokens) ||
          sumTokens(usage, ["input", "output", "cacheRead", "cacheWrite"]),
      });
    case "bashExecution": {
      // The user ran it from the prompt: the row is call and result in one.
      const id = `!${record.id ?? record.timestamp}`;
      const isError = (numberOf(exitCode) ?? 0) !== 0;
      const result: BareEntry = { kind: "result", text: textOf(output), callId: id, isError };
      return [toCall({ id, name: "Bash", input: { command } }), result];
    }
    case "toolResult":
      return toolResultEntries(message);
    default:
      return []; // system prompts, injected messages of extensions, summaries replayed as messages
  }
}

function toolResultEntries(message: JsonRecord): BareEntry[] {
  const { toolName, content, details } = message;
  const callId = stringOf(message.toolCallId);
  const isError = message.isError === true;
  const isAsking = !isError && ASKING_TOOL.test(textOf(toolName));
  return [
    { kind: "result", text: textOf(content), callId, isError },
    { kind: "user", text: isAsking ? answerText(answersIn(recordOf(details))) : "", callId },
  ];
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
  const asked = new Map(recordsOf(details.questions).map((question) => [question.id, question]));
  return recordsOf(details.answers).flatMap(({ id, label, value }) => {
    const question = asked.get(id);
    const answer = stringOf(label) ?? stringOf(value);
    if (!question || answer === undefined) return [];
    const words = textOf(question.prompt) || textOf(question.question);
    return [{ question: words, options: optionLabels(question.options), answer }];
  });
}

/** A file that was named where pi was started. */
const FILE = /<(file) name=/;
/** Prompts of OpenClaw's schedules, channels and other services. */
const BROUGHT = /^\[cron:|<<<EXTERNAL_UNTRUSTED_CONTENT/;

/** Returns what a person typed of a user's message, or all of one that is nobody's. */
export function saidToPi(content: unknown): Pick<BareEntry, "text" | "typed"> {
  const text = textOf(content);
  const typed = BROUGHT.test(text)
    ? ""
    : typedText(content, (block) => withoutAttached(withoutSkillPage(block), FILE));
  return typed === "" ? { text, typed: false } : { text: typed };
}

/** `/skill:name words` is stored with the skill's whole page before the words. */
function withoutSkillPage(text: string): string {
  const page = /^<skill name="?([^"\s>]+)"?[^>]*>[\s\S]*<\/skill>\s*/.exec(text);
  if (!page) return text;
  return `/skill:${page[1]} ${text.slice(page[0].length)}`.trim();
}
