/** Sorts the words of a question by what they say of a hit that lacks them. */

import { readTimeCues } from "../language/times.ts";
import { contentWords, foldText, isAskingWord, splitWords } from "../language/words.ts";
import { areTogether } from "./corpus.ts";
import type { HitStyle } from "./hit.ts";
import { asTyped, isKept, isRepeated, type Question, type Term, wholeTerms } from "./query.ts";
import type { RetrievalOptions, Retrieved } from "./retrieval.ts";

/** The words of a question by what they say of a hit that lacks them. */
export interface AskedWords {
  /** The rare terms of a question beside its time; undefined if it asks for a time alone. */
  beside: Term[] | undefined;
  /** In no session. */
  nowhere: Term[];
  /** In most phrasings. */
  kept: Term[];
  /** In few sessions and in most phrasings; of one phrasing every word is kept, which says little: those in no session. */
  rare: Term[];
  /** Those in few sessions and in most phrasings, of one phrasing too. */
  named: Term[];
}

type WordOptions = Pick<RetrievalOptions, "now" | "timezone"> & { style: HitStyle };

/** Sorts the words of a question. Speakers' names and times do not count as words. */
export function sortWords({ questions, asked }: Retrieved, options: WordOptions): AskedWords {
  const terms = wholeTerms(questions).filter((term) => isTelling(term, options) && !isTime(term, options));
  const words = terms.filter(asked.isNowhere);
  const names = absentNames(questions, { asked, words });
  const absent = [...words, ...names];
  // a phrasing all of whose words occur says in other words what those of the others say
  const isCovered = questions.some((question) => !absent.some((term) => isKept(term, [question])));
  const kept = [...terms, ...names].filter((term) => isKept(term, questions));
  const nowhere = isCovered
    ? absent.filter((term) => kept.includes(term) || isRepeated(term, questions))
    : absent;
  const named = kept.filter((term) => asked.isRare(term));
  return {
    nowhere,
    kept,
    beside: besideTime(terms, questions)?.filter((term) => !asked.isNowhere(term)),
    rare: questions.length > 1 ? named : nowhere.filter((term) => kept.includes(term)),
    named,
  };
}

/** Returns the words to name above the hits: those in no session; and where no hit is strong, the two rarest, if no session holds both. */
export function nowhereNames(
  { nowhere, kept }: AskedWords,
  { corpus, asked, questions }: Retrieved,
  { isCertain }: { isCertain: boolean },
): string[] {
  const absent = new Set(nowhere.map((term) => shownWord(term, questions)));
  const worth = (term: Term) => asked.weigh([term])[0]?.worth ?? 0;
  const [one, other] = kept
    .filter((term) => !absent.has(shownWord(term, questions)))
    .sort((a, b) => worth(b) - worth(a));
  if (isCertain || !one || !other || areTogether(corpus, one.words, other.words)) return [...absent];
  // two words of one name by that name
  const names = new Set([one, other].map((term) => shownWord(term, questions)));
  return [...absent, [...names].join(" together with ")];
}

/** Returns the names that stand nowhere as they were typed, though each of their words does. */
function absentNames(
  questions: readonly Question[],
  { asked, words }: { asked: Retrieved["asked"]; words: readonly Term[] },
): Term[] {
  const known = new Set(words.flatMap((term) => term.words));
  const names = new Set(questions.flatMap((question) => question.names));
  return [...names]
    .filter((name) => !splitWords(name).some((word) => known.has(word)) && asked.isNameNowhere(name))
    .map((name) => ({ stem: name, words: [name] }));
}

/** Returns the terms that describe the event, without `what did we talk about`; undefined if none are left. */
function besideTime(terms: readonly Term[], questions: readonly Question[]): Term[] | undefined {
  const telling = new Set(questions.flatMap(({ text }) => contentWords(text).map(foldText)));
  const beside = terms.filter(({ words }) => words.some((word) => telling.has(word)));
  return beside.length === 0 ? undefined : beside;
}

/** Words by which a question asks for an order in time; real2: `which sessions` among them prints 3 answers fewer of 366. */
const IN_ORDER = /\bin (?:which|what) order\b|\bfirst\b.{1,80}\bthen\b|\bchronological/i;

/** Returns whether a question, given by its first phrasing, asks for an order in time. */
export function asksForOrder([question = ""]: readonly string[]): boolean {
  return IN_ORDER.test(question);
}

/** Returns a word of a question as it was typed first. */
export function shownWord({ words: [folded], stem }: Term, questions: readonly Question[]): string {
  return asTyped(
    folded ?? stem,
    questions.map(({ text }) => text),
  );
}

/** Returns whether a word carries the subject of the question: it neither names a speaker nor asks for what was said. */
export function isTelling({ words }: Term, { style: { participants } }: WordOptions): boolean {
  const speakers = ["user", "assistant", participants?.user ?? "", participants?.assistant ?? ""];
  const isSpeaker = (word: string) => speakers.some((name) => splitWords(name).includes(word));
  return !words.some(isSpeaker) && !words.every(isAskingWord);
}

/** Returns whether a word means a time. */
function isTime({ words }: Term, clock: WordOptions): boolean {
  const isNamed = (text: string) => readTimeCues(text, clock) !== undefined;
  return words.some((word) => isNamed(word) || isNamed(`${word} 2026`) || /^(?:\d{1,2}|20\d\d)$/.test(word));
}
