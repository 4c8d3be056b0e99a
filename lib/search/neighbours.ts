/** Candidates with the chunks around them. */

import type { Store } from "../store/store.ts";
import { type ChunkFilter, type ChunkRow, keepMatching, readChunks, readChunksAt } from "./candidates.ts";

export interface NeighbourOptions {
  /** Ids of the chunks that may be results; those beside the adjoining ones are added. */
  candidates: Set<number>;
  /** Candidates whose neighbours are candidates too. */
  adjoining: ReadonlySet<number>;
  filter: ChunkFilter;
}

/** The candidates and the chunks around them: what lends them words, and what may be the answer beside them. */
export function readWithNeighbours(
  store: Store,
  { candidates, adjoining, filter }: NeighbourOptions,
): ChunkRow[] {
  const rows = new Map(readChunks(store, [...candidates]).map((row) => [row.id, row]));
  const wanted = new Map<string, Set<number>>();
  const beside: ChunkRow[] = [];
  for (const row of rows.values()) {
    const indexes = wanted.get(row.sessionId) ?? new Set();
    wanted.set(row.sessionId, indexes);
    const reach = adjoining.has(row.id) ? 2 : 1;
    for (let index = row.index - reach; index <= row.index + reach; index++) indexes.add(index);
  }
  for (const row of readChunksAt(store, wanted)) if (!rows.has(row.id)) beside.push(row);
  const near = beside.filter((row) => isBeside(row, rows, adjoining));
  for (const id of keepMatching(
    store,
    near.map(({ id }) => id),
    filter,
  ))
    candidates.add(id);
  for (const row of beside) rows.set(row.id, row);
  return [...rows.values()].sort((a, b) =>
    a.sessionId === b.sessionId ? a.index - b.index : a.sessionId < b.sessionId ? -1 : 1,
  );
}

function isBeside(row: ChunkRow, rows: Map<number, ChunkRow>, adjoining: ReadonlySet<number>): boolean {
  for (const id of adjoining) {
    const candidate = rows.get(id);
    if (candidate?.sessionId === row.sessionId && Math.abs(candidate.index - row.index) === 1) return true;
  }
  return false;
}
