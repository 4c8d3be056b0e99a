/**
 * Observes without a model: the user's words, 🔴 where they decide, correct or forbid; what programs asked; failures and what
 * followed; causes that an agent states; commits and files. The same conversation and memory always give the same observations.
 */

import { decisionsIn, rulesIn } from "../account/decided.ts";
import { errorLines } from "../base/error-lines.ts";
import { folderName, listed, truncate } from "../base/text.ts";
import type { Done, Row, Said } from "../hosts/session.ts";
import {
  isAnswer,
  isCorrection,
  isFinding,
  pendingOffer,
  readReply,
  sentences,
  spokenText,
} from "../language/speech.ts";
import { commandKey } from "../transcripts/command-lines.ts";
import { exchangesIn } from "../transcripts/exchanges.ts";
import { findCommits, judgeCommand } from "../transcripts/outcome.ts";
import { isChange } from "../transcripts/rows.ts";
import {
  ASKED,
  asLine,
  COMMITTED,
  DONE,
  type Draft,
  excerpt,
  type Memory,
  openThreads,
  type StepNotes,
} from "./observations.ts";

/** Characters kept of each text: of a longer message its beginning and end. */
const CHARS = { message: 330, offer: 200, rule: 200, command: 80, error: 160 };
/** The most characters of a cause: a longer text is not a sentence. */
const CAUSE_CHARS = 240;
/** The most notes of each kind that are kept of one message or stretch of work, the last ones; and steps after a failure. */
const MOST = { rules: 3, notes: 3, files: 6, steps: 4 };
/** Characters read of an output, its end. */
const READ_CHARS = 20_000;

interface RuleContext {
  memory: Memory;
  /** The assistant's last words before these rows, where they are known. */
  earlier: string | undefined;
}

/** Observes rows by rule. */
export function observeByRule(rows: readonly Row[], { memory, earlier }: RuleContext): StepNotes {
  const open: (Draft & { id?: string })[] = [...openThreads(memory)];
  const closed = new Set<Draft & { id?: string }>();
  const drafts: Draft[] = [];
  let answer = earlier;
  let isFailing = false;
  for (const { items: part } of exchangesIn(rows)) {
    const [prompt] = part;
    if (prompt?.who === "user") {
      const said = promptDrafts(prompt, answer);
      const own = open.filter(({ text }) => text.startsWith(ASKED) === (prompt.typed === false));
      if (settles(prompt, { answer, isFailing })) for (const thread of own) closed.add(thread);
      open.push(...said.filter(({ thread }) => thread));
      drafts.push(...said);
      answer = undefined;
    }
    const work = workNotes(part);
    drafts.push(...work.notes.toSorted(byLine));
    if (part.some(({ who }) => who !== "user")) [answer, isFailing] = [lastWords(part) ?? "", work.isFailing];
    if (work.hasCommitted) for (const thread of open.filter(asksToCommit)) closed.add(thread);
  }
  return {
    drafts,
    settled: new Set(drafts.filter((draft) => closed.has(draft))),
    closes: [...closed].flatMap(({ id }) => id ?? []),
  };
}

function byLine(a: Draft, b: Draft): number {
  return (a.sources[0] ?? 0) - (b.sources[0] ?? 0);
}

/** Returns the observations of a user's message that an observer left out, as the answer to what came before it. */
export function observePrompt(prompt: Said, rows: readonly Row[]): Draft[] {
  return promptDrafts(prompt, lastWords(rows.filter(({ line }) => line < prompt.line)));
}

/** Returns the last that an assistant said. */
function lastWords(rows: readonly Row[]): string | undefined {
  return rows.findLast((row): row is Said => row.who === "assistant")?.text;
}

interface Before {
  /** The assistant's last words before a message; undefined where nobody worked on what was asked for. */
  answer: string | undefined;
  /** True if a command failed last. */
  isFailing: boolean;
}

/** Returns whether a message ends what was asked for before: by another request, or by thanks for work that went well. */
function settles({ text, isAnswer: isChosen }: Said, { answer, isFailing }: Before): boolean {
  if (answer === undefined || isChosen) return false; // an answer to a dialog belongs to what goes on
  const reply = readReply(text);
  if (reply === "goesOn" || isCorrection(text) || (reply !== undefined && isFailing)) return false;
  const offer = pendingOffer(answer);
  return offer === undefined || (reply === undefined && !isAnswer(text, offer));
}

/** Asks for a commit and nothing else: that one was made settles it. */
const COMMIT_ALONE =
  /^(?:User|Asked): (?:(?:ok(?:ay)?|yes|now|please|then|great|and|git|just|add|commit|it|this|that|them|everything|all|of|the|your|these|changes?|work|files?)(?:[\s,.!]+|$))+$/i;

function asksToCommit({ text }: Draft): boolean {
  return /\bcommit\b/i.test(text) && COMMIT_ALONE.test(text);
}

function promptDrafts(prompt: Said, answer = ""): Draft[] {
  const whole = asLine(prompt.text);
  if (whole === "") return [];
  const text = excerpt(whole, CHARS.message);
  if (prompt.typed === false) return [{ ...draftAt(prompt, "yellow", `${ASKED}${text}`), thread: true }];
  const isShort = text === whole;
  const offer = pendingOffer(answer);
  const reply = readReply(prompt.text);
  if (reply === "thanks" || (reply && !offer)) return [draftAt(prompt, "green", `User: ${text}`)];
  const isAnswering = offer !== undefined && (reply !== undefined || isAnswer(prompt.text, offer));
  const to = isAnswering ? ` (to: ${excerpt(asLine(offer), CHARS.offer)})` : "";
  const rules = rulesIn(prompt).map((rule) => rule.text);
  const isDecided = rules.length > 0 || decisionsIn(prompt, undefined).length > 0;
  const isTold = isAnswering || isDecided || isCorrection(prompt.text);
  const draft = draftAt(prompt, isTold ? "red" : "yellow", `User: ${text}${to}`);
  if (isShort && rules.length > 0) draft.rule = true;
  // A word alone ("start"), an assent and an answer ask for nothing further, and a rule for nothing now.
  const asks = !reply && !prompt.isAnswer && whole.includes(" ");
  const said = sentences(spokenText(prompt.text)).filter((sentence) => !readReply(sentence));
  if (asks && rules.length < Math.max(said.length, 1)) draft.thread = true;
  const cut = new Set(isShort ? [] : rules.map((rule) => excerpt(asLine(rule), CHARS.rule)));
  const hidden = [...cut].filter((rule) => !text.includes(rule)).slice(0, MOST.rules);
  const inside = (rule: string): Draft => ({
    ...draftAt(prompt, "red", `User, in the same message: ${rule}`),
    rule: true,
  });
  return [draft, ...hidden.map(inside)];
}

/** A command that failed, the first time since it last passed. */
interface FailedRun {
  /** Its first words. */
  name: string;
  row: Row;
  error: string;
  /** The steps after it. */
  after: Set<string>;
  isFixed: boolean;
}

interface Work {
  /** In no order. */
  notes: Draft[];
  /** True if a command failed and did not pass since. */
  isFailing: boolean;
  hasCommitted: boolean;
}

/** Returns the notes on a stretch of work. */
function workNotes(rows: readonly Row[]): Work {
  const failures = new Map<string, FailedRun>();
  const [causes, commits]: [Draft[], Draft[]] = [[], []];
  const edited = new Set<string>();
  let lastEdit: Row | undefined;
  /** Notes a step with the failures before it that are still open. */
  const follow = (step: string, command?: string) => {
    for (const [other, { after, isFixed }] of failures) if (!isFixed && other !== command) after.add(step);
  };
  for (const row of rows) {
    // No file shows a cause again.
    if (row.who === "assistant") causes.push(...statedCause(row));
    if (row.who !== "tool") continue;
    const { kind, target, paths } = row;
    const names = isChange(row) ? paths.map((path) => asLine(folderName(path))) : [];
    if (names.length > 0) {
      for (const name of names) edited.add(name);
      lastEdit = row;
      follow(`edited ${names.join(", ")}`);
    }
    if (kind !== "command") continue;
    const { verdict, why, isLooking } = judgeCommand(row);
    for (const subject of findCommits(row))
      commits.push(draftAt(row, "yellow", `${COMMITTED}${asLine(subject)}`));
    if (verdict === "stopped") continue;
    const command = commandKey(target);
    const name = truncate(command, CHARS.command);
    follow(`ran \`${name}\``, command);
    const known = failures.get(command);
    if (known && verdict === "passed") known.isFixed = true;
    if (verdict !== "failed" || isLooking || (known && !known.isFixed)) continue;
    const error = truncate(asLine(describeFailure(row, why)), CHARS.error);
    failures.set(command, { name, row, error, after: new Set(), isFixed: false });
  }
  const failed = [...failures.values()].map(failureDraft);
  const notes = [causes, failed, commits].flatMap((drafts) => drafts.slice(-MOST.notes));
  if (lastEdit) notes.push(draftAt(lastEdit, "green", `Edited ${listed([...edited], MOST.files)}`));
  const isFailing = [...failures.values()].some(({ isFixed }) => !isFixed);
  return { notes, isFailing, hasCommitted: commits.length > 0 };
}

/** Returns the first cause that an agent's message states. */
function statedCause(row: Said): Draft[] {
  const cause = sentences(row.text).find((sentence) => sentence.length <= CAUSE_CHARS && isFinding(sentence));
  return cause === undefined ? [] : [draftAt(row, "yellow", asLine(cause))];
}

function failureDraft({ name, row, error, after, isFixed }: FailedRun): Draft {
  const steps = after.size > 0 ? [listed([...after], MOST.steps)] : [];
  const followed = [...steps, ...(isFixed ? ["it passed"] : [])].join(", ");
  const text = `${isFixed ? `${DONE} ` : ""}\`${name}\` failed: ${error}${followed && `; then ${followed}`}`;
  return { ...draftAt(row, "yellow", text), subject: `run ${name}` };
}

function draftAt({ line, at }: Row, priority: Draft["priority"], text: string): Draft {
  return { at: at ?? null, priority, text, sources: [line] };
}

/** A longer line of an output is data. */
const LINE_CHARS = 400;

/**
 * Returns the line of a failing command's output that names the error; where the host does not say that it failed, the one that
 * says so, since an error may be one that was handled.
 */
function describeFailure({ outcome, result }: Done, why: string | undefined): string {
  if (why !== undefined && outcome !== "failed") return why;
  const reading = { max: 1, maxChars: LINE_CHARS, orAll: true };
  return errorLines(result.slice(-READ_CHARS), reading)[0] ?? why ?? "no output";
}
