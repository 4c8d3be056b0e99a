/** Counts the sessions that are known: those with conversation in the index, their own or a copy's, without subagents'. */

import { existsSync } from "node:fs";
import type { Paths } from "../config/config.ts";
import { openDatabase, type SqlDatabase } from "../store/sqlite.ts";

/** Counts the known sessions of an index that is open, and those of them that began at or after a time. */
export function countIn(db: SqlDatabase, since: string): { count: number; fresh: number } {
  const row = db.get(
    `SELECT count(*) AS count, coalesce(sum(coalesce(started_at, updated_at) >= ?), 0) AS fresh
       FROM own_sessions AS sessions WHERE parent_id IS NULL AND (
         EXISTS (SELECT 1 FROM chunks WHERE session = number)
         OR EXISTS (SELECT 1 FROM copies WHERE session_id = sessions.id)
       )`,
    since,
  );
  return { count: Number(row?.count ?? 0), fresh: Number(row?.fresh ?? 0) };
}

/** Counts the known sessions, without bringing the index up to date; none without a readable index. */
export function countKnown(paths: Pick<Paths, "database">, since: string): ReturnType<typeof countIn> {
  return readIndex(paths, (db) => countIn(db, since)) ?? { count: 0, fresh: 0 };
}

/** Returns the sizes of the transcripts in which the index found nothing said, by their sessions' ids. */
export function silentSizes(paths: Pick<Paths, "database">): ReadonlyMap<string, number> {
  const rows = readIndex(paths, (db) =>
    db.all(
      `SELECT session_id AS id, size FROM index_state
         WHERE chunk_count = 0 AND session_id NOT IN (SELECT session_id FROM copies)`,
    ),
  );
  return new Map(rows?.map(({ id, size }) => [String(id), Number(size)]));
}

function readIndex<T>({ database }: Pick<Paths, "database">, read: (db: SqlDatabase) => T): T | undefined {
  if (!existsSync(database)) return undefined;
  try {
    // not as a store: a status line replaces no damaged or older index
    const db = openDatabase(database, { create: false });
    try {
      return read(db);
    } finally {
      db.close();
    }
  } catch {
    return undefined;
  }
}
