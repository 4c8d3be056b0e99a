/**
 * Reads a question: its content words by the stems of the index's own tokenizer, what each is worth, and the full-text
 * expression that finds candidates. Words are OR-ed, since all words of a natural question occur nowhere together.
 */

import { characterPairs, foldText, isUnspacedWord, STOP_WORDS, splitWords } from "../language/words.ts";
import { openScratch, type SqlDatabase } from "../store/sqlite.ts";
import { type Corpus, documentFrequency, isInDeeds, isNamed, isPhraseIn } from "./corpus.ts";
import { inverseFrequency, type WeightedTerm } from "./rank.ts";

/** One thing asked for. */
export interface Term {
  stem: string;
  /** Folded words of this stem as the question has them. */
  words: string[];
}

export interface Question {
  text: string;
  terms: Term[];
  /** Names of several words, folded, without a line number: `main-new.ts`, but not `one-time`, `and/or` or an address. */
  names: string[];
}

/** The most words of a question that are used: more add nothing, and a pasted page is not a question. */
const TERMS_MAX = 48;
/** Longer questions (a pasted page) are cut here. */
const CHARACTERS_MAX = 10_000;
/** A word with its accents and capitals. */
const TYPED = /[\p{L}\p{N}\p{M}_]+/gu;
/** Something with an inner mark, an inner capital or a digit among letters. */
const NAME =
  /(?<![\p{L}\p{N}_$@#])[_@#]*[\p{L}\p{N}$]+(?:[-_./\\:#@]+[\p{L}\p{N}$]+)+_*|(?<!\p{Ll})\p{Ll}+\p{Lu}[\p{L}\p{N}]*|\p{Lu}\p{Ll}+\p{Lu}[\p{L}\p{N}]*/gu;
/** Words that are joined as in any text. */
const COMPOUND = /^\p{L}+(?:-\p{L}+)?(?:\/\p{L}+(?:-\p{L}+)?)*$/u;
const LINE_NUMBER = /(?::\d+(?:-\d+)?)+$/;

/** Reads questions. One that has only stop words is read with them. */
export function readQuestions(asked: readonly string[]): Question[] {
  const texts = asked.map((text) => text.slice(0, CHARACTERS_MAX));
  const words = texts.map(wordsOf);
  const stems = stemWords(words.flat());
  return texts.map((text, i) => ({ text, terms: toTerms(words[i] ?? [], stems), names: findNames(text) }));
}

/** Returns the full-text expression for some terms; undefined when there is nothing to ask. */
export function matchExpression(terms: readonly Term[]): string | undefined {
  if (terms.length === 0) return undefined;
  return terms.map(({ words: [word = ""] }) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
}

/** Returns the content words of a question, and all where it has none. */
function wordsOf(text: string): string[] {
  const words = splitWords(text).flatMap(pieces);
  const content = words.filter(isContent);
  return content.length > 0 ? content : words;
}

function joinedNames(text: string): string[] {
  return text.match(NAME) ?? [];
}

/** Returns whether a word names something; a digit does: `phase 5`. */
function isContent(word: string): boolean {
  return !STOP_WORDS.has(word) && (word.length > 1 || !/[a-z]/.test(word));
}

function pieces(word: string): string[] {
  return isUnspacedWord(word) ? characterPairs(word) : [word];
}

/** Words of one stem are one term. */
function toTerms(words: readonly string[], stems: ReadonlyMap<string, string>): Term[] {
  const terms = [...Map.groupBy(new Set(words), (word) => stems.get(word) ?? word)];
  return terms.map(([stem, own]): Term => ({ stem, words: own })).slice(0, TERMS_MAX);
}

function findNames(text: string): string[] {
  const names = joinedNames(text).map((name) => foldText(name).replace(LINE_NUMBER, ""));
  const isName = (name: string) =>
    splitWords(name).length > 1 && !COMPOUND.test(name) && !name.includes("://");
  return [...new Set(names)].filter(isName);
}

/** Returns a name or a word of a question, given folded, as it was typed; of a word that stands in a name alone, the name. */
export function asTyped(folded: string, texts: readonly string[]): string {
  for (const text of texts) {
    const joined = joinedNames(text).filter((name) => !name.includes("://"));
    const alone = joined.reduce((rest, name) => rest.replace(name, " "), text).match(TYPED) ?? [];
    const names = joined.map((name) => name.replace(LINE_NUMBER, ""));
    const typed =
      [...names, ...alone].find((one) => foldText(one) === folded) ??
      names.find((name) => splitWords(name).includes(folded));
    if (typed !== undefined) return typed;
  }
  return folded;
}

const SCHEMA = `
CREATE VIRTUAL TABLE texts USING fts5(word, tokenize = 'porter unicode61', content = '');
CREATE VIRTUAL TABLE occurrences USING fts5vocab(texts, instance);`;

let scratch: SqlDatabase | undefined;

/** Returns the stem of each word; a word that the tokenizer cuts has that of its first part. */
export function stemWords(words: Iterable<string>): Map<string, string> {
  const unique = [...new Set(words)];
  const stems = new Map(unique.map((word) => [word, word]));
  if (unique.length === 0) return stems;
  const rows = fill(unique).all("SELECT term, doc FROM occurrences WHERE offset = 0");
  for (const { term, doc } of rows) stems.set(unique[Number(doc) - 1] as string, String(term));
  return stems;
}

/** Puts words into the scratch table in place of those before. */
function fill(words: readonly string[]): SqlDatabase {
  if (!scratch) {
    scratch = openScratch();
    scratch.exec(`PRAGMA journal_mode = OFF; ${SCHEMA}`);
  }
  const db = scratch;
  db.transaction(() => {
    db.exec("INSERT INTO texts (texts) VALUES ('delete-all')");
    for (const [i, word] of words.entries())
      db.run("INSERT INTO texts (rowid, word) VALUES (?, ?)", i + 1, word);
  });
  return db;
}

/** The terms of all phrasings, each once, by number. */
export interface AskedTerms {
  /** The number of each stem. */
  numbers: ReadonlyMap<string, number>;
  /** Returns terms with their weights. */
  weigh(terms: readonly Term[]): WeightedTerm[];
  /** Returns whether a term occurs in few chunks. */
  isRare(term: Term): boolean;
  /** Returns whether nothing that is searched holds a term. */
  isNowhere(term: Term): boolean;
  /** Returns whether the words of a name stand nowhere in what is searched as they do in it. */
  isNameNowhere(name: string): boolean;
}

/** Returns whether a word or name is in most phrasings; a name in the first will do, since the others may guess some. */
export function isKept(term: Term, questions: readonly Question[]): boolean {
  return (
    questions[0]?.names.includes(term.stem) === true || 2 * countHaving(term, questions) > questions.length
  );
}

/** Returns whether a word or name is in half of the phrasings, and in both if there are two. */
export function isRepeated(term: Term, questions: readonly Question[]): boolean {
  const having = countHaving(term, questions);
  return 2 * having >= questions.length && having >= Math.min(2, questions.length);
}

function countHaving({ stem }: Term, questions: readonly Question[]): number {
  return questions.filter(
    ({ terms, names }) => terms.some((term) => term.stem === stem) || names.includes(stem),
  ).length;
}

/** Returns the whole words of all phrasings, those of most phrasings first. */
export function wholeTerms(questions: readonly Question[]): Term[] {
  const uses = new Map<string, { term: Term; count: number }>();
  for (const term of questions.flatMap(({ terms }) => terms)) {
    if (!term.words.some(isUnspacedWord))
      uses.set(term.stem, { term, count: (uses.get(term.stem)?.count ?? 0) + 1 });
  }
  return [...uses.values()].sort((a, b) => b.count - a.count).map(({ term }) => term);
}

/** A word in no more than this share of the chunks is one by which things are told apart. */
const RARE_SHARE = 0.01;

/** Weighs the terms of phrasings by how rare they are among the chunks. */
export function weighTerms(corpus: Corpus, questions: readonly Question[]): AskedTerms {
  const { chunks } = corpus;
  const words = new Map(questions.flatMap(({ terms }) => terms.map((term) => [term.stem, term.words])));
  const numbers = new Map([...words.keys()].map((stem, number) => [stem, number]));
  const frequencies = new Map(
    Array.from(words, ([stem, [word = ""]]) => [stem, documentFrequency(corpus, stem, word)]),
  );
  const having = (stem: string) => Math.min(chunks, frequencies.get(stem) ?? 0);
  return {
    numbers,
    weigh: (terms) =>
      terms.flatMap(({ stem }) => {
        const number = numbers.get(stem);
        return number === undefined ? [] : [{ number, worth: inverseFrequency(chunks, having(stem)) }];
      }),
    isRare: ({ stem }) => having(stem) <= Math.max(1, chunks * RARE_SHARE),
    isNowhere: (term) => having(term.stem) === 0 && !isInDeeds(corpus, term.words),
    isNameNowhere: (name) => !isNamed(corpus, name) && !isPhraseIn(corpus, splitWords(name).join(" ")),
  };
}
