/** Judges by looks alone: whether a value is random, words, a placeholder or code, and what is random without a name near it. */

import { isUuid } from "../base/text.ts";
import { matches } from "./features.ts";

/** Shorter hashes are as often numbers. */
const HASH_MIN = 24;
/** Shorter values are as often words in an unusual spelling. */
export const RANDOM_MIN = 16;

/** Reports a secret by its place and kind. */
export type ReportSecret = (start: number, end: number, kind: string) => void;

/** Looks of a value: not one, words, letters of no word, letters mixed with digits or signs, a hash or id, random. */
export type Look = "none" | "word" | "scrambled" | "mixed" | "hash" | "random";

/** The looks in the order in which they are tried. */
export const LOOKS: [Look, (value: string, isQuoted: boolean) => boolean][] = [
  ["none", (value, isQuoted) => value.length < 4 || isStandIn(value, isQuoted) || matches("digits", value)],
  ["hash", (value) => isUuid(value) || (matches("hex", value) && value.length >= HASH_MIN)],
  ["random", looksRandom],
  ["none", (value) => matches("asks", value) || matches("algorithm", value)],
  ["mixed", (value) => matches("mixes", value)],
  ["scrambled", isScrambled],
  ["none", (value) => matches("field", value) || matches("adjective", value)],
  ["word", (value) => matches("joinable", value)],
];

export const lookAt = (value: string, isQuoted = false): Look =>
  LOOKS.find(([, has]) => has(value, isQuoted))?.[0] ?? "none";

/** Returns whether a text stands for a value that is not written here. In quotes two names are not a chain. */
export function isStandIn(text: string, isQuoted = false): boolean {
  if (matches("elsewhere", text)) return true;
  if (isQuoted && !/\w\.\w+\.\w|::|->/.test(text)) return false;
  return matches("chain", text) && !looksRandom(text.replaceAll(".", ""));
}

/** Returns whether all parts of a text could be words, and no more than two are numbers: `getServerSideProps`. */
export function isName(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|\d+|[^-_./]/g) ?? [];
  const words = parts.filter((part) => /^(?=.{1,20}$)[A-Z]?[a-z]*[aeiouy][a-z]*$/.test(part));
  const numbers = parts.filter((part) => /^\d/.test(part));
  if (numbers.length > 2 || words.length === 0 || words.length + numbers.length < parts.length) return false;
  return words.join("").length >= 4.5 * words.length && !/[-_./]{2}|[-_./]$/.test(text);
}

/** Returns whether most letters are in pieces that could be words: `TestColor256Fallback`. */
export function isMostlyWords(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  const words = parts.filter((part) => /^(?=.*[aeiouy])[A-Z]?[a-z]{2,}$/.test(part));
  const letters = parts.join("").length;
  return letters >= 3 * parts.length && words.join("").length >= 0.6 * letters;
}

/** Returns whether a text is long and mixes letters, digits and signs as no name does. */
export function looksRandom(text: string): boolean {
  if (
    text.length < RANDOM_MIN ||
    isUuid(text) ||
    matches("hex", text) ||
    isWords(text) ||
    matches("algorithm", text)
  )
    return false;
  const changes = countChanges(text);
  const ratio = changes / text.length;
  if (/[0-9]/.test(text)) return changes >= 5 && ratio >= 0.25;
  return ratio >= 0.42 && !(/^[a-z]+(?:[A-Z][a-z]+)+$/.test(text) && isMostlyWords(text));
}

/** Pairs of letters that hardly any word has, not even where two words meet: the first letter, and all that would be the second. */
const RARE =
  "bfkqxz cgjvx dxz fjqvxz gqjvxz hjxz jbcdfghjklmnpqrtvwyxz kjqxz mjqxz pjqvxz qabcdefghijklmnopqrstvwxyz sxz tjqx vbcdfghjklmnpqtwxz wjqvxz xbdgjkrvz yjq zbcdfgjkmnpqrstvwx";
const RARE_PAIRS = new RegExp(`(?=${RARE.replace(/(\w)(\w+) ?/g, "|$1[$2]").slice(1)})`, "gi");

/** Returns whether letters alone are random: case changes more often than in words, or no vowel occurs for long. */
function isScrambled(text: string): boolean {
  if (!/^[A-Za-z]{10,}$/.test(text)) return false;
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) {
    return /[bcdfghjklmnpqrstvwxz]{6}/i.test(text) || (text.match(RARE_PAIRS)?.length ?? 0) >= 2;
  }
  if (/[A-Z]{3}|[A-Z]$|[bcdfghjklmnpqrstvwxz]{5}/.test(text)) return true;
  return text.length / (text.match(/[A-Z]?[a-z]+|[A-Z]+/g)?.length ?? 1) < 4;
}

/** Returns the longest part between joints: cache keys are words, versions and hashes in a row. */
export function longestPart(text: string): string {
  return text.split(/[-_.:/]/).reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

/** `my-secret-name-2`, `getServerSideProps`, `v1.2.3`: words and small numbers joined in the usual ways. */
export function isWords(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g) ?? [];
  const words = parts.filter((part) => /[A-Za-z]/.test(part));
  const numbers = parts.length - words.length;
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const joined = /[-_./:|]/.test(text) || numbers === 0;
  return joined && !/[^\w./:@|-]/.test(text) && numbers <= 2 && letters / Math.max(1, words.length) >= 3.5;
}

/** Returns how often small letters, capitals, digits and signs take turns. */
const countChanges = (text: string): number =>
  (text.match(/[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+/g)?.length ?? 1) - 1;

/** A path has segments that are words; base64 has a slash in about one of 64 characters. */
export function isPath(token: string): boolean {
  if (!/[/_-]/.test(token)) return false;
  if (/^(?:[a-z]{2,}|[A-Z][a-z]+)\//.test(token)) return true;
  const parts = token.split(/[/_-]/);
  const words = parts.filter((part) =>
    /^(?:(?:[A-Z]?[a-z]{2,}){1,6}\d*|\d+|[A-Z]{2,}|[0-9a-f]{7,40})$/.test(part),
  );
  return words.join("").length > token.length / 4;
}

/** Returns the text that a run of base64 hides, if it hides one. */
export function decode(run: string): string | undefined {
  if (run.length < 16 || run.length > 16_384 || !/[A-Z]/.test(run) || !/[a-z]/.test(run)) return undefined;
  try {
    if (!/^[\t\n\r -~]+$/.test(atob(run.slice(0, 16).replaceAll("-", "+").replaceAll("_", "/"))))
      return undefined;
    const text = atob(run.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/"));
    return /^[\t\n\r -~]+$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
