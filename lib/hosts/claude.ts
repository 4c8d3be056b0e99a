/** Claude Code's transcripts: one row per content block, a tree by `parentUuid`, and much that is not conversation. */

import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorLines } from "../base/error-lines.ts";
import { namesIn, readJson, readText, statPath } from "../base/files.ts";
import {
  arrayOf,
  isRecord,
  type JsonRecord,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
  stringsOf,
} from "../base/json.ts";
import { ROOT } from "../base/runtime.ts";
import { prompts, TYPED_COMMAND, typedCommand, typedPart } from "./claude-prompts.ts";
import {
  type Answer,
  answerText,
  assistantEntries,
  type BareEntry,
  isoTime,
  lastTitle,
  optionLabels,
  type ReadHead,
  type RowsWith,
  sumTokens,
  textOf,
  treeNode,
  typedText,
} from "./format.ts";
import { type HostFile, keepContent, moved, PLUGIN, pluginCommands, type Restorer } from "./host.ts";
import { readBegin, recordsIn } from "./lines.ts";
import type { ToolCall } from "./session.ts";
import { patchText } from "./tool-call.ts";

/** Words of other sessions and services, which the client sends as a prompt. */
const SENT =
  /^\s*(?:Another Claude session sent a message:\s*)?<(?:teammate-message|cross-session-message|channel)[\s>]/;
/** The client's names where a program started it, and the origins of programs' prompts. */
export const STARTED_BY_PROGRAM = /^(?:sdk-|claude-code-github-action$)/;
const PROGRAM_SOURCE = /^(?:system|cron|sdk)$/;

/** Tokens of the model's context and of its answer; each row of one message repeats them. */
const USAGE = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];

/** It cuts folder names here. */
const FOLDER_MAX = 200;

/** Returns its folder name for a directory. Several directories may share one. */
export function encodeClaudeCwd(directory: string): string {
  const name = directory.replace(/[^a-zA-Z0-9]/g, "-");
  if (name.length <= FOLDER_MAX) return name;
  let hash = 0;
  for (let i = 0; i < directory.length; i++) hash = ((hash << 5) - hash + directory.charCodeAt(i)) | 0;
  return `${name.slice(0, FOLDER_MAX)}-${Math.abs(hash).toString(36)}`;
}

/** The type of our row at the head of a restored session. */
const RESTORED_FROM = "restored-from";

const restorer: Restorer = {
  needsFolder: true,
  place: (home, { id, folder }) => join(home, "projects", encodeClaudeCwd(folder), `${id}.jsonl`),
  begin: ({ id, origin, at }) => [
    { type: RESTORED_FROM, session: origin.id, by: "session-memory", timestamp: at, sessionId: id },
  ],
  row(record, target) {
    if (ONE_RUN.has(String(record.type))) return undefined;
    const message = recordOf(record.message);
    const content = keepContent(message.content);
    const isSaid = record.type === "user" || record.type === "assistant";
    if (isSaid && (content === undefined || content.length === 0)) return undefined;
    return {
      ...record,
      ...(isSaid && { message: { ...message, content } }),
      ...(record.sessionId !== undefined && { sessionId: target.id }),
      ...(record.cwd !== undefined && { cwd: moved(record.cwd, target) }),
    };
  },
};

/** Rows that belong to one run of the client. */
const ONE_RUN = new Set([
  "progress",
  "api-request-blob",
  "file-history-snapshot",
  "queue-operation",
  "last-prompt",
]);

export const host: HostFile = {
  name: "Claude Code",
  program: "claude",
  resume: "claude --resume <id>",
  isNamedById: true,
  folderName: encodeClaudeCwd,
  outputs: "tool-results",
  prompts,
  restorer,
  retention: { settings: "settings.json", key: "cleanupPeriodDays", days: 30 },
  hooks: {
    installedIn: "plugins/installed_plugins.json",
    remedy: "check that it is enabled",
    showsPerson: true,
  },

  statusLine: "settings.json",

  wired(home) {
    const has = (file: string, name: string) => readText(join(home, "plugins", file)).includes(`"${name}"`);
    const isInstalled = has("installed_plugins.json", PLUGIN);
    // It reads the plugin where it lies.
    const isHere = isInstalled && has("known_marketplaces.json", ROOT);
    const isKnown = has("known_marketplaces.json", "session-memory");
    return pluginCommands({ isInstalled, isKnown, isHere }, ["install", "uninstall"]);
  },

  leftIn(home) {
    const copies = join(home, "plugins", "cache", "session-memory");
    return statPath(copies) ? [`${copies}: Claude Code's copy of the plugin`] : [];
  },

  matches(record) {
    if (typeof record.type !== "string" || isRecord(record.payload) || record.systemPayload) return false;
    if (Array.isArray(recordOf(record.message).parts)) return false; // a Qwen session
    if (typeof record.sessionId === "string" || typeof record.parentUuid === "string") return true;
    if (record.type === "summary") return typeof record.leafUuid === "string";
    if (record.type === "file-history-snapshot") return isRecord(record.snapshot);
    return (record.type === "user" || record.type === "assistant") && isRecord(record.message);
  },

  facts: ({ cwd, type, session, entrypoint, isSidechain, agentId, sessionId }) => ({
    cwd,
    forkedFrom: type === RESTORED_FROM ? session : undefined,
    isHeadless: typeof entrypoint === "string" ? STARTED_BY_PROGRAM.test(entrypoint) : undefined,
    parentId: isSidechain === true && typeof agentId === "string" ? sessionId : undefined,
  }),

  entries(record, { outputAt }) {
    if (record.type === "user") return userEntries(record, outputAt);
    if (record.type === "queue-operation") return queuedEntries(record);
    if (record.type !== "assistant") return [];
    const { content, usage } = recordOf(record.message);
    return assistantEntries(content, {
      contextTokens: sumTokens(usage, USAGE),
      workdir: stringOf(record.cwd),
    });
  },

  tree: {
    live: "but edited away",
    node: (record) => treeNode(record, record.toolUseResult === undefined && saidText(record) !== ""),
    leaf: (record) => (record.type === "last-prompt" ? stringOf(record.leafUuid) : undefined),
  },

  *title(file, rowsWith) {
    yield keptTitle(titleFile(file));
    yield lastTitle(rowsWith, "custom-title", ({ customTitle }) => customTitle);
  },

  *madeTitles(rowsWith) {
    yield lastTitle(rowsWith, "agent-name", ({ agentName }) => agentName);
    yield lastTitle(rowsWith, "ai-title", ({ aiTitle }) => aiTitle);
    yield ownSummary(rowsWith);
  },

  titleFile,
  isHeadComplete: () => true,

  origin({ id, file, parentId: known }, readHead) {
    const head = readHead(file);
    const parentId = known ?? head?.parentId;
    if (parentId !== undefined && parentId !== id) return besideOrAbove(file, `${parentId}.jsonl`);
    return forkOrigin(file, readHead);
  },
};

/** Returns the file in which Claude Code keeps a title set by the user. */
function titleFile(transcript: string): string {
  return join(transcript.replace(/\.jsonl$/, ""), "custom-title.json");
}

/** Reads no link, which could lead to another session's title, and no pipe, which would wait for a writer. */
function keptTitle(file: string): string | undefined {
  const isOwn = lstatSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isOwn || lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  return stringOf(recordOf(readJson(file)).customTitle);
}

/** Sessions have a few at most, and each costs a search through all that was read. */
const SUMMARIES_MAX = 32;

/** Claude Code before 2.0 wrote summaries of other sessions too: one counts when the row it describes is in this file. */
function ownSummary(rowsWith: RowsWith): string | undefined {
  let tried = 0;
  for (const { type, leafUuid, summary } of rowsWith('"summary"')) {
    const leaf = type === "summary" ? stringOf(leafUuid) : undefined;
    if (leaf === undefined) continue;
    if (++tried > SUMMARIES_MAX) return undefined;
    for (const { uuid } of rowsWith(`"${leaf}"`)) if (uuid === leaf) return stringOf(summary);
  }
  return undefined;
}

type OutputAt = ((path: string) => string | undefined) | undefined;

function userEntries(record: JsonRecord, outputAt: OutputAt): BareEntry[] {
  const { content } = recordOf(record.message);
  if (record.isCompactSummary === true) return [{ kind: "summary", text: textOf(content) }];
  const answers = recordsOf(content)
    .filter(({ type }) => type === "tool_result")
    .flatMap((block) => [readResult(block, record, outputAt), ...readAnswer(block, record)]);
  const text = saidText(record);
  return [...answers, { kind: "user", text, typed: SENT.test(text) ? false : isTyped(record) }];
}

/** Returns whether a person typed a row, by its own flags; undefined where none says so. */
function isTyped({ isSidechain, entrypoint, origin, promptSource }: JsonRecord): boolean | undefined {
  const { kind } = recordOf(origin);
  if (isSidechain === true || STARTED_BY_PROGRAM.test(String(entrypoint))) return false;
  if (kind !== undefined) return kind === "human"; // a desktop's prompts come by the SDK
  if (PROGRAM_SOURCE.test(String(promptSource))) return false;
  return entrypoint === undefined ? undefined : true;
}

function readResult(block: JsonRecord, record: JsonRecord, outputAt: OutputAt): BareEntry {
  const text = wholeOutput(textOf(block.content), recordOf(record.toolUseResult), outputAt);
  const { backgroundTaskId, structuredPatch } = recordOf(record.toolUseResult);
  const isError = block.is_error === true;
  const isRejected = isError && (text.startsWith(REJECTION) || wasNotBegun(text, record));
  return {
    kind: "result",
    text,
    callId: stringOf(block.tool_use_id),
    isError,
    state: isRejected ? "rejected" : backgroundTaskId === undefined ? undefined : "running",
    patch: patchText(structuredPatch),
  };
}

/** Begins what a row has of an output that is in a file. */
const KEPT_ELSEWHERE = /^<persisted-output>\n.{0,200}? saved to: ([^\n]+)/;

/** Returns the text of an output that its row holds the beginning of: the file's, else as much as the row has. */
function wholeOutput(text: string, result: JsonRecord, outputAt: OutputAt): string {
  const path = text.startsWith("<") ? KEPT_ELSEWHERE.exec(text)?.[1] : undefined;
  if (path === undefined || !outputAt) return text;
  const { stdout, stderr } = result;
  const whole = outputAt(stringOf(result.persistedOutputPath) ?? path.trim());
  if (whole !== undefined) return whole;
  const parts = [stringOf(stdout), stringOf(stderr)].filter(Boolean);
  return parts.length > 0 ? `${parts.join("\n")}\n…` : text;
}

/** The host's text for a call that the user turned down, and the one before the user's words. */
const REJECTION =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). ";
const REJECTION_WORDS = `${REJECTION}To tell you how to proceed, the user said:\n`;
/** The host's own note behind the user's words. */
const REJECTION_NOTE =
  /\s*\n\nNote: The user's next message may contain a correction or preference\.[\s\S]*$/;
/** The host's text for a call that it did not begin. */
const NOT_BEGUN =
  /^<tool_use_error>(?:Sibling tool call errored|Cancelled\b)|^(?:This command requires approval|Claude requested permissions? to |Permission to use .{1,200} has been denied)|auto mode cannot determine the safety of/;

/** Returns whether an error says that a call was never begun. From 2.0 on a plain sentence is somebody's reason to turn it down. */
function wasNotBegun(text: string, { version }: JsonRecord): boolean {
  if (NOT_BEGUN.test(text)) return true;
  const isSentence = /^\p{L}[^\n]* [^\n]* [^\n]*$/u.test(text) && !text.startsWith("Exit code ");
  return (
    isSentence && /^[2-9]/.test(textOf(version)) && errorLines(text, { max: 1, orAll: false }).length === 0
  );
}

const APPROVED_PLAN = /^User has approved (?:your plan|exiting plan mode)\b/;

/** Returns what the user answered to a tool, recognised by the row's shape: an answer, a rejection's words, an approved plan. */
function readAnswer(block: JsonRecord, record: JsonRecord): BareEntry[] {
  const { toolUseResult, toolDenialKind, version } = record;
  const { questions, answers, plan } = recordOf(toolUseResult);
  const result = textOf(block.content);
  const said = (text: string, counts: (call: ToolCall) => boolean): BareEntry[] => {
    const settle = (call: ToolCall) => (counts(call) ? text : "");
    return text === "" ? [] : [{ kind: "user", text, callId: stringOf(block.tool_use_id), settle }];
  };
  if (block.is_error === true) {
    if (!result.startsWith(REJECTION_WORDS)) return [];
    const isStamped = toolDenialKind !== undefined || toolUseResult === "User rejected tool use";
    // Any sentence is in the error of somebody else's tool, and up to 1.x in a command's: nothing came before its output.
    const isForeign = ({ name, kind }: ToolCall) =>
      name.startsWith("mcp__") || (kind === "command" && /^[01]\./.test(textOf(version)));
    const words = result.slice(REJECTION_WORDS.length).replace(REJECTION_NOTE, "").trim();
    return said(words, (call) => isStamped || !isForeign(call));
  }
  if (Array.isArray(questions) && isRecord(answers))
    return said(answerText(answersIn(questions, answers)), ({ name }) => name === "AskUserQuestion");
  if (typeof plan !== "string" || !APPROVED_PLAN.test(result)) return [];
  const title = /^#*\s*(\S[^\n]*)/m.exec(plan)?.[1]?.trim();
  const approval = `Approved the plan${title === undefined ? "." : `: ${title}`}`;
  return said(approval, ({ name }) => name === "ExitPlanMode");
}

function answersIn(questions: unknown, answers: JsonRecord): Answer[] {
  return recordsOf(questions).flatMap((asked) => {
    const question = textOf(asked.question);
    const given = answers[question];
    const answer = stringOf(given) ?? stringsOf(given).join(", ");
    return answer ? [{ question, options: optionLabels(asked.options), answer }] : [];
  });
}

/** The most rows that are asked what became of a queued message, and of those behind the one that took it off the queue. */
const AHEAD = { rows: 2000, rowsTaken: 50 };
/** Queued beside the user's words: commands, and what the client tells the agent. */
const NOT_WORDS = /^\s*(?:<([a-z][\w-]*)[\s>][\s\S]*<\/\1>\s*$|\/[\w:.-]+(?:\s|$))/i;

/** Returns what the user typed while the agent worked: up to 2.1.49 no other row holds it. */
function queuedEntries({ operation, content }: JsonRecord): BareEntry[] {
  if (operation !== "enqueue" || typeof content !== "string") return [];
  if (NOT_WORDS.test(content) || SENT.test(content) || parseRecord(content) !== undefined) return [];
  return [{ kind: "user", text: typedPart(content), counts: (later) => isTakenUp(content, later) }];
}

/** Returns whether a queued message was taken up, and no row of the user's repeats it. */
function isTakenUp(queued: string, later: Iterable<JsonRecord>): boolean {
  const text = `\n${queued.trim()}\n`;
  let rows = 0;
  let taken: number | undefined;
  for (const record of later) {
    if (++rows > AHEAD.rows || rows - (taken ?? rows) > AHEAD.rowsTaken) break;
    const { type, operation, content = queued, attachment } = record;
    if (`\n${saidText(record).trim()}\n`.includes(text)) return false;
    if (recordOf(attachment).type === "queued_command" && recordOf(attachment).prompt === queued) return true;
    if (type !== "queue-operation" || taken !== undefined) continue;
    if (operation === "popAll") return false; // back to where it was typed
    if (operation === "remove" && content === queued) taken = rows;
  }
  return taken !== undefined;
}

/** Returns what a person says in a row, or "" for rows that the client wrote. */
function saidText({ type, isMeta, isCompactSummary, message }: JsonRecord): string {
  if (type !== "user" || isMeta === true || isCompactSummary === true) return "";
  const { content: given } = recordOf(message);
  const content = typeof given === "string" ? given : recordsOf(given);
  const command = arrayOf(content)
    .map((block) => textOf([block]))
    .find((text) => TYPED_COMMAND.test(text));
  return command === undefined ? typedText(content, typedPart) : typedCommand(command); // what it expands to may follow
}

const HEAD_BYTES = 64 * 1024; // promised: the first and last 64 KiB
/** The rows among which the first words are. */
const FIRST_BYTES = 16 * 1024;
/** Larger folders are not searched for the origin of a fork. */
const SIBLINGS_MAX = 500;

/** A subagent's file lies two folders below its parent's, or beside it in older versions. */
function besideOrAbove(file: string, name: string): string | undefined {
  let folder = dirname(file);
  for (let up = 0; up < 5; up++, folder = dirname(folder)) {
    if (namesIn(folder).includes(name)) return join(folder, name);
  }
  return undefined;
}

/** Claude Code copies a fork's rows with their ids and begins the new file later: the older holder of the first is the origin. */
function forkOrigin(file: string, readHead: ReadHead): string | undefined {
  const startedAt = readHead(file)?.startedAt;
  const { uuid, timestamp } = firstRow(file);
  if (typeof uuid !== "string" || startedAt === undefined || (isoTime(timestamp) ?? "~") >= startedAt)
    return undefined;
  const names = namesIn(dirname(file)).filter((name) => name.endsWith(".jsonl"));
  if (names.length > SIBLINGS_MAX) return undefined;
  let origin: { file: string; startedAt: string } | undefined;
  for (const name of names) {
    const other = join(dirname(file), name);
    if (other === file || !headHolds(other, `"uuid":"${uuid}"`)) continue;
    const began = readHead(other)?.startedAt;
    if (began !== undefined && began < startedAt && began < (origin?.startedAt ?? "~"))
      origin = { file: other, startedAt: began };
  }
  return origin?.file;
}

/** Returns the first row with somebody's words: a client's own row may come before the copied ones. */
function firstRow(file: string): JsonRecord {
  for (const row of recordsIn(file, FIRST_BYTES))
    if (row.type === "user" || row.type === "assistant") return row;
  return {};
}

function headHolds(file: string, text: string): boolean {
  try {
    return readBegin(file, HEAD_BYTES).includes(text);
  } catch {
    return false; // gone since it was listed, or not ours to read
  }
}
