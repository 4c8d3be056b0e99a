/** What an agent did between two user messages: decisions, failures and what followed them, commits, commands, files. */

import { isDecision, isFinding, sentences } from "../language/speech.ts";
import type { Entry, ToolCall } from "../transcripts/session.ts";
import {
  commandName,
  commitMessage,
  errorLine,
  hasFailed,
  isLooking,
  isNotable,
  totalLine,
} from "./command-outcome.ts";
import { DONE, type Draft, type Files, type Priority } from "./observations.ts";

const DECISIONS_MAX = 2;
const FAILURES_MAX = 3;
const COMMITS_MAX = 3;
const COMMANDS_MAX = 5;
const FILES_MAX = 6;
const AFTER_MAX = 4;
const DECISION_CHARS = { min: 20, max: 240 };

/** An observation to be, with how easily it may be done without: 1 last, 4 first. */
export interface Note {
  draft: Draft;
  rank: number;
}

/** One command, however often it ran. */
interface Command {
  name: string;
  runs: number;
  line: number;
  at: string | null;
  /** What its latest failure said. */
  failure?: { text: string; line: number; at: string | null };
  isFixed: boolean;
  total: string;
  /** What was done after it failed. */
  after: string[];
  commit: string | undefined;
  isNotable: boolean;
}

/** Returns the files that were read and modified. */
export function touchedFiles(entries: readonly Entry[], clean: (text: string) => string): Files {
  const files = { read: new Set<string>(), modified: new Set<string>() };
  for (const { tool } of entries) {
    const list = tool?.action === "edit" ? files.modified : tool?.action === "read" ? files.read : undefined;
    for (const path of tool?.paths ?? []) if (clean(path) !== "") list?.add(clean(path));
  }
  return { read: [...files.read], modified: [...files.modified] };
}

/** Returns the notes on a stretch of work. */
export function workNotes(entries: readonly Entry[], clean: (text: string) => string): Note[] {
  const commands = new Map<string, Command>();
  const waiting = new Map<string | undefined, { tool: ToolCall; entry: Entry }>();
  const edits: { path: string; entry: Entry }[] = [];
  const notes: Note[] = [];
  for (const entry of entries) {
    if (entry.kind === "assistant") notes.push(...decisionNotes(entry, clean));
    if (entry.kind === "tool" && entry.tool) {
      const { tool } = entry;
      waiting.set(entry.callId, { tool, entry });
      if (tool.action === "edit") for (const path of tool.paths) edits.push({ path: clean(path), entry });
      followUp(commands, tool, clean);
    }
    if (entry.kind === "result") {
      const call = waiting.get(entry.callId);
      waiting.delete(entry.callId);
      if (call?.tool.action === "run") recordRun(commands, { ...call, result: entry, clean });
    }
  }
  for (const { tool, entry } of waiting.values()) {
    if (tool.action === "run") recordRun(commands, { tool, entry, result: undefined, clean });
  }
  return [...notes.slice(-DECISIONS_MAX), ...commandNotes([...commands.values()]), ...editNotes(edits)];
}

function decisionNotes(entry: Entry, clean: (text: string) => string): Note[] {
  return sentences(entry.text)
    .filter(({ length }) => length >= DECISION_CHARS.min && length <= DECISION_CHARS.max)
    .filter((sentence) => isDecision(sentence) || isFinding(sentence))
    .slice(0, 1)
    .map((sentence) => noteAt(entry, { rank: 2, priority: "yellow", text: clean(sentence) }));
}

function followUp(
  commands: ReadonlyMap<string, Command>,
  tool: ToolCall,
  clean: (text: string) => string,
): void {
  if (tool.action !== "edit" && tool.action !== "run") return;
  const step =
    tool.action === "edit"
      ? `edited ${[...new Set(tool.paths.map(baseName))].map(clean).join(", ") || "a file"}`
      : `ran \`${commandName(clean(tool.target))}\``;
  for (const command of commands.values()) {
    const isOwn = tool.action === "run" && commandName(clean(tool.target)) === command.name;
    if (!command.failure || command.isFixed || isOwn || command.after.includes(step)) continue;
    command.after.push(step);
  }
}

interface Run {
  tool: ToolCall;
  entry: Entry;
  result: Entry | undefined;
  clean: (text: string) => string;
}

function recordRun(commands: Map<string, Command>, { tool, entry, result, clean }: Run): void {
  const name = commandName(clean(tool.target));
  if (name === "" || isLooking(tool.target)) return;
  const command = commands.get(name) ?? {
    name,
    runs: 0,
    line: entry.line,
    at: entry.at ?? null,
    isFixed: false,
    total: "",
    after: [],
    commit: undefined,
    isNotable: isNotable(tool.target),
  };
  commands.set(name, command);
  command.runs++;
  const output = result?.text ?? "";
  if (result && hasFailed(output, { isError: result.isError === true, command: tool.target })) {
    // The first failure's text stays while it is not fixed: the later ones are the same or follow from it.
    if (!command.failure || command.isFixed) {
      command.failure = { text: clean(errorLine(output)), line: entry.line, at: entry.at ?? null };
      command.after = [];
    }
    command.isFixed = false;
    return;
  }
  if (result) command.isFixed = true;
  command.total = clean(totalLine(output));
  const message = commitMessage(tool.target);
  command.commit = message === undefined ? undefined : clean(message);
}

function commandNotes(commands: readonly Command[]): Note[] {
  const failed = commands.filter(({ failure }) => failure).slice(-FAILURES_MAX);
  const commits = commands.filter(({ commit, failure, isFixed }) => commit && (!failure || isFixed));
  const fine = commands.filter(({ failure, commit, isNotable }) => !failure && !commit && isNotable);
  return [
    ...failed.map(failureNote),
    ...commits
      .slice(-COMMITS_MAX)
      .map((command) =>
        noteAt(command, { rank: 1, priority: "yellow", text: `${DONE} Committed: ${command.commit}` }),
      ),
    ...fineNotes(fine),
  ];
}

function failureNote(command: Command): Note {
  const { name, failure, isFixed, after } = command;
  const shown = after.slice(0, AFTER_MAX);
  const more = after.length - shown.length;
  const followed = [...shown, ...(more > 0 ? [`${more} more steps`] : []), ...(isFixed ? ["it passed"] : [])];
  const text = `${isFixed ? `${DONE} ` : ""}\`${name}\` failed: ${failure?.text}${followed.length > 0 ? `; then ${followed.join(", ")}` : ""}`;
  const draft = { rank: isFixed ? 3 : 1, priority: "yellow" as const, text };
  const note = noteAt({ line: failure?.line ?? command.line, at: failure?.at ?? command.at }, draft);
  return { ...note, draft: { ...note.draft, subject: `run ${name}` } };
}

function fineNotes(commands: readonly Command[]): Note[] {
  const last = commands.at(-1);
  if (!last) return [];
  const shown = commands.slice(-COMMANDS_MAX).map(({ name, runs, total }) => {
    const often = runs > 1 ? ` ×${runs}` : "";
    return `\`${name}\`${often}${total ? ` (${total})` : ""}`;
  });
  const more = commands.length - shown.length;
  const text = `Ran ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return [noteAt(last, { rank: 4, priority: "green", text })];
}

function editNotes(edits: readonly { path: string; entry: Entry }[]): Note[] {
  const last = edits.at(-1);
  if (!last) return [];
  const names = [...new Set(edits.map(({ path }) => baseName(path)))];
  const more = names.length - FILES_MAX;
  const text = `Edited ${names.slice(0, FILES_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return [noteAt(last.entry, { rank: 3, priority: "green", text })];
}

function noteAt(
  { line, at }: { line: number; at?: string | null | undefined },
  { rank, priority, text }: { rank: number; priority: Priority; text: string },
): Note {
  return { rank, draft: { at: at ?? null, priority, text, sources: [line] } };
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) || path;
}
