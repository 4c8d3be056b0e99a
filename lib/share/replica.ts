/**
 * The replica: others' sessions in an index file of its own, `shared.db`, with the index's tables and beside them which
 * session is whose and how much of it is here. Search reads it beside the main index; only `share` writes it, and `forget`
 * takes out of it.
 */

import { remove } from "../base/files.ts";
import { shortHash } from "../base/text.ts";
import { type Paths, REPLICA_VERSION, type Settings } from "../config/config.ts";
import { countRows, eraseFreed, forgetRows } from "../index/forget-rows.ts";
import { heldSessions } from "../index/held-sessions.ts";
import { removeSession } from "../index/session-rows.ts";
import type { Held } from "../sessions/resolve.ts";
import type { SqlValue } from "../store/sqlite.ts";
import type { ForgetIn, Forgetting } from "../store/state.ts";
import { hasReplica, openStore, readFact, type Store, writeFact } from "../store/store.ts";

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
  /** Its size at the hub, in chunks of the usual size, as it was counted; -1: not yet. */
  chunks: number;
  /** The reason that it is not taken; undefined if it is. */
  fault?: string | undefined;
}

/** The bytes that count as one chunk: at the hub one has half as many with its deeds, in a replica about as many. */
export const WEIGHT_BYTES = 4096;
/** The bytes of a row beside its texts: its columns and its places in indexes. */
const ROW_BYTES = 64;

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
-- the rows that came with an exchange of the hub: from its place to another
CREATE TABLE IF NOT EXISTS shared_exchanges (
  stored_id TEXT NOT NULL,
  line INTEGER NOT NULL,
  nth INTEGER NOT NULL,
  last_line INTEGER NOT NULL,
  last_nth INTEGER NOT NULL,
  PRIMARY KEY (stored_id, line, nth)
) STRICT, WITHOUT ROWID;
-- rows of the hub that are not taken, and why
CREATE TABLE IF NOT EXISTS shared_refused (
  number TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  origin TEXT NOT NULL,
  session TEXT NOT NULL,
  fault TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shared_feeds (
  project TEXT NOT NULL,
  origin TEXT NOT NULL,
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum TEXT NOT NULL,
  PRIMARY KEY (project, origin)
) STRICT, WITHOUT ROWID`;

type ReplicaPaths = Pick<Paths, "shared">;

/** Raised when what a pull writes means something else. */
const FORMAT = 4;
/** A digest of the rules under which the replica was filled. */
const SHARE_RULES_FACT = "share_rules";

/** Opens the replica for writing, created as needed. */
function openReplica({ shared }: ReplicaPaths): Store {
  const store = openStore(shared, { carry: "nothing", version: REPLICA_VERSION });
  store.db.exec(TABLES);
  // Written in bulk: pages that change often stay in memory and go into the file once.
  store.db.exec("PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 20000; PRAGMA cache_size = -65536");
  return store;
}

/** Opens the replica for a pull; what came in under other rules is deleted, to be pulled again as a whole. */
export function openForPull(
  paths: ReplicaPaths,
  { redact, exclude }: Pick<Settings, "redact" | "exclude">,
): Store {
  const rules = shortHash(JSON.stringify([FORMAT, exclude, redact.extra])).toString(36);
  let replica = openReplica(paths);
  const before = readFact(replica, SHARE_RULES_FACT);
  if (before !== undefined && before !== rules) {
    replica.close();
    removeReplica(paths);
    replica = openReplica(paths);
  }
  writeFact(replica, SHARE_RULES_FACT, rules);
  return replica;
}

/** Runs work on the replica; undefined if there is none. */
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
  const rows = db.prepare(
    `SELECT stored_id AS storedId, owner, machine, agent, id, number, origin, project, seq, held_seq AS heldSeq,
       updated_at AS updatedAt, chunks
     FROM shared_sessions ORDER BY updated_at DESC, stored_id`,
  );
  return rows.all() as unknown[] as SharedSession[];
}

/** Returns what a session takes here, in chunks of the usual size. */
export function heldSize({ db }: Store, storedId: string): number {
  const bytes = ["text", "target", "input", "result", "paths"].map((text) => `coalesce(length(${text}), 0)`);
  const row = db
    .prepare(
      `SELECT max((SELECT count(*) FROM chunks WHERE session = number),
         (SELECT (coalesce(sum(${ROW_BYTES} + ${bytes.join(" + ")}), 0) + ${WEIGHT_BYTES - 1}) / ${WEIGHT_BYTES}
          FROM rows WHERE session = number)) AS size
       FROM sessions WHERE id = ?`,
    )
    .get(storedId);
  const beside = db
    .prepare(
      `SELECT (coalesce(length(meta), 0) + coalesce(length(observations), 0)) / ${WEIGHT_BYTES} AS size
       FROM shared_sessions WHERE stored_id = ?`,
    )
    .get(storedId);
  return Number(row?.size ?? 0) + Number(beside?.size ?? 0);
}

/** Returns the sessions of the hub that were not taken, each with why. */
export function refusedSessions(paths: ReplicaPaths): string[] {
  const rows = withReplica(paths, ({ db }) =>
    db.prepare("SELECT session, fault FROM shared_refused ORDER BY session").all(),
  );
  return (rows ?? []).map(({ session, fault }) => `${session} (${fault})`);
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
  db.prepare("DELETE FROM shared_exchanges WHERE stored_id = ?").run(storedId);
  db.prepare(
    "UPDATE shared_sessions SET held_seq = 0, meta = NULL, observations = NULL WHERE stored_id = ?",
  ).run(storedId);
}

/** Returns the sessions that others share, as the replica holds them; nothing if there is none. */
export function heldShared(paths: Paths): Held[] {
  return withReplica(paths, heldSessions) ?? [];
}

/** Forgets in the replica, and counts the chunks it was found in. */
export function forgetShared(forgetting: Forgetting, { paths, dryRun }: ForgetIn): { sharedChunks: number } {
  const chunks = withReplica(paths, (replica) =>
    "ids" in forgetting
      ? forgetSharedSessions(replica, forgetting.ids, dryRun)
      : forgetSharedText(replica, forgetting, dryRun),
  );
  return { sharedChunks: chunks ?? 0 };
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
