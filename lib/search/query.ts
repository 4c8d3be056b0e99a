/**
 * A question as the search reads it: its content words, names whole and in parts, and the full-text expression that
 * finds candidates. Words are OR-ed: a natural question AND-ed finds nothing.
 */

import { synonymsOf } from "../language/synonyms.ts";
import {
  characterPairs,
  foldText,
  isUnspacedWord,
  STOP_WORDS,
  splitName,
  wordsOf,
} from "../language/words.ts";
import { stemWords } from "./terms.ts";

/** One thing asked for. */
export interface Term {
  stem: string;
  /** Folded words of this stem as the question has them. */
  words: string[];
  /** 1, less for parts of a name. */
  weight: number;
}

export interface Question {
  text: string;
  terms: Term[];
  /** Synonyms of its words: they help to rank, and are no evidence. */
  guesses: Term[];
  /** The end of a session that it asks for: "the first attempt", "what was decided in the end". */
  end: "first" | "last" | undefined;
  /** Names, paths, versions and quoted words, folded, as they must occur in a text to be the same. */
  literals: string[];
}

const PART_WEIGHT = 0.5;
const GUESS_WEIGHT = 0.4;
const LAST =
  /\b(?:the (?:very )?last(?! (?:day|week|month|year|night|time)s?\b)|final(?:ly)?|(?:at|by|in) the (?:very )?end|eventually|end(?:ed)? up|latest|most recent(?:ly)?|zuletzt|letzte[mnrs]?|am (?:ende|schluss)|schliesslich|a la fin|finalement|al final|por ultimo)\b/;
const FIRST =
  /\b(?:first|(?:at|in|from) the (?:very )?(?:start|beginning)|(?:start|started|begin|began|begun) with|begin|began|initial(?:ly)?|original(?:ly)?|zuerst|anfangs|am anfang|au debut|al principio)\b/;
/** More words than this add nothing; a pasted page is no question. */
const TERMS_MAX = 48;
/** Longer questions (a pasted page) are cut here. */
const CHARACTERS_MAX = 10_000;
/** Something with an inner mark, an inner capital or a digit among letters. */
const NAME =
  /(?<![\p{L}\p{N}_$@#])[_@#]*[\p{L}\p{N}$]+(?:[-_./\\:#@]+[\p{L}\p{N}$]+)+_*|(?<!\p{Ll})\p{Ll}+\p{Lu}[\p{L}\p{N}]*|\p{Lu}\p{Ll}+\p{Lu}[\p{L}\p{N}]*/gu;
const QUOTED = /["“`]([^"”`]{3,120})["”`]/g;

/** Reads questions. One that has only stop words is read with them. */
export function readQuestions(asked: readonly string[]): Question[] {
  const texts = asked.map((text) => text.slice(0, CHARACTERS_MAX));
  const words = texts.map(contentWords);
  const stems = stemWords(words.flatMap((found) => [...found.keys()]));
  return texts.map((text, i) => {
    const terms = toTerms(words[i] ?? new Map(), stems);
    // several phrasings are synonyms enough
    const guesses = texts.length === 1 ? guessesFor(terms) : [];
    return { text, terms, guesses, end: endOf(text), literals: literalsOf(text) };
  });
}

/** Returns the full-text expression for some terms and literals; undefined when there is nothing to ask. */
export function matchExpression(
  terms: readonly Term[],
  literals: readonly string[] = [],
): string | undefined {
  const phrases = literals
    .map((literal) => wordsOf(literal).join(" "))
    .filter((phrase) => phrase.includes(" "));
  const asked = new Set([...terms.map(({ words }) => words[0] ?? ""), ...phrases]);
  if (asked.size === 0) return undefined;
  return [...asked].map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
}

/** Returns the words of a question with their weights. */
function contentWords(text: string): Map<string, number> {
  const words = new Map<string, number>();
  for (const word of wordsOf(text)) for (const piece of pieces(word)) words.set(piece, 1);
  for (const name of namesIn(text).flatMap((found) => found.split(/[-_./\\:#@]+/))) {
    const parts = splitName(name);
    if (parts.length < 2) continue;
    for (const part of parts.map(foldText)) if (!words.has(part)) words.set(part, PART_WEIGHT);
  }
  const beside = numbersBesideWords(text);
  const content = [...words].filter(([word]) => isContent(word) || beside.has(word));
  return content.some(([word]) => isContent(word)) ? new Map(content) : words;
}

/** Returns single digits and letters that belong to the word before them: `phase 5`, `plan B`. */
function numbersBesideWords(text: string): Set<string> {
  const found = new Set<string>();
  const pairs = text.matchAll(/(\p{L}{2,24})[ .#-]([\p{L}\p{N}])(?![\p{L}\p{N}])/gu);
  for (const [, word = "", single = ""] of pairs) {
    if (isContent(foldText(word)) && !STOP_WORDS.has(foldText(single))) found.add(foldText(single));
  }
  return found;
}

function namesIn(text: string): string[] {
  return text.match(NAME) ?? [];
}

function isContent(word: string): boolean {
  return !STOP_WORDS.has(word) && (word.length > 1 || word.charCodeAt(0) > 127);
}

function pieces(word: string): string[] {
  return isUnspacedWord(word) ? characterPairs(word) : [word];
}

/** Returns the synonyms of a question's words that it does not have itself. */
function guessesFor(terms: readonly Term[]): Term[] {
  const synonyms = terms.flatMap(({ stem, words }) => words.flatMap((word) => synonymsOf(word, stem)));
  if (synonyms.length === 0) return [];
  const weights = new Map(synonyms.map((word) => [word, GUESS_WEIGHT]));
  const own = new Set(terms.map(({ stem }) => stem));
  return toTerms(weights, stemWords(synonyms)).filter(({ stem }) => !own.has(stem));
}

function endOf(text: string): Question["end"] {
  const folded = foldText(text).replaceAll("ß", "ss");
  const [isFirst, isLast] = [FIRST.test(folded), LAST.test(folded)];
  return isFirst === isLast ? undefined : isFirst ? "first" : "last";
}

/** Words of one stem are one term. */
function toTerms(words: ReadonlyMap<string, number>, stems: ReadonlyMap<string, string>): Term[] {
  const terms = new Map<string, Term>();
  for (const [word, weight] of words) {
    const stem = stems.get(word) ?? word;
    const known = terms.get(stem);
    if (!known) terms.set(stem, { stem, words: [word], weight });
    else {
      known.words.push(word);
      known.weight = Math.max(known.weight, weight);
    }
  }
  return [...terms.values()].slice(0, TERMS_MAX);
}

function literalsOf(text: string): string[] {
  const quoted = [...text.matchAll(QUOTED)].map((match) => match[1] ?? "");
  return [...new Set([...namesIn(text), ...quoted].map((name) => foldText(name).trim()))].filter(
    (name) => name.length > 2,
  );
}
