/**
 * Measures how far the index is behind the transcripts, by sizes and times alone: which sessions changed, and
 * whose transcript is gone. Mostly nothing is new.
 */

import { existsSync, statSync } from "node:fs";
import { changedAt } from "../base/files.ts";
import { sha256 } from "../base/text.ts";
import type { Paths, Settings } from "../config/config.ts";
import { findTranscripts } from "../sessions/find.ts";
import type { Store } from "../store/store.ts";
import { readFully, withFile } from "../transcripts/jsonl.ts";
import type { Session } from "../transcripts/session.ts";
import {
  type IndexedSession,
  isStoredWithout,
  readIndexedSession,
  readIndexedSessions,
} from "./index-state.ts";

/** The sessions and bytes that are not in the index yet. */
export interface Behind {
  sessions: number;
  bytes: number;
}

/** Returns whether a session's file is as it was when it was read to its end. */
export function isReadToEnd(known: IndexedSession, session: Session): boolean {
  return (
    known.size === session.size &&
    known.modified === session.modifiedAt &&
    known.file === session.file &&
    !known.sourceGone
  );
}

/** Measures what is missing from the index for these sessions. */
export function measureBehind(
  sessions: readonly Session[],
  known: ReadonlyMap<string, IndexedSession>,
): Behind {
  const behind: Behind = { sessions: 0, bytes: 0 };
  for (const session of sessions) {
    const state = known.get(session.id);
    if (state && (isReadToEnd(state, session) || state.status === "failed")) continue;
    behind.sessions++;
    behind.bytes += unreadBytes(session, state);
  }
  return behind;
}

/** Returns the bytes of a session after its cursor, or all of them where the file has become another. */
export function unreadBytes(session: Session, known: IndexedSession | undefined): number {
  const read = known?.cursor.offset ?? 0;
  return session.size >= read ? session.size - read : session.size;
}

/**
 * The id under which the index holds a session: the host's, unless another file has it already and is still there
 * (two plain folders with files of one name).
 */
export function storedId(store: Store, session: Session): string {
  const other = readIndexedSession(store, session.id);
  if (!other || other.file === session.file || !existsSync(other.file)) return session.id;
  const mark = sha256().update(session.file).digest("hex").slice(0, 6);
  return `${session.id}~${mark}`;
}

/** Returns whether each transcript found was read to its end; false also where only a closer look can show it. */
export function isAllIndexed(store: Store, paths: Paths, { exclude }: Pick<Settings, "exclude">): boolean {
  if (!isStoredWithout(store, exclude)) return false;
  const known = readFiles(store);
  for (const { file, ephemeral } of findTranscripts(paths, { subagents: true })) {
    if (ephemeral) continue;
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat && !known.has(`${stat.size} ${changedAt(stat)} ${file}`)) return false;
  }
  return true;
}

/** Reads size, time and path of each file as it was read, in one value: thousands of rows cost more than their text. */
function readFiles(store: Store): Set<string> {
  const row = store.db
    .prepare(
      "SELECT group_concat(size || ' ' || modified || ' ' || file_path, char(10)) AS files FROM index_state",
    )
    .get();
  return new Set(String(row?.files ?? "").split("\n"));
}

/** A page of most file systems; enough rows that another file begins or ends otherwise. */
const EDGE_BYTES = 4096;

/** Returns the sha256 of the offset, the file's first 4 KiB and the last 4 KiB before the offset. */
export function hashBefore(file: string, offset: number): string {
  const edge = Math.min(EDGE_BYTES, offset);
  return withFile(file, (descriptor) =>
    sha256()
      .update(`${offset}\n`)
      .update(readFully(descriptor, 0, edge))
      .update(readFully(descriptor, offset - edge, edge))
      .digest("hex"),
  );
}

/** A session's state in the index, as `embed --status` shows it. */
export interface SessionStatus
  extends Pick<
    IndexedSession,
    "id" | "agent" | "file" | "status" | "skippedLines" | "lastIndexed" | "sourceGone"
  > {
  name: string | undefined;
  chunks: number;
  vectors: number;
  error: string | undefined;
}

/** Returns the state of every session in the index, the last indexed first. */
export function readStatuses(store: Store): SessionStatus[] {
  const facts = store.db.prepare(
    `SELECT name, (SELECT count(embedder) FROM session_chunks WHERE session_id = $id) AS vectors
     FROM sessions WHERE id = $id`,
  );
  const known = [...readIndexedSessions(store).values()];
  known.sort((a, b) => (a.lastIndexed < b.lastIndexed ? 1 : -1));
  return known.map((session) => {
    const {
      id,
      agent,
      file,
      status,
      chunkCount: chunks,
      skippedLines,
      lastIndexed,
      sourceGone,
      error,
    } = session;
    const { name, vectors } = facts.get({ id }) ?? {};
    const shown = { id, agent, name: name ? String(name) : undefined, file, status, chunks };
    return { ...shown, vectors: Number(vectors), skippedLines, lastIndexed, sourceGone, error };
  });
}

/** Marks the sessions whose transcript was deleted, and unmarks those that are back. Returns the ids of those gone. */
export function markSources(
  store: Store,
  listed: readonly Session[],
  known: ReadonlyMap<string, IndexedSession>,
): string[] {
  const files = new Set(listed.map(({ file }) => file));
  const isGone = ({ file }: IndexedSession) => !files.has(file) && !existsSync(file);
  const gone = new Set([...known.values()].filter(isGone).map(({ id }) => id));
  const changed = [...known.values()].filter(({ id, sourceGone }) => sourceGone !== gone.has(id));
  const mark = store.db.prepare("UPDATE sessions SET source_gone = ? WHERE id = ?");
  if (changed.length > 0) {
    store.db.transaction(() => {
      for (const { id, sourceGone } of changed) mark.run(sourceGone ? 0 : 1, id);
    });
  }
  return [...gone];
}
