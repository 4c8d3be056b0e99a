/** Passages: the stretches of sessions in which ranked chunks lie, and what was said and done there, row by row. */

import { countPoints } from "../base/output.ts";
import { type ChunkFilter, type ChunkRow, keepMatching, readChunkRange } from "./candidates.ts";
import { wholeRow } from "./print.ts";
import type { RankedChunk } from "./retrieval.ts";
import {
  deedRowsOf,
  exchangeOf,
  markRewound,
  messagesOf,
  type PassageRow,
  type Row,
  withHolding,
} from "./rows.ts";

/** A stretch of a session that may answer. */
export interface Passage {
  /** The chunk that was found first. */
  best: RankedChunk;
  /** The chunks that were found in it, best first. */
  found: RankedChunk[];
  first: ChunkRow;
  last: ChunkRow;
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
      const passage = { best: chunk, found: [chunk], first: chunk.row, last: chunk.row };
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

/** Returns whether a chunk is one of a passage's. */
export function isWithin({ store, sessionId, index }: ChunkRow, { first, last }: Passage): boolean {
  return (
    first.store === store && first.sessionId === sessionId && index >= first.index && index <= last.index
  );
}

function joins({ row, score }: RankedChunk, passage: Passage): boolean {
  const { best, first, last } = passage;
  if (row.store !== first.store) return false;
  const isBeside = row.index === first.index - 1 || row.index === last.index + 1;
  if (!isWithin(row, passage) && !(isBeside && score >= JOINING_SHARE * best.score)) return false;
  const lines = Math.max(row.lastLine, last.lastLine) - Math.min(row.firstLine, first.firstLine);
  return lines < PASSAGE_LINES;
}

function extend(passage: Passage, chunk: RankedChunk): void {
  const { row } = chunk;
  passage.found.push(chunk);
  if (row.index < passage.first.index) passage.first = row;
  if (row.index > passage.last.index) passage.last = row;
}

/** Rows so many lines before and behind a passage may be shown with it. */
const AROUND_LINES = 40;

/** Returns the rows of a passage and of the chunks around it, words and deeds. */
export function rowsOf(
  passage: Passage,
  {
    clean,
    filter,
    deeds,
  }: { clean: (text: string) => string; filter: ChunkFilter; deeds: ReadonlySet<string> },
): PassageRow[] {
  const { best, first, last } = passage;
  const near = chunksAround(passage, 1);
  const { caller, session, speaker, after = "", before = "~" } = filter;
  const limits = { caller, session, after: filter.after, before: filter.before, subagents: true };
  const kept = new Set(
    keepMatching(
      best.row.store,
      near.map(({ id }) => id),
      limits,
    ),
  );
  const chunks = near.filter(({ id }) => kept.has(id));
  const said = messagesOf(chunks, (chunk) => isWithin(chunk, passage))
    .filter(({ who }) => speaker === undefined || speaker === who)
    .map((row) => ({ ...row, text: clean(row.text) }));
  const lines = { from: first.firstLine - AROUND_LINES, to: last.lastLine + AROUND_LINES };
  const done = deedRowsOf(best.row.store, best.session, {
    ...lines,
    clean,
    isWanted: ({ session, line, timestamp }) =>
      deeds.has(`${session} ${line}`) && timestamp >= after && timestamp <= before,
  }).map((row) => ({
    ...row,
    isInside: row.line >= first.firstLine && row.line <= last.lastLine,
  }));
  const rows: PassageRow[] = [...said, ...done].filter(({ line }) => line >= lines.from && line <= lines.to);
  markRewound(rows, best.row.store, best.session.number);
  return rows.sort((a, b) => a.line - b.line);
}

/** Returns the chunks of a passage and so many before and after. */
export function chunksAround({ first, last }: Passage, reach: number): ChunkRow[] {
  return readChunkRange(first.store, first.sessionId, [first.index - reach, last.index + reach]);
}

/** Returns the rows of the passage's whole exchanges: as far as the code points go, its own and those nearest to them. */
export function exchangeRows(
  passage: Passage,
  {
    clean,
    isWanted,
    maxChars,
  }: { clean: (text: string) => string; isWanted: (row: Row) => boolean; maxChars: number },
): { rows: Row[]; length: number } {
  const { store, sessionId } = passage.first;
  const [from, to] = [exchangeOf(passage.first)[0], exchangeOf(passage.last).at(-1)];
  const chunks = readChunkRange(store, sessionId, [(from as ChunkRow).index, (to as ChunkRow).index]);
  const rows = messagesOf(chunks, (chunk) => isWithin(chunk, passage))
    .map((row) => ({ ...row, text: clean(row.text) }))
    .filter(isWanted);
  markRewound(rows, store, passage.best.session.number);
  const kept = rowsWithin(rows, maxChars);
  const own = kept.map(({ isInside, ...row }) => row);
  return {
    rows: withHolding(own, { store, session: passage.best.session }, { clean }),
    length: lengthOf(kept),
  };
}

/** Returns the rows of the passage, then those nearest to it, as far as the characters go; in their order. */
function rowsWithin(rows: readonly PassageRow[], maxChars: number): PassageRow[] {
  const inside = rows.map((row, i) => (row.isInside ? i : -1)).filter((i) => i >= 0);
  const distance = (i: number) => Math.min(...inside.map((at) => Math.abs(at - i)), rows.length);
  const nearest = rows.map((_, i) => i).sort((a, b) => distance(a) - distance(b) || a - b);
  const kept = new Set<Row>();
  let left = maxChars;
  for (const i of nearest) {
    const row = rows[i] as PassageRow;
    const cost = lengthOf([row]);
    if (cost > left && kept.size > 0) break;
    kept.add(row);
    left -= cost;
  }
  return rows.filter((row) => kept.has(row));
}

/** Returns the code points of rows as they are printed whole. */
function lengthOf(rows: readonly Row[]): number {
  return countPoints(rows.map((row) => wholeRow(row)));
}
