/**
 * The replica: others' sessions in an index file of its own, `shared.db`, with the index's tables and beside them which
 * session is whose and how much of it is here. Search reads it beside the main index; only `share` writes it, and `forget`
 * takes out of it.
 */

import { remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { countRows, eraseFreed, forgetRows } from "../index/forget-rows.ts";
import { type HeldSession, heldSessions } from "../index/held-sessions.ts";
import { removeSession } from "../index/session-rows.ts";
import type { SqlValue } from "../store/sqlite.ts";
import type { ForgetIn, Forgetting } from "../store/state.ts";
import { hasReplica, openStore, pulledAgain, type Store } from "../store/store.ts";

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
  const store = openStore(shared, { carry: pulledAgain });
  store.db.exec(TABLES);
  // Written in bulk: pages that change often stay in memory and go into the file once.
  store.db.exec("PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 20000; PRAGMA cache_size = -65536");
  return store;
}

/** Runs work on the replica; undefined where there is none. */
export function withReplica<T>(paths: ReplicaPaths, work: (replica: Store) => T): T | undefined {
  if (!hasReplica(paths)) return undefined;
  const replica = openReplica(paths);
  try {
    return work(replica);
  } finally {
    replica.close();
  }
}

/** Deletes the replica. */
export function removeReplica({ shared }: ReplicaPaths): void {
  for (const file of [shared, `${shared}-wal`, `${shared}-shm`]) remove(file);
}

/** Returns every session of the hub that is known here. */
export function readShared({ db }: Store): SharedSession[] {
  return rowsOf(
    db,
    `SELECT stored_id AS storedId, owner, machine, agent, id, number, origin, project, seq, held_seq AS heldSeq,
       updated_at AS updatedAt, chunks
     FROM shared_sessions ORDER BY updated_at DESC, stored_id`,
  );
}

export function readFeeds({ db }: Store): Feed[] {
  return rowsOf(db, "SELECT project, origin, seq, count, sum FROM shared_feeds");
}

/** Returns rows as they are: the tables are strict, their columns not null. */
function rowsOf<T>(db: Store["db"], sql: string): T[] {
  return db.prepare(sql).all() as T[];
}

/** Replaces all feeds. */
export function writeFeeds(replica: Store, feeds: readonly Feed[]): void {
  replica.db.exec("DELETE FROM shared_feeds");
  const insert = replica.db.prepare(
    "INSERT INTO shared_feeds (project, origin, seq, count, sum) VALUES (?, ?, ?, ?, ?)",
  );
  for (const { project, origin, seq, count, sum } of feeds) insert.run(project, origin, seq, count, sum);
}

/** Records a session that the hub has; one that was replaced is read again from its start. */
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

/** Removes a session and its contents. */
export function removeShared(replica: Store, storedId: string): void {
  emptyShared(replica, storedId);
  replica.db.prepare("DELETE FROM shared_sessions WHERE stored_id = ?").run(storedId);
}

/** Removes the contents of a session, but keeps that it exists. */
export function emptyShared(replica: Store, storedId: string): void {
  const { db } = replica;
  const number = db.prepare("SELECT number FROM sessions WHERE id = ?").get(storedId)?.number;
  if (number !== undefined) removeSession(replica, { number: Number(number), id: storedId });
  db.prepare("DELETE FROM shared_deeds WHERE stored_id = ?").run(storedId);
  db.prepare(
    "UPDATE shared_sessions SET held_seq = 0, meta = NULL, observations = NULL WHERE stored_id = ?",
  ).run(storedId);
}

/** Returns the sessions that others share, as the replica holds them; nothing where there is none. */
export function heldShared(paths: Paths): HeldSession[] {
  return withReplica(paths, heldSessions) ?? [];
}

/** Forgets in the replica, and returns how many chunks it was found in. */
export function forgetShared(forgetting: Forgetting, { paths, dryRun }: ForgetIn): number {
  const chunks = withReplica(paths, (replica) =>
    "ids" in forgetting
      ? forgetSharedSessions(replica, forgetting.ids, dryRun)
      : forgetSharedText(replica, forgetting, dryRun),
  );
  return chunks ?? 0;
}

function forgetSharedSessions(replica: Store, ids: ReadonlySet<string>, dryRun: boolean): number {
  const found = readShared(replica).filter(
    ({ id, storedId }) => ids.has(storedId) || id.split("/").some((part) => ids.has(part)),
  );
  const count = replica.db.prepare("SELECT count(*) AS n FROM session_chunks WHERE session_id = ?");
  const chunks = found.reduce((sum, { storedId }) => sum + Number(count.get(storedId)?.n), 0);
  if (dryRun || found.length === 0) return chunks;
  replica.db.transaction(() => {
    for (const { storedId } of found) removeShared(replica, storedId);
    // the next pull compares all: it would take them for read
    replica.db.exec("DELETE FROM shared_feeds");
  });
  eraseFreed(replica);
  return chunks;
}

function forgetSharedText(
  replica: Store,
  forgetting: Exclude<Forgetting, { ids: unknown }>,
  dryRun: boolean,
): number {
  const { chunks } = countRows(forgetting, replica);
  if (dryRun) return chunks;
  const { hasText } = forgetting;
  const rows = replica.db.prepare("SELECT stored_id, meta, observations FROM shared_sessions").all();
  const update = replica.db.prepare(
    "UPDATE shared_sessions SET meta = ?, observations = ? WHERE stored_id = ?",
  );
  const kept = (text: SqlValue | undefined) => (text == null || hasText(String(text)) ? null : text);
  for (const { stored_id, meta, observations } of rows) {
    update.run(kept(meta), kept(observations), String(stored_id));
  }
  forgetRows(forgetting, replica);
  return chunks;
}
