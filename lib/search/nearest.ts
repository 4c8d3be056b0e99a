/**
 * Finds by meaning, where an embedder is configured: the chunks whose vectors are nearest to a question's. Candidates by their
 * bits (vec0, Hamming) are rescored exactly; without sqlite-vec the exact vectors are scanned. Filters apply inside the
 * search, not after it.
 */

import { SessionMemoryError } from "../base/errors.ts";
import type { Config, EmbeddingConfig } from "../config/config.ts";
import type { VectorSource } from "../index/chunk-vectors.ts";
import type { Store } from "../store/store.ts";
import { readRules } from "../transcripts/rules.ts";
import { type ChunkFilter, filterSelect, keepMatching, readChunks } from "./candidates.ts";
import { readIndexedSessions } from "./corpus.ts";
import type { RankedChunk } from "./retrieval.ts";

interface NearestOptions {
  source: VectorSource;
  filter: ChunkFilter;
  limit: number;
}

interface Nearest {
  id: number;
  /** Cosine, -1 to 1. */
  similarity: number;
}

/** Candidates for the exact comparison: at 100,000 chunks enough for the ten nearest, at a fifth of the exact scan's time. */
const RESCORED = 200;
/** vec0 gives no more. */
const NEIGHBOURS_MAX = 4096;

/** Returns the nearest chunks, best first; none when vectors are off. */
export function nearestChunks(store: Store, vector: Float32Array, options: NearestOptions): Nearest[] {
  const { source, limit } = options;
  if (source.mode === "off") return [];
  const near =
    source.mode === "vec0"
      ? rescore(store, vector, byBits(store, vector, options))
      : scan(store, vector, options);
  return near.sort((a, b) => b.similarity - a.similarity || a.id - b.id).slice(0, limit);
}

function byBits(store: Store, vector: Float32Array, { filter, limit }: NearestOptions): number[] {
  const wanted = Math.min(NEIGHBOURS_MAX, Math.max(RESCORED, limit * 4));
  const open = nearestBits(store, vector, { count: wanted });
  const kept = keepMatching(store, open, filter);
  // Too few left of the nearest: then the filter goes in, which costs a list of all that pass it.
  const isEnough = kept.length === open.length || kept.length >= limit * 4 || open.length < wanted;
  return isEnough ? kept : nearestBits(store, vector, { count: wanted, filter });
}

function nearestBits(
  store: Store,
  vector: Float32Array,
  { count, filter }: { count: number; filter?: ChunkFilter },
): number[] {
  const inside = filter && filterSelect(filter);
  const condition = inside ? ` AND chunk_id IN (${inside.sql})` : "";
  return store
    .all(
      `SELECT chunk_id FROM session_embeddings
       WHERE embedding MATCH vec_quantize_binary($vector) AND k = $count${condition}`,
      { ...inside?.values, vector: toBytes(vector), count },
    )
    .map((row) => Number(row.chunk_id));
}

function rescore(store: Store, vector: Float32Array, ids: readonly number[]): Nearest[] {
  return store
    .all("SELECT id, embedding FROM chunks WHERE id IN (SELECT value FROM json_each($ids))", {
      ids: JSON.stringify(ids),
    })
    .flatMap(({ id, embedding }) =>
      embedding instanceof Uint8Array ? [{ id: Number(id), similarity: cosine(vector, embedding) }] : [],
    );
}

function scan(store: Store, vector: Float32Array, { source, filter }: NearestOptions): Nearest[] {
  if (source.mode === "off") return [];
  const { sql, values } = filterSelect(filter);
  const rows = store.iterate(
    `SELECT id, embedding FROM chunks WHERE embedder = $embedder AND id IN (${sql})`,
    { ...values, embedder: source.embedder },
  );
  const near: Nearest[] = [];
  for (const { id, embedding } of rows) {
    if (embedding instanceof Uint8Array) near.push({ id: Number(id), similarity: cosine(vector, embedding) });
  }
  return near;
}

function cosine(a: Float32Array, bytes: Uint8Array): number {
  const b = toFloats(bytes);
  if (b.length !== a.length) return -1;
  let dot = 0;
  let lengthA = 0;
  let lengthB = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i] as number;
    const y = b[i] as number;
    dot += x * y;
    lengthA += x * x;
    lengthB += y * y;
  }
  return lengthA > 0 && lengthB > 0 ? dot / Math.sqrt(lengthA * lengthB) : -1;
}

/** Drivers give blobs at any address; a float array needs one divisible by four. */
function toFloats(bytes: Uint8Array): Float32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength >> 2);
}

function toBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** Chunks by meaning that take part, for each phrasing. */
const NEAREST = 50;

/** The results of a search by meaning. */
export interface Meaning {
  /** The chunks that are near enough to be shown without a shared word. */
  outliers: RankedChunk[];
}

/** Embeds the phrasings and finds the nearest chunks; `semantic` is `on`, or `off: ` and why it cannot. */
export async function findByMeaning(
  store: Store,
  texts: string[],
  {
    config,
    embedding,
    filter,
    signal,
  }: { config: Config; embedding: EmbeddingConfig; filter: ChunkFilter; signal: AbortSignal | undefined },
): Promise<{ meaning?: Meaning; semantic: string }> {
  const { vectorSource } = await import("../index/chunk-vectors.ts");
  const source = vectorSource(store, embedding);
  if (source.mode === "off") return { semantic: `off: ${source.why}` };
  const [{ embedTexts }, { openSpendLedger }] = await Promise.all([
    import("../model/llm.ts"),
    import("../model/spend.ts"),
  ]);
  try {
    const spend = openSpendLedger(config.paths.home, config.settings);
    const redact = readRules(config.paths).clean;
    const { vectors } = await embedTexts(texts, {
      config: embedding,
      env: config.env,
      spend,
      redact,
      signal,
    });
    const lists = vectors.map((vector) => nearestChunks(store, vector, { source, filter, limit: NEAREST }));
    return { meaning: readMeaning(store, lists), semantic: "on" };
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    return { semantic: `off: ${error.message}` };
  }
}

/** Outliers are this many spreads above the middle of their list, and at least this much nearer. */
const SPREADS = 4;
const NEARER = 0.15;
/** In a short list there is no spread to measure: so near is near. */
const SHORT_LIST = 8;
const NEAR_ALONE = 0.6;
/** Chunks that meaning adds at most. */
const ADDED = 3;

/** Reads the outliers of all phrasings' lists, nearest first. */
export function readMeaning(store: Store, lists: readonly (readonly Nearest[])[]): Meaning {
  const near = new Map<number, number>();
  for (const { id, similarity } of lists.flatMap(outliers).sort((a, b) => b.similarity - a.similarity)) {
    if (!near.has(id) && near.size < ADDED) near.set(id, similarity);
  }
  const chunks = readChunks(store, near.keys()).filter(({ id }) => near.has(id));
  const sessions = readIndexedSessions(
    store,
    chunks.map(({ sessionId }) => sessionId),
  );
  const found = chunks.flatMap((chunk): RankedChunk[] => {
    const session = sessions.get(chunk.sessionId);
    return session ? [{ chunk, session, score: near.get(chunk.id) as number, isTimely: false }] : [];
  });
  return { outliers: found.sort((a, b) => b.score - a.score) };
}

function outliers(list: readonly Nearest[]): Nearest[] {
  const at = (share: number) => list[Math.floor(share * (list.length - 1))]?.similarity ?? 0;
  if (list.length < SHORT_LIST) return list.filter(({ similarity }) => similarity >= NEAR_ALONE);
  const middle = at(0.5);
  const spread = at(0.25) - at(0.75);
  const least = middle + Math.max(NEARER, SPREADS * spread);
  return list.filter(({ similarity }) => similarity >= least);
}
