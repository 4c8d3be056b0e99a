/** Nearest vectors among 100,000 of 1,536 dimensions, in clusters of 60: ours against sqlite-vec's exact float search. */

import { join } from "node:path";
import { useEmbedder, vectorBytes, vectorSource } from "../../lib/index/chunk-vectors.ts";
import { nearestChunks } from "../../lib/search/nearest.ts";
import { openDatabase, type SqlDatabase } from "../../lib/store/sqlite.ts";
import { openStore, type Store } from "../../lib/store/store.ts";
import { type Random, seeded } from "../support/random.ts";
import { atLeast, atMost, type BenchRow, inTemporaryFolder, interleaved } from "./measure.ts";

const CHUNKS = 100_000;
const DIMENSIONS = 1536;
const CLUSTER = 60;
const QUERIES = 12;
const NEIGHBOURS = 10;
const EMBEDDING = { apiKeyEnv: "NO_KEY", model: "bench", dimensions: DIMENSIONS };

export async function rows(): Promise<BenchRow[]> {
  return await inTemporaryFolder(async (folder) => {
    const random = seeded(5);
    const vectors = clusteredVectors(random);
    const store = fillStore(join(folder, "ours.db"), vectors);
    const exact = fillExact(join(folder, "exact.db"), vectors);
    const queries = Array.from({ length: QUERIES }, () =>
      near(random, vectors[random.integer(0, CHUNKS - 1)] ?? origin(), 0.6),
    );
    const source = vectorSource(store, EMBEDDING);
    const ours = (query: Float32Array) =>
      nearestChunks(store, query, { source, filter: {}, limit: NEIGHBOURS }).map(({ id }) => id);
    const theirs = (query: Float32Array) => exactNearest(exact, query);
    const recall = meanRecall(queries.map((query) => [ours(query), theirs(query)]));
    let turn = 0;
    const time = (search: (query: Float32Array) => number[]) => async () => {
      const query = queries[turn++ % QUERIES] ?? origin();
      const started = performance.now();
      search(query);
      return performance.now() - started;
    };
    const times = await interleaved({ ours: time(ours), exact: time(theirs) }, QUERIES * 2);
    store.close();
    exact.close();
    const detail = `${times.ours.toFixed(1)} ms / ${times.exact.toFixed(1)} ms`;
    return [
      atMost("nearest of 100,000 vectors / exact float search", times.ours / times.exact, 0.25, { detail }),
      atLeast("recall@10 of it, clusters of 60", recall, 0.95, { unit: "" }),
    ];
  });
}

/** A shared mean, a direction per cluster, and noise of its own: as embeddings of related texts lie. */
function clusteredVectors(random: Random): Float32Array[] {
  const mean = gaussian(random, 0.35);
  const vectors: Float32Array[] = [];
  let centre = mean;
  for (let i = 0; i < CHUNKS; i++) {
    if (i % CLUSTER === 0) centre = sum(mean, gaussian(random, 0.7));
    vectors.push(unit(sum(centre, gaussian(random, 0.7))));
  }
  return vectors;
}

function near(random: Random, vector: Float32Array, noise: number): Float32Array {
  return unit(sum(vector, gaussian(random, noise)));
}

/** A random vector of about the given length. The sum of four uniform numbers is normal enough, and fast. */
function gaussian(random: Random, length: number): Float32Array {
  const vector = new Float32Array(DIMENSIONS);
  const scale = (length / Math.sqrt(DIMENSIONS)) * Math.sqrt(3);
  for (let i = 0; i < DIMENSIONS; i++) {
    vector[i] = (random.next() + random.next() + random.next() + random.next() - 2) * scale;
  }
  return vector;
}

function sum(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((value, i) => value + (b[i] ?? 0));
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function origin(): Float32Array {
  return new Float32Array(DIMENSIONS);
}

function fillStore(path: string, vectors: readonly Float32Array[]): Store {
  const store = openStore(path);
  const { db } = store;
  const embedder = useEmbedder(store, EMBEDDING);
  const insert = db.prepare(
    `INSERT INTO chunks (id, session, chunk_index, exchange, timestamp, day, speakers, topic_tags, first_line,
       first_nth, last_line, last_nth, content_hash, embedder, tools, length, token_count, embedding, created_at)
     VALUES (?, 1, ?, 1, '2026-02-03T14:30:00.000Z', '', '[]', '[]', 1, 0, 1, 0, x'00', ?, ?, 1, 1, ?, '')`,
  );
  const bits = db.prepare(
    "INSERT INTO session_embeddings (chunk_id, embedding) VALUES (?, vec_quantize_binary(?))",
  );
  const text = "words of a chunk ".repeat(60);
  inBatches(db, vectors, (vector, i) => {
    insert.run(i + 1, i, embedder, text, vectorBytes(vector));
    bits.run(i + 1, vectorBytes(vector));
  });
  db.exec("INSERT INTO sessions (number, id, agent, file, updated_at) VALUES (1, 's', 'plain', '/s', '')");
  db.exec(
    "INSERT INTO exchanges (session, line, nth, participants, speaker, subject) VALUES (1, 1, 0, '', 'user', '')",
  );
  return store;
}

function fillExact(path: string, vectors: readonly Float32Array[]): SqlDatabase {
  const db = openDatabase(path);
  if (db.vectors.mode !== "vec0") throw new Error(`Cannot compare without sqlite-vec: ${db.vectors.why}`);
  db.exec(
    `CREATE VIRTUAL TABLE exact USING vec0(id INTEGER PRIMARY KEY, embedding float[${DIMENSIONS}] distance_metric=cosine)`,
  );
  const insert = db.prepare("INSERT INTO exact (id, embedding) VALUES (?, ?)");
  inBatches(db, vectors, (vector, i) => {
    insert.run(i + 1, vectorBytes(vector));
  });
  return db;
}

function inBatches(
  db: SqlDatabase,
  vectors: readonly Float32Array[],
  put: (vector: Float32Array, i: number) => void,
): void {
  for (let from = 0; from < vectors.length; from += 5000) {
    db.transaction(() => {
      for (const [offset, vector] of vectors.slice(from, from + 5000).entries()) put(vector, from + offset);
    });
  }
}

function exactNearest(db: SqlDatabase, query: Float32Array): number[] {
  return db
    .prepare("SELECT id FROM exact WHERE embedding MATCH ? AND k = ?")
    .all(vectorBytes(query), NEIGHBOURS)
    .map((row) => Number(row.id));
}

function meanRecall(pairs: readonly (readonly [number[], number[]])[]): number {
  const shares = pairs.map(
    ([found, wanted]) => wanted.filter((id) => found.includes(id)).length / wanted.length,
  );
  return shares.reduce((total, share) => total + share, 0) / shares.length;
}
