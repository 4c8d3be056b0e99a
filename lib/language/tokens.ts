/**
 * Estimates how many cl100k tokens a text has, within 30 %, from its characters alone. The costs of characters were fitted to
 * cl100k's counts of real transcripts, with and without their spaces, of twenty languages, and of random letters and digits.
 */

/** The fitted costs, in hundredths of a token, so that sums stay whole: of words and numbers. */
const COST = { word: 90, letter: 3, farLetter: 29, hump: 115, capital: 53, number: 108, digit: 33 };
/** The fitted costs of punctuation. */
const MARKS = { first: 61, further: 24 };
/** The fitted costs of white space. */
const WHITE = { line: 50, further: 20 };
/** The fitted costs of letters beyond Latin. */
const BEYOND = { cyrillic: 65, surrogate: 172, other: 101 };
/** Letters up to which a run is probably one known word. */
const WORD_LETTERS = 7;

/** Estimates how many cl100k tokens `text` (or its part from `start` to `end`) has. */
export function estimateTokens(text: string, start = 0, end = text.length): number {
  return measure(text, { start, end, most: Number.POSITIVE_INFINITY }).tokens;
}

/** Returns the end of the longest part of `text` from `start` within a number of tokens, at most `end`. */
export function positionWithin(
  text: string,
  { start, end, tokens }: { start: number; end: number; tokens: number },
): number {
  return measure(text, { start, end, most: tokens * 100 }).at;
}

type Kind = "small" | "capital" | "digit" | "white" | "mark" | "beyond";

function measure(
  text: string,
  { start, end, most }: { start: number; end: number; most: number },
): { tokens: number; at: number } {
  let cost = 0;
  let run = 0;
  let before: Kind = "white";
  let at = start;
  for (; at < end; at++) {
    const unit = text.charCodeAt(at);
    const kind = classify(unit);
    const goesOn = kind === before;
    run = kind === "small" && (goesOn || before === "capital") ? run + 1 : goesOn ? run : 0;
    const more = measureCost(unit, { kind, before, run });
    if (cost + more > most) break;
    cost += more;
    before = kind;
  }
  return { tokens: Math.ceil(cost / 100), at };
}

function classify(unit: number): Kind {
  if (unit >= 128) return "beyond";
  if (unit >= 97 && unit <= 122) return "small";
  if (unit >= 65 && unit <= 90) return "capital";
  if (unit >= 48 && unit <= 57) return "digit";
  return unit <= 32 ? "white" : "mark";
}

function measureCost(unit: number, { kind, before, run }: { kind: Kind; before: Kind; run: number }): number {
  const goesOn = kind === before;
  if (kind === "small") return run === 0 ? COST.word : run < WORD_LETTERS ? COST.letter : COST.farLetter;
  if (kind === "capital") return goesOn ? COST.capital : before === "small" ? COST.hump : COST.word;
  if (kind === "digit") return goesOn ? COST.digit : COST.number;
  if (kind === "mark") return goesOn ? MARKS.further : MARKS.first;
  if (kind === "white") return goesOn ? WHITE.further : unit === 32 ? 0 : WHITE.line;
  if (unit >= 0x400 && unit < 0x530) return BEYOND.cyrillic;
  return unit >= 0xd800 && unit < 0xe000 ? BEYOND.surrogate : BEYOND.other;
}
