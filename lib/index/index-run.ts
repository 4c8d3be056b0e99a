/**
 * One run over the index, or the plan of one: full text, then topics, then vectors. Paid work comes last, and only one
 * run at a time pays.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { hasContent } from "../base/files.ts";
import { lockHolder, tryLock } from "../base/locks.ts";
import { NO_PROGRESS, type Progress, type StartProgress } from "../base/output.ts";
import type { Config } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import type { CompleteJson } from "../model/answers.ts";
import type { EmbedTexts } from "../model/configured-model.ts";
import { pulledSessions } from "../sessions/pulled.ts";
import { keepPaid, tendPaid } from "../store/paid.ts";
import { copyDatabase, openStore, type Store, tendIndexes } from "../store/store.ts";
import { findChanged, markSources } from "./freshness.ts";
import { emptyReport, type IndexReport } from "./index-state.ts";
import type { EmbeddingReport, TopicReport } from "./paid-work.ts";

export interface RunOptions {
  store: Store;
  config: Config;
  sessions: readonly Session[];
  /** True if `sessions` are all there are, so that those missing from them may be gone. */
  isComplete: boolean;
  all?: boolean | undefined;
  vectors?: boolean | undefined;
  topics?: boolean | undefined;
  prune?: boolean | undefined;
  signal?: AbortSignal | undefined;
  progress?: StartProgress | undefined;
  onWarning?: ((text: string) => void) | undefined;
  /** In place of the configured ones. */
  models?: { embed: EmbedTexts; complete: CompleteJson } | undefined;
}

export interface RunReport extends IndexReport {
  /** Sessions in the index whose transcript was deleted. */
  gone: number;
  pruned: number;
  /** A text is the reason that none were made. */
  vectors: EmbeddingReport | string;
  /** A text is the reason that none were made; undefined where they were not asked for. */
  topics: TopicReport | string | undefined;
  tookMs: number;
}

/** Brings full text, topics and vectors up to date, in this order: paid work comes last. */
export async function embedSessions(options: RunOptions): Promise<RunReport> {
  const started = performance.now();
  const { signal } = options;
  const { paths } = options.config;
  tendIndexes(paths, new Date());
  if (hasContent(paths.former)) {
    const { takeFormerIndex } = await import("./former-index.ts");
    takeFormerIndex(options.store, { ...options.config, dryRun: options.models !== undefined });
  }
  const { report, gone, pruned } = await readTranscripts(options);
  const topics = options.topics && !signal?.aborted ? await refine(options) : undefined;
  const vectors = await embed(options);
  return { ...report, gone, pruned, vectors, topics, tookMs: performance.now() - started };
}

/** Returns why paid work came to nothing, or needs a hand before the next run can go on with it. */
export function findFailure({ vectors, topics }: RunReport): SessionMemoryError | undefined {
  if (typeof topics === "object" && topics.stopped) return topics.stopped;
  if (typeof vectors === "string" || !vectors.stopped) return undefined;
  const { embedded, reused, stopped } = vectors;
  return embedded === reused || !stopped.recoverable || stopped.type !== "EMBEDDING_FAILED"
    ? stopped
    : undefined;
}

async function readTranscripts(
  options: RunOptions,
): Promise<{ report: IndexReport; gone: number; pruned: number }> {
  const { store, config, all, isComplete, prune } = options;
  const theirs = isComplete ? pulledSessions(config.paths, { excluded: true }) : [];
  const sessions = [...options.sessions, ...theirs];
  const changed = all ? sessions : findChanged(store, sessions, config.paths);
  const report = await readChanged(options, changed);
  const gone = isComplete ? markSources(store, sessions) : 0;
  if (gone === 0) return { report, gone, pruned: 0 };
  const pruned = (await import("./forget-rows.ts")).pruneGone(store, { all: prune === true });
  return { report, gone: gone - pruned, pruned };
}

/** Reads changed transcripts. Most runs find none, so the modules that read them are loaded only here. */
async function readChanged(options: RunOptions, sessions: readonly Session[]): Promise<IndexReport> {
  const { config, progress = NO_PROGRESS } = options;
  const { settings } = config;
  const { exclude } = settings;
  // Sessions that config.json excludes now may be in the index from before.
  if (sessions.length + exclude.sessions.length + exclude.projects.length === 0) return emptyReport();
  const { indexInTurn } = await import("./indexing.ts");
  const { update: onProgress, end } = progress("sessions indexed");
  try {
    return await indexInTurn({ ...options, paths: config.paths, settings, sessions, onProgress });
  } finally {
    end();
  }
}

const NOTHING_TO_EMBED: EmbeddingReport = {
  embedded: 0,
  reused: 0,
  left: 0,
  tokens: 0,
  usd: 0,
  stopped: undefined,
};

async function refine(options: RunOptions): Promise<TopicReport | string> {
  const { store, config, signal, models } = options;
  const { configuredModel } = await import("../model/configured-model.ts");
  const configured = await configuredModel(config);
  const complete = configured && (models?.complete ?? configured);
  if (!complete) {
    throw new SessionMemoryError("NO_MODEL", "Cannot refine topics: config.json names no model", {
      hint: "add an llm block to config.json, or leave --topics out",
    });
  }
  keepPaid(store, store.path);
  const { refineTopics } = await import("./paid-work.ts");
  return await runExclusively(options, "topics", (onProgress) =>
    refineTopics({ store, complete, signal, onProgress }),
  );
}

async function embed(options: RunOptions): Promise<EmbeddingReport | string> {
  const { store, config, all, signal } = options;
  const { embedding } = config.settings;
  tendPaid(store);
  if (!embedding) return "off (no embedding in config.json)";
  if (options.vectors === false) return "left out (--no-vectors)";
  const { hasAllVectors } = await import("./chunk-vectors.ts");
  if (!all && hasAllVectors(store, embedding)) return NOTHING_TO_EMBED;
  const [{ embedChunks }, { configuredEmbedder }] = await Promise.all([
    import("./paid-work.ts"),
    import("../model/configured-model.ts"),
  ]);
  keepPaid(store, store.path);
  const embed = options.models?.embed ?? (await configuredEmbedder(config));
  if (!embed) return "off (no embedding in config.json)";
  return await runExclusively(options, "vectors", (onProgress) =>
    embedChunks({ store, embedding, embed, all, signal, onProgress }),
  );
}

/** Runs paid work alone: two runs would pay for the same chunks, so the next one takes what this one has added. */
async function runExclusively<T>(
  { config, progress = NO_PROGRESS }: RunOptions,
  what: "topics" | "vectors",
  work: (onProgress: Progress["update"]) => Promise<T>,
): Promise<T | string> {
  const lock = join(config.paths.home, `${what}.lock`);
  const release = tryLock(lock);
  if (!release) return `skipped: another run is at work (${lockHolder(lock)?.who ?? "it has just ended"})`;
  const shown = progress(what);
  try {
    return await work(shown.update);
  } finally {
    shown.end();
    release();
  }
}

/** The requests that one model would receive. */
interface Planned {
  what: "vectors" | "topics";
  host: string;
  /** Sessions with something to send. */
  sessions: number;
  chunks: number;
  /** An upper bound: an answer counts with as many as it may have. */
  tokens: number;
  usd: number;
  /** Host, price and tokens in words. */
  text: string;
}

/** The model of topics in a plan. */
const PLAN = "plan";

/**
 * Plans what a run would send, by model, the embedder first: the run itself, on a copy of the index that is thrown away,
 * with models that record requests in place of sending them. Whatever the run skips, reuses or sends twice, the plan does
 * too.
 */
export async function planRun(options: Omit<RunOptions, "store" | "models">): Promise<Planned[]> {
  const [{ noteTaker }, { pricePlan, tokenUpperBound }, { CHUNKS_PER_CALL }] = await Promise.all([
    import("../model/configured-model.ts"),
    import("../model/spend.ts"),
    import("./paid-work.ts"),
  ]);
  const {
    paths,
    settings: { embedding, llm },
  } = options.config;
  const home = copiesOf([paths.database, paths.paid]);
  const store = openStore(join(home, basename(paths.database)));
  const { embed, mark, tokens } = textTaker(embedding?.dimensions ?? 0, tokenUpperBound);
  const tags = Array.from({ length: CHUNKS_PER_CALL }, (_, i) => ({ chunk: i + 1, tags: ["to be tagged"] }));
  const { notes, complete } = noteTaker(PLAN, () => ({ topics: tags }));
  try {
    // The locks of the copy are not those of the index, nor what is noted beside them.
    const trial = { ...paths, home, repositories: join(home, basename(paths.repositories)) };
    const config: Config = { ...options.config, paths: trial };
    await embedSessions({ ...options, store, config, models: { embed, complete } });
    const planned: Planned[] = [];
    if (embedding && options.vectors !== false) {
      const sent = countSent(store, "DISTINCT content_hash", "WHERE embedding = ?", mark);
      const price = pricePlan(options.config, { kind: "embedding", ...embedding }, tokens);
      planned.push({ what: "vectors", ...sent, ...price });
    }
    if (llm && options.topics) {
      const sent = countSent(store, "*", "JOIN paid.topics USING (content_hash) WHERE model = ?", PLAN);
      const price = pricePlan(options.config, { kind: "chat", ...llm }, notes.tokens);
      planned.push({ what: "topics", ...sent, ...price });
    }
    return planned;
  } finally {
    store.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Returns an embedder that counts what it is sent, and gives each text a vector that no other gives. */
function textTaker(dimensions: number, count: (text: string) => number) {
  const vector = new Float32Array(dimensions).fill(1);
  const tokens = { input: 0, output: 0 };
  const embed: EmbedTexts = async (texts) => {
    for (const text of texts) tokens.input += count(text);
    return { vectors: texts.map(() => vector), tokens: 0, usd: 0 };
  };
  return { embed, mark: new Uint8Array(vector.buffer), tokens };
}

/** Copies databases into a new folder. */
function copiesOf(files: readonly string[]): string {
  const home = mkdtempSync(join(tmpdir(), "session-memory-plan-"));
  for (const file of files) copyDatabase(file, join(home, basename(file)));
  return home;
}

function countSent(store: Store, of: string, where: string, value: string | Uint8Array) {
  const sql = `SELECT count(DISTINCT session) AS sessions, count(${of}) AS chunks FROM chunks ${where}`;
  const { sessions, chunks } = store.get(sql, value) ?? {};
  return { sessions: Number(sessions), chunks: Number(chunks) };
}
