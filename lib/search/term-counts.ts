/** How often the terms of questions stand in a text. The regular expression engine looks for words that may be meant. */

import { isUnspaced, splitName } from "../language/identifiers.ts";
import { stem } from "../language/stem.ts";
import { foldText, isWordUnit, withoutAccents } from "../language/words.ts";
import type { Term } from "./query.ts";

/** The terms of one search, by number. */
export interface Vocabulary {
  size: number;
  /** Numbers of the terms that a stem stands for. */
  numbers: ReadonlyMap<string, number[]>;
  /** Find where words may begin that are meant: words, parts of joined names, words of other scripts. */
  words: RegExp | undefined;
  parts: RegExp | undefined;
  others: RegExp | undefined;
}

/** What the parts of a joined name count. */
const PART_WEIGHT = 0.5;
const NAME_MAX = 80;
const JOINED = /[a-z][A-Z]|[A-Z]{2}[a-z]/;
const ACCENTS = /[\u00c0-\u024f]|[\u0300-\u036f]/;

/** Makes terms countable. */
export function makeVocabulary(terms: readonly Term[]): Vocabulary {
  const numbers = new Map<string, number[]>();
  for (const [number, { stems }] of terms.entries()) {
    for (const word of stems) numbers.set(word, [...(numbers.get(word) ?? []), number]);
  }
  // a stem may end in another letter than its words: happi, nullabl
  const beginnings = [
    ...new Set([...numbers.keys()].map((word) => (word.length > 2 ? word.replace(/[iel]$/, "") : word))),
  ];
  beginnings.sort((a, b) => b.length - a.length);
  const latin = beginnings.filter((word) => /^[a-z0-9]/.test(word));
  const capital = latin.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return {
    size: terms.length,
    numbers,
    words: alternatives(latin, "(?:\\b|_)", "gi"),
    parts: alternatives([...capital, ...latin.map((word) => word.toUpperCase())], "[a-zA-Z0-9]", "g"),
    others: alternatives(
      beginnings.filter((word) => !/^[a-z0-9]/.test(word)),
      "",
      "gi",
    ),
  };
}

/** Is told of each term that is found: its number, where, and how much it counts. */
export type TermVisitor = (number: number, index: number, share: number) => void;

/** Finds the terms in a text without accents; as a part of a joined name one counts half. */
export function findTerms(
  text: string,
  { words, parts, others, numbers }: Vocabulary,
  visit: TermVisitor,
): void {
  const tell = (word: string, index: number, share: number) => {
    const found = numbers.get(stem(word));
    if (found) for (const number of found) visit(number, index, share);
  };
  if (words) eachMatch(words, text, (index) => countWord(text, index, (word) => tell(word, index, 1)));
  if (parts && JOINED.test(text)) {
    eachMatch(parts, text, (index) => countParts(text, index, (part) => tell(part, index, PART_WEIGHT)));
  }
  if (others) {
    eachMatch(others, text, (index, found) =>
      countOther(text, { index, found }, (word) => tell(word, index, 1)),
    );
  }
}

/** How often each term stands in a text. */
export function countTerms(text: string, vocabulary: Vocabulary): Float64Array {
  const counts = new Float64Array(vocabulary.size);
  findTerms(plainText(text), vocabulary, (number, _, share) => {
    counts[number] = (counts[number] as number) + share;
  });
  return counts;
}

/** A text as terms are found in it; most texts have no accents and are spared the copy. */
export function plainText(text: string): string {
  return ACCENTS.test(text) ? withoutAccents(text) : text;
}

function alternatives(words: readonly string[], before: string, flags: string): RegExp | undefined {
  return words.length > 0 ? new RegExp(`${before}(?:${words.join("|")})`, flags) : undefined;
}

/** Calls with each match's place; what is returned is where to look on. */
function eachMatch(pattern: RegExp, text: string, visit: (index: number, found: string) => number): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    pattern.lastIndex = visit(match.index, match[0]);
  }
}

function countWord(text: string, index: number, add: (word: string) => void): number {
  const start = text.charCodeAt(index) === 95 ? index + 1 : index;
  const end = wordEnd(text, start);
  if (start === 0 || !isWordUnit(text.charCodeAt(start - 1))) add(foldText(text.slice(start, end)));
  return end;
}

/** Counts the parts of the name around a place, each once, whichever of them was found first. */
function countParts(text: string, index: number, add: (part: string) => void): number {
  const end = wordEnd(text, index);
  let start = index;
  while (start > 0 && isWordUnit(text.charCodeAt(start - 1))) start--;
  const name = text.slice(start, end);
  if (name.length <= NAME_MAX && JOINED.test(name)) for (const part of splitName(name)) add(foldText(part));
  return end;
}

function countOther(
  text: string,
  { index, found }: { index: number; found: string },
  add: (word: string) => void,
): number {
  if (isUnspaced(text.charCodeAt(index))) {
    add(found);
    return index + 1;
  }
  if (index > 0 && isWordUnit(text.charCodeAt(index - 1))) return index + 1;
  const end = wordEnd(text, index);
  add(foldText(text.slice(index, end)));
  return end;
}

function wordEnd(text: string, index: number): number {
  let end = index + 1;
  while (end < text.length && isWordUnit(text.charCodeAt(end))) end++;
  return end;
}
