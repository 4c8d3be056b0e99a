/**
 * Observes without a model: the user's words, 🔴 where they decide, correct or forbid, and what was done. The same
 * conversation and memory always give the same observations.
 */

import {
  isAnswer,
  isCorrection,
  isDecision,
  isRule,
  pendingQuestion,
  replyOf,
  sentences,
  spokenText,
} from "../language/speech.ts";
import { estimateTokens } from "../language/tokens.ts";
import { contentWords } from "../language/words.ts";
import type { Entry } from "../transcripts/session.ts";
import { type Draft, type Memory, type Observation, openThreads } from "./observations.ts";
import { excerpt, type StepNotes } from "./observe-step.ts";
import { type Note, workNotes } from "./work-notes.ts";

/** Up to this length a user's message is kept word for word; of a longer one its beginning and end. */
const VERBATIM_CHARS = 300;
const LONG_CHARS = 330;
const OFFER_CHARS = 200;
/** A longer message says itself what it is about. */
const ANSWER_CHARS = 80;
const RULE_CHARS = 200;
const RULES_MAX = 3;
/** More than others: nothing else is left of what a host's summary says. */
const SUMMARY_CHARS = 1500;
const SUMMARY_LINES_MAX = 30;
/** Tokens of an observation's mark, time and id. */
const FRAME_TOKENS = 12;

type Clean = (text: string) => string;

interface RuleContext {
  memory: Memory;
  /** Redacts a text and puts it on one line. */
  clean: Clean;
  /** Tokens for what is not the user's own words. */
  budget: number;
  /** The assistant's last words before these entries, where they are known. */
  earlier: string | undefined;
}

/** Observes entries by rule. */
export function observeByRule(entries: readonly Entry[], context: RuleContext): StepNotes {
  const { memory, clean } = context;
  const open: (Draft | Observation)[] = [...openThreads(memory)];
  const closed = new Set<Draft | Observation>();
  const notes: Note[] = [];
  let answer = context.earlier ?? (memory.coversTo > 0 ? "" : undefined);
  for (const [index, { prompt, work }] of parts(withTimes(entries)).entries()) {
    const isFirst = index === 0 && memory.observations.length === 0;
    if (prompt) {
      if (settles(prompt.text, answer)) for (const thread of open.splice(0)) closed.add(thread);
      const said = promptNotes(prompt, { answer, clean });
      notes.push(...said);
      open.push(...said.map(({ draft }) => draft).filter(({ thread }) => thread));
      answer = undefined;
    }
    notes.push(
      ...work.flatMap((entry) => summaryNotes(entry, { memory, clean, isFirst: isFirst && !prompt })),
    );
    notes.push(...workNotes(work, clean));
    if (work.length > 0) answer = lastWords(work) ?? "";
  }
  const { kept, left } = withinBudget(notes, context.budget);
  const drafts = kept.map(({ draft }) => draft);
  return {
    drafts,
    settled: new Set(drafts.filter((draft) => closed.has(draft))),
    closes: [...closed].flatMap((thread) => ("id" in thread ? [thread.id] : [])),
    left,
  };
}

/** Returns the observations of a user's message that an observer left out, as the answer to what came before it. */
export function observePrompt(prompt: Entry, entries: readonly Entry[], clean: Clean): Draft[] {
  const answer = lastWords(entries.filter(({ line }) => line < prompt.line));
  return promptNotes(prompt, { answer, clean }).map(({ draft }) => draft);
}

/** Returns the last that an assistant said. */
export function lastWords(entries: readonly Entry[]): string | undefined {
  return entries.findLast(({ kind }) => kind === "assistant")?.text;
}

/** Gives rows without a time that of the row before them. */
function withTimes(entries: readonly Entry[]): Entry[] {
  let at: string | undefined;
  return entries.map((entry) => {
    at = entry.at ?? at;
    return entry.at === at ? entry : { ...entry, at };
  });
}

/** Returns each user message with the work on it; the first part may go on with what was asked for before. */
function parts(entries: readonly Entry[]): { prompt: Entry | undefined; work: Entry[] }[] {
  const found: { prompt: Entry | undefined; work: Entry[] }[] = [];
  for (const entry of entries) {
    if (entry.kind === "user") found.push({ prompt: entry, work: [] });
    else if (found.length === 0) found.push({ prompt: undefined, work: [entry] });
    else found.at(-1)?.work.push(entry);
  }
  return found;
}

/** Returns whether a new message shows that what was asked for before is done. */
function settles(text: string, answer: string | undefined): boolean {
  if (answer === undefined) return false; // nobody worked on it yet
  const reply = replyOf(text);
  if (reply === "thanks") return true;
  return reply !== "goes on" && !isCorrection(text) && pendingQuestion(answer) === undefined;
}

function promptNotes(
  { text: words, at, line }: Entry,
  { answer, clean }: { answer: string | undefined; clean: Clean },
): Note[] {
  const whole = clean(words);
  if (whole === "") return [];
  const isShort = [...whole].length <= VERBATIM_CHARS;
  const text = isShort ? whole : excerpt(whole, LONG_CHARS);
  const note = (draft: Pick<Draft, "priority" | "text"> & Partial<Draft>): Note => ({
    rank: 0,
    draft: { at: at ?? null, sources: [line], ...draft },
  });
  const offer = answer === undefined ? undefined : pendingOffer(answer);
  const reply = replyOf(words);
  if (reply === "thanks" || (reply && !offer)) return [note({ priority: "green", text: `User: ${text}` })];
  const isAnswering =
    offer !== undefined && words.length <= ANSWER_CHARS && (reply !== undefined || isAnswer(words, offer));
  const to = isAnswering ? ` (to: ${excerpt(clean(offer), OFFER_CHARS)})` : "";
  if (reply) return [note({ priority: "red", text: `User: ${text}${to}` })];
  const said = sentences(spokenText(words));
  const rules = said.filter(isRule);
  const isTold = isAnswering || rules.length > 0 || said.some(isDecision) || isCorrection(words);
  const draft: Parameters<typeof note>[0] = {
    priority: isTold ? "red" : "yellow",
    text: `User: ${text}${to}`,
  };
  if (isShort && rules.length > 0) draft.rule = true;
  // A word alone ("start") asks for nothing, and a rule for nothing now.
  if (whole.includes(" ") && !(rules.length > 0 && rules.length === said.length)) draft.thread = true;
  const cut = isShort ? [] : rules.map((rule) => excerpt(clean(rule), RULE_CHARS));
  const hidden = [...new Set(cut)].filter((rule) => !text.includes(rule)).slice(0, RULES_MAX);
  return [
    note(draft),
    ...hidden.map((rule) =>
      note({ priority: "red", rule: true, text: `User, in the same message: ${rule}` }),
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

/** Notes what a summary adds to the ledger: our own lines from an abandoned branch, or what a host says of lost history. */
function summaryNotes(
  { kind, text, at, line }: Entry,
  { memory, clean, isFirst }: Pick<RuleContext, "memory" | "clean"> & { isFirst: boolean },
): Note[] {
  if (kind !== "summary") return [];
  const said = { at: at ?? null, sources: [line] };
  const ours = [...text.matchAll(/^- (🔴|🟡) (?:\(\d\d:\d\d\) )?(.+) \[(\w{6})\]$/gmu)];
  const lost = ours.filter(([, , , id = ""]) => !memory.history.has(id)).slice(0, SUMMARY_LINES_MAX);
  if (lost.length > 0) {
    return lost.map(([, mark, words = ""]) => ({
      rank: mark === "🔴" ? 0 : 2,
      draft: { ...said, priority: mark === "🔴" ? "red" : "yellow", text: `Before: ${clean(words)}` },
    }));
  }
  if (!(isFirst || BRANCH_SUMMARY.test(text)) || text.includes("## Observations")) return [];
  const body = /^\s*(?:<summary>|summary(?: of that exploration)?:)\s*$([\s\S]+)/im.exec(text)?.[1] ?? text;
  // Instructions for the model that goes on are no history.
  const history = body.replace(
    /\n(?:<\/summary>|If you need specific details from before compaction|(?:Please )?continue the conversation from where)[\s\S]*$/i,
    "",
  );
  const words = `Before, as summarised: ${excerpt(clean(history), SUMMARY_CHARS)}`;
  return [{ rank: 0, draft: { ...said, priority: "yellow", text: words } }];
}

/** Drops the least valuable notes, oldest first, until the rest fits; the user's words always stay. */
function withinBudget(notes: readonly Note[], budget: number): { kept: Note[]; left: number } {
  const costOf = ({ draft }: Note) => estimateTokens(draft.text) + FRAME_TOKENS;
  const droppable = notes.filter(({ rank }) => rank > 0).toSorted((a, b) => b.rank - a.rank);
  let over = droppable.reduce((sum, note) => sum + costOf(note), -budget);
  const dropped = new Set<Note>();
  for (const note of droppable) {
    if (over <= 0) break;
    over -= costOf(note);
    dropped.add(note);
  }
  const kept = notes.filter((note) => !dropped.has(note));
  kept.sort((a, b) => (a.draft.sources[0] ?? 0) - (b.draft.sources[0] ?? 0));
  return { kept, left: dropped.size };
}
