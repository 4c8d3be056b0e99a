/**
 * What a session was about, in at most ten of its own words, by rule.
 *
 * Statements are taken from where people and agents say what they are doing (requests, commit subjects, titles in
 * compaction summaries and closing reports), freed of what says nothing, and the one that holds most of the words the
 * session keeps coming back to wins.
 */

import { isAgreement, isGoOn, isOutburst, isThanks, sentences, spokenText } from "../language/speech.ts";
import { contentWords, hasUnspaced } from "../language/words.ts";
import type { Entry } from "../transcripts/session.ts";
import { dropTail, type Phrase, phrase, WORDS_MAX, WORDS_WANTED } from "./phrase.ts";
import { commitSubjects, DOING, editedFiles, planTitles, sharedTask, ticketTitles } from "./work.ts";

const NAME_MAX_CHARS = 80;
/** Requests further on name a part of the session rather than the whole. */
const REQUESTS_MAX = 30;
/** With no more, what subagents were given is the work. */
const FEW_REQUESTS = 3;
const SENTENCES_PER_MESSAGE = 5;
/** Weights of statements, relative to a later request: by source and position. */
const WORTH = {
  opening: 2.2,
  openingRest: 1.6,
  request: 1.1,
  commit: 0.9,
  /** Of a session whose first request started long work: what came of it says more than the request. */
  achieved: 1.2,
  ticket: 5,
  plan: 1.8,
  delegated: 0.6,
  announced: 0.6,
  subject: 2,
  title: 0.9,
  report: 0.7,
  clause: 0.75,
};
const LOOKING =
  /^(?:read|have a look|take a look|look|see|check|open|show|list|explain|tell|give|find|search|examine|review|run|start|lies|zeig)\b/i;
const LOOKING_WORTH = 0.6;
const ASKING = /^(?:do|does|did|is|are|was|what|why|how|where|when|which|who)\b/i;
const ASKING_WORTH = 0.8;
/** Factors for statements that name nothing, one thing, two; three and more count in full. */
const TERMS_WORTH = [1 / 6, 1 / 3, 0.8];
const DOING_WORTH = 1.3;
/** Begins in the middle of something, or points at what the name does not hold. */
const HANGING =
  /^(?:you|i|it|it's|this|that|these|those|we|they|he|she|however|once|another|if|when|as|mostly|specifically|especially|also|even|paying|in|on|at|of|for|with)\b|\b(?:them|these|those|above)\b|\b(?:this|that)$/i;
const HANGING_WORTH = 0.75;
/** A report's state, or a passive without what it was about to say. */
const UNSAID =
  /\b(?:created|completed?|done|finished|success\w*)\P{L}*$|\b(?:is|are|was|were) \w+(?:ed|en)$/iu;
const UNSAID_WORTH = 0.6;
const OUTBURST_WORTH = 0.3;
/** Background to the request: how things are, after the opening sentence. */
const BACKGROUND =
  /^(?:the|an?|all|each|this|these|your|our|you|it)\b.*?\b(?:is|are|was|were|has|have|lives?|been)\b|^\S+\.\w{1,5}`?\s+[-–—]\s/i;
const BACKGROUND_WORTH = 0.5;
/** A name whose last words waited for what was cut off ends before what it is about. */
const CUT_WORTH = 0.85;
/** Said to a reader of transcripts, not about the work; filler. */
const INJECTED =
  /\blorem ipsum\b|\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instructions?|prompts?|rules|above)\b|\bname this (?:session|conversation)\b/i;

interface Statement {
  text: string;
  worth: number;
}

/** Returns a name for a conversation, from redacted entries; undefined when nothing in it says what it was about. */
export function nameByRule(entries: readonly Entry[]): string | undefined {
  const weights = termWeights(entries);
  let best: Phrase | undefined;
  let bestScore = 0;
  for (const { text, worth } of statements(entries)) {
    const said = phrase(text);
    if (said === undefined) continue;
    const score = informativeness(said.name, weights) * worth * mannerWorth(said);
    if (score <= bestScore) continue;
    best = said;
    bestScore = score;
  }
  return best && lengthened(best, entries, weights);
}

function* statements(entries: readonly Entry[]): Generator<Statement> {
  const requests = entries.filter(({ kind, text }) => kind === "user" && isRequest(text) && !isReply(text));
  for (const [position, { text }] of requests.slice(0, REQUESTS_MAX).entries()) {
    const said = sentences(spokenText(text)).slice(0, SENTENCES_PER_MESSAGE);
    const later = WORTH.request / (1 + position / 15);
    for (const [index, sentence] of said.entries()) {
      const whole = position > 0 ? later : index === 0 ? WORTH.opening : WORTH.openingRest;
      for (const [part, clause] of clauses(sentence).entries()) {
        const isBackground = (position > 0 || index > 0) && BACKGROUND.test(clause);
        const isAsked = ASKING.test(clause) && clause.endsWith("?");
        const worth = whole * (isBackground ? BACKGROUND_WORTH : 1) * (isAsked ? ASKING_WORTH : 1);
        yield { text: clause, worth: part === 0 ? worth : worth * WORTH.clause };
      }
    }
  }
  if (requests.length === 0) yield* announced(entries);
  const isDelegated = requests.length <= 1;
  for (const { kind, tool, text } of entries) {
    if (tool && /^(?:Task|Agent)$/.test(tool.name)) yield { text: tool.target, worth: WORTH.delegated };
    if (kind === "summary") yield* titles(text, WORTH.title);
  }
  const task = requests.length <= FEW_REQUESTS ? sharedTask(entries) : undefined;
  if (task !== undefined && task.split(" ").length <= WORDS_MAX) yield { text: task, worth: WORTH.achieved };
  for (const text of commitSubjects(entries))
    yield { text, worth: isDelegated ? WORTH.achieved : WORTH.commit };
  const plans = planTitles(entries);
  for (const text of plans) yield { text, worth: WORTH.plan };
  const all = plans.join("; ");
  if (plans.length > 1 && all.split(" ").length <= WORDS_MAX) yield { text: all, worth: WORTH.plan * 2 };
  for (const text of ticketTitles(entries)) yield { text, worth: WORTH.ticket };
  const closing = entries.findLast(({ kind, text }) => kind === "assistant" && text.length > 200);
  if (closing) yield* titles(closing.text.replace(/`[^`\n]*`/g, "``"), WORTH.report);
}

/** Returns what an agent announces, where the request itself is not in the transcript. */
function* announced(entries: readonly Entry[]): Generator<Statement> {
  const first = entries.find(({ kind, text }) => kind === "assistant" && ANNOUNCEMENT.test(text));
  for (const sentence of sentences(first?.text ?? "").slice(0, 2)) {
    if (!ANNOUNCEMENT.test(sentence)) continue;
    for (const text of clauses(sentence.replace(ANNOUNCEMENT, ""))) yield { text, worth: WORTH.announced };
  }
}

const ANNOUNCEMENT =
  /^(?:i['’]?ll|i will|let me|i['’]?m going to|i am going to)\s+(?:now |first |start by )?/i;

/** Of a list of many things the first say enough. */
const CLAUSES_MAX = 20;
const CLAUSE_CHARS = 1000;

/** Returns a sentence, unless it only says what to read first, and what begins inside it: "…, can you …", "read … to …". */
function clauses(sentence: string): string[] {
  const purpose = PURPOSE.exec(sentence)?.[1];
  if (purpose !== undefined && purpose.split(" ").length >= 4) return [purpose];
  const ends = [...sentence.matchAll(CLAUSE_BREAK)].slice(0, CLAUSES_MAX);
  const inner = ends.flatMap(({ index, 0: mark }, at) => {
    const start = index + mark.length;
    const isLong = sentence.slice(start, ends[at + 1]?.index).split(" ", 4).length > 2;
    return isLong ? [sentence.slice(start, start + CLAUSE_CHARS)] : [];
  });
  return [sentence, ...inner];
}

/** The purpose that something is read or used for. */
const PURPOSE = new RegExp(
  "^(?:please |can you |could you )?(?:" +
    "(?:use|read|explore|look|go|search|check|examine|review|study)\\b.*? (?:for (?=\\w+ing )|to (?=(?:give|understand|find|see|figure|learn|check|build|create|fix|implement|add|explain|determine|identify)\\b))" +
    "|use\\b.*? to (?=\\w+ \\w)" +
    "|(?:read|look at|open)\\b.*? and (?:then )?(?=(?:implement|write|build|create|fix|add|refactor|update)\\b)" +
    ")(.+)$",
  "is",
);

const CLAUSE_BREAK =
  /(?:,|;| -| –|:)\s+(?:and |but |so |then )*|\s(?:and|but|then|so)\s(?=(?:do|would|could|can|please|propose|explain|make|create|let|i|we|would|want)\b)/gi;

/** Reading and asking are how work begins, seldom what it was. */
function mannerWorth({ name, isHanging, isCut }: Phrase): number {
  if (INJECTED.test(name)) return 0;
  if (isOutburst(name)) return OUTBURST_WORTH;
  let worth = isHanging || HANGING.test(name) ? HANGING_WORTH : 1;
  if (isCut) worth *= CUT_WORTH;
  if (UNSAID.test(name)) worth *= UNSAID_WORTH;
  if (LOOKING.test(name)) worth *= LOOKING_WORTH;
  else if (DOING.test(name)) worth *= DOING_WORTH;
  return worth;
}

/** Returns whether a message answers a tool: an option the agent worded, or its plan. */
function isReply(text: string): boolean {
  return /^Approved the plan\b|\(asked: /.test(text);
}

function isRequest(text: string): boolean {
  return !isGoOn(text) && !isAgreement(text) && !isThanks(text) && !text.trimStart().startsWith("/");
}

/** Returns the names that a report gives the work: quoted or bold names and headings of several words; the word before marks a subject. */
function* titles(text: string, worth: number): Generator<Statement> {
  let subject = WORTH.subject;
  const pattern =
    /(\b(?:epic|issue|ticket|feature|bead|plan|goal|titled|called|implement|story|project)\b[^"`*\n]{0,25})?(?:"([^"\n]{12,90})"|`([^`\n]*? [^`\n]{8,90})`|\*\*([^*\n]{12,90})\*\*|^#{1,3} (.{8,90})$)/gim;
  // What is offered at the end was not done.
  const said = text.slice(0, 8000).replace(/^.*\?\s*$/gm, "");
  for (const match of said.matchAll(pattern)) {
    const quoted = match[2] ?? match[3] ?? match[4] ?? match[5] ?? "";
    const title = quoted.replace(/^[\w .-]{1,24}:\s+/, "");
    if (/[=$\\{}|<>]|--|^\W/.test(title.replaceAll("->", "")) || contentWords(title).length < 2) continue;
    const isSubject = match[1] !== undefined || /^(?:epic|issue|feature|plan)\b/i.test(quoted);
    yield { text: title, worth: isSubject ? subject : worth };
    if (isSubject) subject = worth; // what it was about is named first, its parts after it
  }
}

/** Scores how much of what the session keeps coming back to is in a name. */
function informativeness(name: string, weights: Map<string, number>): number {
  const terms = new Set(contentWords(name.replace(/\S+\.\w{1,5}(?=[\s,;:]|$)/g, " ")));
  const inFiles = contentWords(name).filter((word) => !terms.has(word));
  let sum = 0;
  for (const term of terms) sum += weights.get(term) ?? 0;
  for (const term of new Set(inFiles)) sum += (weights.get(term) ?? 0) / 4;
  return (sum / Math.sqrt(3 + name.split(" ").length)) * (TERMS_WORTH[terms.size] ?? 1);
}

/** Weighs each word by the number of messages it occurs in; requests count more. */
function termWeights(entries: readonly Entry[]): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (text: string, weight: number) => {
    for (const word of new Set(contentWords(text.slice(0, 20_000))))
      counts.set(word, (counts.get(word) ?? 0) + weight);
  };
  for (const subject of new Set(commitSubjects(entries))) count(subject, 1);
  for (const { kind, text } of entries) {
    if (kind === "user") count(spokenText(text), 3);
    else if (kind === "summary") count(text, 2);
    else if (kind === "assistant") count(text, 1);
  }
  for (const title of ticketTitles(entries)) count(title, 3);
  for (const [word, times] of counts) counts.set(word, Math.log2(1 + times));
  return counts;
}

/** Says what a name that points at something, or a very short one, is about: the file edited most, else frequent words. */
function lengthened(
  { name, isHanging }: Phrase,
  entries: readonly Entry[],
  weights: Map<string, number>,
): string {
  const words = name.split(" ");
  if (hasUnspaced(name) || words.length >= WORDS_MAX) return fit(name);
  const known = new Set(contentWords(name));
  const [edited] = editedFiles(entries);
  const isNamed =
    edited === undefined || contentWords(edited.replace(/\.\w+$/, "")).every((word) => known.has(word));
  if (isHanging && edited !== undefined) return fit(`${name} ${edited}`);
  if (words.length < WORDS_WANTED && !isNamed) return fit(`${name} in ${edited}`);
  if (!isHanging && words.length > 2) return fit(name);
  const typed = new Set(
    entries.flatMap(({ kind, text }) => (kind === "user" ? contentWords(spokenText(text)) : [])),
  );
  const added = [...weights]
    .filter(([word, weight]) => weight > 2.5 && word.length > 3 && typed.has(word) && !known.has(word))
    .toSorted((a, b) => b[1] - a[1])
    .map(([word]) => word);
  return fit(added.length > 0 ? `${name}: ${added.slice(0, isHanging ? 1 : 2).join(", ")}` : name);
}

/** Shortens a name to eighty characters at a word boundary. */
function fit(name: string): string {
  if (name.length <= NAME_MAX_CHARS) return name;
  const cut = name.slice(0, NAME_MAX_CHARS + 1).replace(/\s+\S*$/, "");
  const whole = dropTail(cut.split(" ")).join(" ").slice(0, NAME_MAX_CHARS).toWellFormed();
  return whole.replace(/[\s\p{P}]+$/u, "");
}
