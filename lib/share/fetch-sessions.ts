/** Reads the words of sessions from the hub into the replica: those that are new here whole, of others what changed. */

import type { Config } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import type { Exclusion } from "../transcripts/rules.ts";
import type { Deed } from "../transcripts/session.ts";
import type { Hub, HubRow } from "./hub.ts";
import { cleaner, type IncomingChunk, toChunk, toSession } from "./incoming.ts";
import type { SharedSession } from "./replica.ts";
import { type ReplicaRows, replicaRows } from "./replica-rows.ts";

interface FetchOptions {
  replica: Store;
  config: Config;
  exclusion: Exclusion;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Chunks of one statement's answer: more would not come in time on a slow line. */
const PAGE = 1000;
/** Chunks of one transaction here: the full text merges a segment for each. */
const WRITE = 5000;

/** Reads sessions, the newest first, each with the note of how far it was read in the transaction of its last words. */
export async function fetchSessions(
  hub: Hub,
  wanted: readonly SharedSession[],
  options: FetchOptions,
): Promise<number> {
  const rows = replicaRows(options.replica);
  const total = wanted.reduce((sum, { chunks }) => sum + chunks, 0);
  let done = 0;
  for (const batch of batchesOf(wanted)) {
    done += await fetchBatch(hub, batch, { ...options, rows });
    options.onProgress?.(done, total);
  }
  return done;
}

function* batchesOf(sessions: readonly SharedSession[]): Generator<SharedSession[]> {
  let batch: SharedSession[] = [];
  let chunks = 0;
  for (const session of sessions) {
    if (batch.length > 0 && chunks + session.chunks > WRITE) {
      yield batch;
      batch = [];
      chunks = 0;
    }
    batch.push(session);
    chunks += session.chunks;
  }
  if (batch.length > 0) yield batch;
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

const DESCRIBE_SESSIONS = `SELECT number, seq, name, folder, parent_id, started_at, updated_at, meta, observations
  FROM session_memory.sessions WHERE number = ANY($1::bigint[])`;

/** Returns whether a chunk is gone at the hub or excluded here. */
function isChunkOut({ hash, header, content, tools }: IncomingChunk, { hasText }: Exclusion): boolean {
  return hash === undefined || hasText(`${header}${content}\n${tools}`);
}

function withoutDeeds(chunk: IncomingChunk, { hasText }: Exclusion): IncomingChunk {
  const isOut = ({ target, paths, input, result }: Deed) => [target, ...paths, input, result].some(hasText);
  return { ...chunk, deeds: chunk.deeds.filter((deed) => !isOut(deed)) };
}

async function* pagesOf(hub: Hub, batch: readonly SharedSession[]): AsyncGenerator<HubRow[]> {
  const wanted = JSON.stringify(
    batch.map(({ number, heldSeq }) => ({ number, after: heldSeq === 0 ? -1 : heldSeq })),
  );
  let last: [number, number] = [-1, -1];
  for (;;) {
    const page = await hub.query(
      `SELECT c.session, c.idx, encode(c.hash, 'hex') AS hash, c.at, c.body, c.content
       FROM jsonb_to_recordset($1::jsonb) AS w(number bigint, after bigint)
       JOIN session_memory.chunks c ON c.session = w.number AND c.seq > w.after
       WHERE (c.session, c.idx) > ($2::bigint, $3::integer) ORDER BY c.session, c.idx LIMIT ${PAGE}`,
      [wanted, ...last],
    );
    if (page.length > 0) yield page;
    const end = page.at(-1);
    if (!end || page.length < PAGE) return;
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
