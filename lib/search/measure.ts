/**
 * Measures texts for a question: which of its words stand where. Ranking, strength, the choice of rows and an explanation read
 * the same measure, and a text is measured once in a search.
 */

import { foldText, splitJoined } from "../language/words.ts";
import { stemWords } from "./query.ts";

/** A word of the question in a text. */
export interface Occurrence {
  stem: string;
  /** Position among the words of the text. */
  at: number;
  /** Place in the text. */
  start: number;
  /** True if it is a part of a name, or characters of a run without spaces. */
  isPart: boolean;
}

/** A text as a question sees it. */
export interface Measured {
  /** Number of its words. */
  words: number;
  found: readonly Occurrence[];
}

/** Measures texts, each once. */
export type Measure = (texts: readonly string[]) => Measured[];

/** The matches of one word of a text: its stem if the question has it, and the stems of its parts. */
interface KnownWord {
  stem: string | undefined;
  parts: readonly string[];
}

/** A word with its accents, as the index's tokenizer cuts it. */
const WORD = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{M}]*/gu;
const BEYOND_ASCII = /[^\x00-\x7f]/;
/** The most letters at its end that a stem has in another form than its word: `ability`, `abl`. */
const STEM_END = 2;

/** Makes the measure of a question, given by its stems. */
export function makeMeasure(stems: Iterable<string>): Measure {
  const asked = new Set(stems);
  const starts = [...asked].map((stem) => stem.slice(0, Math.max(1, stem.length - STEM_END)));
  const mayBeAsked = startsLike(starts);
  const begins = beginnings(starts);
  const words = new Map<string, KnownWord>();
  const texts = new Map<string, Measured>();
  return (given) => {
    const fresh = [...new Set(given)].filter((text) => !texts.has(text));
    const cut = fresh.map((text) => (BEYOND_ASCII.test(text) ? cutWords(text) : cutPlainWords(text, begins)));
    const unknown = new Set<string>();
    for (const { telling } of cut) for (const { word } of telling) if (!words.has(word)) unknown.add(word);
    addWords(words, unknown, { asked, mayBeAsked });
    for (const [i, text] of fresh.entries()) texts.set(text, measureWords(cut[i] as Cut, words));
    return given.map((text) => texts.get(text) as Measured);
  };
}

/** The number of words in a text, and the words that may match the question. */
interface Cut {
  words: number;
  telling: { word: string; at: number; start: number }[];
}

/** Cuts a text into words. */
function cutWords(text: string): Cut {
  const telling = Array.from(text.matchAll(WORD), ({ 0: word, index }, at) => ({ word, at, start: index }));
  return { words: telling.length, telling };
}

/** Splits an ASCII text into words, and copies only words that begin like a word of the question or are compounds. */
function cutPlainWords(text: string, begins: (first: number, second: number) => boolean): Cut {
  const telling: Cut["telling"] = [];
  let words = 0;
  let start = -1;
  let isJoined = false;
  for (let at = 0; at <= text.length; at++) {
    const unit = at < text.length ? text.charCodeAt(at) : 32;
    const isUpper = unit >= 65 && unit <= 90;
    if (isUpper || (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57)) {
      if (start < 0) start = at;
      // a capital behind another character: fooBar, HTTPServer
      else if (isUpper) isJoined = true;
      continue;
    }
    if (start < 0) continue;
    if (isJoined || begins(text.charCodeAt(start), at - start > 1 ? text.charCodeAt(start + 1) : 0))
      telling.push({ word: text.slice(start, at), at: words, start });
    words++;
    start = -1;
    isJoined = false;
  }
  return { words, telling };
}

/** Makes a test of a word's first two characters, in any case: no other word can have an asked stem. */
function beginnings(starts: readonly string[]): (first: number, second: number) => boolean {
  const known = new Uint8Array(128 * 128);
  for (const start of starts) {
    const [first, second] = [start.charCodeAt(0), start.charCodeAt(1)];
    if (first > 127 || second > 127) continue;
    if (Number.isNaN(second)) known.fill(1, first * 128, first * 128 + 128);
    else known[first * 128 + second] = 1;
  }
  const small = (unit: number) => (unit >= 65 && unit <= 90 ? unit + 32 : unit);
  return (first, second) => known[small(first) * 128 + small(second)] === 1;
}

/** Returns a test that the words of asked stems pass, and few others: stemming takes longer than all else. */
function startsLike(starts: readonly string[]): (word: string) => boolean {
  if (starts.length === 0) return () => false;
  const pattern = new RegExp(`^(?:${[...new Set(starts)].join("|")})`);
  return (word) => pattern.test(word);
}

/** Adds the matches of new words to the known ones. */
function addWords(
  known: Map<string, KnownWord>,
  fresh: ReadonlySet<string>,
  { asked, mayBeAsked }: { asked: ReadonlySet<string>; mayBeAsked: (word: string) => boolean },
): void {
  const forms = Array.from(fresh, (word) => {
    const parts = splitJoined(word).split(" ").map(foldText);
    return { word, whole: foldText(word), parts: parts.filter(mayBeAsked) };
  });
  const stems = stemWords(
    forms.flatMap(({ whole, parts }) => [...(mayBeAsked(whole) ? [whole] : []), ...parts]),
  );
  const stemOf = (form: string) => {
    const stem = stems.get(form);
    return stem !== undefined && asked.has(stem) ? [stem] : [];
  };
  for (const { word, whole, parts } of forms)
    known.set(word, { stem: stemOf(whole)[0], parts: parts.flatMap(stemOf) });
}

function measureWords({ words, telling }: Cut, known: ReadonlyMap<string, KnownWord>): Measured {
  const found: Occurrence[] = [];
  for (const { word, at, start } of telling) {
    const { stem, parts } = known.get(word) as KnownWord;
    if (stem !== undefined) found.push({ stem, at, start, isPart: false });
    for (const part of parts) found.push({ stem: part, at, start, isPart: true });
  }
  return { words, found };
}
