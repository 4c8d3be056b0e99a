/** Compares a reference with names: equal, all its words in the name, within a typo, or merely similar. */

import { editDistance } from "../base/text.ts";

/** Something that has names. */
export interface Named<T> {
  item: T;
  names: readonly string[];
}

/** Folds a name for comparison: case, `-`, `_` and character width do not matter. */
export function foldName(name: string): string {
  const plain = isAscii(name) ? name : name.normalize("NFKC");
  return plain
    .toLowerCase()
    .replace(/[\s_-]+/g, " ")
    .trim();
}

function isAscii(text: string): boolean {
  // Without the u flag: a Unicode class takes milliseconds to compile.
  return !/[^\x00-\x7f]/.test(text);
}

/**
 * Returns those whose name has all words of the reference (as whole words, else as prefixes); without any, those within
 * the fewest typos.
 */
export function likeName<T>(reference: string, all: readonly Named<T>[]): T[] {
  const wanted = foldName(reference);
  const words = wanted.split(" ");
  if (wanted.length < 2) return [];
  const folded = all.map(({ item, names }) => ({ item, names: names.map(foldName) }));
  for (const holds of [holdsWhole, holdsBeginning]) {
    const found = folded.filter(({ names }) =>
      names.some((name) => words.every((word) => holds(name, word))),
    );
    if (found.length > 0) return found.map(({ item }) => item);
  }
  return mistyped(wanted, folded);
}

/** Returns the most similar names by shared letters, best first. */
export function nearest<T>(reference: string, all: readonly Named<T>[], count: number): T[] {
  const wanted = pairs(foldName(reference));
  return all
    .map(({ item, names }) => ({
      item,
      score: Math.max(0, ...names.map((name) => likeness(wanted, foldName(name)))),
    }))
    .sort((a, b) => b.score - a.score)
    .slice(0, count)
    .map(({ item }) => item);
}

function holdsWhole(name: string, word: string): boolean {
  if (!name.includes(word)) return false;
  return (
    ` ${name.replace(/[^\p{L}\p{N}\p{M}]+/gu, " ")} `.includes(` ${word} `) ||
    ` ${name} `.includes(` ${word} `)
  );
}

/** Scripts without spaces have no word boundaries: there a word counts at any position. */
function holdsBeginning(name: string, word: string): boolean {
  if (!name.includes(word)) return false;
  if (!isAscii(word)) return true;
  return word.length > 1 && name.split(/[^\p{L}\p{N}\p{M}]+/u).some((part) => part.startsWith(word));
}

function mistyped<T>(wanted: string, all: readonly Named<T>[]): T[] {
  const limit = mistakesAllowed(wanted.length);
  let best = limit;
  let found: T[] = [];
  for (const { item, names } of all) {
    for (const name of names) {
      if (Math.abs(name.length - wanted.length) > best || digits(name) !== digits(wanted)) continue;
      const distance = editDistance(wanted, name);
      if (distance > best) continue;
      if (distance < best) found = [];
      best = distance;
      if (!found.includes(item)) found.push(item);
    }
  }
  return limit > 0 ? found : [];
}

/** One typo in a short word, at most three. */
function mistakesAllowed(length: number): number {
  if (length < 4) return 0;
  if (length < 8) return 1;
  return length < 16 ? 2 : 3;
}

/** `deploy 2` is not a typo of `deploy 3`. */
function digits(name: string): string {
  return name.replace(/\D+/g, " ").trim();
}

/** Returns the share of common character pairs, from 0 to 1. */
function likeness(wanted: Set<string>, name: string): number {
  let shared = 0;
  for (let i = 0; i + 1 < name.length; i++) if (wanted.has(name.slice(i, i + 2))) shared++;
  return (2 * shared) / Math.max(1, name.length - 1 + wanted.size);
}

function pairs(text: string): Set<string> {
  const found = new Set<string>();
  for (let i = 0; i + 1 < text.length; i++) found.add(text.slice(i, i + 2));
  return found;
}

/** Whether an id begins with a lower-case prefix. Compares one character before folding the rest. */
export function startsAlike(id: string, prefix: string): boolean {
  return (id.charCodeAt(0) | 32) === (prefix.charCodeAt(0) | 32) && id.toLowerCase().startsWith(prefix);
}
