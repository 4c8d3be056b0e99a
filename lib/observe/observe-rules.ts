/**
 * Observes without a model: the user's words, how each request ended, and through `work-notes.ts` what was done. The
 * same conversation and memory always give the same observations.
 */

import { truncate } from "../base/text.ts";
import {
  gist,
  isAgreement,
  isCorrection,
  isGoOn,
  isRule,
  isThanks,
  pendingQuestion,
  sentences,
  spokenText,
  userAct,
} from "../language/speech.ts";
import { estimateTokens } from "../language/tokens.ts";
import { contentWords } from "../language/words.ts";
import type { Entry } from "../transcripts/session.ts";
import { DONE, type Draft, type Memory, type Observation, openThreads } from "./observations.ts";
import { excerpt, type StepNotes } from "./observe-step.ts";
import { isPlan, type Note, workNotes } from "./work-notes.ts";

/** Up to this length a user's message is kept word for word. */
const VERBATIM_CHARS = 300;
/** A longer one keeps its beginning and end. */
const LONG_CHARS = 330;
const QUESTION_CHARS = 120;
const OFFER_CHARS = 200;
/** A question of so few words of its own, such as "Want me to do this?", says nothing of what it offers. */
const VAGUE_WORDS = 1;
const PROPOSAL =
  /\b(?:would be|i(?:['’]d| would)|suggest|propose|recommend|we (?:could|should|can)|plan|approach)\b/i;
const OFFER_SENTENCES = 3;
const UNCLEAR_CHARS = 80;
const UNCLEAR_WORDS = 1;
const POINTING = /\b(?:it|that|this|these|those|them|they|one|start|proceed|continue)\b/i;
const OPEN_QUESTION = /^(?:which|what|who|where|when|how)\b/i;
const YES_OR_NO =
  /^\W*(?:yes|yeah|yep|yup|no|nope|nah|neither|both|all of|none|either|ja|nein|oui|non|sí)\b/i;
const RULE_CHARS = 200;
const RULES_MAX = 3;
const RESULT_CHARS = 220;
/** Longer than others: nothing else is left of what it summarises. */
const SUMMARY_CHARS = 1500;
const SUMMARY_LINES_MAX = 30;
/** Matches the beginning of pi's summary of an abandoned branch. */
const BRANCH_SUMMARY = /^The user explored a different conversation branch/;

type Clean = (text: string) => string;

interface RuleContext {
  memory: Memory;
  /** Redacts a text and puts it on one line. */
  clean: Clean;
  /** Tokens for what is not the user's own words. */
  budget: number;
}

/** A user's message and the work on it; the first may continue work that was asked for before. */
interface Part {
  prompt: Entry | undefined;
  entries: Entry[];
  /** The assistant's last words. */
  answer: Entry | undefined;
}

/** Observes entries by rule. */
export function observeByRule(entries: readonly Entry[], context: RuleContext): StepNotes {
  const { memory, clean } = context;
  const parts = splitParts(withTimes(entries));
  const open: (Draft | Observation)[] = [...openThreads(memory)];
  const closed = new Set<Draft | Observation>();
  const notes: Note[] = [];
  for (const [index, part] of parts.entries()) {
    const before = parts[index - 1];
    const isFirst = index === 0 && memory.observations.length === 0;
    const earlier = before ? before.answer?.text : lastWords(memory);
    if (part.prompt) {
      if (settles(part.prompt, { before, earlier })) for (const thread of open.splice(0)) closed.add(thread);
      const said = promptNotes(part.prompt, { earlier, clean, isFirst });
      notes.push(...said);
      open.push(...said.map(({ draft }) => draft).filter(({ thread }) => thread));
    }
    notes.push(...summaryNotes(part, { ...context, isFirst: isFirst && !part.prompt }));
    const next = parts[index + 1]?.prompt;
    const isSettled = next !== undefined && settles(next, { before: part, earlier: part.answer?.text });
    const answers = answerNotes(part, { isSettled, clean });
    const isSaid = ({ draft }: Note) => answers.some((answer) => answer.draft.text.includes(draft.text));
    notes.push(...workNotes(part.entries, clean).filter((note) => !isSaid(note)), ...answers);
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
  const earlier = entries.findLast((entry) => isSpoken(entry) && entry.line < prompt.line)?.text;
  return promptNotes(prompt, { earlier, clean }).map(({ draft }) => draft);
}

/** Gives rows without a time that of the row before them. */
function withTimes(entries: readonly Entry[]): Entry[] {
  let at: string | undefined;
  return entries.map((entry) => {
    at = entry.at ?? at;
    return entry.at === at ? entry : { ...entry, at };
  });
}

function splitParts(entries: readonly Entry[]): Part[] {
  const parts: Part[] = [];
  for (const entry of entries) {
    const current = parts.at(-1);
    if (entry.kind === "user") parts.push({ prompt: entry, entries: [], answer: undefined });
    else if (!current) parts.push({ prompt: undefined, entries: [entry], answer: undefined });
    else current.entries.push(entry);
  }
  for (const part of parts) part.answer = part.entries.findLast(isSpoken);
  return parts;
}

function isSpoken({ kind }: Entry): boolean {
  return kind === "assistant";
}

/** Returns whether a new message shows that what was asked for before is done. */
function settles(
  prompt: Entry,
  { before, earlier }: { before: Part | undefined; earlier: string | undefined },
): boolean {
  if (before && before.entries.length === 0) return false; // nobody worked on it yet
  if (isThanks(prompt.text)) return true;
  if (isCorrection(prompt.text) || isGoOn(prompt.text)) return false;
  return earlier !== undefined && pendingQuestion(earlier) === undefined;
}

function promptNotes(
  prompt: Entry,
  { earlier, clean, isFirst = false }: { earlier: string | undefined; clean: Clean; isFirst?: boolean },
): Note[] {
  const whole = clean(prompt.text);
  if (whole === "") return [];
  const isShort = prompt.text.length <= VERBATIM_CHARS || [...whole].length <= VERBATIM_CHARS;
  const text = isShort ? whole : excerpt(whole, LONG_CHARS);
  const said = { at: prompt.at ?? null, sources: [prompt.line] };
  const note = (draft: Omit<Draft, "at" | "sources">): Note => ({ rank: 0, draft: { ...said, ...draft } });
  const { text: words } = prompt;
  const offer = earlier === undefined ? undefined : pendingOffer(earlier);
  const isAssent = isAgreement(words) || isGoOn(words);
  if (isThanks(words) || (isAssent && !offer)) return [note({ priority: "green", text: `User: ${text}` })];
  const to = offer && isUnclear(words) ? ` (to: ${excerpt(clean(offer), OFFER_CHARS)})` : "";
  if (isAssent) return [note({ priority: "red", text: `User: ${text}${to}` })];
  const act = userAct(words);
  // The user's words stay, whatever they are; only what is wanted or decided is marked as such.
  if (act === "question") return [note({ priority: "yellow", text: `User: ${text}`, thread: true })];
  if (isFirst && !/\s/.test(words.trim())) {
    return [note({ priority: "yellow", text: `User: ${text}` })]; // "start", with nothing before it
  }
  const isAnswer = act === "remark" && offer !== undefined && answers(words, earlier ?? "");
  if (act === "remark" && !isAnswer) {
    return [note({ priority: "yellow", text: `User: ${text}` })];
  }
  const rules = sentences(spokenText(prompt.text)).filter(isRule);
  const request: Draft = { ...said, priority: "red", text: `User: ${text}${to}` };
  if (act === "request" || act === "remark") request.thread = true;
  if (act === "rule" || (isShort && rules.length > 0)) request.rule = true;
  const hidden = isShort
    ? []
    : rules.map((rule) => excerpt(clean(rule), RULE_CHARS)).filter((rule) => !text.includes(rule));
  return [
    { rank: 0, draft: request },
    ...[...new Set(hidden)]
      .slice(0, RULES_MAX)
      .map((rule) => note({ priority: "red", rule: true, text: `User, in the same message: ${rule}` })),
  ];
}

/** Returns the question that a text ends with, after what it proposed where the question alone does not say that. */
function pendingOffer(text: string): string | undefined {
  const question = pendingQuestion(text);
  const isClear = (asked: string) => contentWords(asked).length > VAGUE_WORDS && !/^or\b/i.test(asked);
  if (question === undefined || isClear(question)) return question;
  const before = sentences(text.slice(0, text.lastIndexOf(question)));
  const proposal = before.findLast((sentence) => PROPOSAL.test(sentence)) ?? before.at(-1);
  return proposal === undefined ? question : `${proposal} ${question}`;
}

/** Returns whether a message cannot be understood without what it answers. */
function isUnclear(text: string): boolean {
  const points = POINTING.test(text) || YES_OR_NO.test(text) || contentWords(text).length <= UNCLEAR_WORDS;
  return points && text.length <= UNCLEAR_CHARS;
}

/** Returns whether a remark answers: with yes or no, shortly to an open question, or by beginning with a word of it. */
function answers(text: string, earlier: string): boolean {
  if (YES_OR_NO.test(text)) return true;
  if (text.length > UNCLEAR_CHARS || text.startsWith("/")) return false;
  const [first = ""] = /\p{L}+/u.exec(text.toLowerCase()) ?? [];
  const offered = contentWords(sentences(earlier).slice(-OFFER_SENTENCES).join(" "));
  return OPEN_QUESTION.test(pendingQuestion(earlier) ?? "") || offered.includes(first);
}

/** Returns the words of the last observation, split where it was shortened. */
function lastWords({ observations }: Memory): string | undefined {
  const text = observations.at(-1)?.text.replace(/^(?:Assistant:|✅) /, "");
  return text?.replace(/(?<=\S)… /g, "…\n");
}

/** Returns the gist of an answer with the question it ends with, which the next message may answer. */
function withQuestion(text: string): string {
  const question = truncate(pendingQuestion(text) ?? "", QUESTION_CHARS);
  const words = gist(text, RESULT_CHARS);
  return words.includes(question) ? words : `${gist(text, RESULT_CHARS - question.length)} ${question}`;
}

function answerNotes(part: Part, { isSettled, clean }: { isSettled: boolean; clean: Clean }): Note[] {
  // Words before further calls announce them; the result comes after.
  const answer = part.entries
    .slice(part.entries.findLastIndex(({ kind }) => kind === "tool") + 1)
    .findLast(isSpoken);
  if (!answer) return [];
  const words = clean(withQuestion(answer.text));
  if (words === "") return [];
  const hasWorked = part.entries.some(({ tool }) => tool?.action === "edit" || tool?.action === "run");
  const text = isSettled && hasWorked && !isPlan(words) ? `${DONE} ${words}` : `Assistant: ${words}`;
  return [{ rank: 1, draft: { at: answer.at ?? null, priority: "yellow", text, sources: [answer.line] } }];
}

/** Notes what a summary adds to the ledger: from an abandoned branch, or from lost history. */
function summaryNotes(
  { entries }: Part,
  { memory, clean, isFirst }: RuleContext & { isFirst: boolean },
): Note[] {
  return entries.flatMap((entry): Note[] => {
    if (entry.kind !== "summary") return [];
    const said = { at: entry.at ?? null, sources: [entry.line] };
    const ours = entry.text.matchAll(/^- (🔴|🟡) (?:\(\d\d:\d\d\) )?(.+) \[(\w{6})\]$/gmu);
    const lines = [...ours].filter(([, , , id]) => id && !memory.history.has(id)).slice(0, SUMMARY_LINES_MAX);
    if (lines.length > 0) {
      return lines.map(([, mark, text = ""]) => ({
        rank: mark === "🔴" ? 0 : 2,
        draft: { ...said, priority: mark === "🔴" ? "red" : "yellow", text: `Before: ${clean(text)}` },
      }));
    }
    const isNew = isFirst || BRANCH_SUMMARY.test(entry.text);
    if (!isNew || entry.text.includes("## Observations")) return [];
    const text = `Before, as summarised: ${excerpt(clean(summaryBody(entry.text)), SUMMARY_CHARS)}`;
    return [{ rank: 0, draft: { ...said, priority: "yellow", text } }];
  });
}

/** Returns the body of a host's summary, without its preamble and instructions. */
function summaryBody(text: string): string {
  const body = /^\s*(?:<summary>|summary(?: of that exploration)?:)\s*$([\s\S]+)/im.exec(text)?.[1] ?? text;
  return body.replace(
    /\n(?:<\/summary>|If you need specific details from before compaction|(?:Please )?continue the conversation from where)[\s\S]*$/i,
    "",
  );
}

/** Drops the least valuable notes, oldest first, until the rest fits; the user's words always stay. */
function withinBudget(notes: readonly Note[], budget: number): { kept: Note[]; left: number } {
  const cost = new Map(notes.map((note) => [note, estimateTokens(note.draft.text) + 12]));
  let over = -budget;
  for (const note of notes) if (note.rank > 0) over += cost.get(note) ?? 0;
  const dropped = new Set<Note>();
  for (const note of notes.filter(({ rank }) => rank > 0).toSorted((a, b) => b.rank - a.rank)) {
    if (over <= 0) break;
    over -= cost.get(note) ?? 0;
    dropped.add(note);
  }
  const kept = notes
    .filter((note) => !dropped.has(note))
    .toSorted((a, b) => (a.draft.sources[0] ?? 0) - (b.draft.sources[0] ?? 0));
  return { kept, left: dropped.size };
}
