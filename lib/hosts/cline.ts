/**
 * Cline's sessions, a document each: messages, which it writes anew as a whole, and beside them a sheet that says where the
 * session works and what it is called, and the summaries of its compactions.
 */

import { basename, dirname, join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { readBytes, readJson, statPath } from "../base/files.ts";
import {
  arrayOf,
  isRecord,
  type JsonRecord,
  numberOf,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "../base/json.ts";
import { copiedFormat, isoTime, textOf, withoutAttached, wrappedText } from "./format.ts";
import type { HostFile } from "./host.ts";
import { LINE_MAX_BYTES } from "./lines.ts";
import type { CallKind } from "./session.ts";
import type { HostStore } from "./store.ts";

const MESSAGES = ".messages.json";
/** A document that cannot be parsed is being written if it changed so lately. */
const WRITING_MS = 10_000;

const documents: HostStore = {
  beside: (file) => [sheetPath(file), compactionPath(file)],

  open(file) {
    const document = parseRecord(readBytes(file, LINE_MAX_BYTES)?.toString("utf8") ?? "");
    const times = [file, sheetPath(file), compactionPath(file)].map((each) => statPath(each)?.mtimeMs ?? 0);
    if (!document && Date.now() - (times[0] ?? 0) > WRITING_MS)
      throw new SessionMemoryError("STORAGE_ERROR", `${file} is half written, or no JSON`);
    const changed = Math.max(...times);
    const { sessionId, origin, messages: given } = document ?? {};
    const messages = recordsOf(given);
    const sheet = recordOf(readJson(sheetPath(file)));
    const parent = stringOf(recordOf(origin).parentThreadId);
    const session = {
      id: stringOf(sessionId) ?? basename(file, MESSAGES),
      parent,
      cwd: stringOf(sheet.cwd) ?? stringOf(sheet.workspace_root) ?? "",
      title: parent === undefined ? titleIn(sheet) : "",
      started: numberOf(messages[0]?.ts) ?? changed,
      changed,
    };
    return {
      isBeingWritten: !document,
      sessions: () => [session],
      // The document was written anew, and so is its copy.
      read: () => ({
        lines: toLines(messages, recordOf(readJson(compactionPath(file)))),
        isAnew: true,
      }),
      close() {},
    };
  },
};

export const host: HostFile = {
  ...copiedFormat("cline"),
  name: "Cline",
  program: "cline",
  resume: "cline --id <id>",
  skills: "($CLINE_DIR|~/.cline)/skills",
  store: { files: "data/sessions/*/*.messages.json", ...documents },
};

/** Returns the file that describes the session of a document; a subagent's folder is its parent's. */
function sheetPath(file: string): string {
  return join(dirname(file), `${basename(dirname(file))}.json`);
}

function compactionPath(file: string): string {
  return `${file.slice(0, -MESSAGES.length)}.compaction.json`;
}

/** Returns a session's title; "" for the first prompt, which it is until the user gives one. */
function titleIn({ metadata, prompt }: JsonRecord): string {
  const title = stringOf(recordOf(metadata).title) ?? "";
  return title === unwrapped(textOf(prompt)) ? "" : title;
}

/** Files and folders that a prompt names, and what the client tells of the project, and of another mode. */
const ADDED = /<((?:file|folder|url)_content|environment_details|mode_notice)[\s>]/;

/** Returns what a person typed. */
function unwrapped(text: string): string {
  return wrappedText(withoutAttached(text, ADDED), "user_input").trim();
}

/** Returns messages as lines, each summary behind the last message that it stands for; none for what plugins told the model. */
function toLines(messages: readonly JsonRecord[], compaction: JsonRecord): JsonRecord[] {
  const summaries = arrayOf(compaction.messages).flatMap((message): JsonRecord[] => {
    const { kind, summary, generatedAt } = recordOf(recordOf(message).metadata);
    return kind === "compaction_summary"
      ? [{ role: "summary", timestamp: isoTime(generatedAt), content: textOf(summary) }]
      : [];
  });
  return messages.flatMap(({ id, role, content, ts, metadata }) => {
    const behind = compaction.source_last_message_key === `id:${id}` ? summaries : [];
    if (recordOf(metadata).displayRole === "system") return behind;
    const given = typeof content === "string" ? [{ type: "text", text: content }] : recordsOf(content);
    const read = role === "user" ? unwrapped : (text: string) => text.trim();
    const blocks = given.flatMap((block) => toBlocks(block, read));
    return [...(blocks.length > 0 ? [{ id, role, timestamp: isoTime(ts), content: blocks }] : []), ...behind];
  });
}

/** Tools that take a list, each element of it a call: the list's name, and an element's among the arguments. */
const LISTS: Readonly<Record<string, { list: string; as: string; action: CallKind }>> = {
  run_commands: { list: "commands", as: "command", action: "command" },
  read_files: { list: "files", as: "path", action: "read" },
  search_codebase: { list: "queries", as: "query", action: "search" },
  fetch_web_content: { list: "requests", as: "url", action: "fetch" },
};

/** Returns a block as those of our plain form: a text, calls, or what came of them. */
function toBlocks(block: JsonRecord, read: (text: string) => string): JsonRecord[] {
  const { type, id, name, input, text } = block;
  if (type === "text") return [{ type, text: read(textOf(text)) }];
  if (type === "tool_result") return toResults(block);
  if (type !== "tool_use") return [];
  const call = (key: unknown, given: unknown, action?: CallKind) => ({
    type,
    id: key,
    name,
    input: given,
    ...(action && { action }),
  });
  const { path, old_text, new_text } = recordOf(input);
  if (name === "editor")
    return [
      call(
        id,
        { path, ...(old_text !== undefined && { old_string: old_text }), new_string: new_text },
        "edit",
      ),
    ];
  const { list, as, action } = LISTS[String(name)] ?? {};
  if (list === undefined || as === undefined) return [call(id, input)];
  const given = recordOf(input)[list];
  const parts = Array.isArray(given) ? given : [recordOf(input)[as] ?? given];
  return parts.map((part, i) => call(`${id}.${i}`, toElement(part, as), action));
}

function toElement(part: unknown, as: string): JsonRecord {
  if (!isRecord(part)) return { [as]: part };
  return Array.isArray(part.args) ? { [as]: [part[as], ...part.args] } : part;
}

const EXITED = /^\[Command exited with code -?\d+\]\n?/;
const RUNNING = /^\[Command is still running\. Output will continue in [^\n]*\]\n?/;

function toResults({ tool_use_id, name, content }: JsonRecord): JsonRecord[] {
  const isList = LISTS[String(name)] !== undefined;
  const parts = Array.isArray(content) ? content : [content];
  return parts.map((part, i) => {
    const { result, error, success } = recordOf(part);
    const text = stringOf(result) ?? stringOf(error) ?? textOf(isRecord(part) ? [part] : part);
    return {
      type: "tool_result",
      tool_use_id: isList ? `${tool_use_id}.${i}` : tool_use_id,
      content: text
        .replace(EXITED, "")
        .replace(RUNNING, "")
        .replace(/\n?^\[stderr\]\n/m, ""),
      is_error: success === false,
      ...(RUNNING.test(text) && { state: "running" }),
    };
  });
}
