/** What there is to say about the index: per session, and what became of transcripts that are gone. */

import { existsSync } from "node:fs";
import { removeSession } from "./chunk-rows.ts";
import {
  forgetProgress,
  type IndexedSession,
  type IndexStatus,
  markSource,
  readIndexedSessions,
} from "./index-state.ts";
import { sessionsWithCopies } from "./row-claims.ts";
import type { Session } from "./session.ts";
import type { Store } from "./store.ts";

export interface SessionStatus {
  id: string;
  agent: string;
  name: string | undefined;
  file: string;
  status: IndexStatus;
  chunks: number;
  vectors: number;
  skippedLines: number;
  lastIndexed: string;
  sourceGone: boolean;
  error: string | undefined;
}

/** The state of every session in the index, the last indexed first. */
export function readStatuses(store: Store): SessionStatus[] {
  const counted = store.db
    .prepare(
      "SELECT session_id, count(*) AS n FROM session_chunks WHERE embedder IS NOT NULL GROUP BY session_id",
    )
    .all();
  const vectors = new Map(counted.map((row) => [String(row.session_id), Number(row.n)]));
  const named = store.db.prepare("SELECT id, name FROM sessions WHERE name IS NOT NULL").all();
  const names = new Map(named.map((row) => [String(row.id), String(row.name)]));
  return [...readIndexedSessions(store).values()]
    .map((state) => ({
      id: state.id,
      agent: state.agent,
      name: names.get(state.id),
      file: state.file,
      status: state.status,
      chunks: state.chunkCount,
      vectors: vectors.get(state.id) ?? 0,
      skippedLines: state.skippedLines,
      lastIndexed: state.lastIndexed,
      sourceGone: state.sourceGone,
      error: state.error,
    }))
    .sort((a, b) => (a.lastIndexed < b.lastIndexed ? 1 : -1));
}

/** Marks the sessions whose transcript was deleted, and unmarks those that are back. Returns the ones now gone. */
export function markSources(store: Store, listed: readonly Session[]): IndexedSession[] {
  const files = new Set(listed.map(({ file }) => file));
  const known = [...readIndexedSessions(store).values()];
  const isThere = (state: IndexedSession) => files.has(state.file) || existsSync(state.file);
  const gone = known.filter((state) => !isThere(state));
  const ids = new Set(gone.map(({ id }) => id));
  markSource(
    store,
    gone.filter((state) => !state.sourceGone).map(({ id }) => id),
    true,
  );
  markSource(
    store,
    known.filter((state) => state.sourceGone && !ids.has(state.id)).map(({ id }) => id),
    false,
  );
  return gone;
}

/** Removes sessions from the index; forks that had copied rows of theirs are read again by the next run. */
export function pruneSessions(store: Store, sessions: readonly IndexedSession[]): void {
  for (const session of sessions) {
    store.db.transaction(() => {
      forgetProgress(store, sessionsWithCopies(store, session.id));
      removeSession(store, session);
    });
  }
  // what was removed leaves the full-text index's bytes too
  if (sessions.length > 0) store.db.exec("INSERT INTO chunks_fts(chunks_fts) VALUES ('optimize')");
}
