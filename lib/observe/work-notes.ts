/** What an agent did between two user messages: causes it found, failures and what followed, commits, files. */

import { truncate } from "../base/text.ts";
import { isFinding, sentences } from "../language/speech.ts";
import { outcomeOf } from "../transcripts/calls.ts";
import { errorLines } from "../transcripts/error-lines.ts";
import type { Entry, ToolCall } from "../transcripts/session.ts";
import { type Step, stepsOf } from "../transcripts/steps.ts";
import { commitMessage } from "../transcripts/tool-call.ts";
import { DONE, type Draft, type Files, type Priority } from "./observations.ts";

type Clean = (text: string) => string;

/** Of causes, failures and commits so many are kept of a stretch of work: the last ones, which hold. */
const KEPT_MAX = 3;
const FILES_MAX = 6;
/** Steps named that followed a failure. */
const AFTER_MAX = 4;
const CAUSE_CHARS = { min: 20, max: 240 };
const COMMAND_CHARS = 80;
const ONE_LINE = { max: 1, maxChars: 160, orAll: true };
/** Of a script pasted into a command the beginning is read; of what a command printed, the end. */
const READ_CHARS = { command: 4000, output: 20_000 };

/** A command that failed, the first time since it last passed. */
interface Failure {
  entry: Entry;
  error: string;
  /** What was done after it. */
  after: Set<string>;
  isFixed: boolean;
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
export function workNotes(entries: readonly Entry[], clean: Clean): Draft[] {
  const failures = new Map<string, Failure>();
  const [causes, commits]: [Draft[], Draft[]] = [[], []];
  const edits: Entry[] = [];
  for (const step of stepsOf(entries)) {
    const { entry, result } = step;
    if (entry.kind === "assistant") causes.push(...causesIn(entry, clean));
    const { action, target = "", paths = [] } = entry.tool ?? {};
    if (action === "edit" && paths.length > 0) {
      edits.push(entry);
      noteStep(failures, `edited ${paths.map((path) => clean(baseName(path))).join(", ")}`);
    }
    if (action !== "run") continue;
    const name = commandName(clean(target));
    noteStep(failures, `ran \`${name}\``, name);
    const known = failures.get(name);
    if (hasFailed(step)) {
      const [line = "no output"] = errorLines(result?.text.slice(-READ_CHARS.output) ?? "", ONE_LINE);
      const error = clean(line);
      if (!known || known.isFixed) failures.set(name, { entry, error, after: new Set(), isFixed: false });
    } else {
      if (known && result) known.isFixed = true;
      const message = commitMessage(target);
      if (message) commits.push(draftAt(entry, "yellow", `${DONE} Committed: ${clean(message)}`));
    }
  }
  const failed = [...failures].map(([name, failure]) => failureDraft(name, failure));
  return [causes, failed, commits]
    .flatMap((drafts) => drafts.slice(-KEPT_MAX))
    .concat(editDrafts(edits, clean));
}

/** Notes a step with the failures before it that are still open. */
function noteStep(failures: ReadonlyMap<string, Failure>, step: string, command?: string): void {
  for (const [name, { after, isFixed }] of failures) if (!isFixed && name !== command) after.add(step);
}

/** Returns the first cause that an agent's message states: no file shows it again. */
function causesIn(entry: Entry, clean: Clean): Draft[] {
  const cause = sentences(entry.text).find(
    (sentence) =>
      sentence.length >= CAUSE_CHARS.min && sentence.length <= CAUSE_CHARS.max && isFinding(sentence),
  );
  return cause === undefined ? [] : [draftAt(entry, "yellow", clean(cause))];
}

function failureDraft(name: string, { entry, error, after, isFixed }: Failure): Draft {
  const steps = [...after];
  const followed = [
    ...steps.slice(0, AFTER_MAX),
    ...(steps.length > AFTER_MAX ? [`${steps.length - AFTER_MAX} more steps`] : []),
    ...(isFixed ? ["it passed"] : []),
  ];
  const then = followed.length > 0 ? `; then ${followed.join(", ")}` : "";
  const text = `${isFixed ? `${DONE} ` : ""}\`${name}\` failed: ${error}${then}`;
  return { ...draftAt(entry, "yellow", text), subject: `run ${name}` };
}

function editDrafts(edits: readonly Entry[], clean: Clean): Draft[] {
  const last = edits.at(-1);
  const files = [
    ...new Set(edits.flatMap(({ tool }) => tool?.paths ?? []).map((path) => clean(baseName(path)))),
  ];
  const more = files.length > FILES_MAX ? ` and ${files.length - FILES_MAX} more` : "";
  return last ? [draftAt(last, "green", `Edited ${files.slice(0, FILES_MAX).join(", ")}${more}`)] : [];
}

function draftAt({ line, at }: Entry, priority: Priority, text: string): Draft {
  return { at: at ?? null, priority, text, sources: [line] };
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) || path;
}

/** A command that only looks: finding nothing is no failure of the work. */
const LOOKING =
  /^(?:sudo )?(?:e?grep|rg|ag|ls|find|fd|cat|head|tail|sed -n|wc|which|type|test|\[|diff|echo|printf|pwd|stat|file|tree|jq|awk|sort|git (?:status|diff|log|show|branch|ls-files|grep|blame))\b/;

/** Says failure of a command whose exit code a pipe hides. */
const FAILED = /\b[1-9]\d* (?:fail(?:ed|ures?|ing)?|errors?)\b|^(?:FAIL|npm ERR!|error\b|fatal:|Traceback)/im;

function hasFailed({ entry, result }: Step): boolean {
  const command = entry.tool?.target ?? "";
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
