/** Topics of chunks that a model gives in place of the rules' ones: twenty a call, kept by content hash, never paid twice. */

import { SessionMemoryError } from "../base/errors.ts";
import type { CompleteJson } from "../model/answers.ts";
import { forgottenSoFar, isStillThere, type Store } from "../store/store.ts";
import { putTopics } from "./chunk-rows.ts";

interface TopicRunOptions {
  store: Store;
  complete: CompleteJson;
  redact: (text: string) => string;
  /** Only this session's chunks, and only in full batches: a session that goes on changes its last ones. @default all */
  session?: string | undefined;
  /** Calls at most. @default no limit */
  maxCalls?: number | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface TopicReport {
  /** Chunks whose topics a model gave. */
  refined: number;
  left: number;
  tokens: number;
  usd: number | null;
  /** The reason that the run ended early. */
  stopped: SessionMemoryError | undefined;
}

/** Few enough that a model keeps them apart. */
export const CHUNKS_PER_CALL = 20;
/** More say less of each. */
const CHUNK_TOPICS_MAX = 3;
/** Three times what so many tags take. */
const MAX_TOKENS = 1500;

interface Untagged {
  id: number;
  hash: Uint8Array;
  content: string;
}

/** Refines the topics of every chunk that no model has seen. */
export async function refineTopics(options: TopicRunOptions): Promise<TopicReport> {
  const { store, session, signal, maxCalls = Number.POSITIVE_INFINITY } = options;
  const report: TopicReport = { refined: 0, left: 0, tokens: 0, usd: 0, stopped: undefined };
  const total = countUntagged(store);
  let after = 0;
  for (let calls = 0; calls < maxCalls && !signal?.aborted; calls++) {
    const batch = untaggedChunks(store, { after, session });
    const last = batch.at(-1);
    if (!last || (session !== undefined && batch.length < CHUNKS_PER_CALL)) break;
    after = last.id;
    try {
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
  { store, complete, redact, signal }: TopicRunOptions,
  batch: readonly Untagged[],
  report: TopicReport,
): Promise<void> {
  // its schema costs four empty starts
  const { TOPICS_SYSTEM, topicsAnswer, topicsPrompt } = await import("../model/prompts.ts");
  const forgotten = forgottenSoFar(store);
  const answer = await complete({
    feature: "topics",
    system: TOPICS_SYSTEM,
    prompt: topicsPrompt(batch.map(({ content }) => redact(content))),
    schema: topicsAnswer,
    maxTokens: MAX_TOKENS,
    signal,
  });
  report.tokens += answer.tokens;
  report.usd = report.usd === null || answer.usd === null ? null : report.usd + answer.usd;
  const keep = store.db.prepare(
    "INSERT OR REPLACE INTO topic_cache (content_hash, topics, model) VALUES (?, ?, ?)",
  );
  store.db.transaction(() => {
    const isSure = forgottenSoFar(store) === forgotten;
    for (const { chunk, tags } of answer.value.topics) {
      const tagged = batch[chunk - 1];
      const topics = cleanTopics(tags, redact);
      if (!tagged || topics.length === 0 || (!isSure && !isStillThere(store, tagged))) continue;
      keep.run(tagged.hash, JSON.stringify(topics), answer.model);
      putTopics(store, tagged.id, topics);
      report.refined++;
    }
  });
}

/** Cleans tags, which may not end the header's line or close its bracket. */
function cleanTopics(tags: readonly string[], redact: (text: string) => string): string[] {
  const clean = tags.map((tag) =>
    redact(tag)
      .toLowerCase()
      .replace(/[\][\n\r,]+/g, " ")
      .trim(),
  );
  return [...new Set(clean.filter((tag) => tag !== ""))].slice(0, CHUNK_TOPICS_MAX);
}

const UNTAGGED =
  "FROM session_chunks c WHERE NOT EXISTS (SELECT 1 FROM topic_cache t WHERE t.content_hash = c.content_hash)";

function untaggedChunks(
  store: Store,
  { after, session }: { after: number; session: string | undefined },
): Untagged[] {
  return store.db
    .prepare(
      `SELECT id, content_hash, content ${UNTAGGED} AND id > ?1 AND (?2 IS NULL OR session_id = ?2)
       ORDER BY id LIMIT ?3`,
    )
    .all(after, session ?? null, CHUNKS_PER_CALL)
    .map((row) => ({
      id: Number(row.id),
      hash: row.content_hash as Uint8Array,
      content: String(row.content),
    }));
}

function countUntagged(store: Store): number {
  return Number(store.db.prepare(`SELECT count(*) AS n ${UNTAGGED}`).get()?.n ?? 0);
}
