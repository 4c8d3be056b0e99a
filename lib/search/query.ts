/**
 * A question as the search reads it: its content words with their forms, names whole and in parts, and the full-text
 * expression that finds candidates. Words are OR-ed: a natural question AND-ed finds nothing.
 */

import { characterPairs, splitName } from "../language/identifiers.ts";
import { stem } from "../language/stem.ts";
import { STOP_WORDS } from "../language/stop-words.ts";
import { formsOf } from "../language/word-forms.ts";
import { foldText, isUnspacedWord, wordsOf } from "../language/words.ts";

/** One thing asked for. */
export interface Term {
  /** Folded words; any of them will do. */
  forms: string[];
  /** Their stems, without doubles. */
  stems: string[];
  /** 1, less for parts of a name. */
  weight: number;
}

export interface Question {
  text: string;
  terms: Term[];
  /** Names, paths, versions and quoted words, folded, as they must stand in a text to be the same. */
  literals: string[];
}

const PART_WEIGHT = 0.5;
/** More words than this say nothing more; a pasted page is no question. */
const TERMS_MAX = 48;
/** Something with an inner mark, an inner capital or a digit among letters. */
const NAME =
  /[\p{L}\p{N}_$@#]+(?:[-_./\\:#@]+[\p{L}\p{N}_$]+)+|\p{Ll}+\p{Lu}[\p{L}\p{N}]*|\p{Lu}\p{Ll}+\p{Lu}[\p{L}\p{N}]*/gu;
const QUOTED = /["“`]([^"”`]{3,120})["”`]/g;

/** Reads a question. One that has only stop words is read with them. */
export function readQuestion(text: string): Question {
  const names = text.match(NAME) ?? [];
  const words = new Map<string, number>();
  for (const word of wordsOf(text)) for (const piece of pieces(word)) words.set(piece, 1);
  for (const name of names.flatMap((found) => found.split(/[-_./\\:#@]+/))) {
    const parts = splitName(name);
    if (parts.length < 2) continue;
    for (const part of parts.map(foldText)) if (!words.has(part)) words.set(part, PART_WEIGHT);
  }
  const content = [...words].filter(([word]) => isContent(word));
  return {
    text,
    terms: toTerms(content.length > 0 ? content : [...words]),
    literals: literalsOf(text, names),
  };
}

/** The full-text expression for some terms and literals; undefined when there is nothing to ask. */
export function matchExpression(
  terms: readonly Term[],
  literals: readonly string[] = [],
): string | undefined {
  const phrases = literals
    .map((literal) => wordsOf(literal).join(" "))
    .filter((phrase) => phrase.includes(" "));
  const asked = new Set([...terms.flatMap(({ forms }) => forms), ...phrases]);
  if (asked.size === 0) return undefined;
  return [...asked].map((form) => `"${form.replaceAll('"', '""')}"`).join(" OR ");
}

function isContent(word: string): boolean {
  return !STOP_WORDS.has(word) && (word.length > 1 || word.charCodeAt(0) > 127);
}

function pieces(word: string): string[] {
  return isUnspacedWord(word) ? characterPairs(word) : [word];
}

/** Words of one stem are one term. */
function toTerms(words: readonly (readonly [string, number])[]): Term[] {
  const terms = new Map<string, Term>();
  for (const [word, weight] of words) {
    const key = stem(word);
    const forms = formsOf(word);
    const known = terms.get(key);
    if (!known) terms.set(key, { forms, stems: [...new Set(forms.map(stem))], weight });
    else {
      known.forms = [...new Set([...known.forms, ...forms])];
      known.stems = [...new Set([...known.stems, ...forms.map(stem)])];
      known.weight = Math.max(known.weight, weight);
    }
  }
  return [...terms.values()].slice(0, TERMS_MAX);
}

function literalsOf(text: string, names: readonly string[]): string[] {
  const quoted = [...text.matchAll(QUOTED)].map((match) => match[1] ?? "");
  return [...new Set([...names, ...quoted].map((name) => foldText(name).trim()))].filter(
    (name) => name.length > 2,
  );
}
