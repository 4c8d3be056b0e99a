/** The replica's rows of a session, in the index's own tables, so that search needs no others. */

import { fullTextColumns } from "../index/chunk.ts";
import { deedRows } from "../index/deed-rows.ts";
import { SHARED_FILE } from "../store/replica.ts";
import type { Store } from "../store/store.ts";
import type { IncomingChunk, IncomingSession } from "./incoming.ts";
import type { SharedSession } from "./replica.ts";

export interface ReplicaRows {
  /** Writes what is known of a session, before its chunks. */
  begin(shared: SharedSession, session: IncomingSession): void;
  /** Puts a chunk with its deeds in place of the one at its index; one that is the same stays. */
  put(storedId: string, chunk: IncomingChunk): void;
  remove(storedId: string, idx: number): void;
  /** Removes the chunks of a session whose indexes are not among these. */
  keep(storedId: string, indexes: ReadonlySet<number>): void;
  /** Notes that all of a session's chunks are here. */
  finish(shared: SharedSession, session: IncomingSession): void;
}

/** Prepares the statements of a run. */
export function replicaRows(replica: Store): ReplicaRows {
  const { db } = replica;
  const createdAt = new Date().toISOString();
  const deeds = sharedDeedRows(replica);
  const find = db.prepare(
    "SELECT id, content_hash FROM session_chunks WHERE session_id = ? AND chunk_index = ?",
  );
  const insert = db.prepare(
    `INSERT INTO session_chunks (session_id, chunk_index, timestamp, speakers, topic_tags, has_decision, has_action,
       first_line, last_line, exchange_line, content_hash, content, context_content, tools, entry_ids, token_count,
       row_lines, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '[]', ?, ?, ?)`,
  );
  const insertText = db.prepare(
    "INSERT INTO chunks_fts (rowid, content, header, tools, extra) VALUES (?, ?, ?, ?, ?)",
  );
  const removeRow = db.prepare("DELETE FROM session_chunks WHERE id = ?");
  const removeText = db.prepare("DELETE FROM chunks_fts WHERE rowid = ?");
  const removeId = (storedId: string, idx: number, id: number) => {
    deeds.remove(storedId, idx);
    removeText.run(id);
    removeRow.run(id);
  };
  return {
    begin: (shared, session) => writeSession(replica, shared, session),
    put(storedId, chunk) {
      const { idx, hash, content, header, tools } = chunk;
      const before = find.get(storedId, idx);
      if (before && isSame(before.content_hash, hash)) return;
      if (before) removeId(storedId, idx, Number(before.id));
      const contextContent = header + content;
      const { lastId } = insert.run(
        ...[storedId, idx, chunk.at, JSON.stringify(chunk.speakers), JSON.stringify(chunk.topics)],
        ...[chunk.decision ? 1 : 0, chunk.action ? 1 : 0, chunk.first, chunk.last, chunk.exchange],
        ...[
          hash ?? new Uint8Array(),
          content,
          contextContent,
          tools,
          chunk.tokens,
          chunk.rowLines,
          createdAt,
        ],
      );
      const words = fullTextColumns({ content, contextContent, tools });
      insertText.run(lastId, words.content, words.header, words.tools, words.extra);
      deeds.add(storedId, chunk);
    },
    remove(storedId, idx) {
      const row = find.get(storedId, idx);
      if (row) removeId(storedId, idx, Number(row.id));
    },
    keep(storedId, indexes) {
      const rows = db
        .prepare("SELECT id, chunk_index FROM session_chunks WHERE session_id = ?")
        .all(storedId);
      for (const { id, chunk_index } of rows) {
        if (!indexes.has(Number(chunk_index))) removeId(storedId, Number(chunk_index), Number(id));
      }
    },
    finish: (shared, session) => finishSession(replica, shared, session),
  };
}

function sharedDeedRows(replica: Store) {
  const { db } = replica;
  const rows = deedRows(replica);
  const note = db.prepare(
    "INSERT INTO shared_deeds (deed, stored_id, idx) SELECT id, ?, ? FROM deeds WHERE id > ?",
  );
  return {
    add(storedId: string, { idx, at, exchange, deeds }: IncomingChunk): void {
      if (deeds.length === 0) return;
      const session = Number(db.prepare("SELECT number FROM sessions WHERE id = ?").get(storedId)?.number);
      const last = Number(db.prepare("SELECT coalesce(max(id), 0) AS id FROM deeds").get()?.id);
      rows.add(deeds, { session, exchangeLine: exchange, timestamp: at });
      note.run(storedId, idx, last);
    },
    remove(storedId: string, idx: number): void {
      const ids = db
        .prepare("SELECT deed FROM shared_deeds WHERE stored_id = ? AND idx = ?")
        .all(storedId, idx);
      for (const { deed } of ids) {
        const id = Number(deed);
        db.prepare("DELETE FROM deeds_fts WHERE rowid = ?").run(id);
        db.prepare("DELETE FROM deeds WHERE id = ?").run(id);
        db.prepare("DELETE FROM shared_deeds WHERE deed = ?").run(id);
      }
    },
  };
}

function isSame(before: unknown, hash: Uint8Array | undefined): boolean {
  return before instanceof Uint8Array && hash !== undefined && Buffer.compare(before, hash) === 0;
}

function writeSession({ db }: Store, shared: SharedSession, session: IncomingSession): void {
  const { storedId, owner, machine, agent, project } = shared;
  const { name, folder, parentId, startedAt, updatedAt } = session;
  const cwd = folder === "" ? project : `${project}/${folder}`;
  const parent = parentId === undefined ? null : `${owner}@${machine}:${parentId}`;
  db.prepare(
    `INSERT INTO sessions (id, agent, file, name, cwd, project, parent_id, started_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, cwd = excluded.cwd, project = excluded.project,
       parent_id = excluded.parent_id, started_at = excluded.started_at, updated_at = excluded.updated_at`,
  ).run(storedId, agent, fileOf(storedId), name ?? null, cwd, project, parent, startedAt ?? null, updatedAt);
}

function finishSession({ db }: Store, { storedId }: SharedSession, session: IncomingSession): void {
  const { folder, updatedAt, seq, meta, observations } = session;
  const held = db.prepare("SELECT count(*) AS n FROM session_chunks WHERE session_id = ?").get(storedId);
  db.prepare(
    `INSERT OR REPLACE INTO index_state (session_id, file_path, file_hash, last_indexed, chunk_count, status, size,
       modified, recipe) VALUES (?, ?, '', ?, ?, 'complete', 0, ?, 'shared')`,
  ).run(storedId, fileOf(storedId), new Date().toISOString(), Number(held?.n ?? 0), updatedAt);
  db.prepare(
    "UPDATE shared_sessions SET held_seq = ?, folder = ?, meta = ?, observations = ? WHERE stored_id = ?",
  ).run(seq, folder, meta ? JSON.stringify(meta) : null, observations ?? null, storedId);
}

/** Returns a name that is no file on this machine and looks like none. */
function fileOf(storedId: string): string {
  return `${SHARED_FILE}${storedId}`;
}
