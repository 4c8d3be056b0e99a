/**
 * Does the work that is paid for: vectors for the chunks that have none, and topics that a model gives in place of the rules' ones.
 * What was paid for before is taken from the cache, the rest is sent a batch at a time, and each batch is kept before the
 * next is sent.
 */

import { setTimeout } from "node:timers/promises";
import { SessionMemoryError } from "../base/errors.ts";
import { DAY_MS } from "../base/time.ts";
import type { EmbeddingConfig } from "../config/config.ts";
import type { CompleteJson } from "../model/answers.ts";
import type { EmbedTexts } from "../model/configured-model.ts";
import type { Embedded } from "../model/llm.ts";
import { putPaidTopics, putPaidVector } from "../store/paid.ts";
import { isBusy, isStorageError } from "../store/storage-errors.ts";
import { forgottenSoFar, IS_OWN, type Store } from "../store/store.ts";
import {
  countPending,
  knownVector,
  noteRefused,
  noteRun,
  type PendingChunk,
  pendingChunks,
  putVector,
  useEmbedder,
  vectorBytes,
} from "./chunk-vectors.ts";
import { hostId } from "./index-state.ts";
import { putTopics } from "./session-rows.ts";

interface EmbeddingOptions {
  store: Store;
  embedding: EmbeddingConfig;
  embed: EmbedTexts;
  /** True if chunks that the server refused today are tried again too. @default {false} */
  all?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
  /** The first pause before a batch is sent again, in milliseconds. @default {500} */
  pauseMs?: number | undefined;
}

/** The result of paid work. */
interface PaidReport {
  /** Chunks left for a later run. */
  left: number;
  tokens: number;
  /** Null where the price is unknown. */
  usd: number | null;
  /** The reason that the run ended early or left some work. */
  stopped: SessionMemoryError | undefined;
}

export interface EmbeddingReport extends PaidReport {
  /** Chunks that got a vector. */
  embedded: number;
  /** The number of them that had been paid for before. */
  reused: number;
}

/** Chunks a request: far below the limits of OpenAI and of local servers. */
const BATCH = 100;
/** With growing pauses some five seconds, which most hiccups of a server take. */
const RETRIES = 3;
/** The batches that a server refuses one after the other before it counts as down. */
const FAILED_BATCHES_MAX = 2;
/** The texts that a server refuses one by one, taking none, before the reason cannot be their words. */
const REFUSED_TEXTS_MAX = 3;
/** Statuses with which a server refuses one of the texts. */
const TEXT_REFUSED = [400, 413, 422];

interface EmbeddingRun extends EmbeddingOptions {
  embedder: number;
  /** The day of the run, since 1970: a chunk whose text was refused is left alone for the rest of it. */
  today: number;
  /** The state of forgetting in the index when this run began. */
  forgotten: string | undefined;
  report: EmbeddingReport;
  failedBatches: number;
  /** Chunks whose text was refused by itself. */
  refused: PendingChunk[];
  /** The reason that the last text was refused. */
  failure?: SessionMemoryError;
  /** The reason that the last batch was left for a later run. */
  lostBatch?: SessionMemoryError;
}

/** Gives every chunk its vector, as far as the server answers and the budget goes. */
export async function embedChunks(options: EmbeddingOptions): Promise<EmbeddingReport> {
  const { store, embedding } = options;
  const embedder = useEmbedder(store, embedding);
  const report: EmbeddingReport = { embedded: 0, reused: 0, left: 0, tokens: 0, usd: 0, stopped: undefined };
  const forgotten = forgottenSoFar(store);
  const total = countPending(store, embedder);
  const today = Math.floor(Date.now() / DAY_MS);
  const run = { ...options, embedder, today, forgotten, report, failedBatches: 0, refused: [] };
  await embedPending(run, (done) => options.onProgress?.(done, total));
  report.left = countPending(store, embedder);
  if (!options.signal?.aborted) noteRun(store, embedder, report.stopped !== undefined);
  return report;
}

async function embedPending(run: EmbeddingRun, onProgress: (done: number) => void): Promise<void> {
  const { store, embedder, today, all, report, signal } = run;
  let after = 0;
  while (!signal?.aborted && report.stopped === undefined) {
    const batch = pendingChunks(store, { embedder, after, limit: BATCH, before: all ? today + 1 : today });
    const last = batch.at(-1);
    if (!last) break;
    after = last.id;
    const missing = reuseKnown(run, batch);
    if (missing.length > 0) {
      proveStorable(store, () => storeBlanks(run, missing));
      await embedBatch(run, missing);
    }
    onProgress(report.embedded);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (report.stopped === undefined) noteRefused(store, run.refused, today);
  report.stopped ??= hasTakenNone(run) ? (run.failure ?? run.lostBatch) : run.lostBatch;
}

function hasTakenNone({ report: { embedded, reused } }: EmbeddingRun): boolean {
  return embedded === reused;
}

/** Gives the chunks their vector that were paid for before; returns the others, one list per text. */
function reuseKnown(run: EmbeddingRun, batch: readonly PendingChunk[]): PendingChunk[][] {
  const { store, embedder, report } = run;
  const missing = new Map<string, PendingChunk[]>();
  store.transaction(() => {
    for (const chunk of batch) {
      const embedding = knownVector(store, chunk.hash, embedder);
      if (embedding) {
        putVector(store, chunk, { embedder, embedding });
        report.reused++;
        report.embedded++;
        continue;
      }
      const key = Buffer.from(chunk.hash).toString("hex");
      missing.set(key, [...(missing.get(key) ?? []), chunk]);
    }
  });
  return [...missing.values()];
}

/** Sends texts; when the server refuses one of them, halves the batch until that one is found. */
async function embedBatch(run: EmbeddingRun, groups: readonly PendingChunk[][]): Promise<void> {
  const { report } = run;
  let answer: Embedded;
  try {
    answer = await sendWithRetries(
      run,
      groups.map(([first]) => first?.text ?? ""),
    );
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    if (run.signal?.aborted) return;
    if (!isTextRefused(error)) return noteFailedBatch(run, error);
    if (groups.length === 1) return refuseText(run, groups.flat(), error);
    const half = groups.length >> 1;
    await embedBatch(run, groups.slice(0, half));
    if (report.stopped === undefined) await embedBatch(run, groups.slice(half));
    return;
  }
  run.failedBatches = 0;
  addCost(report, answer);
  keep(run, groups, answer.vectors);
}

function addCost(report: PaidReport, { tokens, usd }: Pick<PaidReport, "tokens" | "usd">): void {
  report.tokens += tokens;
  report.usd = report.usd === null || usd === null ? null : report.usd + usd;
}

/** Stores a paid batch; where the chunks do not take it, by its words alone, from which the next run takes it for nothing. */
function keep(run: EmbeddingRun, groups: readonly PendingChunk[][], vectors: Float32Array[]): void {
  const { embedder, report } = run;
  const paid = groups.flatMap((chunks, position) => {
    const vector = vectors[position];
    return vector ? chunks.map((chunk) => ({ chunk, embedding: vectorBytes(vector) })) : [];
  });
  const storeAll = (put: (chunk: PendingChunk, embedding: Uint8Array) => void) =>
    storePaid(run.store, () => {
      // The vector of a chunk that is gone would be cached, and this one may have been forgotten.
      const isSure = forgottenSoFar(run.store) === run.forgotten;
      const kept = paid.filter(({ chunk }) => isSure || isStillThere(run.store, chunk));
      for (const { chunk, embedding } of kept) put(chunk, embedding);
      return kept.length;
    });
  try {
    report.embedded += storeAll((chunk, embedding) => putVector(run.store, chunk, { embedder, embedding }));
  } catch (error) {
    if (!isStorageError(error)) throw error;
    storeAll((chunk, embedding) => putPaidVector(run.store, chunk, { embedder, embedding }));
    throw error;
  }
}

/** Returns whether a chunk still has the same content. */
function isStillThere(store: Store, { id, hash }: { id: number; hash: Uint8Array }): boolean {
  const row = store.get("SELECT 1 FROM chunks WHERE id = ? AND content_hash = ?", id, hash);
  return row !== undefined;
}

/** Stores vectors of zeros as the paid ones will be. */
function storeBlanks({ store, embedder, embedding }: EmbeddingRun, groups: readonly PendingChunk[][]): void {
  const blank = vectorBytes(new Float32Array(embedding.dimensions));
  for (const chunk of groups.flat()) putVector(store, chunk, { embedder, embedding: blank });
}

/** Thrown to roll back what only had to be tried. */
const TRIED = new Error("tried");

/**
 * Stores something like what is about to be paid for, and takes it back.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` where the index would not take it.
 */
function proveStorable(db: Store, store: () => void): void {
  try {
    db.transaction(() => {
      store();
      throw TRIED;
    });
  } catch (error) {
    if (error !== TRIED) throw error;
  }
}

/** Half a minute of waiting in all, which no write of ours takes. */
const STORE_ATTEMPTS = 3;

/** Stores what is paid for in one transaction; another process that writes is waited for, since the call is not made again. */
function storePaid<T>(db: Store, store: () => T): T {
  for (let attempt = 1; ; attempt++) {
    try {
      return db.transaction(store);
    } catch (error) {
      if (attempt >= STORE_ATTEMPTS || !isBusy(error)) throw error;
    }
  }
}

/** Sends a request, with up to three retries where they may help; the growing pauses differ between processes. */
async function sendWithRetries(run: EmbeddingRun, texts: string[]): Promise<Embedded> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await run.embed(texts, run.signal);
    } catch (error) {
      if (attempt >= RETRIES || !isTransient(error) || run.signal?.aborted) throw error;
      const pauseMs = (run.pauseMs ?? 500) * 2 ** attempt * (0.5 + Math.random());
      await setTimeout(pauseMs, undefined, { signal: run.signal }).catch(() => {}); // aborted: asked below
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof SessionMemoryError && error.type === "EMBEDDING_FAILED" && error.recoverable;
}

function isTextRefused({ details }: SessionMemoryError): boolean {
  return details.kind === "status" && TEXT_REFUSED.includes(Number(details.status));
}

/** Ends the run on a lasting failure (key, dimensions, budget); leaves the batch for a later run on any other. */
function noteFailedBatch(run: EmbeddingRun, error: SessionMemoryError): void {
  if (isTransient(error)) {
    run.lostBatch = error;
    if (++run.failedBatches < FAILED_BATCHES_MAX) return;
  }
  run.report.stopped = error;
}

function refuseText(run: EmbeddingRun, chunks: readonly PendingChunk[], error: SessionMemoryError): void {
  run.refused.push(...chunks);
  // A text that is refused on another day changes nothing: it neither ends a run nor makes it fail.
  const isNews = ({ refusedOn }: PendingChunk) => run.all || refusedOn === 0;
  if (!chunks.some(isNews)) return;
  run.failure = error;
  if (hasTakenNone(run) && run.refused.filter(isNews).length >= REFUSED_TEXTS_MAX) run.report.stopped = error;
}

interface TopicOptions {
  store: Store;
  complete: CompleteJson;
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface TopicReport extends PaidReport {
  /** Chunks whose topics a model gave. */
  refined: number;
}

/** Few enough that a model keeps them apart. */
export const CHUNKS_PER_CALL = 20;
/** More say less of each. */
const CHUNK_TOPICS_MAX = 3;
/** Three times the length of such tags. */
const MAX_TOKENS = 1500;

interface Untagged {
  id: number;
  hash: Uint8Array;
  /** The host's id of its session. */
  session: string;
  content: string;
}

/** Refines the topics of every chunk that no model has seen. */
export async function refineTopics(options: TopicOptions): Promise<TopicReport> {
  const { store, signal } = options;
  const report: TopicReport = { refined: 0, left: 0, tokens: 0, usd: 0, stopped: undefined };
  const total = countUntagged(store);
  let after = 0;
  while (!signal?.aborted) {
    const batch = untaggedChunks(store, after);
    const last = batch.at(-1);
    if (!last) break;
    after = last.id;
    try {
      proveStorable(store, () =>
        storeTopics(
          store,
          batch.map((each) => ({ ...each, topics: ["tried"] })),
          "",
        ),
      );
      await refineBatch(options, batch, report);
    } catch (error) {
      if (!(error instanceof SessionMemoryError)) throw error;
      if (!signal?.aborted) report.stopped = error;
      break;
    }
    options.onProgress?.(report.refined, total);
  }
  report.left = countUntagged(store);
  return report;
}

async function refineBatch(
  { store, complete, signal }: TopicOptions,
  batch: readonly Untagged[],
  report: TopicReport,
): Promise<void> {
  // its schema costs four empty starts
  const { topicsRequest } = await import("../model/prompts.ts");
  const forgotten = forgottenSoFar(store);
  const answer = await complete({
    feature: "topics",
    ...topicsRequest(batch.map(({ content }) => content)),
    maxTokens: MAX_TOKENS,
    signal,
  });
  addCost(report, answer);
  const given = answer.value.topics.flatMap(({ chunk, tags }) => {
    const tagged = batch[chunk - 1];
    const topics = cleanTopics(tags);
    return tagged && topics.length > 0 ? [{ ...tagged, topics }] : [];
  });
  report.refined += storePaid(store, () => {
    const isSure = forgottenSoFar(store) === forgotten;
    const kept = given.filter((tagged) => isSure || isStillThere(store, tagged));
    storeTopics(store, kept, answer.model);
    return kept.length;
  });
}

/** Stores the topics of chunks, in their rows and among what was paid for. */
function storeTopics(
  store: Store,
  chunks: readonly (Untagged & { topics: string[] })[],
  model: string,
): void {
  for (const { topics, ...chunk } of chunks) {
    putPaidTopics(store, chunk, { topics, model });
    putTopics(store, chunk.id, topics);
  }
}

/** Cleans tags, which may not end the header's line or close its bracket. */
function cleanTopics(tags: readonly string[]): string[] {
  const plain = tags.map((tag) =>
    tag
      .toLowerCase()
      .replace(/[\][\n\r,]+/g, " ")
      .trim(),
  );
  return [...new Set(plain.filter((tag) => tag !== ""))].slice(0, CHUNK_TOPICS_MAX);
}

const UNTAGGED = `FROM session_chunks c WHERE ${IS_OWN} AND NOT EXISTS (SELECT 1 FROM paid.topics t WHERE t.content_hash = c.content_hash)`;

function untaggedChunks(store: Store, after: number): Untagged[] {
  return store
    .all(
      `SELECT id, session_id, content_hash, content ${UNTAGGED} AND id > ? ORDER BY id LIMIT ?`,
      after,
      CHUNKS_PER_CALL,
    )
    .map((row) => ({
      id: Number(row.id),
      hash: row.content_hash as Uint8Array,
      session: hostId(String(row.session_id)),
      content: String(row.content),
    }));
}

function countUntagged(store: Store): number {
  return Number(store.get(`SELECT count(*) AS n ${UNTAGGED}`)?.n ?? 0);
}
