/** Reads what a tool call does and to what, and its whole input as text: a command, a diff, a written file, the arguments. */

import {
  arrayOf,
  isRecord,
  type JsonRecord,
  jsonOf,
  recordOf,
  recordsOf,
  stringOf,
  stringsOf,
} from "../base/json.ts";
import type { CallKind, Done, ToolCall } from "./session.ts";

const PATH_ARGUMENTS = ["file_path", "filePath", "absolute_path", "path", "notebook_path"];
/** A search's pattern comes before its place. */
const SEARCHED = ["pattern", "query", "url"];
/** The argument that says what a call is about, the most telling name first. */
const PRIMARY_ARGUMENTS = [
  "command",
  "cmd",
  ...PATH_ARGUMENTS,
  ...SEARCHED,
  "description",
  "prompt",
  "subject",
  "skill",
  "plan",
  "input",
];
const PATCHES = ["patch", "input", "patchText"];
const KINDS: [CallKind, RegExp][] = [
  ["write", /^(?:write|write_file|create_file|create)$/i],
  ["edit", /^(?:(?:multi|notebook)?edit|apply_patch|str_replace\w*|replace|edit_file)$/i],
  ["fetch", /^(?:web_?fetch|fetch(?:_\w+)?|open_url|read_url)$/i],
  ["read", /^(?:(?:notebook)?read|view(?:_image)?|read_(?:file|many_files)|cat|open_file)$/i],
  [
    "command",
    /^(?:bash|exec(?:_command)?|shell|run_(?:shell_)?command|local_shell_call|powershell|terminal|unified_exec)$/i,
  ],
  [
    "search",
    /^(?:grep(?:_search)?|search(?:_file_content)?|(?:google_)?web_?search\w*|glob|find|ls|list(?:_dir(?:ectory)?)?|tool_?search|codebase_search)$/i,
  ],
];

/** Every kind of a call. */
export const CALL_KINDS: readonly CallKind[] = [...KINDS.map(([kind]) => kind), "other"];

/** Names of secrets, as far as they are told without judging any. */
const ANNOUNCING = /pass|pwd|pw\b|secret|token|key|auth|cred|phrase|pin\b|[^\0-\x7f]/i;

/** A call whose input is made into a text only where that is wanted. */
export interface RawCall extends Omit<ToolCall, "input"> {
  readInput: () => string;
}

/** Describes a tool call; `kind` is that of the deed, where the host knows it. */
export function toolCall(name: string, input: unknown, kind = kindOf(name)): RawCall {
  const readInput = () => inputText(name, kind, input);
  const call = { name: toolName(name), kind, ...readTarget(name, kind, input), readInput };
  const isListed = isRecord(input) && !isChange({ kind }) && kind !== "command";
  return isListed && ANNOUNCING.test(readInput()) ? { ...call, json: jsonOf(input) } : call;
}

/** Returns the kind of a tool's calls by its name. */
function kindOf(name: string): CallKind {
  return KINDS.find(([, names]) => names.test(name))?.[0] ?? "other";
}

/** Returns a tool's name on one line and without the brackets around a call, so that it forges neither a row nor an outcome. */
export function toolName(name: string): string {
  return collapseBlanks(name).replaceAll("[", "(").replaceAll("]", ")");
}

function readTarget(name: string, kind: CallKind, input: unknown): Pick<ToolCall, "target" | "paths"> {
  if (name === "apply_patch") {
    const patch = stringOf(input) ?? firstString(recordOf(input), PATCHES) ?? "";
    const files = patch.matchAll(/^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$/gm);
    const paths = Array.from(files, ([, file = ""]) => file);
    return { target: paths.join(" ") || collapseBlanks(patch), paths };
  }
  if (!isRecord(input)) return { target: collapseBlanks(stringOf(input) ?? ""), paths: [] };
  const asked = arrayOf(input.questions).flatMap((each) => stringOf(recordOf(each).question) ?? []);
  if (name === "AskUserQuestion") return { target: collapseBlanks(asked.join(" ")), paths: [] };
  const names =
    kind === "search" || kind === "fetch" ? SEARCHED.concat(PRIMARY_ARGUMENTS) : PRIMARY_ARGUMENTS;
  const key = names.find((argument) => input[argument] !== undefined && input[argument] !== "");
  const path = firstString(input, PATH_ARGUMENTS);
  return { target: argumentText(key === undefined ? input : input[key]), paths: path ? [path] : [] };
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

/** Names that hosts give the two sides of a replacement. */
const BEFORE = ["old_string", "oldText", "old_str", "oldString"];
const AFTER = ["new_string", "newText", "new_str", "new_source", "newString"];
const CONTENT = ["content", "file_text", "contents"];

/** Returns whether a call changes a file. */
export function isChange({ kind }: Pick<Done, "kind">): boolean {
  return kind === "edit" || kind === "write";
}

/** Returns the whole input of a call as text. */
function inputText(name: string, kind: CallKind, input: unknown): string {
  if (typeof input === "string") return input;
  if (!isRecord(input)) return "";
  if (kind === "command") return readCommand(input);
  if (isChange({ kind })) return editText(input) ?? argumentsText(input);
  if (name === "ExitPlanMode" && typeof input.plan === "string") return input.plan;
  return argumentsText(input);
}

function readCommand(input: JsonRecord): string {
  const words = stringsOf(input.command ?? input.cmd).join(" ");
  return firstString(input, ["command", "cmd"]) ?? (words || argumentsText(input));
}

function editText(input: JsonRecord): string | undefined {
  const edits = recordsOf(input.edits);
  const diffs = (edits.length > 0 ? edits : [input]).flatMap((edit) => {
    const [before, after] = [firstString(edit, BEFORE), firstString(edit, AFTER)];
    return before === undefined && after === undefined ? [] : [diffText(before ?? "", after ?? "")];
  });
  return (
    firstString(input, PATCHES) ?? (diffs.length > 0 ? diffs.join("\n@@\n") : firstString(input, CONTENT))
  );
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

/** The most lines between two occurrences of one line; beyond that they are two lines. */
const REACH_LINES = 100;

/** Writes a replacement as a diff: of two lines that both come again on the other side, the nearer one is kept. */
function diffText(before: string, after: string): string {
  const [old, now] = [splitLines(before), splitLines(after)];
  const lines: string[] = [];
  for (let [i, j] = [0, 0]; i < old.length || j < now.length; ) {
    const [was, is] = [old[i], now[j]];
    const added = was === undefined ? 0 : now.slice(j, j + REACH_LINES).indexOf(was);
    const removed = is === undefined ? 0 : old.slice(i, i + REACH_LINES).indexOf(is);
    if (was === is) {
      lines.push(` ${was}`);
      i++;
      j++;
    } else if (was === undefined || (is !== undefined && added !== -1 && (removed === -1 || added < removed)))
      lines.push(`+${now[j++]}`);
    else lines.push(`-${old[i++]}`);
  }
  return lines.join("\n");
}

/** Returns a unified diff from its first changed hunk on; undefined when it changes nothing. */
export function cutToHunks(diff: unknown): string | undefined {
  const hunks = typeof diff === "string" ? diff.slice(Math.max(0, diff.search(/^@@ /m))).trimEnd() : "";
  return /^[+-](?!--|\+\+)/m.test(hunks) ? hunks : undefined;
}

/** Writes a host's structured patch as text; undefined for anything else. */
export function patchText(patch: unknown): string | undefined {
  const hunks = recordsOf(patch).map(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...stringsOf(lines)].join("\n"),
  );
  return hunks.length === 0 ? undefined : hunks.join("\n");
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
