/** How often the terms of questions stand in a text: one pass, looking closely only at words that may be asked for. */

import { characterPairs, isUnspaced, splitName } from "./identifiers.ts";
import type { Term } from "./query.ts";
import { stem } from "./stem.ts";
import { foldText, isWordUnit } from "./words.ts";

/** The terms of one search, by number. */
export interface Vocabulary {
  size: number;
  /** Numbers of the terms that a stem stands for. */
  numbers: ReadonlyMap<string, number[]>;
  /** By the first two letters: whether a word can be asked for at all. */
  starts: Uint8Array;
}

/** What counts a little less than the words of the text itself. */
const PART_WEIGHT = 0.5;

/** Makes terms countable. */
export function makeVocabulary(terms: readonly Term[]): Vocabulary {
  const numbers = new Map<string, number[]>();
  const starts = new Uint8Array(65536);
  for (const [number, { stems }] of terms.entries()) {
    for (const word of stems) {
      numbers.set(word, [...(numbers.get(word) ?? []), number]);
      starts[startOf(word.charCodeAt(0), word.charCodeAt(1))] = 1;
    }
  }
  return { size: terms.length, numbers, starts };
}

/**
 * Adds to `counts` how often each term stands in `text`, times `weight`; the parts of joined names count half.
 *
 * @returns how many words the text has, parts counted likewise.
 */
export function countTerms(
  text: string,
  vocabulary: Vocabulary,
  { counts, weight = 1 }: { counts: Float64Array; weight?: number },
): number {
  // Accents must be off before words are compared; plain text is spared the copy.
  const plain = /[^\x00-\u02ff\u2000-\u2bff]|[\u00c0-\u024f]/.test(text)
    ? text.normalize("NFD").replace(/\p{M}+/gu, "")
    : text;
  let words = 0;
  for (let i = 0; i < plain.length; i++) {
    if (!isWordUnit(plain.charCodeAt(i))) continue;
    const start = i;
    let isJoined = false;
    let before = plain.charCodeAt(i);
    for (i++; i < plain.length; i++) {
      const unit = plain.charCodeAt(i);
      if (!isWordUnit(unit)) break;
      if (unit <= 90 && unit >= 65 && before >= 97 && before <= 122) isJoined = true;
      before = unit;
    }
    words++;
    const first = plain.charCodeAt(start);
    if (isUnspaced(first) || isUnspaced(before)) {
      words += countPairs(plain.slice(start, i), vocabulary, counts, weight);
      continue;
    }
    if (vocabulary.starts[startOf(first, i - start > 1 ? plain.charCodeAt(start + 1) : Number.NaN)] === 1) {
      add(foldText(plain.slice(start, i)), vocabulary, counts, weight);
    }
    if (isJoined && i - start <= 80) {
      for (const part of splitName(plain.slice(start, i))) {
        words += PART_WEIGHT;
        add(foldText(part), vocabulary, counts, weight * PART_WEIGHT);
      }
    }
  }
  return words;
}

function countPairs(run: string, vocabulary: Vocabulary, counts: Float64Array, weight: number): number {
  const pairs = characterPairs(run);
  for (const pair of pairs) add(pair, vocabulary, counts, weight);
  return pairs.length - 1;
}

function add(word: string, { numbers }: Vocabulary, counts: Float64Array, weight: number): void {
  const found = numbers.get(stem(word));
  if (found) for (const number of found) counts[number] = (counts[number] ?? 0) + weight;
}

/** A slot for the first two letters, whatever their case. */
function startOf(first: number, second: number): number {
  const a = first >= 65 && first <= 90 ? first + 32 : first;
  const b = second >= 65 && second <= 90 ? second + 32 : second || 0;
  return ((a * 31) ^ (b * 257)) & 0xffff;
}
