/**
 * The part of each feature in the logarithm of a unit's chance to answer. Written by `bun test/bench/search/fit.ts --write`,
 * which fits them on the question sets and measures them on repositories that were left out.
 */
export const UNIT_WEIGHTS = {
  /** Shares of the question's words by their rarity: of all phrasings, of the one it fits best, of its row and those beside it. */
  all: 2.0,
  best: 3.2,
  around: 3.9,
  /** The ranking of its session and of its chunk, in parts of the best. */
  session: 1.0,
  chunk: 0.7,
  /** The speaker; a call has neither. */
  user: 2.6,
  assistant: 1.6,
  /** Opens its row. */
  first: 1.5,
  /** The share that the user's row before it holds. */
  reply: 1.1,
  /** Of the time that was asked for. */
  time: 1.8,
  /** Its words for its length. */
  dense: 0.9,
};

export type Feature = keyof typeof UNIT_WEIGHTS;
