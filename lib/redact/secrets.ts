/**
 * Replaces secrets by three questions asked of a text without its escapes: does a part have a known shape, is it near a name
 * that announces a secret, does it look random by itself?
 */

import { FOREIGN_NAMES, findAnnounced, NAME_ENDS, readName } from "./announced.ts";
import { findCards, findFormat, findMiddles, type Run, type Scan, scan } from "./formats.ts";
import { endOfBody, findKeyArrays, findKeyBlocks } from "./keys.ts";
import { decode, isBodyLine, isRandom } from "./looks.ts";
import { findInAddresses, findPlaced, findSession, PLACE_WORDS } from "./places.ts";
import { unescapeText } from "./plain.ts";

/** Reports a secret by its place and kind. */
export type Found = (start: number, end: number, kind: string) => void;

interface Span {
  start: number;
  end: number;
  kind: string;
  /** Whether it was found by its looks alone. */
  isGuess?: boolean;
}

/** Every word that may announce a secret: of a name, a sentence, a command. */
const WORD = new RegExp(`${NAME_ENDS}|${PLACE_WORDS}`, "iy");
const BEYOND_ASCII = /[^\0-\x7f]/;
const TOKEN = /[A-Za-z0-9+][A-Za-z0-9+/_-]{15,}={0,2}/g;
const IN_ROW_MAX = 8;
/** Nearly all long runs of ordinary text are names and paths without a digit. */
const UNUSUAL = /\d|[a-z][A-Z][a-z]?[A-Z]/;

/** Replaces every secret by a marker of its kind. */
export function replaceSecrets(text: string, mark: (kind: string) => string): string {
  const seen = scan(text);
  // where nothing is to be judged, no escape hides anything
  const isBare = seen.words.length + seen.prefixes.length + seen.runs.length === 0;
  const plain = isBare ? { text, original: (at: number) => at } : unescapeText(text);
  const spans = findSecrets(plain.text, plain.text === text ? seen : scan(plain.text));
  if (spans.length === 0) return text;
  let result = "";
  let done = 0;
  for (const { start, end, kind } of merge(spans)) {
    const from = Math.max(done, plain.original(start));
    const to = plain.original(end);
    if (to <= from) continue;
    result += text.slice(done, from) + mark(kind);
    done = to;
  }
  return result + text.slice(done);
}

/** Puts spans in order; of two that overlap, a guess goes, else the one that begins first grows. */
function merge(spans: Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (!last || span.start >= last.end) merged.push({ ...span });
    else if (last.isGuess && !span.isGuess) merged[merged.length - 1] = { ...span };
    else if (!span.isGuess) last.end = Math.max(last.end, span.end);
  }
  return merged;
}

function findSecrets(text: string, { words, prefixes, runs }: Scan = scan(text)): Span[] {
  const spans: Span[] = [];
  const found = (start: number, end: number, kind: string) => spans.push({ start, end, kind });
  const blocks = findKeyBlocks(text, found);
  const tokens = runs.filter(({ start, end }) => UNUSUAL.test(text.slice(start, end)));
  let from = 0;
  for (const at of prefixes) if (at >= from) from = findFormat(text, at, found);
  for (const run of tokens) findMiddles(text, run, found);
  findWords(text, words, found);
  if (BEYOND_ASCII.test(text)) {
    for (const { index, 0: name } of text.matchAll(FOREIGN_NAMES)) findValue(text, index, name, found);
  }
  findInAddresses(text, found);
  findCards(text, found);
  findKeyArrays(text, found);
  const guessed = (start: number, end: number, kind: string) => {
    if (!blocks.some((block) => block.start <= start && start < block.end))
      spans.push({ start, end, kind, isGuess: true });
  };
  for (const run of tokens) findRandom(text, run, guessed);
  return spans;
}

/** Reports the secrets that words announce. */
function findWords(text: string, words: readonly number[], found: Found): void {
  let from = 0;
  let inRow = 0;
  for (const at of words) {
    WORD.lastIndex = at;
    const word = at < from ? undefined : WORD.exec(text)?.[0];
    if (word === undefined) continue;
    inRow = at - from < 6 ? inRow + 1 : 0;
    from = at + word.length;
    // a run made of names would be judged again from each of them
    const end = inRow > IN_ROW_MAX ? 0 : findValue(text, at, word, found);
    if (end <= from) continue;
    inRow = 0;
    from = end;
  }
}

function findValue(text: string, at: number, word: string, found: Found): number {
  const end = findPlaced(text, at, found);
  const name = end > at ? undefined : readName(text, at, word);
  if (!name) return end;
  return name.kind === "cookie" ? findSession(text, name.end, found) : findAnnounced(text, name, found);
}

/** Reports what looks random in a run, and base64 of a text that holds a secret. */
function findRandom(text: string, run: Run, found: Found): void {
  for (const { index, 0: token } of text.slice(run.start, run.end).matchAll(TOKEN)) {
    const start = run.start + index;
    const place = { start, end: start + token.length };
    const inner = decode(token);
    if (inner !== undefined) {
      if (findSecrets(inner).length > 0) found(start, place.end, "secret");
    } else if (isRandom(text, place)) {
      if (isBodyLine(text, place)) found(start, endOfBody(text, start), "private-key");
      else found(start, place.end, "secret");
    }
  }
}
