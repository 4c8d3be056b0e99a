/** The status of the index: per session, and for transcripts that are gone. */

import { existsSync } from "node:fs";
import type { Store } from "../store/store.ts";
import type { Session } from "../transcripts/session.ts";
import { type IndexedFile, type IndexStatus, markSource, readIndexedSessions } from "./index-state.ts";

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

/** Returns the state of every session in the index, the last indexed first. */
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

/** Marks the sessions whose transcript was deleted, and unmarks those that are back. Returns the ids of those gone. */
export function markSources(
  store: Store,
  listed: readonly Session[],
  known: ReadonlyMap<string, IndexedFile>,
): string[] {
  const files = new Set(listed.map(({ file }) => file));
  const states = [...known.values()];
  const gone = states.filter(({ file }) => !files.has(file) && !existsSync(file));
  const ids = new Set(gone.map(({ id }) => id));
  const newlyGone = gone.filter(({ sourceGone }) => !sourceGone);
  const back = states.filter(({ id, sourceGone }) => sourceGone && !ids.has(id));
  if (newlyGone.length > 0)
    markSource(
      store,
      newlyGone.map(({ id }) => id),
      true,
    );
  if (back.length > 0)
    markSource(
      store,
      back.map(({ id }) => id),
      false,
    );
  return [...ids];
}
