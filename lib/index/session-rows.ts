/**
 * Writes and removes what the index holds of a session: its rows, and the chunks, full text and error keys that are derived from
 * them; and its hold on transcript rows.
 */

import { errorKeys } from "../base/error-lines.ts";
import { sha256 } from "../base/text.ts";
import type { Done, Row, Said } from "../hosts/session.ts";
import { splitJoined } from "../language/words.ts";
import { paidTopics } from "../store/paid.ts";
import type { SqlRow } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import type { Chunk } from "./chunk.ts";
import { fullTextColumns, type Header, headerText, joinContent } from "./chunk-text.ts";
import { addBits, dropBits } from "./chunk-vectors.ts";
import { updateRewound } from "./index-state.ts";
import { ALL_LINES, type ChunkText, PROGRAM, readChunkTexts, type StoredPlace } from "./stored-rows.ts";

/** 128 bits: no two of a billion texts share them. */
const HASH_BYTES = 16;

/** The key by which a stored chunk is compared with the new chunk at its index. */
export interface StoredChunk {
  id: number;
  hash: string;
  /** Its rows, exchange and tool calls, which may change while its hash stays the same. */
  place: string;
}

/** The place of a chunk in the index. */
interface ChunkPlace {
  /** Number of the session, and of the exchange. */
  session: number;
  exchange: number;
  /** The chunk's time, or the nearest that is known. */
  timestamp: string;
  /** The chunk stored at its index before. */
  before: StoredChunk | undefined;
}

const INSERT_TEXT = "INSERT INTO chunks_fts (rowid, content, header, tools, extra) VALUES (?, ?, ?, ?, ?)";

function findEnds({ rows }: Chunk): [first: Said, last: Said] {
  return [rows[0] as Said, rows.at(-1) as Said];
}

/** Puts what headers say of an exchange in its place, and returns its number. */
export function putExchange(
  db: Store,
  { session, line, nth }: StoredPlace,
  { participants, speaker, subject }: Header,
): number {
  const place = [session, line, nth];
  // looked up first: for a conflict, or a row returned, SQLite makes a table of its own each time
  const known = db.get("SELECT id FROM exchanges WHERE session = ? AND line = ? AND nth = ?", ...place);
  if (known) {
    const id = Number(known.id);
    const header = [participants, speaker, subject];
    db.run("UPDATE exchanges SET participants = ?, speaker = ?, subject = ? WHERE id = ?", ...header, id);
    return id;
  }
  return db.run(
    "INSERT INTO exchanges (session, line, nth, participants, speaker, subject) VALUES (?, ?, ?, ?, ?, ?)",
    ...place,
    participants,
    speaker,
    subject,
  ).lastId;
}

/**
 * Puts a chunk in place of the one at its index; returns whether its words are new. Their hash is the key of its vector and
 * topics, which may have been paid for before.
 */
export function putChunk(store: Store, chunk: Chunk, place: ChunkPlace): boolean {
  const { before } = place;
  const hash = contentHash(chunk);
  const isKnown = before?.hash === Buffer.from(hash).toString("hex");
  if (isKnown && before.place === describePlace(chunk, place)) return false;
  if (before) removeChunk(store, before.id);
  const topics = paidTopics(store, hash) ?? chunk.header.topics;
  // looked up first, since an UPDATE would write the full text to disk each time
  const paid = store.get(
    "SELECT id, embedding FROM paid.vectors JOIN embedders USING (model, dimensions) WHERE content_hash = ? LIMIT 1",
    hash,
  );
  const header = { ...chunk.header, topics };
  const lastId = insertChunk(store, { ...chunk, header }, { ...place, hash, paid });
  if (paid) addBits(store, lastId, { embedder: Number(paid.id), embedding: paid.embedding as Uint8Array });
  store.run(INSERT_TEXT, lastId, ...fullTextColumns({ ...chunk, header }));
  return !isKnown;
}

function insertChunk(
  store: Store,
  chunk: Chunk,
  { session, exchange, timestamp, hash, paid }: ChunkPlace & { hash: Uint8Array; paid: SqlRow | undefined },
): number {
  const [first, last] = findEnds(chunk);
  const columns = {
    session,
    chunk_index: chunk.index,
    exchange,
    timestamp,
    day: chunk.header.day,
    clock: chunk.header.clock ?? null,
    speakers: JSON.stringify([...new Set(chunk.rows.map(({ who }) => who))]),
    topic_tags: JSON.stringify(chunk.header.topics),
    has_decision: chunk.hasDecision ? 1 : 0,
    has_action: chunk.hasAction ? 1 : 0,
    first_line: first.line,
    first_nth: first.nth,
    last_line: last.line,
    last_nth: last.nth,
    part_from: first.part?.from ?? null,
    part_to: first.part?.to ?? null,
    content_hash: hash,
    tools: chunk.tools,
    length: headerText(chunk.header).length + chunk.content.length,
    token_count: chunk.tokens,
    created_at: new Date().toISOString(),
    embedder: paid?.id ?? null,
    embedding: paid?.embedding ?? null,
  };
  const names = Object.keys(columns);
  insertSql ??= `INSERT INTO chunks (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  return store.run(insertSql, ...Object.values(columns)).lastId;
}

let insertSql: string | undefined;

export function countChunks(db: Store, session: number): number {
  const row = db.get("SELECT count(*) AS n FROM chunks WHERE session = ?", session);
  return Number(row?.n);
}

/** Removes a session from the index. Its vectors and topics stay in their caches, since they were paid for. */
export function removeSession(store: Store, session: { number: number; id: string }): void {
  store.transaction(() => {
    removeContents(store, session.number);
    updateRewound(store, session.number, []);
    // by number: a session whose file was deleted while it was read has no row in `sessions` yet
    store.run("DELETE FROM row_keys WHERE session = ?", session.number);
    store.run("DELETE FROM copies WHERE session_id = $id OR owner_id = $id", { id: session.id });
    store.run("DELETE FROM index_state WHERE session_id = ?", session.id);
    store.run("DELETE FROM sessions WHERE number = ?", session.number);
  });
}

/** Removes all that was said and done in a session. */
export function removeContents(store: Store, session: number): void {
  removeChunks(store, session);
  removeRows(store, session);
}

/** Removes a session's chunks, all or those below an index; their vectors stay in the cache. */
export function removeChunks(store: Store, session: number, below = Number.MAX_SAFE_INTEGER): void {
  const ids = store.all("SELECT id FROM chunks WHERE session = ? AND chunk_index < ?", session, below);
  for (const row of ids) removeChunk(store, Number(row.id));
  removeEmptyExchanges(store, session);
}

/** Removes the exchanges of a session that no chunk is a part of any longer. */
export function removeEmptyExchanges(db: Store, session: number): void {
  db.run(
    "DELETE FROM exchanges WHERE session = $session AND id NOT IN (SELECT exchange FROM chunks WHERE session = $session)",
    { session },
  );
}

/** Replaces a chunk's topics, also in the full text. */
export function putTopics(store: Store, chunkId: number, topics: string[]): void {
  store.run("UPDATE chunks SET topic_tags = ? WHERE id = ?", JSON.stringify(topics), chunkId);
  const [text] = readChunkTexts(store, [chunkId]);
  if (text) putFullText(store, text);
}

/** Puts the words of a stored chunk into the full text, and notes how long it is. */
function putFullText(db: Store, { id, rows, ...text }: ChunkText): void {
  const content = joinContent(rows);
  const length = headerText(text.header).length + content.length;
  db.run("UPDATE chunks SET length = ? WHERE id = ?", length, id);
  db.run("DELETE FROM chunks_fts WHERE rowid = ?", id);
  db.run(INSERT_TEXT, id, ...fullTextColumns({ ...text, content }));
}

/** Returns a session's chunks from an index on, by index. */
export function storedChunks(store: Store, session: number, index: number): Map<number, StoredChunk> {
  const rows = store.all(
    `SELECT id, chunk_index, lower(hex(content_hash)) AS hash,
         exchange || ' ' || first_line || ' ' || first_nth || ' ' || last_line || ' ' || last_nth ||
         coalesce(' ' || part_from || ' ' || part_to, '') || ' ' || tools AS place
       FROM chunks WHERE session = ? AND chunk_index >= ?`,
    session,
    index,
  );
  return new Map(
    rows.map(({ id, chunk_index, hash, place }) => [
      Number(chunk_index),
      { id: Number(id), hash: String(hash), place: String(place) },
    ]),
  );
}

function describePlace(chunk: Chunk, { exchange }: ChunkPlace): string {
  const [first, last] = findEnds(chunk);
  const part = first.part ? [first.part.from, first.part.to] : [];
  return [exchange, first.line, first.nth, last.line, last.nth, ...part, chunk.tools].join(" ");
}

/** Removes a chunk; its vector stays paid for. */
export function removeChunk(store: Store, id: number): void {
  dropBits(store, id);
  store.run("DELETE FROM chunks_fts WHERE rowid = ?", id);
  store.run("DELETE FROM chunks WHERE id = ?", id);
}

/** Removes the rows of a session: all, or those on some lines. */
export function removeRows(store: Store, session: number, { after, to } = ALL_LINES): void {
  const rows = store.all(
    "SELECT id, who FROM rows WHERE session = ? AND line > ? AND line <= ?",
    session,
    after,
    to,
  );
  for (const { id, who } of rows) removeRow(store, { id: Number(id), who: who as Row["who"] });
}

/** Removes a row with its full text and its error lines. */
export function removeRow(db: Store, { id, who }: { id: number; who: Row["who"] }): void {
  if (who === "tool") {
    db.run("DELETE FROM deeds_fts WHERE rowid = ?", id);
    db.run("DELETE FROM error_lines WHERE deed = ?", id);
  }
  db.run("DELETE FROM rows WHERE id = ?", id);
}

/** Releases the transcript rows of sessions, so that sessions with copies of them may index them. */
export function releaseRows(store: Store, sessionIds: readonly string[]): void {
  const ids = JSON.stringify(sessionIds);
  store.run(
    `DELETE FROM row_keys
       WHERE session IN (SELECT number FROM sessions WHERE id IN (SELECT value FROM json_each(?)))`,
    ids,
  );
  store.run("DELETE FROM copies WHERE session_id IN (SELECT value FROM json_each(?))", ids);
}

/** Returns the sessions whose copies of this session's rows were left out. */
export function sessionsWithCopies(store: Store, ownerId: string): string[] {
  return store
    .all("SELECT session_id FROM copies WHERE owner_id = ?", ownerId)
    .map((row) => String(row.session_id));
}

/** Returns the key of a chunk's vector and topics: 128 bits of the sha256 of its header without topics, and its content. */
function contentHash({ header, content }: { header: Omit<Header, "topics">; content: string }): Uint8Array {
  const about = headerText({ ...header, topics: [] });
  return sha256().update(about).update(content).digest().subarray(0, HASH_BYTES);
}

/** The place of rows, and the time of those without one. */
type RowOwner = Pick<ChunkPlace, "session" | "timestamp">;

/** Puts rows into the index, calls with their full text and the keys of their error lines. */
export function putRows(store: Store, rows: readonly Row[], place: RowOwner): void {
  for (const row of rows) {
    const { line, nth, at = place.timestamp, who } = row;
    if (who === "tool") addDone(store, row, place);
    else
      store.run(
        "INSERT INTO rows (session, line, nth, at, who, text, tool) VALUES (?, ?, ?, ?, ?, ?, ?)",
        place.session,
        line,
        nth,
        at,
        who,
        row.text,
        row.typed === false ? PROGRAM : null,
      );
  }
}

function addDone(db: Store, row: Done, { session, timestamp }: RowOwner): void {
  const { line, nth, at = timestamp, resultLine = null, kind, tool, target, input, outcome, result } = row;
  const paths = row.paths.join("\n");
  const texts = [target, paths === target ? null : paths, input, outcome, result];
  const { lastId } = db.run(
    `INSERT INTO rows (session, line, nth, at, who, result_line, kind, tool, target, paths, input, outcome, result)
     VALUES (?, ?, ?, ?, 'tool', ?, ?, ?, ?, ?, ?, ?, ?)`,
    session,
    line,
    nth,
    at,
    resultLine,
    kind,
    tool,
    ...texts,
  );
  const names = paths === target ? target : `${target}\n${paths}`;
  const words = isFileText(row) ? "" : result;
  db.run(
    "INSERT INTO deeds_fts (rowid, target, input, result, extra) VALUES (?, ?, ?, ?, ?)",
    lastId,
    names,
    input,
    words,
    splitJoined(names, input),
  );
  // a command that went well may print errors too
  if (kind !== "command" || outcome === "rejected") return;
  for (const key of errorKeys(result, { hasFailed: outcome === "failed" }).keys())
    db.run("INSERT INTO error_lines (key, deed) VALUES (?, ?)", key, lastId);
}

/** Returns whether a call's result is just the text of a file, by which nobody searches for the call. */
function isFileText({ kind, outcome }: Done): boolean {
  return outcome === "done" && (kind === "read" || kind === "edit" || kind === "write");
}
