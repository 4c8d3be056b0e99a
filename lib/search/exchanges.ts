/** Whole exchanges: those around a chunk. */

import { type ChunkRow, readChunkRange } from "./candidates.ts";
import { joinChunks } from "./rows.ts";

/** Of an exchange before or after a result, so many chunks from its start and the last are shown. */
const AROUND_CHUNKS = 2;

/** Returns the exchanges before and after a chunk's own, in order, long ones shortened. */
export function exchangesAround(
  row: ChunkRow,
  { count, clean }: { count: number; clean: (text: string) => string },
): { before: string[]; after: string[] } {
  const beside = (step: -1 | 1) => exchangesBeside(row, { count, step }).map(clean);
  return count > 0 ? { before: beside(-1), after: beside(1) } : { before: [], after: [] };
}

/** Returns the chunks of the exchange that a chunk is a part of. */
export function exchangeOf(row: ChunkRow): ChunkRow[] {
  const [before, after] = [sameExchange(row, -1), sameExchange(row, 1)];
  return [...before.reverse(), row, ...after];
}

function sameExchange(row: ChunkRow, step: -1 | 1): ChunkRow[] {
  const chunks: ChunkRow[] = [];
  for (
    let next = chunkBeside(row, step);
    next?.exchangeLine === row.exchangeLine;
    next = chunkBeside(next, step)
  ) {
    chunks.push(next);
  }
  return chunks;
}

/** Returns up to `count` exchanges before or after a chunk's own, in order. */
function exchangesBeside(row: ChunkRow, { count, step }: { count: number; step: -1 | 1 }): string[] {
  const found: string[] = [];
  for (let from: ChunkRow | undefined = edgeOf(row, step); found.length < count; ) {
    const next = chunkBeside(from, step);
    if (next === undefined) break;
    const exchange = exchangeOf(next);
    found.push(shortenExchange(exchange));
    from = exchange.at(step === 1 ? -1 : 0) as ChunkRow;
  }
  return step === 1 ? found : found.reverse();
}

/** Returns the last chunk of a chunk's exchange, or the first. */
function edgeOf(row: ChunkRow, step: -1 | 1): ChunkRow {
  return exchangeOf(row).at(step === 1 ? -1 : 0) as ChunkRow;
}

function chunkBeside({ store, sessionId, index }: ChunkRow, step: -1 | 1): ChunkRow | undefined {
  return readChunkRange(store, sessionId, [index + step, index + step])[0];
}

function shortenExchange(chunks: readonly ChunkRow[]): string {
  if (chunks.length <= AROUND_CHUNKS + 1) return joinChunks(chunks);
  const last = chunks.at(-1);
  return `${joinChunks(chunks.slice(0, AROUND_CHUNKS))}\n…\n${last?.content ?? ""}`;
}
