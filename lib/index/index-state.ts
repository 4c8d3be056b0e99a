/** The index's record of each session: where its transcript is, how far it was read, and with what result. */

import type { SqlValue } from "../store/sqlite.ts";
import { type Store, writeFact } from "../store/store.ts";
import type { Cursor, Session } from "../transcripts/session.ts";

/** `partial`: not all of its text is in the index, since reading was interrupted or the session is over the limit. */
export type IndexStatus = "complete" | "partial" | "failed" | "quarantined";

/** The facts that show whether a session's file has changed since it was read. */
export interface IndexedFile {
  id: string;
  file: string;
  /** True if the transcript was deleted since. */
  sourceGone: boolean;
  /** The file's size and time when it was last read to its end; -1 while that is still to come. */
  size: number;
  modified: string;
  /** The offset where reading continues: the start of the open exchange. */
  cursor: Cursor;
  status: IndexStatus;
  recipe: string;
}

/** A session as the index holds it. */
export interface IndexedSession extends IndexedFile {
  /** The index's own number of it. */
  number: number;
  agent: string;
  /** Index of the first chunk behind the cursor. */
  nextChunk: number;
  /** sha256 over the cursor and the file's bytes around what lies before it. */
  fileHash: string;
  chunkCount: number;
  skippedLines: number;
  lastIndexed: string;
  error: string | undefined;
}

/** The facts that a session's file gives beside its text. */
export interface SessionFacts {
  name?: string | undefined;
  cwd?: string | undefined;
  project?: string | undefined;
  startedAt?: string | undefined;
  parentId?: string | undefined;
}

const SELECT_STATE = `
  SELECT number, id, agent, file, source_gone, size, modified, cursor_offset, cursor_line, next_chunk, file_hash,
    status, recipe, chunk_count, skipped_lines, last_indexed, error
  FROM sessions JOIN index_state ON session_id = id`;

/** Returns every session's file as it was read, by id: a third of what reading all costs. */
export function readIndexedFiles(store: Store): Map<string, IndexedFile> {
  const rows = store.db
    .prepare(
      `SELECT id, file, source_gone, size, modified, cursor_offset, cursor_line, status, recipe
       FROM sessions JOIN index_state ON session_id = id`,
    )
    .all();
  const known = new Map<string, IndexedFile>();
  for (const row of rows) {
    const id = String(row.id);
    known.set(id, {
      id,
      file: String(row.file),
      sourceGone: row.source_gone === 1,
      size: Number(row.size),
      modified: String(row.modified),
      cursor: { offset: Number(row.cursor_offset), line: Number(row.cursor_line) },
      status: row.status as IndexStatus,
      recipe: String(row.recipe),
    });
  }
  return known;
}

/** A digest of the files as they were listed when all of them were in the index, and how many sources were gone. */
export const LISTING_FACT = "listing";

/** Facts that a new reading does not give stay. */
const SAVE_SESSION = `
  INSERT INTO sessions (number, id, agent, file, updated_at, compacted_line, name, cwd, project, started_at, parent_id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (number) DO UPDATE SET file = excluded.file, updated_at = excluded.updated_at, source_gone = 0,
    compacted_line = coalesce(excluded.compacted_line, compacted_line), name = coalesce(excluded.name, name),
    cwd = coalesce(excluded.cwd, cwd), project = coalesce(excluded.project, project),
    started_at = coalesce(excluded.started_at, started_at), parent_id = coalesce(excluded.parent_id, parent_id)`;

const SAVE_STATE = `
  INSERT OR REPLACE INTO index_state (session_id, file_path, file_hash, last_indexed, chunk_count, status, size,
    modified, cursor_offset, cursor_line, next_chunk, skipped_lines, recipe, took_ms, error)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Returns every session the index knows, by id. */
export function readIndexedSessions(store: Store): Map<string, IndexedSession> {
  const known = new Map<string, IndexedSession>();
  for (const row of store.db.prepare(`${SELECT_STATE} ORDER BY number`).iterate()) {
    const session = toIndexedSession(row);
    known.set(session.id, session);
  }
  return known;
}

export function readIndexedSession(store: Store, id: string): IndexedSession | undefined {
  const row = store.db.prepare(`${SELECT_STATE} WHERE id = ?`).get(id);
  return row && toIndexedSession(row);
}

/** Returns a session that the index does not know yet; nothing of it counts as read, and nothing is written. */
export function newIndexedSession(store: Store, id: string, { agent, file }: Session): IndexedSession {
  const last = store.db.prepare("SELECT max(number) AS number FROM sessions").get();
  return {
    number: Number(last?.number ?? 0) + 1,
    id,
    agent,
    file,
    sourceGone: false,
    size: -1,
    modified: "",
    cursor: { offset: 0, line: 0 },
    nextChunk: 0,
    fileHash: "",
    status: "partial",
    recipe: "",
    chunkCount: 0,
    skippedLines: 0,
    lastIndexed: "",
    error: undefined,
  };
}

/** Writes how far a session was read and its facts, in one transaction with its rows. */
export function saveIndexedSession(
  store: Store,
  state: IndexedSession,
  {
    facts = {},
    updatedAt,
    compactedLine,
    tookMs,
  }: {
    facts?: SessionFacts | undefined;
    updatedAt: string;
    compactedLine?: number | undefined;
    tookMs: number;
  },
): void {
  store.db
    .prepare(SAVE_SESSION)
    .run(
      state.number,
      state.id,
      state.agent,
      state.file,
      updatedAt,
      compactedLine ?? null,
      facts.name ?? null,
      facts.cwd ?? null,
      facts.project ?? null,
      facts.startedAt ?? null,
      facts.parentId ?? null,
    );
  store.db
    .prepare(SAVE_STATE)
    .run(
      state.id,
      state.file,
      state.fileHash,
      state.lastIndexed,
      state.chunkCount,
      state.status,
      state.size,
      state.modified,
      state.cursor.offset,
      state.cursor.line,
      state.nextChunk,
      state.skippedLines,
      state.recipe,
      tookMs,
      state.error ?? null,
    );
}

/** Marks sessions whose transcript is gone, or back. */
export function markSource(store: Store, ids: readonly string[], gone: boolean): void {
  const mark = store.db.prepare("UPDATE sessions SET source_gone = ? WHERE id = ?");
  store.db.transaction(() => {
    for (const id of ids) mark.run(gone ? 1 : 0, id);
  });
}

/** Lets sessions be read again from their start by the next run. */
export function forgetProgress(store: Store, ids: readonly string[]): void {
  if (ids.length > 0) writeFact(store, LISTING_FACT, undefined);
  store.db
    .prepare(
      `UPDATE index_state SET size = -1, file_hash = '', cursor_offset = 0, cursor_line = 0, next_chunk = 0,
         skipped_lines = 0
       WHERE session_id IN (SELECT value FROM json_each(?))`,
    )
    .run(JSON.stringify(ids));
}

/** Returns whether a session is to be read again, or has not been read to its end. */
export function hasUnread(store: Store): boolean {
  return store.db.prepare("SELECT 1 FROM index_state WHERE size = -1 LIMIT 1").get() !== undefined;
}

/** Returns a count that changes when another process has written. */
export function dataVersion(store: Store): number {
  return Number(store.db.prepare("PRAGMA data_version").get()?.data_version ?? 0);
}

function toIndexedSession(row: Record<string, SqlValue>): IndexedSession {
  return {
    number: Number(row.number),
    id: String(row.id),
    agent: String(row.agent),
    file: String(row.file),
    sourceGone: row.source_gone === 1,
    size: Number(row.size),
    modified: String(row.modified),
    cursor: { offset: Number(row.cursor_offset), line: Number(row.cursor_line) },
    nextChunk: Number(row.next_chunk),
    fileHash: String(row.file_hash),
    status: row.status as IndexStatus,
    recipe: String(row.recipe),
    chunkCount: Number(row.chunk_count),
    skippedLines: Number(row.skipped_lines),
    lastIndexed: String(row.last_indexed),
    error: row.error === null ? undefined : String(row.error),
  };
}
