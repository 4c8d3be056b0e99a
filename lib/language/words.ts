/** Words as the index's tokenizer sees them: letters and digits of any script, lower case, without accents. */

import { isUnspaced } from "./identifiers.ts";

/** Accents off: `Übergänge` → `Ubergange`. */
function withoutAccents(text: string): string {
  return text.normalize("NFD").replace(/\p{M}+/gu, "");
}

/** Lower case, accents off: `Übergänge` → `ubergange`. */
export function foldText(text: string): string {
  return (/^[\x00-\x7f]*$/.test(text) ? text : withoutAccents(text)).toLowerCase();
}

/** Returns the folded words of a text in order; a run of a script without spaces is one word. */
export function wordsOf(text: string): string[] {
  return foldText(text).match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];
}

/** Returns whether a word is of a script that writes no spaces, so that pairs of its characters stand for its words. */
export function isUnspacedWord(word: string): boolean {
  return isUnspaced(word.charCodeAt(0)) || isUnspaced(word.charCodeAt(word.length - 1));
}

/** Returns whether any of a text is in a script that writes no spaces. */
export function hasUnspaced(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isUnspaced(text.charCodeAt(at))) return true;
  return false;
}
