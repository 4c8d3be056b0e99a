/** Candidates with the chunks around them. */

import type { Store } from "../store/store.ts";
import { type ChunkFilter, type ChunkRow, keepMatching, readChunks, readChunksAt } from "./candidates.ts";

interface NeighbourOptions {
  /** Ids of the chunks that may be results; those beside the adjoining ones are added. */
  candidates: ReadonlySet<number>;
  /** Candidates whose neighbours are candidates too. */
  adjoining: ReadonlySet<number>;
  filter: ChunkFilter;
  /** True if chunks that only lend their words are read too. */
  isLending: boolean;
}

/** Returns the candidates with the chunks around them, which lend them words or may be the answer beside them. */
export function readWithNeighbours(
  store: Store,
  { candidates, adjoining, filter, isLending }: NeighbourOptions,
): { rows: ChunkRow[]; candidates: Set<ChunkRow> } {
  const rows = new Map(readChunks(store, [...candidates]).map((row) => [row.id, row]));
  const wanted = new Map<string, Set<number>>();
  const beside: ChunkRow[] = [];
  for (const row of rows.values()) {
    const indexes = wanted.get(row.sessionId) ?? new Set();
    wanted.set(row.sessionId, indexes);
    const reach = (adjoining.has(row.id) ? 1 : 0) + (isLending ? 1 : 0);
    for (let index = row.index - reach; index <= row.index + reach; index++) indexes.add(index);
  }
  for (const row of readChunksAt(store, wanted)) if (!rows.has(row.id)) beside.push(row);
  const near = beside.filter((row) => isBeside(row, rows, adjoining)).map(({ id }) => id);
  const kept = new Set([...candidates, ...keepMatching(store, near, filter)]);
  for (const row of beside) rows.set(row.id, row);
  const all = [...rows.values()];
  return { rows: all, candidates: new Set(all.filter(({ id }) => kept.has(id))) };
}

function isBeside(row: ChunkRow, rows: Map<number, ChunkRow>, adjoining: ReadonlySet<number>): boolean {
  for (const id of adjoining) {
    const candidate = rows.get(id);
    if (candidate?.sessionId === row.sessionId && Math.abs(candidate.index - row.index) === 1) return true;
  }
  return false;
}
