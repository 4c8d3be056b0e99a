/** How a reference compares with names: the same, all its words in it, a typing mistake away, or merely near. */

import { editDistance } from "../base/text.ts";

/** Something that has names. */
export interface Named<T> {
  item: T;
  names: readonly string[];
}

/** A name as it is compared: case, `-`, `_` and the width of characters do not matter. */
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
 * Those whose name holds all words of the reference (as whole words, else as beginnings of words); when there are none,
 * those that are the fewest typing mistakes away.
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

/** The nearest by letters in common, best first, however far they are. */
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

/** Scripts without spaces have no beginnings of words: there a word counts wherever it stands. */
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

/** One mistake in a short word, three at most. */
function mistakesAllowed(length: number): number {
  if (length < 4) return 0;
  if (length < 8) return 1;
  return length < 16 ? 2 : 3;
}

/** `deploy 2` is not `deploy 3` mistyped. */
function digits(name: string): string {
  return name.replace(/\D+/g, " ").trim();
}

/** Shared pairs of neighbouring characters, from 0 to 1. */
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

/** Whether an id begins with a prefix in lower case. Folding thousands that begin otherwise would be in vain. */
export function startsAlike(id: string, prefix: string): boolean {
  return (id.charCodeAt(0) | 32) === (prefix.charCodeAt(0) | 32) && id.toLowerCase().startsWith(prefix);
}
