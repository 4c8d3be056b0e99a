/**
 * The chunks' vectors: exact in `chunks.embedding`, as sign bits in `session_embeddings` (vec0), and by the hash of their words
 * among what was paid for. Each belongs to an embedder, identified by model and dimensions.
 */

import type { EmbeddingConfig } from "../config/config.ts";
import { paidVector, putPaidVector } from "../store/paid.ts";
import { IS_OWN, readFact, type Store, writeFact } from "../store/store.ts";
import { hostId } from "./index-state.ts";

/** The embedder whose vectors `session_embeddings` holds; absent while some of them are missing there. */
const TABLE_FACT = "vector_table";
/** The embedder whose run ended with an error; absent once one went well. */
const FAILED_FACT = "vectors_failed";

/** A chunk whose vector is missing. */
export interface PendingChunk {
  id: number;
  hash: Uint8Array;
  /** The host's id of its session. */
  session: string;
  /** The embedded text: header and content. */
  text: string;
  /** The day since 1970 on which the server refused its text; 0: never. */
  refusedOn: number;
}

/** The way to query vectors: `vec0` for candidates by their bits, `scan` over the exact ones; or the reason for neither. */
export type VectorSource = { mode: "vec0" | "scan"; embedder: number } | { mode: "off"; why: string };

/** Returns how to query the nearest chunks with the configured embedder. */
export function vectorSource(store: Store, embedding: EmbeddingConfig | undefined): VectorSource {
  if (!embedding) return { mode: "off", why: "no embedding in config.json" };
  const embedder = findEmbedder(store, embedding);
  const hasChunk = (where: string, ...values: number[]) =>
    store.get(`SELECT 1 FROM chunks WHERE embedder ${where} LIMIT 1`, ...values) !== undefined;
  if (embedder === undefined || !hasChunk("= ?", embedder)) {
    const why = hasChunk("IS NOT NULL")
      ? `the vectors are of another model than ${embedding.model} (${embedding.dimensions}), run embed`
      : "no chunk is embedded yet, run embed";
    return { mode: "off", why };
  }
  const isReady = store.vectors.mode === "vec0" && readFact(store, TABLE_FACT) === String(embedder);
  return { mode: isReady ? "vec0" : "scan", embedder };
}

/** Returns the configured embedder's number; prepares `session_embeddings` for it where sqlite-vec is loaded. */
export function useEmbedder(store: Store, embedding: EmbeddingConfig): number {
  return store.transaction(() => {
    const { model, dimensions } = embedding;
    const embedder =
      findEmbedder(store, embedding) ??
      store.run("INSERT INTO embedders (model, dimensions) VALUES (?, ?)", model, dimensions).lastId;
    if (store.vectors.mode !== "vec0") writeFact(store, TABLE_FACT, undefined);
    else if (readFact(store, TABLE_FACT) !== String(embedder)) fillTable(store, embedder, dimensions);
    return embedder;
  });
}

/** Returns up to `limit` chunks above the id `after` without a vector of this embedder, not refused since a day. */
export function pendingChunks(
  db: Store,
  { embedder, after, limit, before }: { embedder: number; after: number; limit: number; before: number },
): PendingChunk[] {
  // one query for each embedder, since the index has no "other than"
  const others = db.all("SELECT id FROM embedders WHERE id <> ?", embedder);
  return [null, ...others.map(({ id }) => Number(id))]
    .flatMap((other) =>
      db.all(
        `SELECT id, session_id, content_hash, context_content, embedding_failures FROM session_chunks
     WHERE embedder IS ? AND id > ? AND embedding_failures < ? AND ${IS_OWN}
     ORDER BY id LIMIT ?`,
        other,
        after,
        before,
        limit,
      ),
    )
    .map((row) => ({
      id: Number(row.id),
      hash: row.content_hash as Uint8Array,
      session: hostId(String(row.session_id)),
      text: String(row.context_content),
      refusedOn: Number(row.embedding_failures),
    }))
    .sort((a, b) => a.id - b.id)
    .slice(0, limit);
}

/** Returns how many chunks have no vector of this embedder. */
export function countPending(store: Store, embedder: number | undefined): number {
  const row = store.get(
    `SELECT count(*) AS n FROM chunks WHERE embedder IS NOT ? AND ${IS_OWN}`,
    embedder ?? -1,
  );
  return Number(row?.n ?? 0);
}

/** Notes whether an embedder's run ended with an error. */
export function noteRun(store: Store, embedder: number, isFailed: boolean): void {
  writeFact(store, FAILED_FACT, isFailed ? String(embedder) : undefined);
}

/** Returns how many chunks could not be embedded: all that wait after a run that failed, else those with refused texts. */
export function countFailed(store: Store, embedding: EmbeddingConfig | undefined): number {
  const embedder = embedding && findEmbedder(store, embedding);
  if (embedder !== undefined && readFact(store, FAILED_FACT) === String(embedder))
    return countPending(store, embedder);
  const row = store.get("SELECT count(*) AS n FROM chunks WHERE embedder IS NULL AND embedding_failures > 0");
  return Number(row?.n ?? 0);
}

/** Returns whether every chunk has a vector of this embedder that search can use. */
export function hasAllVectors(store: Store, embedding: EmbeddingConfig): boolean {
  const embedder = findEmbedder(store, embedding);
  if (embedder === undefined || countPending(store, embedder) > 0) return false;
  return store.vectors.mode === "scan" || readFact(store, TABLE_FACT) === String(embedder);
}

/** Returns the vector that was already paid for these words, of another chunk or of any time. */
export function knownVector(db: Store, hash: Uint8Array, embedder: number): Uint8Array | undefined {
  const row = db.get(
    "SELECT embedding FROM chunks WHERE content_hash = ? AND embedder = ? LIMIT 1",
    hash,
    embedder,
  );
  return (row?.embedding as Uint8Array | undefined) ?? paidVector(db, hash, embedder);
}

/** Stores a chunk's vector, also where the chunk is gone or has other words by now: it was paid for. */
export function putVector(
  store: Store,
  chunk: Pick<PendingChunk, "id" | "hash" | "session">,
  vector: { embedder: number; embedding: Uint8Array },
): void {
  const { embedder, embedding } = vector;
  putPaidVector(store, chunk, vector);
  const current = store.get(
    "SELECT embedder FROM chunks WHERE id = ? AND content_hash = ?",
    chunk.id,
    chunk.hash,
  );
  if (!current) return;
  if (current.embedder !== null) dropBits(store, chunk.id);
  store.run(
    "UPDATE chunks SET embedding = ?, embedder = ?, embedding_failures = 0 WHERE id = ?",
    embedding,
    embedder,
    chunk.id,
  );
  addBits(store, chunk.id, vector);
}

/** Lets the search find a chunk by the bits of its vector. */
export function addBits(
  store: Store,
  chunkId: number,
  { embedder, embedding }: { embedder: number; embedding: Uint8Array },
): void {
  if (readFact(store, TABLE_FACT) !== String(embedder)) return;
  if (store.vectors.mode === "vec0") insertBits(store, chunkId, embedding);
  else writeFact(store, TABLE_FACT, undefined);
}

/** Notes that the server refused the chunks' texts on a day. */
export function noteRefused(db: Store, chunks: readonly PendingChunk[], day: number): void {
  db.transaction(() => {
    for (const { id } of chunks) db.run("UPDATE chunks SET embedding_failures = ? WHERE id = ?", day, id);
  });
}

/** Takes a chunk's vector, if it has one, out of reach of the search. */
export function dropBits(store: Store, chunkId: number): void {
  const row = store.get("SELECT embedder FROM chunks WHERE id = ?", chunkId);
  if (!row || row.embedder === null || readFact(store, TABLE_FACT) === undefined) return;
  if (store.vectors.mode === "vec0") {
    store.run("DELETE FROM session_embeddings WHERE chunk_id = ?", chunkId);
  } else writeFact(store, TABLE_FACT, undefined);
}

/** Returns a vector as it is stored: float32, little-endian. */
export function vectorBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** Returns the number of the configured embedder; undefined when it was never used. */
function findEmbedder(store: Store, { model, dimensions }: EmbeddingConfig): number | undefined {
  const row = store.get("SELECT id FROM embedders WHERE model = ? AND dimensions = ?", model, dimensions);
  return row && Number(row.id);
}

/** Recreates the table and fills it: a virtual table declares its width, so another size needs another table. */
function fillTable(store: Store, embedder: number, dimensions: number): void {
  store.exec(`DROP TABLE IF EXISTS session_embeddings;
    CREATE VIRTUAL TABLE session_embeddings USING vec0(chunk_id INTEGER PRIMARY KEY, embedding bit[${dimensions}])`);
  for (const row of store.iterate("SELECT id, embedding FROM chunks WHERE embedder = ?", embedder))
    insertBits(store, Number(row.id), row.embedding as Uint8Array);
  writeFact(store, TABLE_FACT, String(embedder));
}

function insertBits(store: Store, chunkId: number, embedding: Uint8Array): void {
  store.run(
    "INSERT INTO session_embeddings (chunk_id, embedding) VALUES (?, vec_quantize_binary(?))",
    chunkId,
    embedding,
  );
}
