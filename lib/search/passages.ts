/**
 * From ranked chunks to what is shown: each exchange once, the best chunk with what stands beside it in the same
 * exchange, what came before and after, and where else the same was discussed.
 */

import type { Store } from "../store/store.ts";
import { type ChunkRow, readChunkRange, sessionsWithCopy, topicsOf } from "./candidates.ts";
import type { RankedChunk } from "./retrieval.ts";

export interface Passage {
  /** The chunk that was found. */
  best: RankedChunk;
  /** It and its neighbours, in order. */
  chunks: ChunkRow[];
  firstLine: number;
  lastLine: number;
  content: string;
  /** The exchanges before and after, nearest last and nearest first. */
  before: string[];
  after: string[];
  /** Sessions that discuss the same or hold a copy. */
  alsoIn: string[];
}

export interface PassageOptions {
  limit: number;
  /** Exchanges wanted before and after. */
  around: number;
}

/** A passage is no longer than this, in tokens and in lines of the transcript. */
const PASSAGE_TOKENS = 500;
const PASSAGE_LINES = 60;
/** A neighbour is worth showing when it scores nearly as well. */
const NEIGHBOUR_SHARE = 0.7;
/** Only the first results are: the further down, the more a short one is worth. */
const WIDENED = 5;
/** Chunks looked at on each side. */
const REACH = 4;
/** A session with a chunk this near to a result's score, on one of its topics, discusses the same. */
const SAME_SUBJECT_SHARE = 0.6;
const ALSO_IN_MAX = 5;
/** Of an exchange before or after a result, so many chunks from its start and the last are shown. */
const AROUND_CHUNKS = 2;
/** Characters that a piece repeats at least to be joined without them. */
const OVERLAP_MIN = 16;
const OVERLAP_MAX = 600;

/** The best passages, each exchange once. */
export function toPassages(
  store: Store,
  ranked: readonly RankedChunk[],
  { limit, around }: PassageOptions,
): Passage[] {
  const taken = new Set<string>();
  const scores = new Map(ranked.map(({ row, score }) => [row.id, score]));
  const passages: Passage[] = [];
  for (const best of ranked) {
    if (passages.length >= limit) break;
    const exchange = `${best.row.exchangeLine} ${best.row.sessionId}`;
    if (taken.has(exchange)) continue;
    taken.add(exchange);
    const chunks = passages.length < WIDENED ? widen(store, best.row, scores) : [best.row];
    const lines = { firstLine: chunks[0]?.firstLine ?? 0, lastLine: chunks.at(-1)?.lastLine ?? 0 };
    passages.push({
      best,
      chunks,
      ...lines,
      content: joinChunks(chunks),
      before: around > 0 ? exchangesBeside(store, best.row, { count: around, step: -1 }) : [],
      after: around > 0 ? exchangesBeside(store, best.row, { count: around, step: 1 }) : [],
      alsoIn: otherSessions(store, best, ranked),
    });
  }
  return passages;
}

/** The chunk with its neighbours of the same exchange, the better one first, within the limits. */
function widen(store: Store, best: ChunkRow, scores: ReadonlyMap<number, number>): ChunkRow[] {
  const near = readChunkRange(store, best.sessionId, [best.index - REACH, best.index + REACH]);
  const rows = new Map(
    near.filter((row) => row.exchangeLine === best.exchangeLine).map((row) => [row.index, row]),
  );
  const chunks = [best];
  let tokens = best.tokens;
  for (;;) {
    const first = chunks[0] ?? best;
    const last = chunks.at(-1) ?? best;
    const fitting = [rows.get(first.index - 1), rows.get(last.index + 1)]
      .filter((row) => row !== undefined)
      .filter((row) => {
        const lines = Math.max(row.lastLine, last.lastLine) - Math.min(row.firstLine, first.firstLine) + 1;
        const isGood = (scores.get(row.id) ?? 0) >= NEIGHBOUR_SHARE * (scores.get(best.id) ?? 0);
        return isGood && lines <= PASSAGE_LINES && tokens + row.tokens <= PASSAGE_TOKENS;
      })
      .sort((a, b) => (scores.get(b.id) ?? 0) - (scores.get(a.id) ?? 0));
    const next = fitting[0];
    if (next === undefined) return chunks;
    tokens += next.tokens;
    if (next.index < first.index) chunks.unshift(next);
    else chunks.push(next);
  }
}

/** The chunks' text in one, what pieces of one message repeat only once. */
function joinChunks(chunks: readonly ChunkRow[]): string {
  return chunks.map(({ content }) => content).reduce((text, content) => joinTexts(text, content));
}

function joinTexts(text: string, content: string): string {
  const words = content.replace(/^(?:User|Assistant): /, "");
  for (let length = Math.min(OVERLAP_MAX, words.length, text.length); length >= OVERLAP_MIN; length--) {
    if (text.endsWith(words.slice(0, length))) return text + words.slice(length);
  }
  return `${text}\n${content}`;
}

/** Up to `count` exchanges before or after a chunk's own, in order, long ones shortened. */
function exchangesBeside(
  store: Store,
  row: ChunkRow,
  { count, step }: { count: number; step: -1 | 1 },
): string[] {
  const found: string[] = [];
  for (let from = row; found.length < count; ) {
    const exchange = exchangeBeside(store, from, step);
    const last = exchange.at(step === 1 ? -1 : 0);
    if (last === undefined) break;
    found.push(shortenExchange(exchange));
    from = last;
  }
  return step === 1 ? found : found.reverse();
}

/** The chunks of the exchange next to a chunk's own. */
function exchangeBeside(store: Store, row: ChunkRow, step: -1 | 1): ChunkRow[] {
  const chunks: ChunkRow[] = [];
  for (let index = row.index + step; ; index += step) {
    const next = readChunkRange(store, row.sessionId, [index, index])[0];
    if (next === undefined) break;
    if (next.exchangeLine === row.exchangeLine) continue;
    if (chunks[0] !== undefined && next.exchangeLine !== chunks[0].exchangeLine) break;
    chunks.push(next);
  }
  return step === 1 ? chunks : chunks.reverse();
}

function shortenExchange(chunks: readonly ChunkRow[]): string {
  if (chunks.length <= AROUND_CHUNKS + 1) return joinChunks(chunks);
  const last = chunks.at(-1);
  return `${joinChunks(chunks.slice(0, AROUND_CHUNKS))}\n…\n${last?.content ?? ""}`;
}

function otherSessions(store: Store, best: RankedChunk, ranked: readonly RankedChunk[]): string[] {
  const { sessionId, timestamp } = best.row;
  const topics = new Set(topicsOf(best.row));
  const others = new Set(sessionsWithCopy(store, sessionId, timestamp));
  for (const { row, score } of ranked) {
    if (others.size >= ALSO_IN_MAX || score < SAME_SUBJECT_SHARE * best.score) break;
    if (row.sessionId !== sessionId && topicsOf(row).some((topic) => topics.has(topic)))
      others.add(row.sessionId);
  }
  return [...others].slice(0, ALSO_IN_MAX);
}
