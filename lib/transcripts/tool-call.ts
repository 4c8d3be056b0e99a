/** Reads what a tool call does and to what, and its whole input as text: a command, a diff, a written file, the arguments. */

import {
  arrayOf,
  isRecord,
  type JsonRecord,
  jsonOf,
  numberOf,
  recordOf,
  stringOf,
  stringsOf,
} from "../base/json.ts";
import type { DeedKind, ToolAction, ToolCall } from "./session.ts";

/** The argument that says what a call is about, the most telling name first. */
const PRIMARY_ARGUMENTS = [
  "command",
  "cmd",
  "file_path",
  "filePath",
  "absolute_path",
  "path",
  "notebook_path",
  "pattern",
  "query",
  "url",
  "description",
  "prompt",
  "subject",
  "skill",
  "plan",
  "input",
];
/** For a search, what is looked for comes before where. */
const SEARCHED = ["pattern", "query", "url"];
const PATH_ARGUMENTS = ["file_path", "path", "notebook_path", "filePath", "absolute_path"];
const ACTIONS: [ToolAction, RegExp][] = [
  [
    "edit",
    /^(?:edit|multiedit|write|notebookedit|apply_patch|str_replace\w*|replace|create|create_file|write_file|edit_file)$/i,
  ],
  ["read", /^(?:read|notebookread|view|read_file|read_many_files|cat|open_file|view_image)$/i],
  [
    "run",
    /^(?:bash|exec|exec_command|shell|run_shell_command|local_shell_call|powershell|run_command|terminal|unified_exec)$/i,
  ],
  [
    "search",
    /^(?:grep|grep_search|search_file_content|google_web_search|glob|find|ls|list|list_directory|search|web_?search\w*|web_?fetch|tool_?search|list_dir|codebase_search)$/i,
  ],
];

/** Describes a tool call: its action and target, with the whole input where that is wanted. */
export function toolCall(name: string, input: unknown, whole = false): ToolCall {
  const call = briefCall(name, input);
  // A command is needed whole to recognise one of ours.
  if (whole || call.action === "run") call.input = inputText(name, call.action, input);
  return call;
}

function briefCall(name: string, input: unknown): ToolCall {
  const action = ACTIONS.find(([, names]) => names.test(name))?.[0] ?? "other";
  if (name === "apply_patch") {
    const { input: text, patchText } = recordOf(input);
    const patch = stringOf(input) ?? stringOf(text) ?? stringOf(patchText) ?? "";
    const paths = patchedPaths(patch);
    return { name, target: paths.join(" ") || collapseBlanks(patch), action: "edit", paths };
  }
  if (!isRecord(input))
    return { name, target: collapseBlanks(typeof input === "string" ? input : ""), action, paths: [] };
  const names = action === "search" ? SEARCHED.concat(PRIMARY_ARGUMENTS) : PRIMARY_ARGUMENTS;
  const key = names.find((argument) => input[argument] !== undefined && input[argument] !== "");
  const value = key === undefined ? input : input[key];
  const paths = PATH_ARGUMENTS.map((argument) => stringOf(input[argument])).filter(
    (path) => path !== undefined,
  );
  return { name, target: argumentText(value), action, paths: paths.slice(0, 1) };
}

/** Returns the files that a patch in Codex's format touches. */
function patchedPaths(patch: string): string[] {
  return [...patch.matchAll(/^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$/gm)].map(
    (match) => match[1] ?? "",
  );
}

function argumentText(value: unknown): string {
  if (typeof value === "string") return collapseBlanks(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string"))
    return collapseBlanks(value.join(" "));
  if (isRecord(value) && Object.keys(value).length === 0) return "";
  return collapseBlanks(jsonOf(value));
}

function collapseBlanks(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

const WRITES = /^(?:write|write_file|create_file|create)$/i;
const FETCHES = /^(?:web_?fetch|fetch(?:_\w+)?|open_url|read_url)$/i;
/** Names that hosts give the two sides of a replacement. */
const BEFORE = ["old_string", "oldText", "old_str", "oldString"];
const AFTER = ["new_string", "newText", "new_str", "new_source", "newString"];
const CONTENT = ["content", "file_text", "contents"];

/** Returns the kind of a call. */
export function deedKind(name: string, action: ToolAction): DeedKind {
  if (action === "run") return "command";
  if (action === "edit" && WRITES.test(name)) return "write";
  if (FETCHES.test(name)) return "fetch";
  return action;
}

/** Returns the whole input of a call as text. */
function inputText(name: string, action: ToolAction, input: unknown): string {
  if (typeof input === "string") return input;
  if (!isRecord(input)) return "";
  if (action === "run") return readCommand(input);
  if (action === "edit") return editText(input) ?? argumentsText(input);
  if (name === "ExitPlanMode" && typeof input.plan === "string") return input.plan;
  return argumentsText(input);
}

function readCommand(input: JsonRecord): string {
  const command = input.command ?? input.cmd;
  if (typeof command === "string") return command;
  const words = stringsOf(command);
  return words.length > 0 ? words.join(" ") : argumentsText(input);
}

function editText(input: JsonRecord): string | undefined {
  const patch = stringOf(input.patch) ?? stringOf(input.input) ?? stringOf(input.patchText);
  if (patch !== undefined) return patch;
  const edits = arrayOf(input.edits).filter(isRecord);
  const diffs = (edits.length > 0 ? edits : [input])
    .map(replacementText)
    .filter((text) => text !== undefined);
  if (diffs.length > 0) return diffs.join("\n@@\n");
  return firstString(input, CONTENT);
}

function replacementText(edit: JsonRecord): string | undefined {
  const [before, after] = [firstString(edit, BEFORE), firstString(edit, AFTER)];
  if (before === undefined && after === undefined) return undefined;
  return diffLines(before ?? "", after ?? "").join("\n");
}

function firstString(record: JsonRecord, keys: readonly string[]): string | undefined {
  for (const key of keys) if (typeof record[key] === "string") return record[key];
  return undefined;
}

/** Writes one line per argument. */
function argumentsText(input: JsonRecord): string {
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : jsonOf(value)}`)
    .join("\n");
}

/** Writes a replacement as one hunk: the lines that both texts begin and end with are kept, those between are changed. */
function diffLines(before: string, after: string): string[] {
  const [old, now] = [splitLines(before), splitLines(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  return [
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...now.slice(start, now.length - end).map((line) => `+${line}`),
  ];
}

/** Returns a unified diff from its first changed hunk on; undefined when it changes nothing. */
export function cutToHunks(diff: unknown): string | undefined {
  const hunks = typeof diff === "string" ? diff.slice(Math.max(0, diff.search(/^@@ /m))).trimEnd() : "";
  return /^[+-](?!--|\+\+)/m.test(hunks) ? hunks : undefined;
}

/** Writes a host's structured patch as text; undefined when it is none. */
export function patchText(hunks: unknown): string | undefined {
  const parts = arrayOf(hunks).filter(isRecord);
  if (parts.length === 0) return undefined;
  return parts
    .map(({ oldStart, oldLines, newStart, newLines, lines }) => {
      const [from, removed, to, added] = [oldStart, oldLines, newStart, newLines].map(
        (n) => numberOf(n) ?? 0,
      );
      const text = arrayOf(lines).filter((line) => typeof line === "string");
      return [`@@ -${from},${removed} +${to},${added} @@`, ...text].join("\n");
    })
    .join("\n");
}

/** Counts the lines that a diff adds and removes. */
export function countChanges(diff: string): { added: number; removed: number } {
  const count = (sign: RegExp) => diff.match(sign)?.length ?? 0;
  return { added: count(/^\+(?!\+\+ )/gm), removed: count(/^-(?!-- )/gm) };
}

/** Returns only the added and removed lines of a diff. */
export function onlyChanges(diff: string): string {
  return diff
    .split("\n")
    .filter((line) => /^(?:[+-](?!(?:\+\+|--) )|\*\*\* (?:Update|Add|Delete|Move))/.test(line))
    .join("\n");
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** Characters of a command line that hold a commit's subject, and of that. */
const COMMIT_READ = 4000;
const COMMIT_CHARS = 100; // git itself asks for 72

/** Returns the message of a `git commit`. */
export function commitMessage(command: string): string | undefined {
  const start = command.slice(0, COMMIT_READ);
  if (!/\bgit\b[^\n;&|]*\bcommit\b/.test(start)) return undefined;
  // Targets are on one line: the subject ends where the body's list or blank line would begin.
  const heredoc = /<<-?\s*['"]?\w+['"]?\s+(.+)/s.exec(start);
  const quoted = /\s-[a-z]*m\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(start);
  const message = heredoc?.[1] ?? quoted?.[1] ?? quoted?.[2];
  return message
    ?.split(/\n| - | {2}|EOF| Co-Authored-By/)[0]
    ?.trim()
    .slice(0, COMMIT_CHARS);
}
