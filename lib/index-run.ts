/**
 * One run over the index: full text, then topics, then vectors. What is paid comes last, and only one run at a time
 * pays.
 */

import { join } from "node:path";
import { indexInTurn } from "./catch-up.ts";
import { hasAllVectors } from "./chunk-vectors.ts";
import type { Config } from "./config.ts";
import { configuredEmbedder } from "./configured-embedder.ts";
import { configuredModel } from "./configured-model.ts";
import { type EmbeddingReport, embedChunks } from "./embedding-run.ts";
import { SessionMemoryError } from "./errors.ts";
import { tryLock } from "./files.ts";
import { markSources, pruneSessions } from "./index-status.ts";
import type { IndexReport } from "./indexing.ts";
import { compilePatterns, redact } from "./redact.ts";
import type { Session } from "./session.ts";
import type { Store } from "./store.ts";
import type { TopicReport } from "./topic-run.ts";

export interface RunOptions {
  store: Store;
  config: Config;
  sessions: readonly Session[];
  /** Whether `sessions` are all there are, so that those missing from them may be gone. */
  isComplete: boolean;
  all?: boolean | undefined;
  vectors?: boolean | undefined;
  topics?: boolean | undefined;
  prune?: boolean | undefined;
  signal?: AbortSignal | undefined;
  progress?:
    | ((what: string) => { update: (done: number, total: number) => void; end: () => void })
    | undefined;
  onWarning?: ((text: string) => void) | undefined;
}

export interface RunReport extends IndexReport {
  /** Sessions in the index whose transcript was deleted. */
  gone: number;
  pruned: number;
  /** Or why there are none. */
  vectors: EmbeddingReport | string;
  topics: TopicReport | undefined;
  tookMs: number;
}

/** Brings full text, topics and vectors up to date, in this order: what is paid comes last. */
export async function embedSessions(options: RunOptions): Promise<RunReport> {
  const started = performance.now();
  const { store, config, sessions, signal } = options;
  const { home } = config.paths;
  const progress = options.progress ?? (() => ({ update() {}, end() {} }));
  const { settings } = config;
  const reading = progress("sessions");
  const onProgress = reading.update;
  const report = await indexInTurn({ ...options, home, settings, sessions, onProgress });
  reading.end();
  const gone = options.isComplete ? markSources(store, sessions) : [];
  if (options.prune) pruneSessions(store, gone);
  const topics = options.topics && !signal?.aborted ? await refine(options, progress) : undefined;
  const vectors = await embed(options, progress);
  return {
    ...report,
    gone: options.prune ? 0 : gone.length,
    pruned: options.prune ? gone.length : 0,
    vectors,
    topics,
    tookMs: performance.now() - started,
  };
}

const NOTHING_TO_EMBED: EmbeddingReport = {
  embedded: 0,
  reused: 0,
  left: 0,
  tokens: 0,
  usd: 0,
  stopped: undefined,
};

type Progress = NonNullable<RunOptions["progress"]>;

async function refine({ store, config, signal }: RunOptions, progress: Progress): Promise<TopicReport> {
  const complete = await configuredModel(config);
  if (!complete) {
    throw new SessionMemoryError("NO_MODEL", "Cannot refine topics: config.json names no model", {
      hint: "add an llm block to config.json, or leave --topics out",
    });
  }
  // Its schema costs four empty starts.
  const { refineTopics } = await import("./topic-run.ts");
  const patterns = compilePatterns(config.settings.redact.extra);
  const tagging = progress("topics");
  const onProgress = tagging.update;
  const report = await refineTopics({
    store,
    complete,
    redact: (text) => redact(text, patterns),
    signal,
    onProgress,
  });
  tagging.end();
  return report;
}

async function embed(options: RunOptions, progress: Progress): Promise<EmbeddingReport | string> {
  const { store, config, all, signal } = options;
  const { embedding } = config.settings;
  if (!embedding) return "off (no embedding in config.json)";
  if (options.vectors === false) return "left out (--no-vectors)";
  if (!all && hasAllVectors(store, embedding)) return NOTHING_TO_EMBED;
  const embedTexts = await configuredEmbedder(config);
  if (!embedTexts) return "off (no embedding in config.json)";
  // Two runs would pay for the same chunks; the other one takes what this one has added.
  const release = tryLock(join(config.paths.home, "vectors.lock"));
  if (!release) return "another run is at them";
  const sending = progress("vectors");
  try {
    return await embedChunks({
      store,
      embedding,
      embed: embedTexts,
      all,
      signal,
      onProgress: sending.update,
    });
  } finally {
    sending.end();
    release();
  }
}
