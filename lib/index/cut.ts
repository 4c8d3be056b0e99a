/** Cuts a text that is too long: at the end of a fenced block, paragraph, line, sentence or word, else anywhere. */

import { estimateTokens } from "../language/tokens.ts";

/** The size of the pieces, without what each repeats of the one before. */
const PIECE_TOKENS = 240;
/** The bounds of what a piece repeats: 10 to 20 % of it. */
const OVERLAP_TOKENS = 44;

const BOUNDARIES = [/^[ \t]*```[ \t]*\n/gm, /\n\s*\n/g, /\n/g, /[.!?]["')\]]*\s|[。！？]/g, /\s/g];

/** Cuts a long text into pieces, each repeating the end of the one before. */
export function cutText(text: string): string[] {
  const ends = findCuts(text);
  return ends
    .map((end, i) => text.slice(i === 0 ? 0 : overlapStart(text, ends[i - 1] as number), end).trim())
    .filter((piece) => piece !== "");
}

function findCuts(text: string): number[] {
  const ends: number[] = [];
  const total = estimateTokens(text);
  // Even pieces rather than full ones and a crumb.
  const wanted = Math.ceil(total / Math.ceil(total / PIECE_TOKENS));
  for (let from = 0; ; ) {
    const limit = positionAfter(text, from, wanted + 40);
    if (limit >= text.length) break;
    from = cutBetween(text, positionAfter(text, from, wanted - 60), limit);
    ends.push(from);
  }
  ends.push(text.length);
  return ends;
}

/** Returns how far a text goes from `start` within `tokens` tokens, to within a few characters. */
function positionAfter(text: string, start: number, tokens: number): number {
  let low = start + 1;
  let high = Math.min(text.length, start + tokens * 10);
  if (estimateTokens(text, start, high) <= tokens) return wholePosition(text, high);
  while (high - low > 8) {
    const middle = (low + high) >> 1;
    if (estimateTokens(text, start, middle) <= tokens) low = middle;
    else high = middle;
  }
  return Math.max(wholePosition(text, low), start + 1);
}

function cutBetween(text: string, least: number, limit: number): number {
  const window = text.slice(least, limit);
  for (const boundary of BOUNDARIES) {
    let end = 0;
    for (const match of window.matchAll(boundary)) end = match.index + match[0].length;
    if (end > 0) return least + end;
  }
  return limit;
}

/** Returns where the piece after a cut starts, so that it repeats the end of the one before. */
function overlapStart(text: string, cut: number): number {
  let start = Math.max(0, cut - OVERLAP_TOKENS * 5);
  while (estimateTokens(text, start, cut) > OVERLAP_TOKENS) start += Math.max(1, (cut - start) >> 3);
  const window = text.slice(start, cut);
  for (const boundary of [/\n\s*/, /[.!?]\s+|[。！？]/, /\s+/]) {
    const match = boundary.exec(window);
    // one late in the window would leave no overlap worth the name
    if (match !== null && match.index < window.length / 2) return start + match.index + match[0].length;
  }
  return wholePosition(text, start);
}

/** Returns the position, or the one before it when it lies inside a surrogate pair. */
function wholePosition(text: string, position: number): number {
  if (position <= 0 || position >= text.length) return position;
  const isLow = (text.charCodeAt(position) & 0xfc00) === 0xdc00;
  return isLow && (text.charCodeAt(position - 1) & 0xfc00) === 0xd800 ? position - 1 : position;
}
