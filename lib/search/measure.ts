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

/** What a word of a text says of the question: its stem where that is asked for, and the stems of its parts. */
interface KnownWord {
  stem: string | undefined;
  parts: readonly string[];
}

/** A word with its accents, as the index's tokenizer cuts it. */
const WORD = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{M}]*/gu;
const PLAIN_WORD = /[a-z\d]+/gi;
const BEYOND_ASCII = /[^\x00-\x7f]/;
/** The most letters at its end that a stem has in another form than its word: `ability`, `abl`. */
const STEM_END = 2;

/** Makes the measure of a question, given by its stems. */
export function makeMeasure(stems: Iterable<string>): Measure {
  const asked = new Set(stems);
  const mayBeAsked = startsLike(asked);
  const words = new Map<string, KnownWord>();
  const texts = new Map<string, Measured>();
  return (given) => {
    const fresh = [...new Set(given)].filter((text) => !texts.has(text));
    const cut = fresh.map(cutWords);
    addWords(words, new Set(cut.flatMap((found) => found.map(([word]) => word))), { asked, mayBeAsked });
    for (const [i, text] of fresh.entries()) texts.set(text, measureWords(cut[i] ?? [], words));
    return given.map((text) => texts.get(text) as Measured);
  };
}

/** Returns the words of a text with their places. */
function cutWords(text: string): [word: string, start: number][] {
  const found: [string, number][] = [];
  for (const { 0: word, index } of text.matchAll(BEYOND_ASCII.test(text) ? WORD : PLAIN_WORD))
    found.push([word, index]);
  return found;
}

/** Returns a test that the words of asked stems pass, and few others: stemming takes longer than all else. */
function startsLike(asked: ReadonlySet<string>): (word: string) => boolean {
  const starts = [...asked].map((stem) => stem.slice(0, Math.max(1, stem.length - STEM_END)));
  if (starts.length === 0) return () => false;
  const pattern = new RegExp(`^(?:${[...new Set(starts)].join("|")})`);
  return (word) => pattern.test(word);
}

/** Adds what words say of the question to those that are known. */
function addWords(
  known: Map<string, KnownWord>,
  words: Iterable<string>,
  { asked, mayBeAsked }: { asked: ReadonlySet<string>; mayBeAsked: (word: string) => boolean },
): void {
  const fresh = Array.from(words).filter((word) => !known.has(word));
  const forms = fresh.map((word) => {
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

function measureWords(cut: readonly [string, number][], known: ReadonlyMap<string, KnownWord>): Measured {
  const found: Occurrence[] = [];
  for (const [at, [word, start]] of cut.entries()) {
    const { stem, parts } = known.get(word) as KnownWord;
    if (stem !== undefined) found.push({ stem, at, start, isPart: false });
    for (const part of parts) found.push({ stem: part, at, start, isPart: true });
  }
  return { words: cut.length, found };
}
