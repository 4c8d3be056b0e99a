/** From ranked chunks to passages: chunks that adjoin and say it together, each once. */

import type { ChunkRow } from "./candidates.ts";
import type { RankedChunk } from "./retrieval.ts";

/** A stretch of a session that may answer. */
export interface Passage {
  /** The chunk that was found first. */
  best: RankedChunk;
  /** The chunks that were found in it, best first. */
  found: RankedChunk[];
  first: ChunkRow;
  last: ChunkRow;
  /** Indexes of its first and last chunk. */
  from: number;
  to: number;
  firstLine: number;
  lastLine: number;
}

/** A passage is no longer than this, in lines of the transcript. */
const PASSAGE_LINES = 60;
/** A chunk beside a passage joins it when it scores at least so much of the best one's score. */
const JOINING_SHARE = 0.5;

/** Gathers ranked chunks into passages, best first; every chunk is in one of them. */
export function toPassages(ranked: readonly RankedChunk[]): Passage[] {
  const passages: Passage[] = [];
  const bySession = new Map<string, Passage[]>();
  for (const chunk of ranked) {
    const own = bySession.get(chunk.row.sessionId) ?? [];
    const joined = own.find((passage) => joins(chunk, passage));
    if (joined) extend(joined, chunk);
    else {
      const passage = { best: chunk, found: [chunk], first: chunk.row, last: chunk.row, ...placeOf(chunk) };
      passages.push(passage);
      bySession.set(chunk.row.sessionId, [...own, passage]);
    }
  }
  return passages;
}

/** Merges line ranges that overlap or adjoin; the order of the first of each stays. */
export function mergeRanges(ranges: readonly (readonly [number, number])[]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges) {
    const touching = merged.filter(([a, b]) => from <= b + 1 && to >= a - 1);
    const first = touching[0];
    if (!first) {
      merged.push([from, to]);
      continue;
    }
    for (const other of touching.slice(1)) merged.splice(merged.indexOf(other), 1);
    first[0] = Math.min(from, ...touching.map(([a]) => a));
    first[1] = Math.max(to, ...touching.map(([, b]) => b));
  }
  return merged;
}

function joins({ row, score }: RankedChunk, passage: Passage): boolean {
  if (row.store !== passage.best.row.store) return false;
  const isInside = row.index >= passage.from && row.index <= passage.to;
  const isBeside = row.index === passage.from - 1 || row.index === passage.to + 1;
  if (!isInside && !(isBeside && score >= JOINING_SHARE * passage.best.score)) return false;
  const lines = Math.max(row.lastLine, passage.lastLine) - Math.min(row.firstLine, passage.firstLine);
  return lines < PASSAGE_LINES;
}

function extend(passage: Passage, chunk: RankedChunk): void {
  const { row } = chunk;
  passage.found.push(chunk);
  if (row.index < passage.from) passage.first = row;
  if (row.index > passage.to) passage.last = row;
  passage.from = Math.min(passage.from, row.index);
  passage.to = Math.max(passage.to, row.index);
  passage.firstLine = Math.min(passage.firstLine, row.firstLine);
  passage.lastLine = Math.max(passage.lastLine, row.lastLine);
}

function placeOf({ row }: RankedChunk): Pick<Passage, "from" | "to" | "firstLine" | "lastLine"> {
  return { from: row.index, to: row.index, firstLine: row.firstLine, lastLine: row.lastLine };
}
