/**
 * Adds results by meaning to those by words: chunks that are clearly nearer to a phrasing than the rest of its list.
 * Embedders differ in how high similarities are, so the spread of each list is the measure.
 */

import { readChunks } from "./candidates.ts";
import { readSessionRows } from "./corpus.ts";
import type { Nearest } from "./nearest.ts";
import type { RankedChunk } from "./retrieval.ts";

/** Outliers are this many spreads above the middle of their list, and at least this much nearer. */
const SPREADS = 4;
const NEARER = 0.15;
/** In a short list there is no spread to measure: so near is near. */
const SHORT_LIST = 8;
const NEAR_ALONE = 0.6;
/** Chunks that meaning adds at most. */
const ADDED = 3;

/** Returns the outliers in the lists of the phrasings, nearest first. */
export function nearestOutliers(lists: readonly (readonly Nearest[])[]): Nearest[] {
  const found: Nearest[] = [];
  for (const near of lists.flatMap(outliers).sort((a, b) => b.similarity - a.similarity)) {
    if (!found.some(({ store, id }) => store === near.store && id === near.id)) found.push(near);
  }
  return found.slice(0, ADDED);
}

/** Reads chunks found by meaning as ranked chunks; `phrasings` is how many lists of words there are before theirs. */
export function readNear(near: readonly Nearest[], phrasings: number): RankedChunk[] {
  return near.flatMap(({ store, id, similarity }) => {
    const [row] = readChunks(store, [id]);
    const session = row && readSessionRows(store, [row.sessionId]).get(row.sessionId);
    if (!row || !session) return [];
    const none = Array.from({ length: phrasings }, () => 0);
    return [{ row, session, score: similarity, ranks: [], coverage: none, fits: none }];
  });
}

function outliers(list: readonly Nearest[]): Nearest[] {
  const at = (share: number) => list[Math.floor(share * (list.length - 1))]?.similarity ?? 0;
  if (list.length < SHORT_LIST) return list.filter(({ similarity }) => similarity >= NEAR_ALONE);
  const middle = at(0.5);
  const spread = at(0.25) - at(0.75);
  const least = middle + Math.max(NEARER, SPREADS * spread);
  return list.filter(({ similarity }) => similarity >= least);
}
