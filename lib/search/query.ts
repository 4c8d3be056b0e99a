/**
 * A question as the search reads it: its content words, names whole and in parts, and the full-text expression that
 * finds candidates. Words are OR-ed: a natural question AND-ed finds nothing.
 */

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
  /** Names, paths, versions and quoted words, folded, as they must occur in a text to be the same. */
  literals: string[];
}

const PART_WEIGHT = 0.5;
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
  return texts.map((text, i) => ({
    text,
    terms: toTerms(words[i] ?? new Map(), stems),
    literals: literalsOf(text),
  }));
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
