/** Porter's stemmer for English, letter for letter what SQLite's `porter` tokenizer does, so that our counts meet its terms. */

const STEP_2: [suffix: string, stem: string][] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["logi", "log"],
  ["bli", "ble"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
];
const STEP_3: [suffix: string, stem: string][] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
];
const STEP_4 = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(" ");

const known = new Map<string, string>();

/** The stem of a lower-case word without accents. */
export function stem(word: string): string {
  if (word.length < 3 || word.length > 64) return word;
  let stemmed = known.get(word);
  if (stemmed === undefined) {
    stemmed = isPlain(word) ? reduce(word) : word;
    if (known.size > 50_000) known.clear();
    known.set(word, stemmed);
  }
  return stemmed;
}

function isPlain(word: string): boolean {
  for (let i = 0; i < word.length; i++) if (word.charCodeAt(i) > 127) return false;
  return true;
}

function reduce(word: string): string {
  let w = plural(word);
  w = pastAndProgressive(w);
  if (w.endsWith("y") && hasVowel(w, w.length - 1)) w = `${w.slice(0, -1)}i`;
  w = replaceSuffix(w, STEP_2);
  w = replaceSuffix(w, STEP_3);
  w = dropSuffix(w);
  return finalLetters(w);
}

function plural(w: string): string {
  if (!w.endsWith("s")) return w;
  if (w.endsWith("sses") || w.endsWith("ies")) return w.slice(0, -2);
  return w.endsWith("ss") ? w : w.slice(0, -1);
}

function pastAndProgressive(w: string): string {
  if (w.endsWith("eed")) return measure(w, w.length - 3) > 0 ? w.slice(0, -1) : w;
  const length = w.endsWith("ed") ? 2 : w.endsWith("ing") ? 3 : 0;
  if (length === 0 || !hasVowel(w, w.length - length)) return w;
  const base = w.slice(0, -length);
  if (/(?:at|bl|iz)$/.test(base)) return `${base}e`;
  if (/([^aeioulsz])\1$/.test(base)) return base.slice(0, -1);
  return measure(base, base.length) === 1 && endsShort(base, base.length) ? `${base}e` : base;
}

function replaceSuffix(w: string, pairs: [string, string][]): string {
  for (const [suffix, other] of pairs) {
    if (!w.endsWith(suffix)) continue;
    const length = w.length - suffix.length;
    return measure(w, length) > 0 ? w.slice(0, length) + other : w;
  }
  return w;
}

function dropSuffix(w: string): string {
  for (const suffix of STEP_4) {
    if (!w.endsWith(suffix)) continue;
    const length = w.length - suffix.length;
    if (suffix === "ion" && !/[st]$/.test(w.slice(0, length))) return w;
    // the longest of a family counts: "ment" inside "ement"
    if (suffix === "ment" && w.endsWith("ement")) continue;
    if (suffix === "ent" && w.endsWith("ment")) continue;
    return measure(w, length) > 1 ? w.slice(0, length) : w;
  }
  return w;
}

function finalLetters(w: string): string {
  let short = w;
  if (w.endsWith("e")) {
    const m = measure(w, w.length - 1);
    if (m > 1 || (m === 1 && !endsShort(w, w.length - 1))) short = w.slice(0, -1);
  }
  return short.endsWith("ll") && measure(short, short.length - 1) > 1 ? short.slice(0, -1) : short;
}

function isVowel(w: string, i: number): boolean {
  const letter = w[i] as string;
  if (letter === "y") return i > 0 && !isVowel(w, i - 1);
  return "aeiou".includes(letter);
}

function hasVowel(w: string, length: number): boolean {
  for (let i = 0; i < length; i++) if (isVowel(w, i)) return true;
  return false;
}

/** How many times a consonant follows a vowel in the first `length` letters. */
function measure(w: string, length: number): number {
  let count = 0;
  for (let i = 1; i < length; i++) if (isVowel(w, i - 1) && !isVowel(w, i)) count++;
  return count;
}

/** Whether the first `length` letters end consonant, vowel, consonant other than w, x, y. */
function endsShort(w: string, length: number): boolean {
  if (length < 3) return false;
  const [a, b, c] = [length - 3, length - 2, length - 1];
  return !isVowel(w, a) && isVowel(w, b) && !isVowel(w, c) && !"wxy".includes(w[c] as string);
}
