/**
 * Plans what a run would send: the run itself, on a copy of the index that is thrown away, with models that
 * record requests instead of sending them. Whatever the run skips, reuses or sends twice, the plan does too.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shortHash } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import { type EmbedTexts, noteTaker } from "../model/configured-model.ts";
import { type PricedModel, pricePlan, type Tokens, tokenUpperBound } from "../model/spend.ts";
import { copyDatabase, openStore, type Store } from "../store/store.ts";
import { embedSessions, type RunOptions } from "./index-run.ts";
import { CHUNKS_PER_CALL } from "./topics.ts";

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

type Counts = Pick<Planned, "sessions" | "chunks"> & { tokens: Tokens };

/** The model in the rows of a plan. */
const PLAN = "plan";

/** Runs on a copy of the index and returns what would have been sent, by model; the embedder first. */
export async function planRun(options: Omit<RunOptions, "store" | "models">): Promise<Planned[]> {
  const { paths, settings } = options.config;
  const home = mkdtempSync(join(tmpdir(), "session-memory-plan-"));
  const copy = join(home, "memory.db");
  copyDatabase(paths.database, copy);
  const store = openStore(copy);
  try {
    const vectors = noteVectors(settings.embedding?.dimensions ?? 0);
    const topics = noteTopics();
    // The locks of the copy are not those of the index.
    const config: Config = { ...options.config, paths: { ...paths, home } };
    const models = { embed: vectors.embed, complete: topics.complete };
    const report = await embedSessions({ ...options, store, config, models });
    const chunks = typeof report.topics === "object" ? report.topics.refined : 0;
    const sent = { sessions: sessionsWith(store, vectors.sent), chunks: vectors.sent.size };
    return describe(options, {
      vectors: { ...sent, tokens: vectors.tokens },
      topics: { sessions: sessionsTagged(store), chunks, tokens: topics.notes.tokens },
    });
  } finally {
    store.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function describe(
  { config, vectors, topics }: Pick<RunOptions, "config" | "vectors" | "topics">,
  counts: Record<Planned["what"], Counts>,
): Planned[] {
  const { embedding, llm } = config.settings;
  const planned = (what: Planned["what"], model: PricedModel): Planned => {
    const { tokens, ...rest } = counts[what];
    return { what, ...rest, ...pricePlan(config, model, tokens) };
  };
  return [
    ...(embedding && vectors !== false ? [planned("vectors", { kind: "embedding", ...embedding })] : []),
    ...(llm && topics ? [planned("topics", { kind: "chat", ...llm })] : []),
  ];
}

function noteVectors(dimensions: number) {
  const sent = new Set<number>();
  const tokens: Tokens = { input: 0, output: 0 };
  const embed: EmbedTexts = async (texts) => {
    for (const text of texts) {
      sent.add(shortHash(text));
      tokens.input += tokenUpperBound(text);
    }
    return { vectors: texts.map(() => new Float32Array(dimensions).fill(1)), tokens: 0, usd: 0 };
  };
  return { sent, tokens, embed };
}

function noteTopics() {
  const chunks = Array.from({ length: CHUNKS_PER_CALL }, (_, i) => i + 1);
  const answer = { topics: chunks.map((chunk) => ({ chunk, tags: ["to be tagged"] })) };
  return noteTaker(PLAN, () => answer);
}

function sessionsWith(store: Store, sent: ReadonlySet<number>): number {
  if (sent.size === 0) return 0;
  const sessions = new Set<string>();
  for (const row of store.db.prepare("SELECT session_id, context_content FROM session_chunks").iterate()) {
    if (sent.has(shortHash(String(row.context_content)))) sessions.add(String(row.session_id));
  }
  return sessions.size;
}

function sessionsTagged(store: Store): number {
  const row = store.db
    .prepare(
      `SELECT count(DISTINCT session_id) AS n FROM session_chunks
       JOIN topic_cache USING (content_hash) WHERE topic_cache.model = ?`,
    )
    .get(PLAN);
  return Number(row?.n);
}
