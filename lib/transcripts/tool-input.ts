/** What a tool was called with, whole and as text: the command, the diff, the written file, or the arguments. */

import { arrayOf, isRecord, type JsonRecord, jsonOf, stringOf, stringsOf } from "../base/json.ts";
import { diffLines } from "./diff.ts";
import type { DeedKind, ToolAction } from "./session.ts";

const WRITES = /^(?:write|write_file|create_file|create)$/i;
const FETCHES = /^(?:web_?fetch|fetch(?:_\w+)?|open_url|read_url)$/i;
/** Names that hosts give the two sides of a replacement. */
const BEFORE = ["old_string", "oldText", "old_str"];
const AFTER = ["new_string", "newText", "new_str", "new_source"];
const CONTENT = ["content", "file_text", "contents"];

/** Returns the kind of a call. */
export function deedKind(name: string, action: ToolAction): DeedKind {
  if (action === "run") return "command";
  if (action === "edit" && WRITES.test(name)) return "write";
  if (FETCHES.test(name)) return "fetch";
  return action;
}

/** Returns the whole input of a call as text. */
export function inputText(name: string, action: ToolAction, input: unknown): string {
  if (typeof input === "string") return input;
  if (!isRecord(input)) return "";
  if (action === "run") return commandOf(input);
  if (action === "edit") return editText(input) ?? argumentsText(input);
  if (name === "ExitPlanMode" && typeof input.plan === "string") return input.plan;
  return argumentsText(input);
}

function commandOf(input: JsonRecord): string {
  const command = input.command ?? input.cmd;
  if (typeof command === "string") return command;
  const words = stringsOf(command);
  return words.length > 0 ? words.join(" ") : argumentsText(input);
}

function editText(input: JsonRecord): string | undefined {
  const patch = stringOf(input.patch) ?? stringOf(input.input);
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
