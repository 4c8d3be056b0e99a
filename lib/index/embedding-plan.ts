/** What an embedding run would send, told without sending, indexing or keeping anything. */

import type { EmbeddingConfig, Settings } from "../config/config.ts";
import { isKeptOut } from "../sessions/kept-out.ts";
import type { Store } from "../store/store.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Chunk, Entry, Session } from "../transcripts/session.ts";
import { entryKey, readEntries } from "../transcripts/transcript.ts";
import { chunkExchange, estimateTokens, exchanges } from "./chunk.ts";
import { findEmbedder, knownVector } from "./chunk-vectors.ts";
import { contentHash } from "./content-hash.ts";
import { indexRecipe, isCurrent } from "./freshness.ts";
import { SESSION_CHUNKS_MAX } from "./index-pass.ts";
import { type IndexedSession, readIndexedSessions } from "./index-state.ts";

export interface EmbeddingPlan {
  /** Sessions with something to send. */
  sessions: number;
  chunks: number;
  /** An estimate: up to a third too many, never too few. */
  tokens: number;
}

export interface PlanOptions {
  /** Undefined while there is no index. */
  store: Store | undefined;
  sessions: readonly Session[];
  settings: Pick<Settings, "participants" | "timezone" | "redact" | "exclude">;
  embedding: EmbeddingConfig;
}

/** Tells what would be sent: the indexed chunks without a vector, and those of what is not indexed yet. */
export function planEmbedding({ store, sessions, settings, embedding }: PlanOptions): EmbeddingPlan {
  const embedder = store && findEmbedder(store, embedding);
  const known: ReadonlyMap<string, IndexedSession> = store ? readIndexedSessions(store) : new Map();
  const recipe = indexRecipe(settings);
  const isChanged = (session: Session) => {
    const state = known.get(session.id);
    return !state || !isCurrent(state, session, recipe);
  };
  const changed = sessions.filter(isChanged);
  const tokensByHash = new Map<string, number>();
  const perSession = new Set<string>();
  function add(sessionId: string, hash: Uint8Array, contextContent: string): void {
    if (store && embedder !== undefined && knownVector(store, hash, embedder)) return;
    perSession.add(sessionId);
    tokensByHash.set(Buffer.from(hash).toString("hex"), estimateTokens(contextContent));
  }
  const reread = new Set(changed.map(({ id }) => id));
  for (const row of store?.db.prepare(PENDING).iterate(embedder ?? -1) ?? []) {
    if (reread.has(String(row.session_id))) continue;
    add(String(row.session_id), row.content_hash as Uint8Array, String(row.context_content));
  }
  const seen = new Set<string>();
  for (const session of changed) {
    for (const { contextContent } of chunksToCome(session, { settings, seen })) {
      add(session.id, contentHash(contextContent), contextContent);
    }
  }
  let tokens = 0;
  for (const count of tokensByHash.values()) tokens += count;
  return { sessions: perSession.size, chunks: tokensByHash.size, tokens };
}

const PENDING =
  "SELECT session_id, content_hash, context_content FROM session_chunks WHERE embedder IS NOT ?";

/** The chunks a session will have, rows that an earlier one had left out. */
function chunksToCome(
  session: Session,
  { settings, seen }: { settings: PlanOptions["settings"]; seen: Set<string> },
): Chunk[] {
  const rules = readRules(settings);
  if (isKeptOut(session, { exclude: settings.exclude })) return [];
  const chunks: Chunk[] = [];
  const isFirst = (entry: Entry) => {
    const key = entryKey(entry);
    return key === undefined || !seen.has(key);
  };
  for (const { entries, closed } of exchanges(readEntries(session.file, { rules }))) {
    const own = entries.filter(isFirst);
    for (const key of entries.map(entryKey)) if (key !== undefined) seen.add(key);
    const context = {
      sessionId: session.id,
      firstIndex: chunks.length,
      participants: settings.participants,
      timezone: settings.timezone,
    };
    const made = chunkExchange({ entries: own, closed }, context);
    chunks.push(...made.filter(({ content }) => !rules.hasText(content)));
  }
  return chunks.slice(-SESSION_CHUNKS_MAX);
}
