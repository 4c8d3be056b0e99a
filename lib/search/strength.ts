/**
 * Measures how much of a question a chunk holds, on the same scale in every index: the share of the question's words
 * that occur close together, weighed by how rare each is, and how many they are. One more phrasing never lowers it.
 */

import type { StoredDeed } from "../index/deed-rows.ts";
import { readHeader } from "../index/header.ts";
import { splitJoined } from "../language/words.ts";
import type { ChunkRow } from "./candidates.ts";
import { type AskedTerms, findStems, type Question } from "./query.ts";
import { deedText } from "./rows.ts";

/** Words further apart than this are not said together. */
const WINDOW_WORDS = 65;
/** So many words, all held, make a chunk of a question's first phrasing strong; of another, a guess, more. */
const ENOUGH_OF_FIRST = 1;
const ENOUGH_OF_OTHERS = 2;
/** A phrasing that is held to this share is answered, however few its words. */
const WHOLE_SHARE = 0.8;
/** The discount for words in tool calls: they are code, and many. */
const DONE = 0.4;
/** From this strength on, a chunk answers. */
export const STRONG = 0.5;

/** A stem's share of the phrasing's worth, and the number of its words. */
interface Held {
  worth: number;
  words: number;
}

/** A word of the question in a chunk. */
interface Occurrence {
  stem: string;
  /** Position among the words; undefined for what counts wherever it is. */
  at: number;
}

/** Measures chunks against all phrasings: 0 for nothing in common, from 0.5 strong, up to 1. */
export function measureStrength(
  rows: readonly ChunkRow[],
  questions: readonly Question[],
  { asked, deeds }: { asked: AskedTerms; deeds: ReadonlyMap<ChunkRow, readonly StoredDeed[]> },
): Map<ChunkRow, number> {
  const texts = rows.flatMap((row) => {
    const done = (deeds.get(row) ?? []).map(deedText).join("\n");
    return [
      [`${row.content}\n${row.tools}`, namesOf(row)],
      [done, splitJoined(done)],
    ];
  });
  const words = texts.map((): Occurrence[] => []);
  const stems = questions.flatMap(({ terms }) => terms.map(({ stem }) => stem));
  findStems(stems, texts, (stem, i, column, position) => {
    words[i]?.push({ stem, at: column === 0 ? position : Number.NaN });
  });
  const phrasings = questions.map((question, i) => ({
    worths: worthsOf(question, asked),
    enough: i === 0 ? ENOUGH_OF_FIRST : ENOUGH_OF_OTHERS,
  }));
  return new Map(
    rows.map((row, i) => {
      const [said = [], done = []] = [words[2 * i], words[2 * i + 1]];
      const scores = phrasings.flatMap(({ worths, enough }) => [
        scoreOf(said, worths, enough),
        scoreOf(done, worths, enough / DONE),
      ]);
      return [row, Math.max(0, ...scores)];
    }),
  );
}

/** Parts of joined names, and the date. */
function namesOf(row: ChunkRow): string {
  return `${splitJoined(row.content, row.tools)} ${readHeader(row).date}`;
}

/** Returns the worth of each stem of a phrasing, all together 1. */
function worthsOf(question: Question, asked: AskedTerms): Map<string, Held> {
  const weighed = asked.weigh(question.terms);
  const total = weighed.reduce((sum, { worth }) => sum + worth, 0) || 1;
  return new Map(
    question.terms.map(({ stem, weight }, i) => [
      stem,
      { worth: (weighed[i]?.worth ?? 0) / total, words: weight },
    ]),
  );
}

/** Returns the score of the window of words that holds most. */
function scoreOf(
  occurrences: readonly Occurrence[],
  worths: ReadonlyMap<string, Held>,
  enough: number,
): number {
  const own = occurrences.filter(({ stem }) => worths.has(stem));
  const everywhere = own.filter(({ at }) => Number.isNaN(at)).map(({ stem }) => stem);
  const placed = own.filter(({ at }) => !Number.isNaN(at)).sort((a, b) => a.at - b.at);
  let most = scoreWindow(everywhere, worths, enough);
  let start = 0;
  for (const [end, { at }] of placed.entries()) {
    while (at - (placed[start] as Occurrence).at > WINDOW_WORDS) start++;
    const together = placed.slice(start, end + 1).map(({ stem }) => stem);
    most = Math.max(most, scoreWindow([...together, ...everywhere], worths, enough));
  }
  return most;
}

/** Returns the number of a phrasing's words that occur, times their share of it; `enough` of that is 0.5. */
function scoreWindow(stems: readonly string[], worths: ReadonlyMap<string, Held>, enough: number): number {
  let share = 0;
  let count = 0;
  for (const stem of new Set(stems)) {
    const { worth, words } = worths.get(stem) ?? { worth: 0, words: 0 };
    share += worth;
    count += words;
  }
  if (share >= WHOLE_SHARE) return Math.min(1, (1 + share) / 2);
  const held = (count * share) / enough;
  return held / (1 + held);
}
