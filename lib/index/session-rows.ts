/**
 * Writes and removes the rows of a session in the index with their full text: its chunks, what was said, its deeds, what was
 * done, and its hold on transcript rows.
 */

import { sha256 } from "../base/text.ts";
import { splitJoined } from "../language/words.ts";
import type { Store } from "../store/store.ts";
import { errorKeys } from "../transcripts/error-lines.ts";
import type { Chunk, Deed, DeedKind, DeedOutcome } from "../transcripts/session.ts";
import { fullTextColumns } from "./chunk.ts";
import { keepVector } from "./chunk-vectors.ts";
import { updateRewound } from "./index-state.ts";
import { ALL_LINES, writeRowLines } from "./stored-rows.ts";

/** 128 bits: no two of a billion texts share them. */
const HASH_BYTES = 16;

/** What a stored chunk is compared by with the new chunk at its index. */
export interface StoredChunk {
  id: number;
  hash: string;
  /** Its lines, entry ids and tool calls, which may change while its hash stays the same. */
  place: string;
}

/** The place of a chunk in the index. */
interface ChunkPlace {
  /** The chunk's time, or the nearest that is known. */
  timestamp: string;
  /** Line of the first row of its exchange. */
  exchangeLine: number;
  /** The chunk stored at its index before. */
  before: StoredChunk | undefined;
}

const INSERT_TEXT = "INSERT INTO chunks_fts (rowid, content, header, tools, extra) VALUES (?, ?, ?, ?, ?)";

/** Inserts a chunk. The hash is the key of its vector and topics; by default it is that of its header and content. */
export function addChunk(
  { db }: Pick<Store, "db">,
  chunk: Chunk,
  { timestamp, exchangeLine, hash }: Omit<ChunkPlace, "before"> & { hash: Uint8Array | undefined },
): void {
  const key = hash ?? contentHash(chunk);
  const topics = cachedTopics(db, key);
  const header = topics ? withTopics(chunk.header, topics) : chunk.header;
  const insert = db.prepare(
    `INSERT INTO chunks (session_id, chunk_index, timestamp, speakers, topic_tags, has_decision, has_action,
       first_line, last_line, exchange_line, content_hash, header, content, tools, entry_ids, token_count,
       row_lines, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const { lastId } = insert.run(
    ...[chunk.sessionId, chunk.index, timestamp],
    ...[JSON.stringify(chunk.speakers), JSON.stringify(topics ?? chunk.topics)],
    ...[chunk.hasDecision ? 1 : 0, chunk.hasAction ? 1 : 0],
    ...[chunk.firstLine, chunk.lastLine, exchangeLine, key],
    ...[header, chunk.content, chunk.tools],
    ...[JSON.stringify(chunk.entryIds), chunk.tokens, writeRowLines(chunk.rows), new Date().toISOString()],
  );
  db.prepare(INSERT_TEXT).run(lastId, ...fullTextColumns({ ...chunk, header }));
}

/** Puts a chunk in place of the one at its index; returns whether its words are new. */
export function putChunk(store: Store, chunk: Chunk, place: ChunkPlace): boolean {
  const { before } = place;
  const hash = contentHash(chunk);
  const isKnown = before?.hash === Buffer.from(hash).toString("hex");
  if (isKnown && before.place === describePlace(chunk, place)) return false;
  // its vector waits in the cache for the chunk that has the same words
  if (before) removeChunk(store, before.id);
  addChunk(store, chunk, { ...place, hash });
  return !isKnown;
}

export function countChunks({ db }: Store, sessionId: string): number {
  const row = db.prepare("SELECT count(*) AS n FROM chunks WHERE session_id = ?").get(sessionId);
  return Number(row?.n);
}

/** Removes a session from the index. Its vectors and topics stay in their caches, since they were paid for. */
export function removeSession(store: Store, session: { number: number; id: string }): void {
  store.db.transaction(() => {
    removeChunks(store, session.id);
    removeDeeds(store, session.number);
    updateRewound(store, session.number, []);
    // by number: a session whose file was deleted while it was read has no row in `sessions` yet
    store.db.prepare("DELETE FROM row_keys WHERE session = ?").run(session.number);
    store.db.prepare("DELETE FROM copies WHERE session_id = $id OR owner_id = $id").run({ id: session.id });
    store.db.prepare("DELETE FROM index_state WHERE session_id = ?").run(session.id);
    store.db.prepare("DELETE FROM sessions WHERE number = ?").run(session.number);
  });
}

/** Removes a session's chunks, all or those below an index; their vectors stay in the cache. */
export function removeChunks(store: Store, sessionId: string, below = Number.MAX_SAFE_INTEGER): void {
  const ids = store.db
    .prepare("SELECT id FROM chunks WHERE session_id = ? AND chunk_index < ?")
    .all(sessionId, below);
  for (const row of ids) removeChunk(store, Number(row.id));
}

/** Replaces a chunk's topics, also in its header and in the full text. */
export function putTopics(store: Store, chunkId: number, topics: string[]): void {
  const row = store.db.prepare("SELECT header FROM chunks WHERE id = ?").get(chunkId);
  if (!row) return;
  store.db
    .prepare("UPDATE chunks SET topic_tags = ?, header = ? WHERE id = ?")
    .run(JSON.stringify(topics), withTopics(String(row.header), topics), chunkId);
  putFullText(store, chunkId);
}

/** Puts the words of a stored chunk into the full text. */
export function putFullText({ db }: Pick<Store, "db">, id: number): void {
  const row = db.prepare("SELECT content, header, tools FROM chunks WHERE id = ?").get(id);
  const texts = { content: String(row?.content), header: String(row?.header) };
  db.prepare("DELETE FROM chunks_fts WHERE rowid = ?").run(id);
  db.prepare(INSERT_TEXT).run(id, ...fullTextColumns({ ...texts, tools: String(row?.tools) }));
}

function cachedTopics(db: Store["db"], hash: Uint8Array): string[] | undefined {
  const row = db.prepare("SELECT topics FROM topic_cache WHERE content_hash = ?").get(hash);
  return row && JSON.parse(String(row.topics));
}

function withTopics(header: string, topics: readonly string[]): string {
  return header.replace(/^\[Topics: .*\]$/m, () => `[Topics: ${topics.join(", ")}]`);
}

/** Returns a session's chunks from an index on, by index. */
export function storedChunks(store: Store, sessionId: string, index: number): Map<number, StoredChunk> {
  const rows = store.db
    .prepare(
      `SELECT id, chunk_index, lower(hex(content_hash)) AS hash,
         first_line || ' ' || last_line || ' ' || exchange_line || ' ' || entry_ids || ' ' || row_lines || ' ' || tools AS place
       FROM chunks WHERE session_id = ? AND chunk_index >= ?`,
    )
    .all(sessionId, index);
  return new Map(
    rows.map(({ id, chunk_index, hash, place }) => [
      Number(chunk_index),
      { id: Number(id), hash: String(hash), place: String(place) },
    ]),
  );
}

function describePlace(chunk: Chunk, { exchangeLine }: ChunkPlace): string {
  const { firstLine, lastLine, entryIds, tools } = chunk;
  const ids = JSON.stringify(entryIds);
  return [firstLine, lastLine, exchangeLine, ids, writeRowLines(chunk.rows), tools].join(" ");
}

/** Removes a chunk; its vector stays in the cache. */
export function removeChunk(store: Store, id: number): void {
  const { db } = store;
  keepVector(store, id);
  db.prepare("DELETE FROM chunks_fts WHERE rowid = ?").run(id);
  db.prepare("DELETE FROM chunks WHERE id = ?").run(id);
}

/** Removes the deeds of a session: all, or those whose calls are on these lines. */
export function removeDeeds(store: Store, session: number, { after, to } = ALL_LINES): void {
  const rows = store.db
    .prepare("SELECT id FROM deeds WHERE session = ? AND line > ? AND line <= ?")
    .all(session, after, to);
  for (const { id } of rows) removeDeed(store, Number(id));
}

/** Removes the deeds that contain a text. */
export function removeDeedsWith(store: Store, hasText: (text: string) => boolean): void {
  const ids: number[] = [];
  const rows = store.db.prepare("SELECT id, target, paths, input, result FROM deeds");
  for (const { id, ...texts } of rows.iterate()) {
    if (Object.values(texts).some((text) => text !== null && hasText(String(text)))) ids.push(Number(id));
  }
  for (const id of ids) removeDeed(store, id);
}

/** Removes a deed with its full text and its error lines. */
export function removeDeed({ db }: Store, id: number): void {
  db.prepare("DELETE FROM deeds_fts WHERE rowid = ?").run(id);
  db.prepare("DELETE FROM error_lines WHERE deed = ?").run(id);
  db.prepare("DELETE FROM deeds WHERE id = ?").run(id);
}

/** Releases the transcript rows of sessions, so that sessions with copies of them may index them. */
export function releaseRows(store: Store, sessionIds: readonly string[]): void {
  const ids = JSON.stringify(sessionIds);
  store.db
    .prepare(
      `DELETE FROM row_keys
       WHERE session IN (SELECT number FROM sessions WHERE id IN (SELECT value FROM json_each(?)))`,
    )
    .run(ids);
  store.db.prepare("DELETE FROM copies WHERE session_id IN (SELECT value FROM json_each(?))").run(ids);
}

/** Returns the sessions whose copies of this session's rows were left out. */
export function sessionsWithCopies(store: Store, ownerId: string): string[] {
  return store.db
    .prepare("SELECT session_id FROM copies WHERE owner_id = ?")
    .all(ownerId)
    .map((row) => String(row.session_id));
}

/** Returns the key of a chunk's vector and topics: 128 bits of the sha256 of the words that are embedded. */
export function contentHash({ header, content }: Pick<Chunk, "header" | "content">): Uint8Array {
  return sha256().update(header).update(content).digest().subarray(0, HASH_BYTES);
}

/** The place of an exchange's deeds in the index. */
interface DeedPlace {
  session: number;
  exchangeLine: number;
  /** For deeds without a time. */
  timestamp: string;
}

/** Inserts deeds with their full text and the keys of their error lines. */
export function addDeeds(
  { db }: Pick<Store, "db">,
  deeds: readonly Deed[],
  { session, exchangeLine, timestamp }: DeedPlace,
): void {
  const insert = db.prepare(
    `INSERT INTO deeds (session, line, result_line, exchange_line, timestamp, kind, tool, target, paths, input,
       outcome, result)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertText = db.prepare(
    "INSERT INTO deeds_fts (rowid, target, input, result, extra) VALUES (?, ?, ?, ?, ?)",
  );
  const insertError = db.prepare("INSERT INTO error_lines (key, deed) VALUES (?, ?)");
  for (const deed of deeds) {
    const { line, resultLine = null, at = timestamp, kind, tool, target, input, outcome, result } = deed;
    const paths = deed.paths.join("\n");
    const place = [session, line, resultLine, exchangeLine, at];
    const texts = [target, paths === target ? null : paths, input, outcome, result];
    const { lastId } = insert.run(...place, kind, tool, ...texts);
    const names = paths === target ? target : `${target}\n${paths}`;
    const words = isFileText(kind, outcome) ? "" : result;
    insertText.run(lastId, names, input, words, splitJoined(names, input));
    // a command that went well may print errors too
    if (kind !== "command" || outcome === "rejected") continue;
    const keys = errorKeys(result, { hasFailed: outcome === "failed" }).keys();
    for (const key of keys) insertError.run(key, lastId);
  }
}

/** Returns whether a deed's result is just the text of a file, by which nobody searches for the deed. */
function isFileText(kind: DeedKind, outcome: DeedOutcome): boolean {
  return outcome === "done" && (kind === "read" || kind === "edit" || kind === "write");
}
