/**
 * Measures texts for a question: which of its words stand where. Ranking, strength, the choice of rows and an explanation read
 * the same measure, and a text is measured once in a search.
 */

import { foldText, splitJoined } from "../language/words.ts";
import { stemWords } from "./query.ts";

/** A word of the question in a text. */
interface Occurrence {
  stem: string;
  /** Place in the text. */
  start: number;
  /** True if it is a part of a name, or characters of a run without spaces. */
  isPart: boolean;
}

/** An asked stem of a word. */
type Match = Omit<Occurrence, "start">;

/** Measures texts, each once. */
export type Measure = (texts: readonly string[]) => (readonly Occurrence[])[];

/** A word with its accents, as the index's tokenizer cuts it. */
const WORD = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{M}]*/gu;
const BEYOND_ASCII = /[^\x00-\x7f]/;
/** The most letters at its end that a stem has in another form than its word: `ability`, `abl`. */
const STEM_END = 2;

/** Makes the measure of a question, given by its stems. */
export function makeMeasure(stems: Iterable<string>): Measure {
  const asked = new Set(stems);
  const starts = [...asked].map((stem) => stem.slice(0, Math.max(1, stem.length - STEM_END)));
  const begins = beginnings(starts);
  const stemsIn = makeStemmer(asked, starts);
  const texts = new Map<string, readonly Occurrence[]>();
  return (given) => {
    const fresh = [...new Set(given)].filter((text) => !texts.has(text));
    const cut = fresh.map((text) => (BEYOND_ASCII.test(text) ? cutWords(text) : cutPlainWords(text, begins)));
    const known = stemsIn(cut.flatMap((words) => words.map(({ word }) => word)));
    for (const [i, text] of fresh.entries()) {
      const words = cut[i] as CutWord[];
      texts.set(
        text,
        words.flatMap(({ word, start }) => (known.get(word) ?? []).map((match) => ({ ...match, start }))),
      );
    }
    return given.map((text) => texts.get(text) as readonly Occurrence[]);
  };
}

/** A word that may match the question. */
interface CutWord {
  word: string;
  start: number;
}

/** Cuts a text into words. */
function cutWords(text: string): CutWord[] {
  return Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({ word, start: index }));
}

/** Returns the words of an ASCII text that begin like a word of the question or are compounds. */
function cutPlainWords(text: string, begins: (first: number, second: number) => boolean): CutWord[] {
  const words: CutWord[] = [];
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
      words.push({ word: text.slice(start, at), start });
    start = -1;
    isJoined = false;
  }
  return words;
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

/** Makes a function that returns the asked stems of words: a word's own, and those of its parts. */
function makeStemmer(
  asked: ReadonlySet<string>,
  starts: readonly string[],
): (words: readonly string[]) => ReadonlyMap<string, readonly Match[]> {
  const known = new Map<string, readonly Match[]>();
  // few other words pass, and stemming takes longer than all else
  const pattern = new RegExp(`^(?:${[...new Set(starts)].join("|")})`);
  const mayBeAsked = (form: string) => starts.length > 0 && pattern.test(form);
  return (words) => {
    const fresh = new Set(words.filter((word) => !known.has(word)));
    const forms = Array.from(fresh, (word) => {
      const parts = splitJoined(word).split(" ").map(foldText);
      const own = [foldText(word), ...parts].map((form, i) => ({ form, isPart: i > 0 }));
      return { word, own: own.filter(({ form }) => mayBeAsked(form)) };
    });
    const stems = stemWords(forms.flatMap(({ own }) => own.map(({ form }) => form)));
    for (const { word, own } of forms) {
      const found = own.map(({ form, isPart }) => ({ stem: stems.get(form) as string, isPart }));
      known.set(
        word,
        found.filter(({ stem }) => asked.has(stem)),
      );
    }
    return known;
  };
}
