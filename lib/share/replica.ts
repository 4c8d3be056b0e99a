/**
 * The replica: others' sessions in an index file of its own, `shared.db`, with the index's tables and beside them which
 * session is whose and how much of it is here. Search reads it beside the own index; only `share` writes it.
 */

import { remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { openStore, type Store } from "../store/store.ts";

/** A session of the hub, as far as it is known here. */
export interface SharedSession {
  /** Its id in the replica: `<owner>@<machine>:<id>`. */
  storedId: string;
  owner: string;
  machine: string;
  agent: string;
  id: string;
  /** The hub's number of it. */
  number: number;
  origin: string;
  project: string;
  /** The hub's last change of it, and the last one that is here; 0: nothing of it is. */
  seq: number;
  heldSeq: number;
  updatedAt: string;
  chunks: number;
}

/** The last state read of a project and origin. */
export interface Feed {
  project: string;
  origin: string;
  seq: number;
  count: number;
  sum: string;
}

const TABLES = `
CREATE TABLE IF NOT EXISTS shared_sessions (
  stored_id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  machine TEXT NOT NULL,
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  origin TEXT NOT NULL,
  project TEXT NOT NULL,
  seq INTEGER NOT NULL,
  held_seq INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  folder TEXT,
  -- JSON: description, summary, tags
  meta TEXT,
  observations TEXT,
  PRIMARY KEY (owner, agent, id)
) STRICT;
-- which chunk a deed came with
CREATE TABLE IF NOT EXISTS shared_deeds (
  deed INTEGER PRIMARY KEY,
  stored_id TEXT NOT NULL,
  idx INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS shared_deeds_chunk ON shared_deeds(stored_id, idx);
CREATE TABLE IF NOT EXISTS shared_feeds (
  project TEXT NOT NULL,
  origin TEXT NOT NULL,
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum TEXT NOT NULL,
  PRIMARY KEY (project, origin)
) STRICT, WITHOUT ROWID`;

type ReplicaPaths = Pick<Paths, "shared">;

/** Opens the replica for writing, created as needed. */
export function openReplica({ shared }: ReplicaPaths): Store {
  const store = openStore(shared);
  store.db.exec(TABLES);
  // Written in bulk: pages that change often stay in memory and go into the file once.
  store.db.exec("PRAGMA wal_autocheckpoint = 20000; PRAGMA cache_size = -65536");
  return store;
}

/** Deletes the replica. */
export function removeReplica({ shared }: ReplicaPaths): void {
  for (const file of [shared, `${shared}-wal`, `${shared}-shm`]) remove(file);
}

/** Returns every session of the hub that is known here. */
export function readShared(replica: Store): SharedSession[] {
  return replica.db
    .prepare(
      `SELECT stored_id, owner, machine, agent, id, number, origin, project, seq, held_seq, updated_at, chunks
       FROM shared_sessions ORDER BY updated_at DESC, stored_id`,
    )
    .all()
    .map((row) => ({
      storedId: String(row.stored_id),
      owner: String(row.owner),
      machine: String(row.machine),
      agent: String(row.agent),
      id: String(row.id),
      number: Number(row.number),
      origin: String(row.origin),
      project: String(row.project),
      seq: Number(row.seq),
      heldSeq: Number(row.held_seq),
      updatedAt: String(row.updated_at),
      chunks: Number(row.chunks),
    }));
}

export function readFeeds(replica: Store): Feed[] {
  return replica.db
    .prepare("SELECT project, origin, seq, count, sum FROM shared_feeds")
    .all()
    .map((row) => ({
      project: String(row.project),
      origin: String(row.origin),
      seq: Number(row.seq),
      count: Number(row.count),
      sum: String(row.sum),
    }));
}

/** Replaces what is noted of all feeds. */
export function writeFeeds(replica: Store, feeds: readonly Feed[]): void {
  replica.db.exec("DELETE FROM shared_feeds");
  const insert = replica.db.prepare(
    "INSERT INTO shared_feeds (project, origin, seq, count, sum) VALUES (?, ?, ?, ?, ?)",
  );
  for (const { project, origin, seq, count, sum } of feeds) insert.run(project, origin, seq, count, sum);
}

/** Notes a session that the hub has; one that is another than before is read anew. */
export function noteShared(replica: Store, session: Omit<SharedSession, "heldSeq">): void {
  const { db } = replica;
  const key = [session.owner, session.agent, session.id] as const;
  const before = db
    .prepare(
      "SELECT stored_id, number, origin, seq FROM shared_sessions WHERE owner = ? AND agent = ? AND id = ?",
    )
    .get(...key);
  if (before && before.stored_id !== session.storedId) removeShared(replica, String(before.stored_id));
  const isAnother =
    before !== undefined && (before.number !== session.number || before.origin !== session.origin);
  db.prepare(
    `INSERT INTO shared_sessions (stored_id, owner, machine, agent, id, number, origin, project, seq, updated_at, chunks)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (owner, agent, id) DO UPDATE SET number = excluded.number, origin = excluded.origin,
       project = excluded.project, seq = excluded.seq, updated_at = excluded.updated_at, chunks = excluded.chunks,
       held_seq = iif(? OR excluded.seq < held_seq, 0, held_seq)`,
  ).run(
    session.storedId,
    ...[session.owner, session.machine, session.agent, session.id],
    ...[session.number, session.origin, session.project, session.seq, session.updatedAt, session.chunks],
    isAnother ? 1 : 0,
  );
}

/** Removes a session with all that is here of it. */
export function removeShared(replica: Store, storedId: string): void {
  emptyShared(replica, storedId);
  replica.db.prepare("DELETE FROM shared_sessions WHERE stored_id = ?").run(storedId);
}

/** Removes what is here of a session; that it exists stays known. */
export function emptyShared(replica: Store, storedId: string): void {
  const { db } = replica;
  const where = "(SELECT id FROM session_chunks WHERE session_id = ?)";
  db.prepare(`DELETE FROM chunks_fts WHERE rowid IN ${where}`).run(storedId);
  db.prepare("DELETE FROM session_chunks WHERE session_id = ?").run(storedId);
  const deeds = "(SELECT deed FROM shared_deeds WHERE stored_id = ?)";
  db.prepare(`DELETE FROM deeds_fts WHERE rowid IN ${deeds}`).run(storedId);
  db.prepare(`DELETE FROM deeds WHERE id IN ${deeds}`).run(storedId);
  db.prepare("DELETE FROM shared_deeds WHERE stored_id = ?").run(storedId);
  db.prepare("DELETE FROM index_state WHERE session_id = ?").run(storedId);
  db.prepare("DELETE FROM sessions WHERE id = ?").run(storedId);
  db.prepare(
    "UPDATE shared_sessions SET held_seq = 0, meta = NULL, observations = NULL WHERE stored_id = ?",
  ).run(storedId);
}
