/**
 * The index's record of each session: where its transcript is, how far it was read and with what result, what it is
 * called, and which of its lines were taken back.
 */

import { shortDigest } from "../base/text.ts";
import type { Agent, Cursor, LineSpan, Session } from "../hosts/session.ts";
import { type SqlRow, textOf } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { placeOnDisk } from "../transcripts/files.ts";

/** `partial`: not all of its text is in the index, since reading was interrupted or the session is over the limit. */
type IndexStatus = "complete" | "partial" | "failed" | "quarantined";

/** The state of a session's indexing, and its source. */
export interface IndexProgress
  extends Pick<IndexedSession, "number" | "id" | "agent" | "file" | "sourceGone"> {
  /** The file's size and time when it was last read to its end; -1 while that is still to come. */
  size: number;
  modified: string;
  /** The offset where reading continues: the start of the open exchange. */
  cursor: Cursor;
  status: IndexStatus;
  /** Index of the first chunk after the cursor. */
  nextChunk: number;
  /** sha256 over the cursor and the file's bytes around what lies before it. */
  fileHash: string;
  chunkCount: number;
  skippedLines: number;
  lastIndexed: string;
  error: string | undefined;
}

/** The outcome of a run. */
export interface IndexReport {
  /** Sessions that were read. */
  sessions: number;
  /** Chunks those sessions have. */
  chunks: number;
  newChunks: number;
  skippedLines: number;
  quarantined: { file: string; reason: string }[];
  failed: { file: string; reason: string }[];
  /** Sessions that were not reached. */
  left: number;
}

export function emptyReport(): IndexReport {
  return { sessions: 0, chunks: 0, newChunks: 0, skippedLines: 0, quarantined: [], failed: [], left: 0 };
}

/** A session as the index knows it: its host's id made unique, and the index's own number of it. */
export interface IndexedSession
  extends Pick<Session, "id" | "agent" | "file" | "name" | "cwd" | "project" | "parentId" | "owner"> {
  /** The index's own number of it. */
  number: number;
  /** True if the transcript was deleted since. */
  sourceGone: boolean;
}

/** The columns of `sessions` that `toIndexedSession` reads. */
export const SESSION_COLUMNS = "number, id, agent, file, name, cwd, project, parent_id, owner, source_gone";

export function toIndexedSession(row: SqlRow): IndexedSession {
  const [name, cwd, project, parentId, owner] = [
    row.name,
    row.cwd,
    row.project,
    row.parent_id,
    row.owner,
  ].map(textOf);
  const [id, agent, file] = [String(row.id), row.agent as Agent, String(row.file)];
  const sourceGone = row.source_gone === 1;
  return { number: Number(row.number), id, agent, file, name, cwd, project, parentId, owner, sourceGone };
}

const SELECT_STATE = `
  SELECT number, id, agent, file, source_gone AS sourceGone, size, modified, cursor_offset, cursor_line, status,
    next_chunk AS nextChunk, file_hash AS fileHash, chunk_count AS chunkCount, skipped_lines AS skippedLines,
    last_indexed AS lastIndexed, error
  FROM sessions JOIN index_state ON session_id = id`;

/** Facts that a new reading does not give stay; a name that its owner took back goes. */
const SAVE_SESSION = `
  INSERT INTO sessions (number, id, agent, file, updated_at, compacted_line, name, cwd, project, started_at, parent_id, owner)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (number) DO UPDATE SET agent = excluded.agent, file = excluded.file,
    updated_at = excluded.updated_at, source_gone = 0,
    compacted_line = coalesce(excluded.compacted_line, compacted_line), name = coalesce(excluded.name, iif(excluded.owner IS NULL, name, NULL)),
    cwd = coalesce(excluded.cwd, cwd), project = coalesce(excluded.project, project),
    started_at = coalesce(excluded.started_at, started_at), parent_id = coalesce(excluded.parent_id, parent_id)`;

const SAVE_STATE = `
  INSERT OR REPLACE INTO index_state (session_id, session, file_path, file_hash, last_indexed, chunk_count, status, size,
    modified, cursor_offset, cursor_line, next_chunk, skipped_lines, took_ms, error)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Returns every session the index knows, by id. */
export function readAllProgress(store: Store): Map<string, IndexProgress> {
  const rows = store.all(`${SELECT_STATE} ORDER BY number`);
  return new Map(rows.map((row) => [String(row.id), toProgress(row)]));
}

export function readProgress(store: Store, id: string): IndexProgress | undefined {
  const row = store.get(`${SELECT_STATE} WHERE id = ?`, id);
  return row && toProgress(row);
}

/** Returns a session that the index does not know yet; nothing of it counts as read, and nothing is written. */
export function newProgress(store: Store, id: string, { agent, file }: Session): IndexProgress {
  const last = store.get("SELECT max(number) AS number FROM sessions");
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
    chunkCount: 0,
    skippedLines: 0,
    lastIndexed: "",
    error: undefined,
  };
}

interface SaveOptions {
  /** The facts of its file beside the text. */
  facts?: Partial<Session>;
  updatedAt: string;
  compactedLine?: number | undefined;
  tookMs: number;
}

/** Writes how far a session was read and its facts, in one transaction with its rows. */
export function saveProgress(
  store: Store,
  state: IndexProgress,
  { facts = {}, updatedAt, compactedLine, tookMs }: SaveOptions,
): void {
  const { number, id, agent, file, cursor } = state;
  const { name, cwd, project, startedAt, parentId, owner } = facts;
  const known = [compactedLine, name, cwd, project, startedAt, parentId, owner].map((fact) => fact ?? null);
  store.run(SAVE_SESSION, number, id, agent, file, updatedAt, ...known);
  const { fileHash, lastIndexed, chunkCount, status, size, modified, nextChunk, skippedLines, error } = state;
  store.run(
    SAVE_STATE,
    id,
    number,
    file,
    fileHash,
    lastIndexed,
    chunkCount,
    status,
    size,
    modified,
    cursor.offset,
    cursor.line,
    nextChunk,
    skippedLines,
    tookMs,
    error ?? null,
  );
}

/** Lets sessions be read again from their start by the next run. */
export function forgetProgress(store: Store, ids: readonly string[]): void {
  store.run(
    `UPDATE index_state SET size = -1, file_hash = '', cursor_offset = 0, cursor_line = 0, next_chunk = 0,
         skipped_lines = 0
       WHERE session_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
}

/** Returns the index's own id of a session whose host's id another one has already: marked by its file. */
export function markedId({ id, file }: Pick<Session, "id" | "file">): string {
  return `${id}~${shortDigest(file).slice(0, 6)}`;
}

/** Returns the host's id of a session, by the index's own id of it. */
export function hostId(storedId: string): string {
  return storedId.replace(/~[0-9a-f]{6}$/, "");
}

/** Returns whether another session of the index has the same id from its host. */
export function hasNamesake(store: Store, storedId: string): boolean {
  const marked = "SELECT 1 FROM sessions WHERE id > $id || '~' AND id < $id || '~g' LIMIT 1";
  return store.get(marked, { id: hostId(storedId) }) !== undefined;
}

/** The other columns are as they should be: the tables are strict. */
function toProgress({ cursor_offset, cursor_line, sourceGone, error, ...row }: SqlRow): IndexProgress {
  const cursor = { offset: cursor_offset, line: cursor_line };
  return { ...row, cursor, sourceGone: sourceGone === 1, error: error ?? undefined } as IndexProgress;
}

/** Reads the lines of a session that were taken back, in order. */
export function rewoundLines(store: Store, session: number): LineSpan[] {
  return store
    .all("SELECT first_line, last_line FROM rewound WHERE session = ? ORDER BY first_line", session)
    .map(({ first_line, last_line }) => [Number(first_line), Number(last_line)]);
}

/** Replaces the lines of a session that were taken back. */
export function updateRewound(db: Store, session: number, spans: readonly LineSpan[]): void {
  db.run("DELETE FROM rewound WHERE session = ?", session);
  for (const [first, last] of spans)
    db.run("INSERT INTO rewound (session, first_line, last_line) VALUES (?, ?, ?)", session, first, last);
}

/** A session's state in the index, as `embed --status` shows it. */
export interface SessionStatus
  extends Pick<
    IndexProgress,
    "id" | "agent" | "file" | "status" | "skippedLines" | "lastIndexed" | "sourceGone"
  > {
  name?: string;
  chunks: number;
  vectors: number;
  error?: string;
}

/** Returns the state of every own session in the index, the newest first. */
export function readStatuses(store: Store): SessionStatus[] {
  return store
    .all(`SELECT id, agent, name, file, status, chunk_count AS chunks,
       (SELECT count(embedder) FROM chunks c WHERE c.session = sessions.number) AS vectors,
       skipped_lines AS skippedLines, last_indexed AS lastIndexed, source_gone AS sourceGone, error
     FROM own_sessions AS sessions JOIN index_state ON session_id = id ORDER BY updated_at DESC, id`)
    .map(({ name, file, sourceGone, error, ...row }) => {
      const texts = { ...(name ? { name } : {}), ...(error ? { error } : {}) };
      return {
        ...row,
        ...texts,
        file: placeOnDisk(String(file)),
        sourceGone: sourceGone === 1,
      } as SessionStatus;
    });
}
