/** A session's chunks in the index: their rows and their full text. */

import { fullTextColumns } from "./chunk.ts";
import { keepVector } from "./chunk-vectors.ts";
import type { FullTextColumns, ReadyChunk } from "./prepared.ts";
import { forgetRows } from "./row-claims.ts";
import type { Chunk } from "./session.ts";
import type { Statement } from "./sqlite.ts";
import type { Store } from "./store.ts";

/** A chunk on its way into the index. */
export interface NewChunk extends ReadyChunk {
  sessionId: string;
  /** The chunk's time, or the nearest that is known. */
  timestamp: string;
  /** Line of the first row of its exchange. */
  exchangeLine: number;
}

/** What tells whether a chunk in the index is the same as a new one. */
export interface StoredChunk {
  id: number;
  hash: string;
  /** Everything else that may change while the hash stays. */
  place: string;
}

/** The statements that put chunks in, prepared once for a run. */
export interface ChunkRows {
  /** The session's chunks from an index on. */
  from(sessionId: string, index: number): Map<number, StoredChunk>;
  /** Puts a chunk in place of the one that had its index; tells whether it is new to the index. */
  put(item: NewChunk, before: StoredChunk | undefined): boolean;
  remove(id: number): void;
  /** Removes the chunks before an index. */
  removeBefore(sessionId: string, index: number): void;
  count(sessionId: string): number;
}

export function chunkRows(store: Store): ChunkRows {
  const { db } = store;
  const insert = db.prepare(
    `INSERT INTO session_chunks (session_id, chunk_index, timestamp, speakers, topic_tags, has_decision, has_action,
       first_line, last_line, exchange_line, content_hash, content, context_content, tools, entry_ids, token_count,
       created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertText = db.prepare(
    "INSERT INTO chunks_fts (rowid, content, header, tools, extra) VALUES (?, ?, ?, ?, ?)",
  );
  const createdAt = new Date().toISOString();
  const topicsOf = knownTopics(store);

  function add({ chunk, sessionId, timestamp, exchangeLine, hash, columns }: NewChunk): void {
    const topics = topicsOf?.(hash);
    const known = topics ? withTopics(chunk, topics) : chunk;
    const { lastId } = insert.run(
      sessionId,
      known.index,
      timestamp,
      JSON.stringify(known.speakers),
      JSON.stringify(known.topics),
      known.hasDecision ? 1 : 0,
      known.hasAction ? 1 : 0,
      known.firstLine,
      known.lastLine,
      exchangeLine,
      hash,
      known.content,
      known.contextContent,
      known.tools,
      JSON.stringify(known.entryIds),
      known.tokens,
      createdAt,
    );
    addText(insertText, lastId, topics ? fullTextColumns(known) : columns);
  }

  return {
    from: (sessionId, index) => storedChunks(store, sessionId, index),
    put(item, before) {
      if (before && before.hash === Buffer.from(item.hash).toString("hex")) {
        if (before.place !== placeOf(item)) move(store, before.id, item);
        return false;
      }
      if (before) removeChunk(store, before.id);
      add(item);
      return true;
    },
    remove: (id) => removeChunk(store, id),
    removeBefore(sessionId, index) {
      const old = db
        .prepare("SELECT id FROM session_chunks WHERE session_id = ? AND chunk_index < ?")
        .all(sessionId, index);
      for (const row of old) removeChunk(store, Number(row.id));
    },
    count: (sessionId) =>
      Number(
        db.prepare("SELECT count(*) AS n FROM session_chunks WHERE session_id = ?").get(sessionId)?.n ?? 0,
      ),
  };
}

/** Removes all that the index holds of a session, but what was paid for. */
export function removeSession(store: Store, session: { number: number; id: string }): void {
  store.db.transaction(() => {
    removeChunks(store, session.id);
    forgetRows(store, session);
    store.db.prepare("DELETE FROM index_state WHERE session_id = ?").run(session.id);
    store.db.prepare("DELETE FROM sessions WHERE number = ?").run(session.number);
  });
}

/** Removes all chunks of a session; their vectors stay in the cache. */
export function removeChunks(store: Store, sessionId: string): void {
  const ids = store.db.prepare("SELECT id FROM session_chunks WHERE session_id = ?").all(sessionId);
  for (const row of ids) removeChunk(store, Number(row.id));
}

/** Replaces a chunk's topics, in its header and in the full text too. */
export function putTopics(store: Store, chunkId: number, topics: string[]): void {
  const chunk = readChunkText(store, chunkId);
  if (!chunk) return;
  const renamed = withTopics(chunk, topics);
  store.db
    .prepare("UPDATE session_chunks SET topic_tags = ?, context_content = ? WHERE id = ?")
    .run(JSON.stringify(topics), renamed.contextContent, chunkId);
  replaceText(store, chunkId, renamed);
}

function knownTopics(store: Store): ((hash: Uint8Array) => string[] | undefined) | undefined {
  if (!store.db.prepare("SELECT 1 FROM topic_cache LIMIT 1").get()) return undefined;
  const find = store.db.prepare("SELECT topics FROM topic_cache WHERE content_hash = ?");
  return (hash) => {
    const row = find.get(hash);
    return row ? (JSON.parse(String(row.topics)) as string[]) : undefined;
  };
}

function withTopics<T extends Pick<Chunk, "topics" | "contextContent">>(chunk: T, topics: string[]): T {
  const contextContent = chunk.contextContent.replace(
    /^\[Topics: .*\]$/m,
    () => `[Topics: ${topics.join(", ")}]`,
  );
  return { ...chunk, topics, contextContent };
}

function storedChunks(store: Store, sessionId: string, index: number): Map<number, StoredChunk> {
  const stored = new Map<number, StoredChunk>();
  const rows = store.db
    .prepare(
      `SELECT id, chunk_index, hex(content_hash) AS hash,
         first_line || ' ' || last_line || ' ' || exchange_line || ' ' || entry_ids || ' ' || tools AS place
       FROM session_chunks WHERE session_id = ? AND chunk_index >= ?`,
    )
    .all(sessionId, index);
  for (const row of rows) {
    stored.set(Number(row.chunk_index), {
      id: Number(row.id),
      hash: String(row.hash).toLowerCase(),
      place: String(row.place),
    });
  }
  return stored;
}

function placeOf({ chunk, exchangeLine }: NewChunk): string {
  return `${chunk.firstLine} ${chunk.lastLine} ${exchangeLine} ${JSON.stringify(chunk.entryIds)} ${chunk.tools}`;
}

/** The same words at other lines or with more tool calls: the vector stays. */
function move(store: Store, id: number, { chunk, exchangeLine }: NewChunk): void {
  store.db
    .prepare(
      `UPDATE session_chunks SET first_line = ?, last_line = ?, exchange_line = ?, entry_ids = ?, tools = ?
       WHERE id = ?`,
    )
    .run(chunk.firstLine, chunk.lastLine, exchangeLine, JSON.stringify(chunk.entryIds), chunk.tools, id);
  const text = readChunkText(store, id);
  if (text) replaceText(store, id, text);
}

function readChunkText(store: Store, id: number): Chunk | undefined {
  const row = store.db
    .prepare("SELECT content, context_content, tools FROM session_chunks WHERE id = ?")
    .get(id);
  if (!row) return undefined;
  return {
    sessionId: "",
    index: 0,
    firstLine: 0,
    lastLine: 0,
    entryIds: [],
    speakers: [],
    topics: [],
    hasDecision: false,
    hasAction: false,
    content: String(row.content),
    contextContent: String(row.context_content),
    tools: String(row.tools),
    tokens: 0,
  };
}

function replaceText(store: Store, id: number, chunk: Chunk): void {
  store.db.prepare("DELETE FROM chunks_fts WHERE rowid = ?").run(id);
  addText(
    store.db.prepare("INSERT INTO chunks_fts (rowid, content, header, tools, extra) VALUES (?, ?, ?, ?, ?)"),
    id,
    fullTextColumns(chunk),
  );
}

function addText(
  insertText: Statement,
  id: number,
  { content, header, tools, extra }: FullTextColumns,
): void {
  insertText.run(id, content, header, tools, extra);
}

/** Removes a chunk; its vector stays in the cache. */
export function removeChunk(store: Store, id: number): void {
  const { db } = store;
  keepVector(store, id);
  db.prepare("DELETE FROM chunks_fts WHERE rowid = ?").run(id);
  db.prepare("DELETE FROM session_chunks WHERE id = ?").run(id);
}
