/**
 * Name, description, summary and tags of a conversation without a model: its own sentences, chosen by rule. The name is, in
 * at most ten words, what holds most of the words that the rest repeats: a request, a linked title, a commit, a heading.
 */

import { counted, truncate } from "../base/text.ts";
import { gist, replyOf, sentences, spokenText } from "../language/speech.ts";
import { topicsOf } from "../language/topics.ts";
import { contentWords, hasUnspaced, isFunctionWord, withoutLeadIn } from "../language/words.ts";
import type { Entry } from "../transcripts/session.ts";
import { commitMessage } from "../transcripts/tool-call.ts";

/** Characters of what is written; of a script without spaces about as much as eight words say. */
const CHARS = { name: 80, description: 160, request: 240, answer: 320, quoted: 40, unspaced: 24 };
/** A name's words: it ends on no fewer where it is cut. */
const WORDS = { max: 10, min: 4, quoted: 6 };
/** Later requests, sentences and clauses name a part rather than the whole. */
const READ = { requests: 10, sentences: 6, clauses: 8, messageChars: 20_000, topicChars: 200_000 };

/** A conversation as its meta file describes it. */
export interface Summary {
  name: string;
  description: string;
  summary: string;
  tags: string[];
}

/** Place and time of a conversation, for one that has no subject. */
interface Circumstances {
  /** The directory's last part. */
  project: string;
  /** `2026-02-12`. */
  date: string;
}

/** What was asked first and last, and what the last answer says; `From` is the session whose work it goes on with. */
const LABELS = ["From", "Asked", "Then", "Last"] as const;
type Lines = Partial<Record<(typeof LABELS)[number], string>>;

/** Summarizes a conversation from its redacted entries. */
export function summarizeByRule(entries: readonly Entry[], where: Circumstances): Summary {
  const lines = readLines(entries);
  const name = nameByRule(entries);
  const otherwise = circumstances(entries, where);
  return {
    name: name ?? otherwise,
    description: name === undefined ? otherwise : truncate(lines.Asked ?? name, CHARS.description),
    summary: writeLines(lines) || otherwise,
    tags: tagsOf(entries),
  };
}

/** Returns a summary by rule brought up to date with what was said since, without reading the rest of the conversation again. */
export function continueSummary(before: Summary, fresh: readonly Entry[]): Summary {
  const old = parseLines(before.summary);
  const { Asked, Then = Asked, Last } = readLines(fresh);
  const lines = { ...old, ...withoutGaps(old.Asked === undefined ? { Asked, Last } : { Then, Last }) };
  const tags = before.tags.length > 0 ? before.tags : tagsOf(fresh);
  return { ...before, summary: writeLines(lines) || before.summary, tags };
}

/** Returns a summary that also says which session's work it goes on with. */
export function withOrigin(made: Summary, origin: Pick<Summary, "name" | "description">): Summary {
  const about = truncate(origin.description.replace(/\s+/g, " "), CHARS.description);
  return { ...made, summary: `From: ${origin.name} (${about})\n${made.summary}` };
}

/** Returns whether a name was made of circumstances, because the conversation said nothing yet. */
export function isCircumstantial(name: string): boolean {
  return /^(?:"?[^"]+"|Conversation|\d+ calls?) (?:in .+ )?on \d{4}-\d\d-\d\d$/.test(name);
}

function readLines(entries: readonly Entry[]): Lines {
  const requests = requestsIn(entries)
    .map(({ text }) => gist(spokenText(text), CHARS.request))
    .filter(Boolean);
  const [first, last] = [requests[0], requests.at(-1)];
  const answer = entries.findLast(({ kind, text }) => kind === "assistant" && text.trim() !== "")?.text;
  return withoutGaps({
    Asked: first,
    Then: last === first ? undefined : last,
    Last: answer && gist(answer, CHARS.answer),
  });
}

/** Returns what was asked: no assent, no command and no choice of what an agent offered. */
function requestsIn(entries: readonly Entry[]): Entry[] {
  const other = /^\s*\/|^Approved the plan\b|\(asked: /;
  return entries.filter(
    ({ kind, text }) => kind === "user" && replyOf(text) === undefined && !other.test(text),
  );
}

function withoutGaps(lines: { [label in keyof Lines]?: string | undefined }): Lines {
  return Object.fromEntries(Object.entries(lines).filter(([, text]) => text));
}

function writeLines(lines: Lines): string {
  return LABELS.flatMap((label) => (lines[label] ? `${label}: ${lines[label]}` : [])).join("\n");
}

function parseLines(summary: string): Lines {
  const found = [...summary.matchAll(new RegExp(`^(${LABELS.join("|")}): (.+)$`, "gm"))];
  return Object.fromEntries(found.map(([, label, text]) => [label, text]));
}

/** Names a conversation that says nothing of itself by its first words, else by how much was done, and where and when. */
function circumstances(entries: readonly Entry[], { project, date }: Circumstances): string {
  const place = `${project === "" ? "" : `in ${project} `}on ${date}`;
  const quoted = entries.map((entry) => (entry.kind === "user" ? firstWords(entry.text) : "")).find(Boolean);
  if (quoted) return `"${quoted}" ${place}`;
  const calls = entries.filter(({ tool }) => tool).length;
  return `${calls > 0 ? counted(calls, "call") : "Conversation"} ${place}`;
}

/** Returns the first words of a message, which say something to somebody who was there; empty where it holds none. */
function firstWords(text: string): string {
  const words = spokenText(text)
    .replaceAll('"', "")
    .replace(/@?(?:[\w.-]*\/)+([\w.-]+)/g, "$1")
    .trim()
    .split(/\s+/)
    .slice(0, WORDS.quoted)
    .join(" ");
  return /\p{L}{2}/u.test(words) ? truncate(words, CHARS.quoted) : "";
}

/** Returns what the conversation is about. */
function tagsOf(entries: readonly Entry[]): string[] {
  const said = entries.filter(({ kind }) => kind === "user" || kind === "assistant" || kind === "summary");
  const text = said.map(({ text }) => text).join("\n");
  return text.trim() === "" ? [] : topicsOf(text.slice(0, READ.topicChars));
}

/** What a statement is worth by where it stands, against a later request. */
const WORTH = { heading: 4, opening: 2.2, first: 1.4, later: 1, commit: 1.4, title: 2.5, report: 1 };
/** Factors by what it does, against a plain one: chosen by eye on a hundred names, of which two words say little. */
const MANNER = { doing: 1.3, clause: 0.9, looking: 0.6, background: 0.5, short: 0.5 };
/** The work is still to be named by what is read or asked first. */
const LOOKING =
  /^(?:use|read|have a look|take a look|look|see|check|open|show|list|tell|give|find|search|run|start|what|why|how|is|are|do|does)\b/i;
/** Begins in the middle of something, or is a label. */
const MIDDLE =
  /^(?:it|this|that|these|those|there|i|you|we|they|he|she|if|when|as|because|but|also|instead|from|every|in|on|at|of|for|with|by)\b|^[\p{L} ]{1,30}: /iu;
/** Says how things are: after the opening sentence, background to what is asked. */
const STATING =
  /^(?:the|an?|all|our|your|my)\b.*\b(?:is|are|was|were|has|have|does|do|did|can|will)(?:n['’]?t)?\b/i;
/** Verbs of work: `Add …`, `Fixing …`, `Replaced …`. */
const DOING =
  /^(?:re-?)?(?:add|analy[sz]|automat|build|built|chang|clean|compar|configur|convert|creat|debug|delet|deploy|design|document|drop|enabl|explain|explor|export|extend|extract|fix|handl|implement|import|improv|install|instrument|integrat|investigat|make|merg|migrat|mov|optimi[sz]|organi[sz]|plan|port|propos|publish|refactor|releas|remov|renam|replac|report|research|restructur|revert|review|rewrit|rework|set up|simplif|split|support|switch|summari[sz]|test|translat|understand|unif|updat|upgrad|validat|verif|writ|behebe|baue|erstelle|ergänze|schreib|ändere|corrig|ajout|crée|añad|agreg)\w{0,4}\b/i;
/** Said to a reader of transcripts, not about the work; a log's line. */
const INJECTED =
  /^\[[\w. -]+\]|\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instructions?|prompts?|rules|above)\b|\bname this session\b/i;
/** What a word weighs that nothing repeats, as in a first request; 0.5 and 1 change 4 of 127 names each. */
const SAID_ONCE = 0.7;
/** Two such words of a later request are too little to know a session by, unless one is repeated. */
const LEAST = 2;

interface Statement {
  text: string;
  worth: number;
}

/** Returns a name for a conversation, from redacted entries; undefined when nothing in it says what it was about. */
export function nameByRule(entries: readonly Entry[]): string | undefined {
  const printed = [
    ...linkedTitles(entries).map((text) => ({ text, worth: WORTH.title })),
    ...commitSubjects(entries).map((text) => ({ text, worth: WORTH.commit })),
  ].map(({ text, worth }) => ({ text: text.replace(TYPE, ""), worth }));
  const weights = termWeights(entries, printed);
  let best: string | undefined;
  let most = 0;
  for (const { text, worth } of [...requested(entries), ...printed, ...answered(entries)]) {
    const name = phrase(text);
    if (name === undefined) continue;
    const telling = tellingWeight(name, weights);
    if (worth * telling < LEAST) continue;
    // "Base.setText" is two words long.
    const score = (worth * mannerWorth(name, worth) * telling) / Math.sqrt(3 + name.split(/[\s./]+/).length);
    if (score > most) [best, most] = [name, score];
  }
  return best;
}

/** Yields the sentences and clauses of the first requests, and a plan's heading. */
function* requested(entries: readonly Entry[]): Generator<Statement> {
  for (const [position, { text }] of requestsIn(entries).slice(0, READ.requests).entries()) {
    const named = withReferences(text);
    const heading = position < 2 ? /^#{1,2} +(.{8,120})$/m.exec(named)?.[1] : undefined;
    if (heading !== undefined) yield { text: heading, worth: WORTH.heading };
    for (const [index, sentence] of sentences(spokenText(named)).slice(0, READ.sentences).entries()) {
      const worth = position > 0 ? WORTH.later : index > 0 ? WORTH.first : WORTH.opening;
      const [whole = "", ...clauses] = clausesOf(sentence);
      yield { text: whole, worth };
      for (const text of clauses) yield { text, worth: worth * MANNER.clause };
    }
  }
}

/** Yields the first heading of each answer. */
function* answered(entries: readonly Entry[]): Generator<Statement> {
  for (const { kind, text } of entries) {
    const heading = kind === "assistant" ? /^#{1,3} +(.{8,90})$/m.exec(text)?.[1] : undefined;
    if (heading !== undefined) yield { text: heading, worth: WORTH.report };
  }
}

/** Writes links to issues and changes as people say them: `repo#12`; after words they end a sentence. */
function withReferences(text: string): string {
  return text.replace(LINK, (_, before: string, repo: string, number: string) =>
    before ? `${before}${repo}#${number}\n` : `${repo}#${number}`,
  );
}

const LINK =
  /(\S[ \t]+)?https?:\/\/[^\s/]+\/[^\s/]+\/([^\s/]+)\/(?:issues|pull|security\/advisories|-\/issues|-\/merge_requests)\/([\w-]+)\S*/g;

/** Returns a sentence and the clauses inside it that say what to do. */
function clausesOf(sentence: string): string[] {
  const breaks = [...sentence.matchAll(CLAUSE_BREAK)].slice(0, READ.clauses);
  const isLooking = LOOKING.test(withoutLeadIn(sentence));
  const after = breaks.flatMap(({ index, 0: mark }) => {
    const clause = withoutLeadIn(sentence.slice(index + mark.length));
    if (NEGATED.test(sentence.slice(0, index))) return [];
    return DOING.test(clause) || (isLooking && mark.trim() === "to") ? [clause] : [];
  });
  return [sentence, ...after];
}

const CLAUSE_BREAK =
  /[,;:]\s+(?:and |but |so |then )*|\s(?:and|but|then|so|to|for|und|dann|et|y|и)\s(?=\p{L})/giu;
/** Ends on a negation, which turns what follows into its opposite. */
const NEGATED = /(?:\bnot|n['’]t|\bnever|\bwithout)(?: \S+){0,2}$/i;

/** Returns a statement in at most ten words; undefined when it names nothing. */
function phrase(statement: string): string | undefined {
  const plain = statement
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/[*`"“”„«»¿¡]+/g, "")
    .replace(/@?(?:[\w.-]*\/)+([\w*-]+\.[\w.]+)/g, "$1")
    .replace(/\s*\([^)]*\)?/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  const reference = REFERENCE.exec(plain)?.slice(1).find(Boolean);
  const bare = plain.replace(REFERENCE, "").replace(/^(?:plan|goal|task|context|summary)\s*:\s*/i, "");
  const said = withoutLeadIn(bare);
  const max = reference ? WORDS.max - 1 : WORDS.max;
  const cut = hasUnspaced(said) ? unspacedStart(said) : spacedStart(said.split(" "), max);
  const name = cut.replace(/^[\s\p{P}\p{S}]+(?<![@#([])|[\s\p{P}\p{S}]+$/gu, "");
  const whole = reference && cut !== "" ? `${name} ${reference}` : name;
  const isEnough = hasUnspaced(name)
    ? name.length >= 4
    : whole.includes(" ") && contentWords(whole).length > 1;
  if (!isEnough || INJECTED.test(name)) return undefined;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

/** Matches an issue named before or after all else. */
const REFERENCE = /^([\w.-]+#\w[\w-]*)[\s.,:]+|[\s.,:]+([\w.-]+#\w[\w-]*)[\s.,:]*$/;
/** Begins what can be left out. */
const SIDE =
  /^(?:so|because|which|that|but|when|while|if|whether|where|since|weil|damit|dass|aber|wenn|parce|mais|quand|porque|pero|cuando|чтобы|который|of|to|for|due|in|into|with|on|onto|from|by|during|via|using|through|based|between|against|without|after|before|and|or|und|oder|et|ou|y|as|instead|then|containing|including|mit|von|für|auf|pour|avec|para|con|с|для|[—–-])$/i;

/** Returns the first words, ended where a clause or a phrase does. */
function spacedStart(words: string[], max: number): string {
  let end = words.length;
  if (end > max) {
    const ends = Array.from({ length: max - WORDS.min + 1 }, (_, less) => max - less);
    end =
      ends.find((at) => /[,;:–—]$/.test(words[at - 1] ?? "")) ??
      ends.find((at) => SIDE.test(words[at] ?? "") && !SIDE.test(words[at - 1] ?? "")) ??
      ends.find((at) => isFunctionWord(words[at] ?? "")) ??
      max;
  }
  while (end > 1 && words.slice(0, end).join(" ").length > CHARS.name) end--;
  while (end > 1 && isFunctionWord((words[end - 1] ?? "").replace(/\p{P}+$/u, ""))) end--;
  return words.slice(0, end).join(" ");
}

function unspacedStart(text: string): string {
  const clause = text.split(/[，。、！？；：,.!?;]/u).find((part) => part.trim().length >= 4) ?? text;
  return [...clause.trim()].slice(0, CHARS.unspaced).join("");
}

function mannerWorth(name: string, worth: number): number {
  if (!hasUnspaced(name) && name.split(" ").length <= 2) return MANNER.short;
  if (DOING.test(name)) return MANNER.doing;
  if (LOOKING.test(name)) return MANNER.looking;
  return MIDDLE.test(name) || (worth < WORTH.opening && STATING.test(name)) ? MANNER.background : 1;
}

/** Weighs how much of what the session keeps coming back to is in a name. */
function tellingWeight(name: string, weights: ReadonlyMap<string, number>): number {
  const bare = name.replace(REFERENCE, "");
  let sum = bare === name ? 0 : SAID_ONCE;
  for (const term of new Set(contentWords(bare))) sum += weights.get(term) ?? 0;
  return sum;
}

/** Weighs each word by the messages, titles and commits it occurs in: what the rest of the session repeats is its subject. */
function termWeights(entries: readonly Entry[], printed: readonly Statement[]): Map<string, number> {
  const counts = new Map<string, number>();
  const said = entries.flatMap(({ kind, text }) => {
    if (kind === "user") return spokenText(text);
    return kind === "assistant" || kind === "summary" ? text.slice(0, READ.messageChars) : [];
  });
  for (const text of [...said, ...printed.map(({ text }) => text)]) {
    for (const word of new Set(contentWords(text))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  for (const [word, times] of counts) counts.set(word, SAID_ONCE + Math.log2(times));
  return counts;
}

/** Returns the titles of what requests link to, as what fetched it printed them. */
function linkedTitles(entries: readonly Entry[]): string[] {
  const asked = entries.flatMap(({ kind, text }) => (kind === "user" ? [...text.matchAll(LINK)] : []));
  const linked = new RegExp(`\\b(?:${asked.map(({ 3: number }) => number).join("|") || "(?!)"})\\b`);
  const calls = new Set<string | undefined>();
  return entries.flatMap(({ kind, tool, callId, text }) => {
    if (tool && linked.test(tool.target)) calls.add(callId);
    return (kind === "result" && calls.has(callId) && TITLE.exec(text)?.slice(1).find(Boolean)) || [];
  });
}

const TITLE = /^title:\s*(.{8,200})$|"(?:title|summary)": ?"((?:[^"\\]|\\.){8,200})"/m;

/** Returns whether a word begins a sentence of a commit's body: a verb, an adverb or an article. */
function begins(word: string): boolean {
  const opens = /^(?:Introduc\w+|[A-Z]\w+ly|The|This|It|When|Now|Also|An?|In|So)$/.test(word);
  return opens || (/^[A-Z][a-z]/.test(word) && DOING.test(word));
}

/** Returns the subjects of the commits, oldest first: as git printed them, else as they were given. */
function commitSubjects(entries: readonly Entry[]): string[] {
  const subjects = new Map<string | undefined, string>();
  for (const { kind, tool, callId, text } of entries) {
    const given = tool && commitMessage(tool.target);
    // A call is on one line: its subject ends where the body's first sentence begins.
    const words = given?.split(" ") ?? [];
    const end = words.findIndex((word, at) => at > 2 && begins(word.replace(/\P{L}+$/u, "")));
    if (given) subjects.set(callId, words.slice(0, end === -1 ? undefined : end).join(" "));
    const printed =
      kind === "result" && subjects.has(callId) && /^\[[^\]\n]+ [0-9a-f]{7,}\] (.+)$/m.exec(text)?.[1];
    if (printed) subjects.set(callId, printed);
  }
  return [...subjects.values()];
}

/** A change's kind; who is named before a colon stays. */
const TYPE = /^(?:feat|fix|docs|test|chore|refactor|perf|build|ci|style|revert)(?:\([^)]*\))?!?:\s*/;
