/**
 * Cursor's sessions: messages near Claude Code's, the user's words among what the client adds to them. Most have no time but in
 * their prompts, and no results. Where a session works, only its folder says: by a file in it, else by its name.
 */

import { basename, dirname, join, sep } from "node:path";
import { listEntries, readJson } from "../base/files.ts";
import { recordOf, stringOf } from "../base/json.ts";
import { dashedPath } from "../base/text.ts";
import {
  assistantEntries,
  type BareEntry,
  deedEntries,
  isoTime,
  type Tools,
  textOf,
  typedText,
  withoutAttached,
  wrappedText,
} from "./format.ts";
import type { HostFile } from "./host.ts";

const TOOLS: Tools = {
  StrReplace: { kind: "edit" },
  Delete: { kind: "edit" },
  EditNotebook: { kind: "edit" },
  SemanticSearch: { kind: "search" },
};

export const host: HostFile = {
  name: "Cursor",
  program: "cursor-agent",
  resume: "cursor-agent --resume <id>",
  unreadPlaces: ["~/.config/cursor/chats", "~/.cursor/chats"], // on Linux, on macOS

  matches({ role, message, type }) {
    return type === undefined && typeof role === "string" && recordOf(message).content !== undefined;
  },

  facts: ({ timestamp, message }) => ({
    startedAt: isoTime(timestamp) ?? promptTime(textOf(recordOf(message).content)),
  }),

  beside(file) {
    const folders = file.split(sep);
    const at = folders.lastIndexOf(TRANSCRIPTS);
    if (at === -1) return {}; // a copy of ours
    const parentId = folders.at(-2) === "subagents" ? folders.at(-3) : undefined;
    return { id: basename(file, ".jsonl"), parentId, cwd: findWorkspace(folders.slice(0, at).join(sep)) };
  },

  entries(record) {
    const { content } = recordOf(record.message);
    if (record.role === "assistant") {
      const said = assistantEntries(content, { tools: TOOLS });
      return said.map((entry) => (entry.tool ? entry : { ...entry, text: entry.text.replace(THOUGHT, "") }));
    }
    if (record.role !== "user") return [];
    const at = promptTime(textOf(content));
    const text = typedText(content, (block) => wrappedText(withoutAttached(block, BEFORE), "user_query"));
    const said: BareEntry = { kind: "user", text, ...(at !== undefined && { at }) };
    return [...deedEntries(content), said];
  },
};

/** The mark of a thought at the end of an answer. */
const THOUGHT = /\s*\[REDACTED\]\s*$/;
/** The client's text before a prompt. */
const BEFORE = /^\s*<(?!user_query\b)([a-z_]+)[\s>]/;

/** Reads the time in a prompt: `Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)`. */
function promptTime(text: string): string | undefined {
  const [, date, clock, sign = "+", hours = "0", minutes = "00"] =
    /<timestamp>\w+, (\w{3} \d{1,2}, \d{4}), (\d{1,2}:\d\d [AP]M) \(UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?\)<\/timestamp>/.exec(
      text,
    ) ?? [];
  return date && isoTime(`${date} ${clock} GMT${sign}${hours.padStart(2, "0")}${minutes}`);
}

const TRANSCRIPTS = "agent-transcripts";

/** Folders of projects, found in this process: all sessions of a project ask for the same. */
const workspaces = new Map<string, string | undefined>();

/** Returns the directory of a project's folder: as the client noted it when it was trusted, else the only one that it may name. */
function findWorkspace(folder: string): string | undefined {
  if (!workspaces.has(folder)) {
    const { workspacePath } = recordOf(readJson(join(folder, ".workspace-trusted")));
    workspaces.set(folder, stringOf(workspacePath) ?? onlyDirectory(basename(folder)));
  }
  return workspaces.get(folder);
}

/** The most folders that are listed to find a directory by its name. */
const LISTED_MAX = 256;

/** Returns the one directory that has a name of Cursor's; undefined where none has it, or several. */
function onlyDirectory(name: string): string | undefined {
  const found: string[] = [];
  const open: string[] = [sep];
  for (let listed = 0; open.length > 0 && listed < LISTED_MAX; listed++) {
    const folder = open.pop() ?? "";
    for (const entry of listEntries(folder)) {
      const path = join(folder, entry.name);
      const own = dashedPath(path);
      if (!entry.isDirectory() || dirname(path) === path) continue;
      if (own === name) found.push(path);
      else if (name.startsWith(`${own}-`)) open.push(path);
    }
  }
  return found.length === 1 ? found[0] : undefined;
}
