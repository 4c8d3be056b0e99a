/** Reads sessions of the hub in pages that come in time, and no more of a row than its limits: what they weigh, say of themselves and hold. */

import type { Hub, HubRow } from "./hub.ts";
import { type SharedSession, type WantedSession, WEIGHT_BYTES } from "./hub-list.ts";
import { DOCUMENT_MAX_BYTES, FOLDER_MAX, SESSION_MAX_CHUNKS, TEXT_MAX } from "./wire.ts";

/** Exchanges of one statement's answer: more would not come in time on a slow line. */
const PAGE = 1000;
/** Bytes of one statement's answer: what a member wrote up to every limit still comes in time. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** Counts what the hub holds of sessions, by their numbers; JSON as it is packed, since unpacking takes long. */
export async function countSizes(
  hub: Hub,
  sessions: readonly SharedSession[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await hub.query(
    `SELECT number, greatest(1,
       (least(coalesce(octet_length(observations), 0), ${TEXT_MAX}) + coalesce(pg_column_size(meta), 0)) / ${WEIGHT_BYTES}
       + coalesce((SELECT sum(size) FROM (
           SELECT greatest(1, ceil(coalesce(pg_column_size(body), 0) / ${WEIGHT_BYTES}.0)) AS size
           FROM session_memory.exchanges WHERE session = number AND hash IS NOT NULL LIMIT ${SESSION_MAX_CHUNKS}) AS held), 0)) AS size
     FROM session_memory.sessions WHERE number = ANY($1::bigint[])`,
    [sessions.map(({ number }) => number)],
  );
  return new Map(rows.map(({ number, size }) => [Number(number), Number(size)]));
}

/**
 * Returns SQL that is null where a text is over its limit. The stored size is compared first: PostgreSQL tells its size
 * without reading a value of hundreds of megabytes back.
 */
function sqlWithin(column: string, bytes: number): string {
  return `CASE WHEN pg_column_size(${column}) <= ${bytes} AND octet_length(${column}) <= ${bytes} THEN ${column} END`;
}

/** The most sessions that are described in one statement: each may have a megabyte to be unpacked. */
export const DESCRIBED = 100;

export const DESCRIBE_SESSIONS = `SELECT number, seq, ${sqlWithin("name", 4000)} AS name, left(folder, ${FOLDER_MAX}) AS folder,
    ${sqlWithin("parent_id", 2048)} AS parent_id, left(started_at, 64) AS started_at,
    CASE WHEN jsonb_typeof(made) = 'object' THEN jsonb_build_object(
      'description', left(made ->> 'description', ${TEXT_MAX}), 'summary', left(made ->> 'summary', ${TEXT_MAX}),
      'tags', CASE WHEN octet_length(made ->> 'tags') <= ${TEXT_MAX} THEN made -> 'tags' END) END AS meta,
    CASE WHEN octet_length(observations) <= ${DOCUMENT_MAX_BYTES} THEN left(observations, ${TEXT_MAX}) END AS observations
  FROM (
    SELECT *, CASE WHEN pg_column_size(meta) <= ${DOCUMENT_MAX_BYTES} THEN meta END AS made
    FROM session_memory.sessions WHERE number = ANY($1::bigint[])) AS s`;

/** Bytes of the packed bodies that one statement looks into: unpacked, they may be a hundred times as many. */
const PACKED_BYTES = 1024 * 1024;

/** A page of exchanges: those over a limit as gone, and of the rest as many as stay below the page's bytes. */
const SELECT_PAGE = `WITH near AS MATERIALIZED (
    SELECT c.session, c.line, c.nth, c.hash, c.body, coalesce(pg_column_size(c.body), 0) AS packed
    FROM jsonb_to_recordset($1::jsonb) AS w(number bigint, after bigint)
    JOIN session_memory.exchanges AS c ON c.session = w.number AND c.seq > w.after
    WHERE (c.session, c.line, c.nth) > ($2::bigint, $3::integer, $4::integer)
    ORDER BY c.session, c.line, c.nth LIMIT ${PAGE}
  ), summed AS MATERIALIZED (
    SELECT *, sum(packed) OVER (ORDER BY session, line, nth) - packed AS before FROM near
  ), measured AS MATERIALIZED (
    SELECT *, CASE WHEN octet_length(hash) <= 64 AND packed <= ${DOCUMENT_MAX_BYTES} THEN octet_length(body::text) END AS body_bytes
    FROM summed WHERE before < ${PACKED_BYTES}
  ), sized AS MATERIALIZED (
    SELECT *, sum(size) OVER (ORDER BY session, line, nth) AS bytes, row_number() OVER (ORDER BY session, line, nth) AS place
    FROM (SELECT *, CASE WHEN body_bytes <= ${DOCUMENT_MAX_BYTES} THEN body_bytes END AS size FROM measured) AS known
  )
  SELECT session, line, nth, size, (SELECT count(*) FROM near) AS found,
    CASE WHEN size IS NOT NULL THEN encode(hash, 'hex') END AS hash, CASE WHEN size IS NOT NULL THEN body END AS body
  FROM sized WHERE coalesce(bytes, 0) <= ${PAGE_BYTES} OR place = 1 ORDER BY session, line, nth`;

/** Reads what changed in the sessions that are left, by pages: exchanges in order, without a body where they are gone. */
export async function* readRows(hub: Hub, left: () => WantedSession[]): AsyncGenerator<HubRow> {
  let last: [number, number, number] = [-1, -1, -1];
  for (;;) {
    const wanted = left().map(({ number, heldSeq }) => ({ number, after: heldSeq === 0 ? -1 : heldSeq }));
    if (wanted.length === 0) return;
    const page = await hub.query(SELECT_PAGE, [JSON.stringify(wanted), ...last]);
    yield* page;
    const end = page.at(-1);
    if (!end || (page.length === Number(end.found) && page.length < PAGE)) return;
    last = [Number(end.session), Number(end.line), Number(end.nth)];
  }
}
