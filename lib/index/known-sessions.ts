/** Counts the sessions that are known: those with conversation in the index, their own or a copy's, without subagents'. */

import { existsSync } from "node:fs";
import type { Paths } from "../config/config.ts";
import { openDatabase, type SqlDatabase } from "../store/sqlite.ts";

/** Counts the known sessions of an index that is open, and those of them that began at or after a time. */
export function countIn(db: SqlDatabase, since: string): { count: number; fresh: number } {
  const row = db
    .prepare(
      `SELECT count(*) AS count, coalesce(sum(coalesce(started_at, updated_at) >= ?), 0) AS fresh
       FROM sessions WHERE parent_id IS NULL AND (
         EXISTS (SELECT 1 FROM chunks WHERE session = number)
         OR EXISTS (SELECT 1 FROM copies WHERE session_id = sessions.id)
       )`,
    )
    .get(since);
  return { count: Number(row?.count ?? 0), fresh: Number(row?.fresh ?? 0) };
}

/** Counts the known sessions, without bringing the index up to date; none where there is no index that can be read. */
export function countKnown({ database }: Pick<Paths, "database">, since: string): ReturnType<typeof countIn> {
  if (!existsSync(database)) return { count: 0, fresh: 0 };
  try {
    // not as a store: a status line replaces no damaged or older index
    const db = openDatabase(database, { create: false });
    try {
      return countIn(db, since);
    } finally {
      db.close();
    }
  } catch {
    return { count: 0, fresh: 0 };
  }
}
