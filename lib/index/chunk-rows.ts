/** A session's chunks in the index: their rows and their full text. */

import { sha256 } from "../base/text.ts";
import type { Store } from "../store/store.ts";
import type { Chunk } from "../transcripts/session.ts";
import { fullTextColumns } from "./chunk.ts";
import { keepVector } from "./chunk-vectors.ts";
import { removeDeeds } from "./deed-rows.ts";
import { removeRewound } from "./index-state.ts";

/** 128 bits: no two of a billion texts share them. */
const HASH_BYTES = 16;

/** The values by which a stored chunk is compared with a new one. */
export interface StoredChunk {
  id: number;
  hash: string;
  /** Everything else that may change while the hash stays. */
  place: string;
}

/** The place of a chunk in the index. */
interface ChunkPlace {
  /** The chunk's time, or the nearest that is known. */
  timestamp: string;
  /** Line of the first row of its exchange. */
  exchangeLine: number;
  /** The chunk that has its index. */
  before: StoredChunk | undefined;
}

/** Replaces the chunk at its index; returns whether it is new. */
export type PutChunk = (chunk: Chunk, place: ChunkPlace) => boolean;

/** Inserts a chunk that is not there; its vector is known by the hash, that of its header and content unless given. */
type AddChunk = (chunk: Chunk, place: Omit<ChunkPlace, "before">, hash?: Uint8Array) => void;

/** Prepares the statements that insert chunks, once for a run. */
export function chunkAdder({ db }: Pick<Store, "db">): AddChunk {
  const insert = db.prepare(
    `INSERT INTO session_chunks (session_id, chunk_index, timestamp, speakers, topic_tags, has_decision, has_action,
       first_line, last_line, exchange_line, content_hash, content, context_content, tools, entry_ids, token_count,
       row_lines, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertText = db.prepare(
    "INSERT INTO chunks_fts (rowid, content, header, tools, extra) VALUES (?, ?, ?, ?, ?)",
  );
  const createdAt = new Date().toISOString();
  const topicsOf = knownTopics(db);

  return (chunk, { timestamp, exchangeLine }, hash = contentHash(chunk.contextContent)) => {
    const topics = topicsOf?.(hash);
    const contextContent = topics ? withTopics(chunk.contextContent, topics) : chunk.contextContent;
    const { lastId } = insert.run(
      chunk.sessionId,
      chunk.index,
      timestamp,
      JSON.stringify(chunk.speakers),
      JSON.stringify(topics ?? chunk.topics),
      chunk.hasDecision ? 1 : 0,
      chunk.hasAction ? 1 : 0,
      chunk.firstLine,
      chunk.lastLine,
      exchangeLine,
      hash,
      chunk.content,
      contextContent,
      chunk.tools,
      JSON.stringify(chunk.entryIds),
      chunk.tokens,
      rowLines(chunk),
      createdAt,
    );
    const { content, header, tools, extra } = fullTextColumns({ ...chunk, contextContent });
    insertText.run(lastId, content, header, tools, extra);
  };
}

/** Prepares the statements that put chunks in, once for a run. */
export function chunkPutter(store: Store): PutChunk {
  const add = chunkAdder(store);
  return (chunk, place) => {
    const { before } = place;
    const hash = contentHash(chunk.contextContent);
    if (before && before.hash === Buffer.from(hash).toString("hex")) {
      if (before.place !== listPlace(chunk, place).join(" ")) move(store, before.id, chunk, place);
      return false;
    }
    if (before) removeChunk(store, before.id);
    add(chunk, place, hash);
    return true;
  };
}

/** Removes the chunks before an index; returns the line at which the exchange of the first one left begins. */
export function removeChunksBefore(store: Store, sessionId: string, index: number): number {
  removeChunks(store, sessionId, index);
  const first = store.db
    .prepare("SELECT min(exchange_line) AS line FROM session_chunks WHERE session_id = ?")
    .get(sessionId);
  return Number(first?.line ?? 0);
}

export function countChunks({ db }: Store, sessionId: string): number {
  const row = db.prepare("SELECT count(*) AS n FROM session_chunks WHERE session_id = ?").get(sessionId);
  return Number(row?.n);
}

/** Removes all that the index holds of a session, but what was paid for. */
export function removeSession(store: Store, session: { number: number; id: string }): void {
  store.db.transaction(() => {
    removeChunks(store, session.id);
    removeDeeds(store, session.number);
    removeRewound(store, session.number);
    // by number: one whose file went while it was read has no row of its own yet
    store.db.prepare("DELETE FROM row_keys WHERE session = ?").run(session.number);
    store.db.prepare("DELETE FROM copies WHERE session_id = $id OR owner_id = $id").run({ id: session.id });
    store.db.prepare("DELETE FROM index_state WHERE session_id = ?").run(session.id);
    store.db.prepare("DELETE FROM sessions WHERE number = ?").run(session.number);
  });
}

/** Removes the chunks of a session, all or those before an index; their vectors stay in the cache. */
export function removeChunks(store: Store, sessionId: string, before = Number.MAX_SAFE_INTEGER): void {
  const ids = store.db
    .prepare("SELECT id FROM session_chunks WHERE session_id = ? AND chunk_index < ?")
    .all(sessionId, before);
  for (const row of ids) removeChunk(store, Number(row.id));
}

/** Replaces a chunk's topics, in its header and in the full text too. */
export function putTopics(store: Store, chunkId: number, topics: string[]): void {
  const row = store.db.prepare("SELECT context_content FROM session_chunks WHERE id = ?").get(chunkId);
  if (!row) return;
  store.db
    .prepare("UPDATE session_chunks SET topic_tags = ?, context_content = ? WHERE id = ?")
    .run(JSON.stringify(topics), withTopics(String(row.context_content), topics), chunkId);
  replaceText(store, chunkId);
}

function knownTopics(db: Store["db"]): ((hash: Uint8Array) => string[] | undefined) | undefined {
  if (!db.prepare("SELECT 1 FROM topic_cache LIMIT 1").get()) return undefined;
  const find = db.prepare("SELECT topics FROM topic_cache WHERE content_hash = ?");
  return (hash) => {
    const row = find.get(hash);
    return row ? (JSON.parse(String(row.topics)) as string[]) : undefined;
  };
}

function withTopics(contextContent: string, topics: readonly string[]): string {
  return contextContent.replace(/^\[Topics: .*\]$/m, () => `[Topics: ${topics.join(", ")}]`);
}

/** Returns the session's chunks from an index on. */
export function storedChunks(store: Store, sessionId: string, index: number): Map<number, StoredChunk> {
  const rows = store.db
    .prepare(
      `SELECT id, chunk_index, lower(hex(content_hash)) AS hash,
         first_line || ' ' || last_line || ' ' || exchange_line || ' ' || entry_ids || ' ' || row_lines || ' ' || tools AS place
       FROM session_chunks WHERE session_id = ? AND chunk_index >= ?`,
    )
    .all(sessionId, index);
  return new Map(
    rows.map(({ id, chunk_index, hash, place }) => [
      Number(chunk_index),
      { id: Number(id), hash: String(hash), place: String(place) },
    ]),
  );
}

function listPlace(chunk: Chunk, { exchangeLine }: ChunkPlace): (string | number)[] {
  const { firstLine, lastLine, entryIds, tools } = chunk;
  return [firstLine, lastLine, exchangeLine, JSON.stringify(entryIds), rowLines(chunk), tools];
}

/** Moves a chunk with the same words to other lines or tool calls; its vector stays. */
function move(store: Store, id: number, chunk: Chunk, place: ChunkPlace): void {
  store.db
    .prepare(
      `UPDATE session_chunks SET first_line = ?, last_line = ?, exchange_line = ?, entry_ids = ?, row_lines = ?,
         tools = ?
       WHERE id = ?`,
    )
    .run(...listPlace(chunk, place), id);
  replaceText(store, id);
}

function rowLines({ rows }: Chunk): string {
  return rows.map(({ start, line }) => `${start}:${line}`).join(" ");
}

function replaceText(store: Store, id: number): void {
  const row = store.db
    .prepare("SELECT content, context_content, tools FROM session_chunks WHERE id = ?")
    .get(id);
  if (!row) return;
  const { content, header, tools, extra } = fullTextColumns({
    content: String(row.content),
    contextContent: String(row.context_content),
    tools: String(row.tools),
  });
  store.db.prepare("DELETE FROM chunks_fts WHERE rowid = ?").run(id);
  store.db
    .prepare("INSERT INTO chunks_fts (rowid, content, header, tools, extra) VALUES (?, ?, ?, ?, ?)")
    .run(id, content, header, tools, extra);
}

/** Removes a chunk; its vector stays in the cache. */
export function removeChunk(store: Store, id: number): void {
  const { db } = store;
  keepVector(store, id);
  db.prepare("DELETE FROM chunks_fts WHERE rowid = ?").run(id);
  db.prepare("DELETE FROM session_chunks WHERE id = ?").run(id);
}

/** Returns the key of a chunk's vector and topics: 128 bits of the sha256 of the words that are embedded. */
function contentHash(contextContent: string): Uint8Array {
  return sha256().update(contextContent).digest().subarray(0, HASH_BYTES);
}
