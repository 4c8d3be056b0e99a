/**
 * Antigravity CLI's sessions: a row for each step (a prompt, an answer, a deed), in a folder named by the session's id. A call is
 * answered by the step as many places after it as the call's place among its calls.
 */

import { join, sep } from "node:path";
import { readJson, readText, statPath } from "../base/files.ts";
import { info } from "../base/findings.ts";
import {
  arrayOf,
  type JsonRecord,
  numberOf,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
  stringsOf,
  unpackJson,
} from "../base/json.ts";
import { counted } from "../base/text.ts";
import { type BareEntry, type Tools, textOf, toCall, withoutAttached, wrappedText } from "./format.ts";
import type { HostFile } from "./host.ts";
import { cutToHunks } from "./tool-call.ts";

export const host: HostFile = {
  name: "Antigravity CLI",
  program: "agy",
  resume: "agy --conversation <id>",

  timeKey: "created_at",

  matches({ step_index, source, type }) {
    return typeof step_index === "number" && typeof source === "string" && typeof type === "string";
  },

  *check(files) {
    const [first, ...others] = files.filter((file) => statPath(file)?.size === 0);
    const more = others.length > 0 ? ` (and ${counted(others.length, "more like this")})` : "";
    const remedy =
      "nothing can be read of it: what was said is only in conversations/, in the client's own form";
    if (first) yield info(`the transcript of a session of Antigravity CLI is empty: ${first}${more}`, remedy);
  },

  facts: (record) => ({ cwd: folderIn(record) }),

  beside(file) {
    const place = findPlace(file);
    return place ? { id: place.id, cwd: readWorkspace(place) } : {}; // a copy of ours
  },

  entries(record) {
    const content = textOf(record.content);
    switch (record.type) {
      case "USER_INPUT":
        return [
          {
            kind: "user",
            text: withoutAttached(wrappedText(content, "USER_REQUEST"), ADDED),
            typed: /^user/i.test(String(record.source)),
          },
        ];
      case "CHECKPOINT":
        return [{ kind: "summary", text: content }];
      case "PLANNER_RESPONSE":
        return [{ kind: "assistant", text: content }, ...toCalls(record)];
      default:
        return isModel(record) ? [readResult(record, content)] : [];
    }
  },

  title(file) {
    const place = findPlace(file);
    const text = place ? readText(titleFile(place)) : "";
    const [, title] = /^\s*title:\s*("(?:[^"\\]|\\.)*")/m.exec(text) ?? [];
    return title && stringOf(unpackJson(title));
  },

  titleFile: (file) => titleFile(findPlace(file) ?? { root: "", id: "" }),
};

type SessionFolder = { root: string; id: string };

/** Returns the client's folder and the session of a transcript by its path, `<root>/brain/<id>/.system_generated/logs/<file>`. */
function findPlace(file: string): SessionFolder | undefined {
  const folders = file.split(sep);
  const [brain, id = "", generated] = folders.slice(-5);
  return brain === "brain" && generated === ".system_generated"
    ? { root: folders.slice(0, -5).join(sep), id }
    : undefined;
}

function titleFile({ root, id }: SessionFolder): string {
  return join(root, "annotations", `${id}.pbtxt`);
}

/** The directories of sessions by what the client notes, as it was then: every session asks for them. */
const noted = new Map<string, ReadonlyMap<unknown, string>>();

/** Returns the directory that the client notes a session to be of. */
function readWorkspace({ root, id }: SessionFolder): string | undefined {
  const files = ["conversation_metadata.json", "last_conversations.json"].map((name) =>
    join(root, "cache", name),
  );
  const key = files.map((file) => `${file} ${statPath(file)?.mtimeMs}`).join();
  const known = noted.get(key) ?? readWorkspaces(files.map((file) => recordOf(readJson(file))));
  noted.set(key, known);
  return known.get(id);
}

/** Reads the directories of the sessions that the client described, and of its newest in each. */
function readWorkspaces([described = {}, newest = {}]: readonly JsonRecord[]): Map<unknown, string> {
  const workspaces = new Map<unknown, string>();
  for (const [id, session] of Object.entries(recordOf(described.conversations))) {
    const [uri] = stringsOf(recordOf(recordOf(session).summary).WorkspaceURIs);
    if (uri?.startsWith("file:///"))
      workspaces.set(id, process.getBuiltinModule("node:url").fileURLToPath(uri));
  }
  for (const [cwd, id] of Object.entries(newest)) workspaces.set(id, cwd);
  return workspaces;
}

/** Returns the directory that a prompt comes with, or that the first command is run in. */
function folderIn({ content, tool_calls }: JsonRecord): string | undefined {
  const [, text = ""] = METADATA.exec(textOf(content)) ?? [];
  const folders = arrayOf(tool_calls).map((call) => unpackJson(recordOf(recordOf(call).args).Cwd));
  return [parseRecord(text)?.cwd, ...folders].map(stringOf).find((folder) => folder !== undefined);
}

const METADATA = /<ADDITIONAL_METADATA>\s*(\{[\s\S]*?\})\s*(?:<\/|$)/;

/** The client's addition to a prompt. */
const ADDED = /<(ADDITIONAL_METADATA|USER_SETTINGS_CHANGE)>/;

const sides = (to: JsonRecord) => ({ old_string: to.TargetContent, new_string: to.ReplacementContent });
const chunks = (to: JsonRecord) => recordsOf(to.ReplacementChunks).map(sides);

const TOOLS: Tools = {
  run_command: { kind: "command", input: ({ CommandLine }) => ({ command: CommandLine }) },
  view_file: { kind: "read", input: ({ AbsolutePath }) => ({ path: AbsolutePath }) },
  list_dir: { kind: "search", input: ({ DirectoryPath }) => ({ path: DirectoryPath }) },
  grep_search: { kind: "search", input: ({ Query, SearchPath }) => ({ query: Query, path: SearchPath }) },
  write_to_file: { kind: "edit", input: (to) => ({ path: to.TargetFile, content: to.CodeContent }) },
  replace_file_content: { kind: "edit", input: (to) => ({ path: to.TargetFile, ...sides(to) }) },
  multi_replace_file_content: { kind: "edit", input: (to) => ({ path: to.TargetFile, edits: chunks(to) }) },
};

function toCalls({ step_index, tool_calls }: JsonRecord): BareEntry[] {
  const step = numberOf(step_index) ?? 0;
  return arrayOf(tool_calls).map((call, i) => {
    const { name, args } = recordOf(call);
    // The shorter log quotes arguments as JSON.
    const given = Object.entries(recordOf(args)).map(([key, value]) => [key, unpackJson(value)] as const);
    const input = Object.fromEntries(given);
    const bare = stringOf(name)?.replace(/^default_api:/, "");
    return toCall({ id: String(step + 1 + i), name: bare, input }, TOOLS);
  });
}

/** Returns whether a step is the model's, by either of the names that versions give it, or an error of a call of its. */
function isModel({ source, type }: JsonRecord): boolean {
  return source === "MODEL" || source === "planner" || type === "ERROR_MESSAGE";
}

const TIMES = /^(?:Created At|Completed At): .*\n*/gm;
const ENDED =
  /^\s*The command (?:completed successfully|(?:failed with|exited with) (?:exit )?code:? (-?\d+))\.?\s*\n/;
const RUNNING = /^\s*Tool is running as a background task\b/;

function readResult({ step_index, status, type }: JsonRecord, content: string): BareEntry {
  const text = content.replace(TIMES, "");
  const [, code = "0"] = ENDED.exec(text) ?? [];
  const output = text
    .replace(ENDED, "")
    .replace(/^\t{3,4}/gm, "")
    .replace(/^(?:Output|Stdout|Stderr):\n/gm, "");
  const [, diff] = /\[diff_block_start\]\n([\s\S]*?)\[diff_block_end\]/.exec(text) ?? [];
  const patch = cutToHunks(diff);
  return {
    kind: "result",
    text: patch === undefined ? output.trimEnd() : "",
    callId: String(step_index),
    isError: code !== "0" || status === "ERROR" || type === "ERROR_MESSAGE",
    state:
      status === "CANCELED" ? "rejected" : status === "RUNNING" || RUNNING.test(text) ? "running" : undefined,
    patch,
  };
}
