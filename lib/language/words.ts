/** Words as the index's tokenizer sees them: letters and digits of any script, lower case, without accents. */

import { isUnspaced } from "./identifiers.ts";

const UNKNOWN = 0;
const PART_OF_WORD = 1;
const BETWEEN_WORDS = 2;

/** What each UTF-16 unit is; beyond ASCII filled in as units are met. */
const KINDS = new Uint8Array(65536);
for (let unit = 0; unit < 128; unit++) {
  KINDS[unit] = /[A-Za-z0-9]/.test(String.fromCharCode(unit)) ? PART_OF_WORD : BETWEEN_WORDS;
}
KINDS.fill(PART_OF_WORD, 0xd800, 0xe000);

/** Accents off: `Übergänge` → `Ubergange`. */
export function withoutAccents(text: string): string {
  return text.normalize("NFD").replace(/\p{M}+/gu, "");
}

/** Lower case, accents off: `Übergänge` → `ubergange`. */
export function foldText(text: string): string {
  return (/^[\x00-\x7f]*$/.test(text) ? text : withoutAccents(text)).toLowerCase();
}

/** The folded words of a text in order; a run of a script without spaces is one word. */
export function wordsOf(text: string): string[] {
  return foldText(text).match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];
}

/** Whether a UTF-16 unit is part of a word. */
export function isWordUnit(unit: number): boolean {
  let kind = KINDS[unit] as number;
  if (kind === UNKNOWN) {
    kind = /[\p{L}\p{N}\p{M}\p{Co}]/u.test(String.fromCharCode(unit)) ? PART_OF_WORD : BETWEEN_WORDS;
    KINDS[unit] = kind;
  }
  return kind === PART_OF_WORD;
}

/** Whether a word is of a script that writes no spaces, so that pairs of its characters stand for its words. */
export function isUnspacedWord(word: string): boolean {
  return isUnspaced(word.charCodeAt(0)) || isUnspaced(word.charCodeAt(word.length - 1));
}

/** Whether any of a text is in a script that writes no spaces. */
export function hasUnspaced(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isUnspaced(text.charCodeAt(at))) return true;
  return false;
}
