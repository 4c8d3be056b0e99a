/**
 * `paid.db`: vectors and topics that were paid for, by the hash of the words that they were made of, with the sessions that hold
 * these words. It is attached to an index as `paid`, so that one transaction writes both, and outlives every index.
 */

import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DAY_MS } from "../base/time.ts";
import { copyTable, openVersioned, type Versioned } from "./carry-over.ts";
import { openDatabase, type SqlDatabase } from "./sqlite.ts";
import type { ForgetIn, Forgetting, Found } from "./state.ts";

/** Entries that nothing has used for a year are removed. */
const UNUSED_DAYS = 365; // promised
/** Entries in use are dated anew before that. */
const DATED_DAYS = 300;

const TABLES = `
CREATE TABLE IF NOT EXISTS vectors (
  content_hash BLOB NOT NULL,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  embedding BLOB NOT NULL,
  -- the day since 1970 on which it was last known to be in use
  used_on INTEGER NOT NULL,
  PRIMARY KEY (content_hash, model, dimensions)
) STRICT;
CREATE TABLE IF NOT EXISTS topics (
  content_hash BLOB PRIMARY KEY,
  topics TEXT NOT NULL,
  model TEXT NOT NULL,
  used_on INTEGER NOT NULL
) STRICT;
-- by the host's id of a session
CREATE TABLE IF NOT EXISTS holders (
  content_hash BLOB NOT NULL,
  session_id TEXT NOT NULL,
  PRIMARY KEY (content_hash, session_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS holders_session ON holders(session_id);
`;

/** The file, which has never had another version; the readable rows of a damaged one are carried over. */
const FILE: Versioned = {
  schema: TABLES,
  version: 0,
  carry: (from, to) =>
    ["vectors", "topics", "holders"].map((table) => copyTable(table, from, to)).every(Boolean),
};

/** Attaches the state folder's `paid.db` to an index; empty tables of no file while nothing was paid for, or it cannot be read. */
export function attachPaid(db: SqlDatabase, index: string): void {
  const path = paidBeside(index);
  try {
    attach(db, existsSync(path) ? path : ":memory:");
  } catch {
    if (db.get("SELECT 1 FROM pragma_database_list WHERE name = 'paid'")) db.exec("DETACH paid");
    attach(db, ":memory:");
  }
}

/** Attaches the file itself, created where it is missing: something is about to be paid for. */
export function keepPaid(db: SqlDatabase, index: string): void {
  const path = paidBeside(index);
  if (existsSync(path)) return;
  db.exec("DETACH paid");
  attach(db, path);
}

function attach(db: SqlDatabase, path: string): void {
  // opened by itself first: damage met in an attached file would be taken for that of the index
  if (path !== ":memory:") openVersioned(path, FILE).close();
  db.run("ATTACH ? AS paid", path);
  if (path !== ":memory:") db.get("PRAGMA paid.journal_mode = WAL");
  else db.exec(TABLES.replaceAll("IF NOT EXISTS ", "IF NOT EXISTS paid."));
}

/** Returns the path of `paid.db` for an index: those of given transcripts lie in a folder of their own. */
function paidBeside(index: string): string {
  const folder = dirname(index);
  return join(basename(folder) === "indexes" ? dirname(folder) : folder, "paid.db");
}

/** Returns the day since 1970. */
export const today = () => Math.floor(Date.now() / DAY_MS);

/** Words that were paid for. */
interface Paid {
  hash: Uint8Array;
  /** The host's id of a session that holds them. */
  session: string;
}

/** Keeps the vector of an embedder of the index, by the index's number of it. */
export function putPaidVector(
  db: SqlDatabase,
  { hash, session }: Paid,
  { embedder, embedding }: { embedder: number; embedding: Uint8Array },
): void {
  db.run(
    `INSERT INTO paid.vectors (content_hash, model, dimensions, embedding, used_on)
     SELECT ?, model, dimensions, ?, ? FROM embedders WHERE id = ?
     ON CONFLICT DO UPDATE SET embedding = excluded.embedding, used_on = excluded.used_on`,
    hash,
    embedding,
    today(),
    embedder,
  );
  putHolder(db, { hash, session });
}

/** Returns the vector that an embedder of the index gave for some words. */
export function paidVector(db: SqlDatabase, hash: Uint8Array, embedder: number): Uint8Array | undefined {
  const row = db.get(
    `SELECT embedding FROM paid.vectors JOIN embedders USING (model, dimensions)
       WHERE content_hash = ? AND id = ?`,
    hash,
    embedder,
  );
  return row?.embedding as Uint8Array | undefined;
}

/** Keeps the topics that a model gave. */
export function putPaidTopics(
  db: SqlDatabase,
  { hash, session }: Paid,
  { topics, model }: { topics: readonly string[]; model: string },
): void {
  db.run(
    "INSERT OR REPLACE INTO paid.topics (content_hash, topics, model, used_on) VALUES (?, ?, ?, ?)",
    hash,
    JSON.stringify(topics),
    model,
    today(),
  );
  putHolder(db, { hash, session });
}

/** Returns the topics that a model gave for some words. */
export function paidTopics(db: SqlDatabase, hash: Uint8Array): string[] | undefined {
  const row = db.get("SELECT topics FROM paid.topics WHERE content_hash = ?", hash);
  return row && JSON.parse(String(row.topics));
}

/** Notes that a session holds words that were paid for. */
function putHolder(db: SqlDatabase, { hash, session }: Paid): void {
  db.run("INSERT OR IGNORE INTO paid.holders (content_hash, session_id) VALUES (?, ?)", hash, session);
}

/** Removes what sessions hold, but for the words that the index still has of them, and what is left without a holder. */
export function releasePaid(db: SqlDatabase, sessions: readonly string[]): void {
  forgetHolders(db, sessions, "AND content_hash NOT IN (SELECT content_hash FROM chunks)");
}

function forgetHolders(db: SqlDatabase, sessions: readonly string[], but = ""): void {
  db.exec("PRAGMA paid.secure_delete = ON");
  db.run(
    `DELETE FROM paid.holders WHERE session_id IN (SELECT value FROM json_each(?)) ${but}`,
    JSON.stringify(sessions),
  );
  for (const table of ["vectors", "topics"])
    db.exec(`DELETE FROM paid.${table} WHERE content_hash NOT IN (SELECT content_hash FROM paid.holders)`);
}

/** Forgets what was paid for the words of sessions, and topics with a text, whether or not there is an index. */
export function forgetPaid(forgetting: Forgetting, { paths, dryRun }: ForgetIn): Partial<Found> {
  if (dryRun || !existsSync(paths.paid)) return {};
  const db = openDatabase(":memory:");
  try {
    attach(db, paths.paid);
    if ("ids" in forgetting) {
      const { ids, lines } = forgetting;
      forgetHolders(
        db,
        [...ids].filter((id) => !lines?.has(id)),
      );
    } else {
      for (const { content_hash = null, topics } of db.all("SELECT * FROM paid.topics"))
        if (forgetting.hasText(String(topics)))
          db.run("DELETE FROM paid.topics WHERE content_hash = ?", content_hash);
    }
    return { unerased: erasePaid(db) ? 0 : 1 };
  } finally {
    db.close();
  }
}

/** Overwrites the bytes of what was removed; returns whether no other process kept that from happening. */
export function erasePaid(db: SqlDatabase): boolean {
  db.exec("VACUUM paid");
  return db.get("PRAGMA paid.wal_checkpoint(TRUNCATE)")?.busy !== 1;
}

/** Dates anew what the index uses, and removes what nothing has used for a year. */
export function tendPaid(db: SqlDatabase): void {
  for (const table of ["vectors", "topics"]) {
    const isOld = db.get(`SELECT 1 FROM paid.${table} WHERE used_on < ? LIMIT 1`, today() - DATED_DAYS);
    if (isOld === undefined) continue;
    db.transaction(() => {
      db.run(
        `UPDATE paid.${table} SET used_on = ? WHERE content_hash IN (SELECT content_hash FROM main.chunks)`,
        today(),
      );
      db.run(`DELETE FROM paid.${table} WHERE used_on < ?`, today() - UNUSED_DAYS);
      db.exec(
        `DELETE FROM paid.holders WHERE content_hash NOT IN
           (SELECT content_hash FROM paid.vectors UNION ALL SELECT content_hash FROM paid.topics)`,
      );
    });
  }
}
