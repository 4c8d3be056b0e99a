/**
 * Names a conversation without a model, in at most ten words: by the statement that holds most of the words the rest repeats (a
 * request, a plan's heading, a linked title, a commit).
 */

import { type Account, makeAccount } from "../account/account.ts";
import { handedName } from "../hosts/handed.ts";
import type { Row, Said } from "../hosts/session.ts";
import { matchPhrases, sentences, spokenText } from "../language/speech.ts";
import { contentWords, hasUnspaced, isFunctionWord, withoutLeadIn } from "../language/words.ts";
import { findCommits, judgeCommand } from "../transcripts/outcome.ts";
import { commitMessage } from "../transcripts/rows.ts";

/** Characters of a name; of a script without spaces about as much as eight words say. */
const CHARS = { name: 80, unspaced: 24 };
/** A name's words: it ends on no fewer where it is cut. */
const WORDS = { max: 10, min: 4 };
/** Later requests, sentences and clauses name a part rather than the whole. */
const READ = { requests: 10, sentences: 6, clauses: 8, messageChars: 20_000 };

/** The weight of a statement by its place; a later request weighs 1. */
const WORTH = { heading: 4, opening: 2.2, first: 1.4, later: 1, commit: 1.4, title: 2.5, report: 1 };
/** Factors by what it does, against a plain one: chosen by eye on a hundred names. */
const MANNER = { doing: 1.3, looking: 0.6, background: 0.5, short: 0.5 };
/** The work is still to be named by what is read or asked first. */
const LOOKING = matchPhrases(
  `use|read|have a look|take a look|look|see|check|open|show|list|tell|give|find|search|run|start
    what|why|how|is|are|do|does`,
  "^",
);
/** Begins in the middle of something: background to what is asked. */
const MIDDLE = matchPhrases(
  `it|this|that|these|those|there|i|you|we|they|he|she|if|when|as|because|but|also|instead|from|every
    in|on|at|of|for|with|by`,
  "^",
);
/** Begins as a label does. */
const LABELLED = /^[\p{L} ]{1,30}: /u;
/** Beginnings of verbs of work: `Add …`, `Fixing …`, `Replaced …`. */
const WORK = `add|analy[sz]|automat|build|built|chang|clean|compar|configur|convert|creat|debug|delet|deploy|design
    document|drop|enabl|explain|explor|export|extend|extract|fix|handl|implement|import|improv|install|instrument|integrat
    investigat|make|merg|migrat|mov|optimi[sz]|organi[sz]|plan|port|propos|publish|refactor|releas|remov|renam|replac|report
    research|restructur|revert|review|rewrit|rework|set up|simplif|split|support|switch|summari[sz]|test|translat|understand
    unif|updat|upgrad|validat|verif|writ|behebe|baue|erstelle|ergänze|schreib|ändere|corrig|ajout|crée|añad|agreg`;
const DOING = new RegExp(`^(?:re-?)?(?:${WORK.replace(/\n\s*/g, "|")})\\w{0,4}\\b`, "i");
/** Said to a reader of transcripts, not about the work; a log's line. */
const INJECTED =
  /^\[[\w. -]+\]|\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instructions?|prompts?|rules|above)\b|\bname this session\b/i;
/** The weight of a word that nothing repeats, as in a first request; 0.5 and 1 change 4 of 127 names each. */
const SAID_ONCE = 0.7;
/** Two such words of a later request are too little to know a session by, unless one is repeated. */
const LEAST = 2;
/** A link to an issue or a change. */
const LINK =
  /https?:\/\/[^\s/]+\/[^\s/]+\/[^\s/]+\/(?:issues|pull|security\/advisories|-\/issues|-\/merge_requests)\/([\w-]+)/g;

interface Statement {
  text: string;
  worth: number;
}

/** Ends the name of a session that goes on with another one. */
const CONTINUED = / \(continued\)$/;

/** Returns a name for a conversation, of one that goes on with another the name of that, from redacted rows; undefined when nothing in it says what it was about. */
export function nameByRule(rows: readonly Row[], { asked }: Account = makeAccount(rows)): string | undefined {
  const said = rows.filter((row) => row.who !== "tool");
  const handed = said.map((row) => (row.who === "user" ? handedName(row) : undefined)).find(Boolean);
  const continued = handed && phrase(sentences(handed.replace(CONTINUED, ""))[0] ?? "");
  if (continued) return `${continued} (continued)`;
  const printed = [
    ...linkedTitles(rows).map((text) => ({ text, worth: WORTH.title })),
    ...commitSubjects(rows).map((text) => ({ text, worth: WORTH.commit })),
  ].map(({ text, worth }) => ({ text: text.replace(TYPE, ""), worth }));
  const headings = said.flatMap(({ who, text }) => {
    const heading = who === "assistant" ? /^#{1,3} +(.{8,90})$/m.exec(text)?.[1] : undefined;
    return heading === undefined ? [] : [{ text: heading, worth: WORTH.report }];
  });
  const weights = termWeights(said, printed);
  let best: string | undefined;
  let most = 0;
  for (const { text, worth } of [...requested(asked), ...printed, ...headings]) {
    const name = phrase(text);
    if (name === undefined) continue;
    const terms = [...new Set(contentWords(name))];
    const telling = terms.reduce((sum, term) => sum + (weights.get(term) ?? 0), 0);
    if (worth * telling < LEAST) continue;
    // "Base.setText" is two words long.
    const score = (worth * rateManner(name) * telling) / Math.sqrt(3 + name.split(/[\s./]+/).length);
    if (score > most) [best, most] = [name, score];
  }
  return best;
}

/** Yields the sentences and clauses of the first requests without commands, and a plan's heading. */
function* requested(asked: readonly Said[]): Generator<Statement> {
  const requests = asked.filter(({ text }) => !/^\s*\//.test(text)).slice(0, READ.requests);
  for (const [position, { text }] of requests.entries()) {
    const heading = /^#{1,2} +(.{8,120})$/m.exec(text)?.[1];
    if (heading !== undefined) yield { text: heading, worth: WORTH.heading };
    for (const [index, sentence] of sentences(spokenText(text)).slice(0, READ.sentences).entries()) {
      const worth = position > 0 ? WORTH.later : index > 0 ? WORTH.first : WORTH.opening;
      for (const text of [sentence, ...splitClauses(sentence)]) yield { text, worth };
    }
  }
}

/** Returns the clauses inside a sentence that say what to do. */
function splitClauses(sentence: string): string[] {
  const isLooking = LOOKING.test(withoutLeadIn(sentence));
  return [...sentence.matchAll(CLAUSE_BREAK)].slice(0, READ.clauses).flatMap(({ index, 0: mark }) => {
    const clause = withoutLeadIn(sentence.slice(index + mark.length));
    return DOING.test(clause) || (isLooking && mark.trim() === "to") ? clause : [];
  });
}

const CLAUSE_BREAK =
  /[,;:]\s+(?:and |but |so |then )*|\s(?:and|but|then|so|to|for|und|dann|et|y|и)\s(?=\p{L})/giu;

/** Returns a statement in at most ten words; undefined when it names nothing. */
function phrase(statement: string): string | undefined {
  const plain = statement
    .replace(/[*`"“”„«»¿¡]+/g, "")
    .replace(/@?(?:[\w.-]*\/)+([\w*-]+\.[\w.]+)/g, "$1")
    .replace(/\s*\([^)]*\)?/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  const said = withoutLeadIn(plain.replace(/^(?:plan|goal|task|context|summary)\s*:\s*/i, ""));
  const cut = hasUnspaced(said) ? unspacedStart(said) : spacedStart(said.split(" "));
  const name = cut.replace(/^[\s\p{P}\p{S}]+(?<![@#([])|[\s\p{P}\p{S}]+$/gu, "");
  const isEnough = hasUnspaced(name) ? name.length >= 4 : name.includes(" ") && contentWords(name).length > 1;
  return isEnough && !INJECTED.test(name) ? name.charAt(0).toUpperCase() + name.slice(1) : undefined;
}

/** Returns the first words, ended where a clause does. */
function spacedStart(words: string[]): string {
  let end = words.length;
  if (end > WORDS.max) {
    const ends = Array.from({ length: WORDS.max - WORDS.min + 1 }, (_, less) => WORDS.max - less);
    end =
      ends.find((at) => /[,;:–—]$/.test(words[at - 1] ?? "")) ??
      ends.find((at) => isFunctionWord(words[at] ?? "")) ??
      WORDS.max;
  }
  while (end > 1 && words.slice(0, end).join(" ").length > CHARS.name) end--;
  while (end > 1 && isFunctionWord((words[end - 1] ?? "").replace(/\p{P}+$/u, ""))) end--;
  return words.slice(0, end).join(" ");
}

function unspacedStart(text: string): string {
  const clause = text.split(/[，。、！？；：,.!?;]/u).find((part) => part.length >= 4) ?? text;
  return [...clause].slice(0, CHARS.unspaced).join("");
}

function rateManner(name: string): number {
  if (!hasUnspaced(name) && name.split(" ").length <= 2) return MANNER.short;
  if (DOING.test(name)) return MANNER.doing;
  if (LOOKING.test(name)) return MANNER.looking;
  return MIDDLE.test(name) || LABELLED.test(name) ? MANNER.background : 1;
}

/** Weighs each word by the messages, titles and commits it occurs in: what the rest of the session repeats is its subject. */
function termWeights(said: readonly Said[], printed: readonly Statement[]): Map<string, number> {
  const counts = new Map<string, number>();
  const texts = said.map(({ who, text }) =>
    who === "user" ? spokenText(text) : text.slice(0, READ.messageChars),
  );
  for (const text of [...texts, ...printed.map(({ text }) => text)]) {
    for (const word of new Set(contentWords(text))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  for (const [word, times] of counts) counts.set(word, SAID_ONCE + Math.log2(times));
  return counts;
}

/** Returns the titles of what requests link to, as what fetched it printed them. */
function linkedTitles(rows: readonly Row[]): string[] {
  const numbers = rows.flatMap((row) =>
    row.who === "user" ? Array.from(row.text.matchAll(LINK), ([, number]) => number) : [],
  );
  const linked = new RegExp(`\\b(?:${numbers.join("|") || "(?!)"})\\b`);
  return rows.flatMap((row) =>
    row.who === "tool" && linked.test(row.target)
      ? (TITLE.exec(row.result)?.slice(1).find(Boolean) ?? [])
      : [],
  );
}

const TITLE = /^title:\s*(.{8,200})$|"(?:title|summary)": ?"((?:[^"\\]|\\.){8,200})"/m;

/** Returns the subjects of the commits, oldest first: as git printed them, else as passed to the commits that may have been made. */
function commitSubjects(rows: readonly Row[]): string[] {
  return rows.flatMap((row) => {
    const given = row.who === "tool" ? commitMessage(row.target) : undefined;
    if (row.who !== "tool" || given === undefined) return [];
    const [printed] = findCommits(row);
    const { verdict } = judgeCommand(row);
    if (printed !== undefined || verdict === "failed" || verdict === "stopped") return printed ?? [];
    return given;
  });
}

/** A change's kind; who is named before a colon stays. */
const TYPE = /^(?:feat|fix|docs|test|chore|refactor|perf|build|ci|style|revert)(?:\([^)]*\))?!?:\s*/;
