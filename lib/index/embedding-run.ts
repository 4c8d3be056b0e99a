/**
 * Vectors for the chunks that have none: what was paid for before is taken from the cache, the rest is sent a batch at
 * a time, and each batch is kept before the next is sent.
 */

import { setTimeout } from "node:timers/promises";
import { SessionMemoryError } from "../base/errors.ts";
import type { EmbeddingConfig } from "../config/config.ts";
import type { EmbedTexts } from "../model/configured-model.ts";
import type { Embedded } from "../model/llm.ts";

import { forgottenSoFar, isStillThere, readFact, type Store, writeFact } from "../store/store.ts";
import {
  countPending,
  knownVector,
  lowerFailures,
  noteFailures,
  type PendingChunk,
  pendingChunks,
  putVector,
  useEmbedder,
  vectorBytes,
} from "./chunk-vectors.ts";

interface EmbeddingRunOptions {
  store: Store;
  embedding: EmbeddingConfig;
  embed: EmbedTexts;
  /** True if chunks that the server refused for good are tried again. @default {false} */
  all?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
  /** The first pause before a batch is sent again, in milliseconds. @default {500} */
  pauseMs?: number | undefined;
}

export interface EmbeddingReport {
  /** Chunks that got a vector. */
  embedded: number;
  /** Of them, those that had been paid for before. */
  reused: number;
  /** Chunks left for a later run. */
  left: number;
  tokens: number;
  /** Null where the price is unknown. */
  usd: number | null;
  /** The reason that the run ended early or left some work. */
  stopped: SessionMemoryError | undefined;
}

/** Chunks a request: far below the limits of OpenAI and of local servers. */
const BATCH = 100;
/** With growing pauses some five seconds, which most hiccups of a server take. */
const RETRIES = 3;
/** A server that refuses so many batches one after the other is down. */
const FAILED_BATCHES_MAX = 2;
/** Failures of a chunk whose text the server refuses: it is left alone for a day, or until a run with --all. */
const REFUSED = 1000;
/** When the server refused the first of the texts that are left alone. */
const REFUSED_FACT = "texts_refused";
const DAY_MS = 86_400_000;
/** A server that refused so many texts one by one and took none refuses them for another reason than their words. */
const REFUSED_TEXTS_MAX = 3;
/** Failures of a chunk that such a server refused: after three runs it is left alone too. */
const REFUSED_WITH_ALL = 334;
/** Statuses with which a server refuses one of the texts. */
const TEXT_REFUSED = [400, 413, 422];

interface Run extends EmbeddingRunOptions {
  embedder: number;
  /** The state of forgetting in the index when this run began. */
  forgotten: string | undefined;
  report: EmbeddingReport;
  total: number;
  failedBatches: number;
  /** Chunks whose text was refused by itself. */
  refused: PendingChunk[];
  /** The reason that the last request failed. */
  failure: SessionMemoryError | undefined;
  /** The reason that the last batch was left for a later run. */
  lostBatch: SessionMemoryError | undefined;
}

/** Gives every chunk its vector, as far as the server answers and the budget goes. */
export async function embedChunks(options: EmbeddingRunOptions): Promise<EmbeddingReport> {
  const { store, embedding } = options;
  retryRefused(options);
  const embedder = useEmbedder(store, embedding);
  const report: EmbeddingReport = { embedded: 0, reused: 0, left: 0, tokens: 0, usd: 0, stopped: undefined };
  const forgotten = forgottenSoFar(store);
  const total = countPending(store, embedder);
  const run: Run = {
    ...options,
    embedder,
    forgotten,
    report,
    total,
    failedBatches: 0,
    refused: [],
    failure: undefined,
    lostBatch: undefined,
  };
  let after = 0;
  while (!options.signal?.aborted && report.stopped === undefined) {
    const batch = pendingChunks(store, { embedder, after, limit: BATCH, failuresMax: REFUSED });
    const last = batch.at(-1);
    if (!last) break;
    after = last.id;
    const missing = reuseKnown(run, batch);
    if (missing.length > 0) await embedBatch(run, missing);
    options.onProgress?.(report.embedded, run.total);
    await new Promise((resolve) => setImmediate(resolve));
  }
  noteRefused(run);
  report.stopped ??= isAllRefused(run) ? run.failure : run.lostBatch;
  report.left = countPending(store, embedder);
  return report;
}

function retryRefused({ store, all }: EmbeddingRunOptions): void {
  const refusedAt = Date.parse(readFact(store, REFUSED_FACT) ?? "");
  if (all) lowerFailures(store, { from: 1, to: 0 });
  else if (Date.now() - refusedAt > DAY_MS) lowerFailures(store, { from: REFUSED, to: REFUSED - 1 });
  else return;
  writeFact(store, REFUSED_FACT, undefined);
}

/** A text that is refused once more is no news: it is no failure of the run. */
function isNewlyRefused([chunk]: readonly PendingChunk[]): boolean {
  return chunk !== undefined && chunk.failures < REFUSED - 1;
}

function isAllRefused({ report, failure }: Run): boolean {
  return failure !== undefined && report.embedded === report.reused;
}

/** Gives the chunks their vector that were paid for before; returns the others, one list per text. */
function reuseKnown(run: Run, batch: readonly PendingChunk[]): PendingChunk[][] {
  const { store, embedder, report } = run;
  const missing = new Map<string, PendingChunk[]>();
  store.db.transaction(() => {
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
async function embedBatch(run: Run, groups: readonly PendingChunk[][]): Promise<void> {
  const texts = groups.map(([first]) => first?.contextContent ?? "");
  let answer: Embedded;
  try {
    answer = await sendWithRetries(run, texts);
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    if (run.signal?.aborted) return;
    if (!isTextRefused(error) || groups.some(isNewlyRefused)) run.failure = error;
    if (!isTextRefused(error)) return noteFailedBatch(run, groups, error);
    if (groups.length === 1) return refuseText(run, groups[0] ?? [], error);
    const half = groups.length >> 1;
    await embedBatch(run, groups.slice(0, half));
    if (run.report.stopped === undefined) await embedBatch(run, groups.slice(half));
    return;
  }
  run.failedBatches = 0;
  run.report.tokens += answer.tokens;
  run.report.usd = run.report.usd === null || answer.usd === null ? null : run.report.usd + answer.usd;
  keep(run, groups, answer.vectors);
}

function keep(
  { store, embedder, forgotten, report }: Run,
  groups: readonly PendingChunk[][],
  vectors: Float32Array[],
): void {
  store.db.transaction(() => {
    // The vector of a chunk that is gone would be cached, and this one may have been forgotten.
    const isSure = forgottenSoFar(store) === forgotten;
    for (const [position, chunks] of groups.entries()) {
      const vector = vectors[position];
      if (!vector) continue;
      for (const chunk of chunks) {
        if (!isSure && !isStillThere(store, chunk)) continue;
        putVector(store, chunk, { embedder, embedding: vectorBytes(vector) });
        report.embedded++;
      }
    }
  });
}

/** Sends a request, with up to three retries where they may help; the growing pauses differ between processes. */
async function sendWithRetries(run: Run, texts: string[]): Promise<Embedded> {
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
function noteFailedBatch(run: Run, groups: readonly PendingChunk[][], error: SessionMemoryError): void {
  if (isTransient(error)) {
    noteFailures(
      run.store,
      groups.flat().map(({ id }) => id),
      1,
    );
    run.lostBatch = error;
    if (++run.failedBatches < FAILED_BATCHES_MAX) return;
  }
  run.report.stopped = error;
}

function refuseText(run: Run, chunks: readonly PendingChunk[], error: SessionMemoryError): void {
  run.refused.push(...chunks);
  if (run.refused.length >= REFUSED_TEXTS_MAX && isAllRefused(run)) run.report.stopped = error;
}

function noteRefused(run: Run): void {
  if (run.refused.length === 0) return;
  const ids = run.refused.map(({ id }) => id);
  noteFailures(run.store, ids, isAllRefused(run) ? REFUSED_WITH_ALL : REFUSED);
  if (readFact(run.store, REFUSED_FACT) === undefined)
    writeFact(run.store, REFUSED_FACT, new Date().toISOString());
}
