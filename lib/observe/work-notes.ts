/** What an agent did between two user messages: causes it found, failures and what followed, commits, files. */

import { truncate } from "../base/text.ts";
import { isFinding, sentences } from "../language/speech.ts";
import { outcomeOf } from "../transcripts/calls.ts";
import type { Entry, ToolCall } from "../transcripts/session.ts";
import { DONE, type Draft, type Files, type Priority } from "./observations.ts";

/** A draft of an observation, and how early it is dropped for want of room: 0 never, 3 first. */
export interface Note {
  draft: Draft;
  rank: 0 | 1 | 2 | 3;
}

type Clean = (text: string) => string;

/** Of each at most so many are kept of a stretch of work: the last ones, which hold. */
const KEPT_MAX = 3;
const FILES_MAX = 6;
/** Steps named that followed a failure. */
const AFTER_MAX = 4;
const CAUSE_CHARS = { min: 20, max: 240 };
const COMMAND_CHARS = 80;
const ERROR_CHARS = 160;
const COMMIT_CHARS = 100;
/** Of a script pasted into a command the beginning is read; of what a command printed, the end. */
const READ_CHARS = { command: 4000, output: 20_000 };

/** One command, however often it ran. */
interface Command {
  name: string;
  entry: Entry;
  error: string;
  isFixed: boolean;
  /** What was done after it failed. */
  after: Set<string>;
}

/** Returns the files that were read and modified. */
export function touchedFiles(entries: readonly Entry[], clean: Clean): Files {
  const paths = (action: ToolCall["action"]) => {
    const calls = entries.flatMap(({ tool }) => (tool?.action === action ? tool.paths : []));
    return [...new Set(calls.map(clean).filter((path) => path !== ""))];
  };
  return { read: paths("read"), modified: paths("edit") };
}

/** Returns the notes on a stretch of work, in no order. */
export function workNotes(entries: readonly Entry[], clean: Clean): Note[] {
  const failures = new Map<string, Command>();
  const results = new Map(
    entries.flatMap((entry) => (entry.kind === "result" ? [[entry.callId, entry]] : [])),
  );
  const causes: Note[] = [];
  const commits: Note[] = [];
  const edited = new Set<string>();
  let lastEdit: Entry | undefined;
  for (const entry of entries) {
    const { kind, tool, text, callId } = entry;
    if (kind === "assistant") causes.push(...causeNotes(entry, clean(text) === "" ? "" : text, clean));
    if (tool?.action !== "edit" && tool?.action !== "run") continue;
    const result = callId === undefined ? undefined : results.get(callId);
    const name = tool.action === "run" ? commandName(clean(tool.target)) : "";
    const files = tool.action === "edit" ? tool.paths.map((path) => baseName(clean(path))) : [];
    for (const failure of failures.values()) {
      if (!failure.isFixed && failure.name !== name)
        failure.after.add(name ? `ran \`${name}\`` : `edited ${files.join(", ")}`);
    }
    if (files.length > 0) lastEdit = entry;
    for (const file of files) edited.add(file);
    if (name === "") continue;
    if (hasFailed(tool.target, result)) {
      const known = failures.get(name);
      // The first failure's text stays while it is not fixed: later ones are the same or follow from it.
      if (!known || known.isFixed) {
        failures.set(name, {
          name,
          entry,
          error: clean(errorLine(result?.text ?? "")),
          isFixed: false,
          after: new Set(),
        });
      }
      continue;
    }
    const failure = failures.get(name);
    if (failure && result) failure.isFixed = true;
    const message = commitMessage(tool.target);
    if (message) commits.push(noteAt(entry, 1, "yellow", `${DONE} Committed: ${clean(message)}`));
  }
  const more = edited.size > FILES_MAX ? ` and ${edited.size - FILES_MAX} more` : "";
  return [
    ...causes.slice(-KEPT_MAX),
    ...[...failures.values()].slice(-KEPT_MAX).map(failureNote),
    ...commits.slice(-KEPT_MAX),
    ...(lastEdit
      ? [noteAt(lastEdit, 3, "green", `Edited ${[...edited].slice(0, FILES_MAX).join(", ")}${more}`)]
      : []),
  ];
}

/** Notes a cause that an agent states, which no file shows again. */
function causeNotes(entry: Entry, text: string, clean: Clean): Note[] {
  return sentences(text)
    .filter(({ length }) => length >= CAUSE_CHARS.min && length <= CAUSE_CHARS.max)
    .filter(isFinding)
    .slice(0, 1)
    .map((sentence) => noteAt(entry, 2, "yellow", clean(sentence)));
}

function failureNote({ name, entry, error, isFixed, after }: Command): Note {
  const steps = [...after];
  const followed = [
    ...steps.slice(0, AFTER_MAX),
    ...(steps.length > AFTER_MAX ? [`${steps.length - AFTER_MAX} more steps`] : []),
    ...(isFixed ? ["it passed"] : []),
  ];
  const then = followed.length > 0 ? `; then ${followed.join(", ")}` : "";
  const note = noteAt(
    entry,
    isFixed ? 2 : 1,
    "yellow",
    `${isFixed ? `${DONE} ` : ""}\`${name}\` failed: ${error}${then}`,
  );
  return { ...note, draft: { ...note.draft, subject: `run ${name}` } };
}

function noteAt({ line, at }: Entry, rank: Note["rank"], priority: Priority, text: string): Note {
  return { rank, draft: { at: at ?? null, priority, text, sources: [line] } };
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) || path;
}

/** A command that only looks: finding nothing is no failure of the work. */
const LOOKING =
  /^(?:sudo )?(?:e?grep|rg|ag|ls|find|fd|cat|head|tail|sed -n|wc|which|type|test|\[|diff|echo|printf|pwd|stat|file|tree|jq|awk|sort|git (?:status|diff|log|show|branch|ls-files|grep|blame))\b/;

/** Says failure of a command whose exit code a pipe hides. */
const FAILED =
  /exit(?:ed)?(?: with)?(?: code| status)?:? [1-9]\d*\b|\b[1-9]\d* (?:fail(?:ed|ures?|ing)?|errors?)\b|^(?:FAIL|FAILED|npm ERR!|error(?:\[\w+\])?:|fatal:|Traceback)/im;

function hasFailed(command: string, result: Entry | undefined): boolean {
  if (LOOKING.test(commandName(command))) return false;
  const isPiped = /\|\s*(?:tail|head|grep|tee)\b/.test(command);
  return outcomeOf(result) === "failed" || (isPiped && FAILED.test(result?.text.slice(-4000) ?? ""));
}

/** Returns a command on one short line, without the directory change and variables before it and the pipe after it. */
function commandName(command: string): string {
  const first = command
    .slice(0, READ_CHARS.command)
    .trim()
    .replace(/^(?:cd\s+(?:"[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*)+/, "")
    .replace(/^(?:[A-Z_][A-Z0-9_]*=\S*\s+)+/, "")
    .replace(/(?:\s*(?:2>&1|2>\/dev\/null|\|\s*(?:head|tail|cat|tee|grep)\b.*))+\s*$/s, "");
  return truncate((first.split("\n")[0] ?? "").replace(/\s+/g, " ").trim(), COMMAND_CHARS);
}

const ERROR_LINE =
  /\b(?:\w*error|fail(?:ed|ure)?|\w*exception|fatal|panic|cannot|can't|could not|not found|denied|refused|conflict|invalid|missing|no such)\b/i;
/** Frames an error without describing it. */
const FRAME =
  /^(?:[=_*#~-]{3,}|exit code|command exited|process exited|traceback|at |\^|file "|npm err! (?:code|errno|a complete|path)|<\/?|(?:hint|note|tip|help):)/i;

/** Returns the line of an output that says what went wrong: of a trace the last. */
function errorLine(output: string): string {
  const end = output.slice(-READ_CHARS.output);
  const lines = end.split("\n").map((line) => line.trim());
  const telling = lines.filter((line) => /\p{L}/u.test(line) && !FRAME.test(line));
  const isTrace = /^\s*Traceback/m.test(end);
  const found = (isTrace ? undefined : telling.find((line) => ERROR_LINE.test(line))) ?? telling.at(-1);
  return truncate(found ?? "no output", ERROR_CHARS);
}

/** Returns the message of a `git commit`. */
export function commitMessage(command: string): string | undefined {
  const start = command.slice(0, READ_CHARS.command);
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
