/** Notes what an agent did between two user messages: decisions, failures and what followed, commits, commands, files. */

import { truncate } from "../base/text.ts";
import { isDecision, isFinding, sentences } from "../language/speech.ts";
import type { Entry, ToolCall } from "../transcripts/session.ts";
import { DONE, type Draft, type Files, type Priority } from "./observations.ts";

/** At most so many of each are listed; `after`: steps that followed a failure. */
const MAX = { decisions: 2, failures: 3, commits: 3, commands: 5, files: 6, after: 4 };
const DECISION_CHARS = { min: 20, max: 240 };

/** Matches what an agent is about to do or leaves to the user: neither done nor decided. */
const PLAN =
  /^(?:(?:now|then|please|next),? )?(?:i(?:['’]ll| will| should| need to| can| could|['’]m going to| am going to)\b|let me\b|let['’]s\b|(?:try|run|bump|restart|ready|if|once|to)\b)/i;

/** Returns whether an agent's words announce what is to come. */
export function isPlan(text: string): boolean {
  return PLAN.test(text);
}

/** A draft of an observation, and how early it is dropped for want of room: 4 first, 1 last. */
export interface Note {
  draft: Draft;
  rank: number;
}

/** One command, however often it ran. */
interface Command {
  name: string;
  runs: number;
  /** Its first run. */
  entry: Entry;
  /** What its latest failure said. */
  failure?: { text: string; entry: Entry };
  isFixed: boolean;
  total: string;
  /** What was done after it failed. */
  after: string[];
  commit: string | undefined;
  isNotable: boolean;
}

type Clean = (text: string) => string;

/** Returns the files that were read and modified. */
export function touchedFiles(entries: readonly Entry[], clean: Clean): Files {
  const paths = (action: ToolCall["action"]) => {
    const calls = entries.flatMap(({ tool }) => (tool?.action === action ? tool.paths : []));
    return [...new Set(calls.map(clean).filter((path) => path !== ""))];
  };
  return { read: paths("read"), modified: paths("edit") };
}

/** Returns the notes on a stretch of work. */
export function workNotes(entries: readonly Entry[], clean: Clean): Note[] {
  const commands = new Map<string, Command>();
  const waiting = new Map<string | undefined, Entry>();
  const edited = new Set<string>();
  let lastEdit: Entry | undefined;
  const notes: Note[] = [];
  for (const entry of entries) {
    const { kind, tool, callId } = entry;
    if (kind === "assistant") notes.push(...decisionNotes(entry, clean));
    if (kind === "tool" && tool) {
      waiting.set(callId, entry);
      followUp(commands, tool, clean);
      if (tool.action === "edit" && tool.paths.length > 0) {
        lastEdit = entry;
        for (const path of tool.paths) edited.add(baseName(clean(path)));
      }
    }
    if (kind === "result") {
      const call = waiting.get(callId);
      waiting.delete(callId);
      if (call) recordRun(commands, { call, result: entry, clean });
    }
  }
  for (const call of waiting.values()) recordRun(commands, { call, result: undefined, clean });
  return [
    ...notes.slice(-MAX.decisions),
    ...commandNotes([...commands.values()]),
    ...listNotes(lastEdit, {
      rank: 3,
      verb: "Edited",
      shown: [...edited].slice(0, MAX.files),
      all: edited.size,
    }),
  ];
}

function decisionNotes(entry: Entry, clean: Clean): Note[] {
  return sentences(entry.text)
    .filter(({ length }) => length >= DECISION_CHARS.min && length <= DECISION_CHARS.max)
    .filter((sentence) => (isDecision(sentence) && !isPlan(sentence)) || isFinding(sentence))
    .slice(0, 1)
    .map((sentence) => noteAt(entry, { rank: 2, priority: "yellow", text: clean(sentence) }));
}

/** Notes a call as a step that followed the failures before it. */
function followUp(commands: ReadonlyMap<string, Command>, tool: ToolCall, clean: Clean): void {
  if (tool.action !== "edit" && tool.action !== "run") return;
  const name = tool.action === "run" ? commandName(clean(tool.target)) : undefined;
  const files = [...new Set(tool.paths.map(baseName))].map(clean).join(", ");
  const step = name === undefined ? `edited ${files || "a file"}` : `ran \`${name}\``;
  for (const command of commands.values()) {
    if (!command.failure || command.isFixed || command.name === name || command.after.includes(step))
      continue;
    command.after.push(step);
  }
}

function recordRun(
  commands: Map<string, Command>,
  { call: entry, result, clean }: { call: Entry; result: Entry | undefined; clean: Clean },
): void {
  const target = entry.tool?.target ?? "";
  const name = commandName(clean(target));
  if (entry.tool?.action !== "run" || name === "" || isLooking(target)) return;
  const command: Command = commands.get(name) ?? {
    ...{ name, entry, runs: 0, isFixed: false, total: "", after: [], commit: undefined },
    isNotable: isNotable(target),
  };
  commands.set(name, command);
  command.runs++;
  const output = result?.text ?? "";
  if (result && hasFailed(output, { isError: result.isError === true, command: target })) {
    // The first failure's text stays while it is not fixed: the later ones are the same or follow from it.
    if (!command.failure || command.isFixed) {
      command.failure = { text: clean(errorLine(output)), entry };
      command.after = [];
    }
    command.isFixed = false;
    return;
  }
  if (result) command.isFixed = true;
  command.total = clean(totalLine(output));
  const message = commitMessage(target);
  command.commit = message === undefined ? undefined : clean(message);
}

function commandNotes(commands: readonly Command[]): Note[] {
  const failed = commands.filter(({ failure }) => failure).slice(-MAX.failures);
  const commits = commands.filter(({ commit, failure, isFixed }) => commit && (!failure || isFixed));
  const fine = commands.filter(({ failure, commit, isNotable }) => !failure && !commit && isNotable);
  const shown = fine
    .slice(-MAX.commands)
    .map(({ name, runs, total }) => `\`${name}\`${runs > 1 ? ` ×${runs}` : ""}${total ? ` (${total})` : ""}`);
  return [
    ...failed.map(failureNote),
    ...commits
      .slice(-MAX.commits)
      .map(({ entry, commit }) =>
        noteAt(entry, { rank: 1, priority: "yellow", text: `${DONE} Committed: ${commit}` }),
      ),
    ...listNotes(fine.at(-1)?.entry, { rank: 4, verb: "Ran", shown, all: fine.length }),
  ];
}

function failureNote({ name, entry, failure, isFixed, after }: Command): Note {
  const more = after.length - MAX.after;
  const followed = [
    ...after.slice(0, MAX.after),
    ...(more > 0 ? [`${more} more steps`] : []),
    ...(isFixed ? ["it passed"] : []),
  ];
  const then = followed.length > 0 ? `; then ${followed.join(", ")}` : "";
  const text = `${isFixed ? `${DONE} ` : ""}\`${name}\` failed: ${failure?.text}${then}`;
  const note = noteAt(failure?.entry ?? entry, { rank: isFixed ? 3 : 1, priority: "yellow", text });
  return { ...note, draft: { ...note.draft, subject: `run ${name}` } };
}

/** Returns a note that lists some of all; none where there is nothing to list. */
function listNotes(
  last: Entry | undefined,
  { rank, verb, shown, all }: { rank: number; verb: string; shown: readonly string[]; all: number },
): Note[] {
  const more = all - shown.length;
  const text = `${verb} ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return last ? [noteAt(last, { rank, priority: "green", text })] : [];
}

function noteAt(
  { line, at }: Entry,
  { rank, ...said }: { rank: number; priority: Priority; text: string },
): Note {
  return { rank, draft: { at: at ?? null, sources: [line], ...said } };
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) || path;
}

const CHARS = { command: 80, line: 160, commit: 100, total: 60 };
/** Of a script pasted into a command the beginning is read; of what a command printed, the end. */
const READ_CHARS = { command: 4000, output: 20_000 };

/** Commands whose ending is a fact of the project: tests, builds, releases, version control. */
const NOTABLE =
  /\b(?:tests?|spec|jest|vitest|pytest|mocha|playwright|check|lint|eslint|biome|ruff|mypy|tsc|typecheck|build|compile|make|cmake|cargo|gradle|mvn|dotnet|deploy|publish|release|migrate|migration|docker|kubectl|terraform|helm|systemctl|install|npm (?:i|ci|run)|git (?:commit|push|merge|rebase|tag|revert|reset|cherry-pick|stash))\b/;

const LOOKING =
  /^(?:sudo )?(?:e?grep|rg|ag|ls|find|fd|cat|bat|head|tail|sed -n|wc|which|type|test|\[|diff|echo|printf|pwd|stat|file|tree|du|df|jq|awk|sort|mkdir|cp|mv|touch|git (?:status|diff|log|show|branch|ls-files|grep|blame))\b/;

const FAILED =
  /(?:exited with code|exit(?:ed)?(?: code| status)?:?|returned) [1-9]\d*|\b[1-9]\d* (?:fail(?:ed|ures?|ing)?|errors?)\b|^(?:FAIL|FAILED|npm ERR!|error(?:\[\w+\])?:|fatal:|Traceback)/im;

/** Words that name a failure, and words that may. */
const STRONG_ERROR = /\b(?:\w*error|failed|failure|\w*exception|fatal|panic|FAIL)\b/i;
const ERROR_LINE =
  /error|fail|exception|cannot|can't|could not|couldn't|not found|denied|refused|rejected|ignored|conflict|forbidden|fatal|panic|unexpected|undefined|invalid|missing|timed? ?out|no such/i;

/** Matches lines that frame an error without describing it. */
const FRAME =
  /^(?:[=_*#~-]{3,}|exit code|command exited|process exited|traceback|at |\s*\^|file "|npm err! (?:code|errno|a complete|path)|<\/?|(?:hint|note|tip|help):|please report|(?:use|run|try|see) .*(?:--help|for (?:more|options|details)))/i;

const TOTAL = /\b\d+ (?:pass(?:ed|ing)?|tests?|fail(?:ed|ing|ures?)?|errors?|warnings?|files?)\b[^\n]{0,60}/i;

/** Returns a command on one short line, without the directory change and variables before it. */
export function commandName(command: string): string {
  const first = command
    .slice(0, READ_CHARS.command)
    .trim()
    .replace(/^(?:cd\s+(?:"[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*)+/, "")
    .replace(/^(?:[A-Z_][A-Z0-9_]*=\S*\s+)+/, "")
    .replace(/(?:\s*(?:2>&1|2>\/dev\/null|\|\s*(?:head|tail|cat|tee|grep)\b.*))+\s*$/s, "");
  const line = (first.split("\n")[0] ?? "").replace(/\s+/g, " ").trim();
  return truncate(line, CHARS.command);
}

/** Returns whether a command's outcome is worth keeping, judged by what it calls and not by its paths. */
export function isNotable(command: string): boolean {
  if (isLooking(command)) return false;
  return command
    .slice(0, READ_CHARS.command)
    .split(/&&|\|\||[;|\n]/)
    .some((part) => {
      const words = part.trim().replace(/^\.\//, "").split(/\s+/).slice(0, 5);
      return NOTABLE.test(words.filter((word) => !word.includes("/")).join(" "));
    });
}

/** Returns whether a command only looks: finding nothing is no failure of the work. */
function isLooking(command: string): boolean {
  return LOOKING.test(commandName(command));
}

/** Returns whether a command failed. */
export function hasFailed(
  output: string,
  { isError, command }: { isError: boolean; command: string },
): boolean {
  if (isError) return true;
  // Output of `cat` or `grep` may speak of anything.
  if (!isNotable(command)) return false;
  return FAILED.test(output.slice(-4000).replace(/\b0 (?:fail|error)\w*/gi, ""));
}

/** Returns the line of an output that says what went wrong. */
export function errorLine(output: string): string {
  const end = output.slice(-READ_CHARS.output);
  const lines = end
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /[\p{L}]/u.test(line) && !FRAME.test(line));
  const isTrace = /^[ \t]*Traceback/m.test(end);
  const line = isTrace
    ? lines.at(-1)
    : (lines.find((candidate) => STRONG_ERROR.test(candidate)) ??
      lines.find((candidate) => ERROR_LINE.test(candidate)) ??
      lines.at(-1));
  const next = line?.endsWith(":") ? lines[lines.indexOf(line) + 1] : undefined;
  return [line ?? "no output", ...(next ? [next] : [])]
    .join(" ")
    .slice(0, CHARS.line)
    .replace(/[\uD800-\uDBFF]$/, "");
}

/** Returns the last counts of an output, such as `12 pass, 0 fail`. */
export function totalLine(output: string): string {
  const counts = output.slice(-4000).match(new RegExp(TOTAL, "gi")) ?? [];
  const last = counts
    .slice(-2)
    .map((count) => count.replace(/[=_*#~-]{3,}.*/s, "").replace(/\s+/g, " "))
    .map((count) => count.replace(/^([^([]*?)[)\]]+$/, "$1").trim());
  return last.join(", ").length <= CHARS.total ? last.join(", ") : (last.at(-1) ?? "").slice(0, CHARS.total);
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
    ?.split(/\n| - | {2}|EOF/)[0]
    ?.trim()
    .slice(0, CHARS.commit);
}
