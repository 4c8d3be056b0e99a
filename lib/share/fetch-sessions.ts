/** Reads the words of sessions from the hub into the replica's rows: new ones whole, of others what changed. */

import type { Config } from "../config/config.ts";
import { fullTextColumns } from "../index/chunk.ts";
import { markErase } from "../index/forget-rows.ts";
import { deedAdder, removeDeed } from "../index/session-rows.ts";
import { SHARED_FILE } from "../store/replica.ts";
import type { Store } from "../store/store.ts";
import type { Exclusion } from "../transcripts/rules.ts";
import type { Hub, HubRow } from "./hub.ts";
import { CHUNK_MAX_BYTES, DOCUMENT_MAX_BYTES } from "./hub-schema.ts";
import { cleaner, type IncomingChunk, type IncomingSession, toChunk, toSession } from "./incoming.ts";
import type { SharedSession } from "./replica.ts";
import { batchesBy, holdsText } from "./shared-rows.ts";

interface FetchOptions {
  replica: Store;
  config: Config;
  exclusion: Exclusion;
  /** Filled in with the sessions of which something went. */
  gone: Set<string>;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Chunks of one statement's answer: more would not come in time on a slow line. */
const PAGE = 1000;
/** Bytes of one statement's answer: what a member wrote up to every limit still comes in time. */
const PAGE_BYTES = 16 * 1024 * 1024;
/** Chunks of one transaction here: the full text merges a segment for each. */
const WRITE = 5000;

/** Reads sessions, the newest first, each with the note of how far it was read in the transaction of its last words. */
export async function fetchSessions(
  hub: Hub,
  wanted: readonly SharedSession[],
  options: FetchOptions,
): Promise<number> {
  const rows = replicaRows(options.replica, options.gone);
  const total = wanted.reduce((sum, { chunks }) => sum + chunks, 0);
  let done = 0;
  for (const batch of batchesBy(wanted, { max: WRITE, weigh: ({ chunks }) => chunks })) {
    done += await fetchBatch(hub, batch, { ...options, rows });
    options.onProgress?.(done, total);
  }
  return done;
}

/** Reads some sessions whole, or what of them is new. */
async function fetchBatch(
  hub: Hub,
  batch: readonly SharedSession[],
  { replica, config, exclusion, rows }: FetchOptions & { rows: ReplicaRows },
): Promise<number> {
  const clean = cleaner(config.settings.redact.extra);
  const byNumber = new Map(batch.map((session) => [session.number, session]));
  const described = (await hub.query(DESCRIBE_SESSIONS, [[...byNumber.keys()]])).flatMap((row) => {
    const shared = byNumber.get(Number(row.number));
    const session = toSession(row, clean);
    const isNamedOut = exclusion.hasText(session.name ?? "");
    return shared ? [{ shared, session: isNamedOut ? { ...session, name: undefined } : session }] : [];
  });
  replica.db.transaction(() => {
    for (const { shared, session } of described) rows.begin(shared, session);
  });
  const indexes = new Map(batch.map(({ number }) => [number, new Set<number>()]));
  let count = 0;
  const put = (row: HubRow) => {
    const chunk = toChunk(row, clean);
    const storedId = byNumber.get(chunk.session)?.storedId ?? "";
    if (isChunkOut(chunk, exclusion)) return rows.remove(storedId, chunk.idx);
    rows.put(storedId, withoutDeeds(chunk, exclusion));
    indexes.get(chunk.session)?.add(chunk.idx);
  };
  for await (const page of gathered(pagesOf(hub, batch), WRITE)) {
    replica.db.transaction(() => page.forEach(put));
    count += page.length;
  }
  replica.db.transaction(() => {
    for (const { shared, session } of described) {
      if (shared.heldSeq === 0) rows.keep(shared.storedId, indexes.get(shared.number) ?? new Set());
      rows.finish(shared, session);
    }
  });
  return count;
}

/**
 * Returns SQL that is null where a value is over its limit. What is stored is compared first: PostgreSQL tells its size
 * without reading a value of hundreds of megabytes back.
 */
function within(column: string, bytes: number, text = column): string {
  return `CASE WHEN pg_column_size(${column}) <= ${bytes} AND octet_length(${text}) <= ${bytes} THEN ${column} END`;
}

const DESCRIBE_SESSIONS = `SELECT number, seq, ${within("name", 4000)} AS name, left(folder, 4096) AS folder,
    ${within("parent_id", 2048)} AS parent_id, left(started_at, 64) AS started_at, left(updated_at, 64) AS updated_at,
    ${within("meta", DOCUMENT_MAX_BYTES, "meta::text")} AS meta,
    ${within("observations", DOCUMENT_MAX_BYTES)} AS observations
  FROM session_memory.sessions WHERE number = ANY($1::bigint[])`;

/** A page of chunks: those over a limit as gone, and of the rest as many as stay below the page's bytes. */
const PAGE_OF_CHUNKS = `WITH page AS MATERIALIZED (
    SELECT c.session, c.idx, c.hash, c.at, c.body, c.content,
      ${within("c.content", CHUNK_MAX_BYTES)} IS NOT NULL
        AND ${within("c.body", DOCUMENT_MAX_BYTES, "c.body::text")} IS NOT NULL
        AND octet_length(c.hash) <= 64 AND length(c.at) <= 64 AS is_whole
    FROM jsonb_to_recordset($1::jsonb) AS w(number bigint, after bigint)
    JOIN session_memory.chunks c ON c.session = w.number AND c.seq > w.after
    WHERE (c.session, c.idx) > ($2::bigint, $3::integer) ORDER BY c.session, c.idx LIMIT ${PAGE}
  ), sized AS MATERIALIZED (
    SELECT *, sum(CASE WHEN is_whole THEN octet_length(body::text) + octet_length(content) ELSE 0 END)
      OVER (ORDER BY session, idx) AS bytes, row_number() OVER (ORDER BY session, idx) AS nth FROM page
  )
  SELECT session, idx, (SELECT count(*) FROM page) AS found, CASE WHEN is_whole THEN encode(hash, 'hex') END AS hash,
    CASE WHEN is_whole THEN at END AS at, CASE WHEN is_whole THEN body END AS body,
    CASE WHEN is_whole THEN content END AS content
  FROM sized WHERE bytes <= ${PAGE_BYTES} OR nth = 1 ORDER BY session, idx`;

/** Returns whether a chunk is gone at the hub or excluded here. */
function isChunkOut({ hash, header, content, tools }: IncomingChunk, { hasText }: Exclusion): boolean {
  return hash === undefined || hasText(`${header}${content}\n${tools}`);
}

function withoutDeeds(chunk: IncomingChunk, { hasText }: Exclusion): IncomingChunk {
  return { ...chunk, deeds: chunk.deeds.filter((deed) => !holdsText(deed, hasText)) };
}

async function* pagesOf(hub: Hub, batch: readonly SharedSession[]): AsyncGenerator<HubRow[]> {
  const wanted = JSON.stringify(
    batch.map(({ number, heldSeq }) => ({ number, after: heldSeq === 0 ? -1 : heldSeq })),
  );
  let last: [number, number] = [-1, -1];
  for (;;) {
    const page = await hub.query(PAGE_OF_CHUNKS, [wanted, ...last]);
    if (page.length > 0) yield page;
    const end = page.at(-1);
    if (!end || (page.length === Number(end.found) && page.length < PAGE)) return;
    last = [Number(end.session), Number(end.idx)];
  }
}

/** Joins pages until they are of some size. */
async function* gathered(pages: AsyncIterable<HubRow[]>, size: number): AsyncGenerator<HubRow[]> {
  let rows: HubRow[] = [];
  for await (const page of pages) {
    rows.push(...page);
    if (rows.length < size) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}

type ReplicaRows = ReturnType<typeof replicaRows>;

/** Prepares the statements by which a run writes sessions in the index's own tables, so that search needs no others. */
function replicaRows(replica: Store, gone: Set<string>) {
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
  const removeId = (storedId: string, idx: number, id: unknown) => {
    deeds.remove(storedId, idx);
    removeText.run(Number(id));
    removeRow.run(Number(id));
  };
  const removeForGood = (storedId: string, idx: number, id: unknown) => {
    if (!gone.has(storedId)) markErase(replica);
    gone.add(storedId);
    removeId(storedId, idx, id);
  };
  return {
    /** Writes what is known of a session, before its chunks. */
    begin: (shared: SharedSession, session: IncomingSession) => writeSession(replica, shared, session),
    /** Puts a chunk with its deeds in place of the one at its index; one that is the same stays. */
    put(storedId: string, chunk: IncomingChunk): void {
      const { idx, hash, content, header, tools } = chunk;
      const before = find.get(storedId, idx);
      if (before && isSame(before.content_hash, hash)) return;
      if (before) removeId(storedId, idx, before.id);
      const contextContent = header + content;
      const { lastId } = insert.run(
        ...[storedId, idx, chunk.at, JSON.stringify(chunk.speakers), JSON.stringify(chunk.topics)],
        ...[chunk.decision ? 1 : 0, chunk.action ? 1 : 0, chunk.first, chunk.last, chunk.exchange],
        ...[hash ?? new Uint8Array(), content, contextContent, tools],
        ...[chunk.tokens, chunk.rowLines, createdAt],
      );
      insertText.run(lastId, ...fullTextColumns({ content, contextContent, tools }));
      deeds.add(storedId, chunk);
    },
    remove(storedId: string, idx: number): void {
      const row = find.get(storedId, idx);
      if (row) removeForGood(storedId, idx, row.id);
    },
    /** Removes the chunks of a session whose indexes are not among these. */
    keep(storedId: string, indexes: ReadonlySet<number>): void {
      const rows = db
        .prepare("SELECT id, chunk_index FROM session_chunks WHERE session_id = ?")
        .all(storedId);
      for (const { id, chunk_index } of rows) {
        if (!indexes.has(Number(chunk_index))) removeForGood(storedId, Number(chunk_index), id);
      }
    },
    /** Notes that all of a session's chunks are here. */
    finish: (shared: SharedSession, session: IncomingSession) => finishSession(replica, shared, session),
  };
}

function sharedDeedRows(replica: Store) {
  const { db } = replica;
  const addDeeds = deedAdder(replica);
  const note = db.prepare(
    "INSERT INTO shared_deeds (deed, stored_id, idx) SELECT id, ?, ? FROM deeds WHERE id > ?",
  );
  return {
    add(storedId: string, { idx, at, exchange, deeds }: IncomingChunk): void {
      if (deeds.length === 0) return;
      const number = Number(db.prepare("SELECT number FROM sessions WHERE id = ?").get(storedId)?.number);
      const last = Number(db.prepare("SELECT coalesce(max(id), 0) AS id FROM deeds").get()?.id);
      addDeeds(deeds, { session: number, exchangeLine: exchange, timestamp: at });
      note.run(storedId, idx, last);
    },
    remove(storedId: string, idx: number): void {
      const ids = db
        .prepare("SELECT deed FROM shared_deeds WHERE stored_id = ? AND idx = ?")
        .all(storedId, idx);
      for (const { deed } of ids) {
        const id = Number(deed);
        removeDeed(replica, id);
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
       modified) VALUES (?, ?, '', ?, ?, 'complete', 0, ?)`,
  ).run(storedId, fileOf(storedId), new Date().toISOString(), Number(held?.n ?? 0), updatedAt);
  db.prepare(
    "UPDATE shared_sessions SET held_seq = ?, folder = ?, meta = ?, observations = ? WHERE stored_id = ?",
  ).run(seq, folder, meta ? JSON.stringify(meta) : null, observations ?? null, storedId);
}

/** Returns a name that is no file on this machine and looks like none. */
function fileOf(storedId: string): string {
  return `${SHARED_FILE}${storedId}`;
}
