/**
 * Reads the words of sessions from the hub into the replica: of new ones all exchanges, of others what changed, checked; what
 * config.json excludes is left out. An exchange becomes rows and chunks as one of a transcript does.
 */

import { systemTimezone } from "../base/time.ts";
import type { Config } from "../config/config.ts";
import type { Row } from "../hosts/session.ts";
import type { ChunkContext } from "../index/chunk.ts";
import { deriveExchange, withoutTexts } from "../index/derive.ts";
import { markErase } from "../index/forget-rows.ts";
import {
  addChunk,
  addRows,
  countChunks,
  putExchange,
  removeChunk,
  removeEmptyExchanges,
  removeRow,
} from "../index/session-rows.ts";
import { isBefore, placeKey, readRows } from "../index/stored-rows.ts";
import type { Exclusion } from "../sessions/gate.ts";
import { SHARED_FILE, type Store } from "../store/store.ts";
import { rowTexts } from "../transcripts/calls.ts";
import { cleaner, toDescription, toExchange, UNKNOWN_TIME } from "./checked.ts";
import { batchesBy, type Hub, type HubRow } from "./hub.ts";
import { DESCRIBE_SESSIONS, DESCRIBED, gathered, readPages } from "./hub-pages.ts";
import { emptyShared, heldSize, type SharedSession, WEIGHT_BYTES } from "./replica.ts";
import type { SharedExchange } from "./wire.ts";

interface FetchOptions {
  replica: Store;
  config: Config;
  exclusion: Exclusion;
  /** Filled in with the sessions that lost something. */
  gone: Set<string>;
  /** Filled in with the sessions that lost something at the hub. */
  withdrawn: Set<string>;
  /** The room left in each owner's share beside what is counted. */
  room: Map<string, number>;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Exchanges of one transaction here: the full text merges a segment for each. */
const WRITE = 5000;

/** Reads sessions, the newest first, each with the note of how far it was read in the transaction of its last words. */
export async function fetchSessions(
  hub: Hub,
  wanted: readonly SharedSession[],
  options: FetchOptions,
): Promise<number> {
  const total = wanted.reduce((sum, { chunks }) => sum + chunks, 0);
  let done = 0;
  for (const batch of batchesBy(wanted, { max: WRITE, weigh: ({ chunks }) => chunks })) {
    done += await fetchBatch(hub, batch, options);
    options.onProgress?.(done, total);
  }
  return done;
}

/** A session that is being read, with what the hub says of it. */
interface Described {
  shared: SharedSession;
  session: ReturnType<typeof toDescription>;
}

/** Reads some sessions whole, or what of them is new. */
async function fetchBatch(hub: Hub, batch: readonly SharedSession[], options: FetchOptions): Promise<number> {
  const { replica, config, gone, withdrawn, room } = options;
  const clean = cleaner(config.settings.redact.extra);
  const described = await readDescriptions(hub, batch, { ...options, clean });
  const byNumber = new Map(described.map((each) => [each.shared.number, each]));
  replica.db.transaction(() => {
    for (const each of described) writeSession(replica, each);
  });
  let count = 0;
  const read = new Map<SharedSession, number>();
  // what it is counted as is not known before it is unpacked
  const isOver = (shared: SharedSession) =>
    (read.get(shared) ?? 0) > shared.chunks + (room.get(shared.owner) ?? 0);
  const putting = { replica, exclusion: options.exclusion, context: chunkContext(config.settings) };
  const put = (row: HubRow) => {
    const { shared } = byNumber.get(Number(row.session)) ?? {};
    if (!shared || isOver(shared)) return;
    read.set(shared, (read.get(shared) ?? 0) + Math.ceil(Number(row.size ?? 0) / WEIGHT_BYTES));
    const exchange = toExchange(row, shared, clean);
    const { chunks, hasLost } = storeExchange(shared, exchange, putting);
    count += Math.max(1, chunks);
    if (!hasLost) return;
    markErase(replica);
    gone.add(shared.storedId);
    if (exchange.hash === "") withdrawn.add(shared.storedId);
  };
  const left = () => described.map(({ shared }) => shared).filter((shared) => !isOver(shared));
  // what is gone makes room for rows that are another exchange's now
  for (const condition of ["c.hash IS NULL", "c.hash IS NOT NULL"]) {
    const pages = readPages(hub, { condition, left });
    for await (const page of gathered(pages, WRITE)) replica.db.transaction(() => page.forEach(put));
  }
  replica.db.transaction(() => {
    for (const each of described) {
      const { shared } = each;
      finishSession(replica, each);
      const size = Math.max(shared.chunks, read.get(shared) ?? 0, heldSize(replica, shared.storedId));
      noteSize(replica, shared, size);
      const left = (room.get(shared.owner) ?? 0) + shared.chunks;
      if (size > left) emptyShared(replica, shared.storedId);
      room.set(shared.owner, size > left ? left : left - size);
    }
  });
  return count;
}

/** Reads what the hub says of sessions. */
async function readDescriptions(
  hub: Hub,
  batch: readonly SharedSession[],
  { clean, exclusion }: FetchOptions & { clean: ReturnType<typeof cleaner> },
): Promise<Described[]> {
  const byNumber = new Map(batch.map((session) => [session.number, session]));
  const described: Described[] = [];
  for (const page of batchesBy(byNumber.keys(), { max: DESCRIBED, weigh: () => 1 })) {
    for (const row of await hub.query(DESCRIBE_SESSIONS, [page])) {
      const shared = byNumber.get(Number(row.number));
      if (!shared) continue;
      const session = toDescription(row, shared, clean);
      const isNamedOut = exclusion.hasText(session.name ?? "");
      const named = isNamedOut ? { ...session, name: undefined } : session;
      described.push({ shared, session: named });
    }
  }
  return described;
}

function chunkContext({ participants, timezone = systemTimezone() }: Config["settings"]): ChunkContext {
  return { firstIndex: 0, participants, timezone };
}

interface Putting {
  replica: Store;
  exclusion: Exclusion;
  context: ChunkContext;
}

/**
 * Puts an exchange, in the index's own tables, in place of what is there of it. Returns how many chunks it has, and whether
 * something that was there is there no more.
 */
function storeExchange(
  { storedId }: SharedSession,
  { line, nth, rows, topics }: SharedExchange,
  { replica, exclusion, context }: Putting,
): { chunks: number; hasLost: boolean } {
  const { db } = replica;
  const session = Number(db.prepare("SELECT number FROM sessions WHERE id = ?").get(storedId)?.number);
  const kept = withoutTexts(rows, exclusion.hasText);
  const newest = db
    .prepare("SELECT max(chunk_index) AS last FROM chunks WHERE session = ?")
    .get(session)?.last;
  const firstIndex = Number(newest ?? -1) + 1;
  const derived = deriveExchange(kept, { ...context, firstIndex, rules: exclusion, topics });
  const place = { session, line, nth };
  const before = removeExchange(replica, storedId, { ...place, rows });
  const [first] = derived.chunks;
  const timestamp = rows[0]?.at ?? UNKNOWN_TIME;
  addRows(replica, derived.rows, { session, timestamp });
  if (first) {
    const exchange = putExchange(replica, place, first.header);
    for (const [i, chunk] of derived.chunks.entries()) {
      const named = { ...chunk, index: firstIndex + i };
      addChunk(replica, named, { session, timestamp: chunk.at ?? timestamp, exchange });
    }
  }
  const last = rows.at(-1);
  if (last && derived.rows.length > 0) {
    db.prepare(
      "INSERT INTO shared_exchanges (stored_id, line, nth, last_line, last_nth) VALUES (?, ?, ?, ?, ?)",
    ).run(storedId, line, nth, last.line, last.nth);
  }
  const texts = new Set(derived.rows.flatMap(rowTexts));
  const hasLost = before.some((row) => rowTexts(row).some((text) => text !== "" && !texts.has(text)));
  return { chunks: derived.chunks.length, hasLost };
}

/** Removes what is there of an exchange, and what is in the place of its new rows. Returns its rows as they were. */
function removeExchange(
  replica: Store,
  storedId: string,
  { session, line, nth, rows }: { session: number; line: number; nth: number; rows: readonly Row[] },
): Row[] {
  const { db } = replica;
  const held = db
    .prepare(
      "DELETE FROM shared_exchanges WHERE stored_id = ? AND line = ? AND nth = ? RETURNING last_line, last_nth",
    )
    .get(storedId, line, nth);
  const end = held && { line: Number(held.last_line), nth: Number(held.last_nth) };
  const chunks = db.prepare(
    "SELECT c.id FROM chunks c JOIN exchanges e ON e.id = c.exchange WHERE e.session = ? AND e.line = ? AND e.nth = ?",
  );
  for (const { id } of chunks.all(session, line, nth)) removeChunk(replica, Number(id));
  const taken = new Set(rows.map(placeKey));
  const to = Math.max(end?.line ?? 0, rows.at(-1)?.line ?? 0);
  const own = readRows(replica, session, { after: line - 1, to }).filter((row) => {
    const isHeld = end !== undefined && !isBefore(row, { line, nth }) && !isBefore(end, row);
    return isHeld || taken.has(placeKey(row));
  });
  for (const row of own) removeRow(replica, row);
  return own;
}

/** Numbers the chunks of a session in the order of their places: exchanges come in any. */
function renumberChunks({ db }: Store, session: number): void {
  db.prepare(
    `UPDATE chunks SET chunk_index = -1 - place FROM (
       SELECT id AS chunk, row_number() OVER (ORDER BY first_line, first_nth, part_from) - 1 AS place
       FROM chunks WHERE session = ?) WHERE id = chunk AND chunk_index <> place`,
  ).run(session);
  db.prepare("UPDATE chunks SET chunk_index = -1 - chunk_index WHERE session = ? AND chunk_index < 0").run(
    session,
  );
}

function writeSession({ db }: Store, { shared, session }: Described): void {
  const { storedId, owner, machine, agent, project, updatedAt } = shared;
  const { name, folder, parentId, startedAt } = session;
  const cwd = folder === "" ? project : `${project}/${folder}`;
  const parent = parentId === undefined ? null : `${owner}@${machine}:${parentId}`;
  db.prepare(
    `INSERT INTO sessions (id, agent, file, name, cwd, project, parent_id, started_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, cwd = excluded.cwd, project = excluded.project,
       parent_id = excluded.parent_id, started_at = excluded.started_at, updated_at = excluded.updated_at`,
  ).run(
    storedId,
    agent,
    sharedFile(storedId),
    name ?? null,
    cwd,
    project,
    parent,
    startedAt ?? null,
    updatedAt,
  );
}

/** Notes what a session was found to take. */
export function noteSize({ db }: Store, { storedId }: SharedSession, size: number): void {
  db.prepare("UPDATE shared_sessions SET chunks = ? WHERE stored_id = ?").run(size, storedId);
}

function finishSession(replica: Store, { shared, session }: Described): void {
  const { db } = replica;
  const { storedId, updatedAt } = shared;
  const { folder, seq, meta, observations } = session;
  const number = Number(db.prepare("SELECT number FROM sessions WHERE id = ?").get(storedId)?.number);
  removeEmptyExchanges(replica, number);
  renumberChunks(replica, number);
  const chunks = countChunks(replica, number);
  db.prepare(
    `INSERT OR REPLACE INTO index_state (session_id, session, file_path, file_hash, last_indexed, chunk_count, status,
       size, modified)
     VALUES (?, ?, ?, '', ?, ?, 'complete', 0, ?)`,
  ).run(storedId, number, sharedFile(storedId), new Date().toISOString(), chunks, updatedAt);
  db.prepare(
    "UPDATE shared_sessions SET held_seq = ?, folder = ?, meta = ?, observations = ? WHERE stored_id = ?",
  ).run(seq, folder, meta ? JSON.stringify(meta) : null, observations ?? null, storedId);
}

/** Returns a name that no file on this machine has or could have. */
function sharedFile(storedId: string): string {
  return `${SHARED_FILE}${storedId}`;
}
