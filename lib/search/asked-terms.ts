/** The terms of a search's phrasings as numbers, with what each is worth in the stores searched. */

import type { Store } from "../store/store.ts";
import { documentFrequencies } from "./corpus.ts";
import type { Question, Term } from "./query.ts";
import { inverseFrequency, type WeightedTerm } from "./rank.ts";

/** The terms of all phrasings, each once, by number. */
export interface AskedTerms {
  /** The number of each stem. */
  numbers: ReadonlyMap<string, number>;
  /** Returns terms with their weights. */
  weigh(terms: readonly Term[]): WeightedTerm[];
  /** Returns whether a term occurs in so many chunks that it finds nothing by itself. */
  isCommon(term: Term): boolean;
}

/** A word in more than this share of the chunks finds nothing by itself, and costs time where they are many. */
const COMMON_SHARE = 0.2;
const MANY_CHUNKS = 2000;

/** Weighs the terms of phrasings by how rare they are among the stores' chunks. */
export function weighTerms(
  stores: readonly Store[],
  questions: readonly Question[],
  chunks: number,
): AskedTerms {
  const weights = new Map<string, number>();
  for (const { stem, weight } of questions.flatMap(({ terms, guesses }) => [...terms, ...guesses])) {
    weights.set(stem, Math.max(weight, weights.get(stem) ?? 0));
  }
  const frequencies = documentFrequencies(stores, weights.keys());
  const numbers = new Map([...weights.keys()].map((stem, number) => [stem, number]));
  const having = (stem: string) => Math.min(chunks, frequencies.get(stem) ?? 0);
  return {
    numbers,
    weigh: (terms) =>
      terms.map(({ stem }) => ({
        number: numbers.get(stem) as number,
        worth: (weights.get(stem) ?? 0) * inverseFrequency(chunks, having(stem)),
      })),
    isCommon: ({ stem }) => having(stem) > Math.max(MANY_CHUNKS, chunks * COMMON_SHARE),
  };
}
