/**
 * Observes without a model: the user's words, 🔴 where they decide, correct or forbid; failures and what followed; causes
 * that an agent states; commits and files. The same conversation and memory always give the same observations.
 */

import { truncate } from "../base/text.ts";
import {
  isAnswer,
  isCorrection,
  isDecision,
  isFinding,
  isRule,
  pendingQuestion,
  replyOf,
  sentences,
  spokenText,
} from "../language/speech.ts";
import { contentWords } from "../language/words.ts";
import { outcomeOf } from "../transcripts/calls.ts";
import { errorLines } from "../transcripts/error-lines.ts";
import type { Entry, ToolCall } from "../transcripts/session.ts";
import { type Step, stepsOf } from "../transcripts/steps.ts";
import { commitMessage } from "../transcripts/tool-call.ts";
import {
  DONE,
  type Draft,
  type Files,
  type Memory,
  type Observation,
  openThreads,
  type Priority,
} from "./observations.ts";
import { excerpt, type StepNotes } from "./observe-step.ts";

/**
 * Characters kept: of a message up to the first word for word, of a longer one its beginning and end; a longer answer says
 * itself what it is about; of a host's summary more, since nothing else is left of what it says.
 */
const CHARS = { verbatim: 300, long: 330, offer: 200, answer: 80, rule: 200, summary: 1500, command: 80 };
/** So many are kept of one message or stretch of work, the last ones, which hold; and steps named after a failure. */
const MOST = { rules: 3, lines: 30, notes: 3, files: 6, steps: 4 };

type Clean = (text: string) => string;

interface RuleContext {
  memory: Memory;
  /** Redacts a text and puts it on one line. */
  clean: Clean;
  /** The assistant's last words before these entries, where they are known. */
  earlier: string | undefined;
}

/** Observes entries by rule. */
export function observeByRule(entries: readonly Entry[], { memory, clean, earlier }: RuleContext): StepNotes {
  const open: (Draft | Observation)[] = [...openThreads(memory)];
  const closed = new Set<Draft | Observation>();
  const drafts: Draft[] = [];
  let answer = earlier ?? (memory.coversTo > 0 ? "" : undefined);
  for (const { prompt, work } of parts(entries)) {
    const said = prompt ? promptDrafts(prompt, { answer, clean }) : [];
    if (prompt) {
      if (settles(prompt.text, answer)) for (const thread of open.splice(0)) closed.add(thread);
      open.push(...said.filter(({ thread }) => thread));
      answer = undefined;
    }
    const isLost = memory.observations.length === 0 && drafts.length === 0 && !prompt;
    const summaries = work.flatMap((entry) => summaryDrafts(entry, { memory, clean, isLost }));
    drafts.push(
      ...said,
      ...[...summaries, ...workNotes(work, clean)].toSorted((a, b) => lineOf(a) - lineOf(b)),
    );
    if (work.length > 0) answer = lastWords(work) ?? "";
  }
  return {
    drafts,
    settled: new Set(drafts.filter((draft) => closed.has(draft))),
    closes: [...closed].flatMap((thread) => ("id" in thread ? [thread.id] : [])),
  };
}

function lineOf({ sources }: Draft): number {
  return sources[0] ?? 0;
}

/** Returns the observations of a user's message that an observer left out, as the answer to what came before it. */
export function observePrompt(prompt: Entry, entries: readonly Entry[], clean: Clean): Draft[] {
  return promptDrafts(prompt, { answer: lastWords(entries.filter(({ line }) => line < prompt.line)), clean });
}

/** Returns the last that an assistant said. */
export function lastWords(entries: readonly Entry[]): string | undefined {
  return entries.findLast(({ kind }) => kind === "assistant")?.text;
}

/** Returns each user message with the work on it; the first part may go on with what was asked for before. */
function parts(entries: readonly Entry[]): { prompt?: Entry; work: Entry[] }[] {
  const found: { prompt?: Entry; work: Entry[] }[] = [];
  for (const entry of entries) {
    if (entry.kind === "user") found.push({ prompt: entry, work: [] });
    else if (found.length === 0) found.push({ work: [entry] });
    else found.at(-1)?.work.push(entry);
  }
  return found;
}

/** Returns whether a new message shows that what was asked for before is done. */
function settles(text: string, answer: string | undefined): boolean {
  if (answer === undefined) return false; // nobody worked on it yet
  const reply = replyOf(text);
  if (reply === "thanks") return true;
  return reply !== "goesOn" && !isCorrection(text) && pendingQuestion(answer) === undefined;
}

function promptDrafts(
  { text: words, at, line }: Entry,
  { answer, clean }: { answer: string | undefined; clean: Clean },
): Draft[] {
  const whole = clean(words);
  if (whole === "") return [];
  const isShort = [...whole].length <= CHARS.verbatim;
  const text = isShort ? whole : excerpt(whole, CHARS.long);
  const draft = (said: Pick<Draft, "priority" | "text"> & Partial<Draft>): Draft => ({
    ...{ at: at ?? null, sources: [line] },
    ...said,
  });
  const offer = answer === undefined ? undefined : pendingOffer(answer);
  const reply = replyOf(words);
  if (reply === "thanks" || (reply && !offer)) return [draft({ priority: "green", text: `User: ${text}` })];
  const isAnswering =
    offer !== undefined && words.length <= CHARS.answer && (reply || isAnswer(words, offer));
  const to = isAnswering ? ` (to: ${excerpt(clean(offer), CHARS.offer)})` : "";
  const said = reply ? [] : sentences(spokenText(words));
  const rules = said.filter(isRule);
  const isTold = isAnswering || rules.length > 0 || said.some(isDecision) || isCorrection(words);
  const prompt = draft({ priority: isTold ? "red" : "yellow", text: `User: ${text}${to}` });
  if (isShort && rules.length > 0) prompt.rule = true;
  // A word alone ("start") and an assent ask for nothing further, and a rule for nothing now.
  if (!reply && whole.includes(" ") && rules.length < Math.max(said.length, 1)) prompt.thread = true;
  const cut = isShort ? [] : rules.map((rule) => excerpt(clean(rule), CHARS.rule));
  const hidden = [...new Set(cut)].filter((rule) => !text.includes(rule)).slice(0, MOST.rules);
  return [
    prompt,
    ...hidden.map((rule) =>
      draft({ priority: "red", rule: true, text: `User, in the same message: ${rule}` }),
    ),
  ];
}

/** Returns the question that a text ends with, after what it proposed where the question alone does not say that. */
function pendingOffer(text: string): string | undefined {
  const question = pendingQuestion(text);
  if (question === undefined || (contentWords(question).length > 1 && !/^or\b/i.test(question)))
    return question;
  const before = sentences(text.slice(0, text.lastIndexOf(question))).at(-1);
  return before === undefined ? question : `${before} ${question}`;
}

/** Matches the beginning of pi's summary of an abandoned branch. */
const BRANCH_SUMMARY = /^The user explored a different conversation branch/;

/** Returns what a summary adds to the ledger: our own lines of an abandoned branch, or what a host says of lost history. */
function summaryDrafts(
  { kind, text, at, line }: Entry,
  { memory, clean, isLost }: { memory: Memory; clean: Clean; isLost: boolean },
): Draft[] {
  if (kind !== "summary") return [];
  const said = { at: at ?? null, sources: [line] };
  const ours = [...text.matchAll(/^- (🔴|🟡) (?:\(\d\d:\d\d\) )?(.+) \[(\w{6})\]$/gmu)];
  const lost = ours.filter(([, , , id = ""]) => !memory.history.has(id)).slice(0, MOST.lines);
  if (lost.length > 0) {
    return lost.map(([, mark, words = ""]) => ({
      ...said,
      ...{ priority: mark === "🔴" ? "red" : "yellow", text: `Before: ${clean(words)}` },
    }));
  }
  if (!(isLost || BRANCH_SUMMARY.test(text)) || text.includes("## Observations")) return [];
  const body = /^\s*(?:<summary>|summary(?: of that exploration)?:)\s*$([\s\S]+)/im.exec(text)?.[1] ?? text;
  const history = excerpt(clean(body.replace(INSTRUCTIONS, "")), CHARS.summary);
  return [{ ...said, priority: "yellow", text: `Before, as summarised: ${history}` }];
}

/** What a host's summary tells the model that goes on. */
const INSTRUCTIONS =
  /\n(?:<\/summary>|If you need specific details from before compaction|(?:Please )?continue the conversation from where)[\s\S]*$/i;

const CAUSE_CHARS = { min: 20, max: 240 };
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
function workNotes(entries: readonly Entry[], clean: Clean): Draft[] {
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
    .flatMap((drafts) => drafts.slice(-MOST.notes))
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
    ...steps.slice(0, MOST.steps),
    ...(steps.length > MOST.steps ? [`${steps.length - MOST.steps} more steps`] : []),
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
  const more = files.length > MOST.files ? ` and ${files.length - MOST.files} more` : "";
  return last ? [draftAt(last, "green", `Edited ${files.slice(0, MOST.files).join(", ")}${more}`)] : [];
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
  return truncate((first.split("\n")[0] ?? "").replace(/\s+/g, " ").trim(), CHARS.command);
}
