/**
 * Reads the words of sessions from the hub into the replica's rows: new ones whole, of others what changed. They are other
 * people's words, written by programs that may be older than ours or not ours at all: fields are checked and redacted by
 * our rules, and what config.json excludes is left out.
 */

import { recordOf, stringOf } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import { readHeader, splitLabelled } from "../index/carry-old.ts";
import type { Chunk } from "../index/chunk.ts";
import { contentOf, headerText } from "../index/chunk-text.ts";
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
import { oneLine, redact, redactor } from "../redact/redact.ts";
import { SHARED_FILE, type Store } from "../store/store.ts";
import { rowTexts } from "../transcripts/calls.ts";
import { AGENTS } from "../transcripts/hosts.ts";
import type { Exclusion } from "../transcripts/rules.ts";
import type { Done, Outcome, Row, Said } from "../transcripts/session.ts";
import { CALL_KINDS } from "../transcripts/tool-call.ts";
import { batchesBy, type Hub, type HubRow } from "./hub.ts";
import { CHUNK_MAX_BYTES, CHUNK_MAX_DEEDS, DOCUMENT_MAX_BYTES, SESSION_MAX_CHUNKS } from "./hub-schema.ts";
import { emptyShared, heldSize, type SharedSession, WEIGHT_BYTES } from "./replica.ts";

/** A session's description as the replica keeps it. */
type IncomingSession = ReturnType<typeof toSession>;

/** More of a text than any chunk of ours holds. */
const TEXT_MAX = 64 * 1024;
const NAME_MAX = 200; // ours have at most 80
/** The most topics or tags of one thing; ours have ten. */
const TEXTS_MAX = 100;
/** The most files of one call; a patch has some dozens. */
const PATHS_MAX = 1000;
/** A number greater than that of any chunk's rows: rows that come by chunk are told apart by it. */
const CHUNK_ROWS = 1_000_000;
const UNKNOWN_TIME = "1970-01-01T00:00:00.000Z";

interface Cleaner {
  /** Redacts a text of several lines. */
  text: (value: unknown) => string;
  line: (value: unknown) => string;
}

/** Returns the redaction of what comes in, with the user's own patterns. */
function cleaner(extra: readonly string[]): Cleaner {
  const redacted = redactor(extra);
  const text = (value: unknown) => (typeof value === "string" ? redacted(value.slice(0, TEXT_MAX)) : "");
  return { text, line: (value) => oneLine(text(value), NAME_MAX) };
}

/** Converts a row of the hub's list, which comes before anything of the session is read. */
export function toListed(row: HubRow, readAt: string): ListedSession {
  const owner = label(row.owner);
  const machine = label(row.machine);
  const id = sessionId(row.id);
  const project = oneLine(redact(String(row.project)), 512);
  const updatedAt = timeOf(row.updated_at, readAt);
  const numbers = [row.number, row.seq].map(Number);
  const faults = [
    numbers.every((number) => Number.isSafeInteger(number) && number >= 0) ? [] : ["a number out of range"],
    updatedAt === UNKNOWN_TIME ? ["no time"] : [],
    project === row.project ? [] : ["a project that is no address"],
  ].flat();
  return {
    storedId: `${owner}@${machine}:${id}`,
    owner,
    machine,
    agent: AGENTS.find((agent) => agent === row.agent) ?? "plain",
    id,
    number: numbers[0] ?? 0,
    origin: String(row.origin),
    project,
    seq: numbers[1] ?? 0,
    updatedAt,
    fault: faults[0],
  };
}

/** A session of the hub's list. */
export interface ListedSession extends Omit<SharedSession, "heldSeq" | "chunks"> {
  /** Why it is not taken; undefined where it is. */
  fault: string | undefined;
}

/** Returns an id fit to be printed; a session and its subagents come to the same. */
function sessionId(value: unknown): string {
  return String(value).replace(/[\p{Cc}\s]/gu, "_");
}

function toSession(row: HubRow, { updatedAt }: SharedSession, { text, line }: Cleaner) {
  const meta = row.meta === null ? undefined : recordOf(row.meta);
  const name = line(row.name);
  return {
    number: Number(row.number),
    seq: Number(row.seq),
    name: name === "" ? undefined : name,
    folder: line(row.folder),
    parentId: row.parent_id === null ? undefined : sessionId(row.parent_id),
    startedAt: row.started_at === null ? undefined : timeOf(row.started_at, updatedAt),
    meta: meta && {
      description: text(meta.description),
      summary: text(meta.summary),
      tags: textsIn(meta.tags).map(line),
    },
    observations: row.observations === null ? undefined : text(row.observations),
  };
}

type IncomingChunk = ReturnType<typeof toChunk>;

/** Converts a chunk of the hub's with its deeds; one without a hash is gone there. */
function toChunk(row: HubRow, { updatedAt }: SharedSession, { text, line }: Cleaner) {
  const body = recordOf(row.body);
  const [index, at] = [Number(row.idx), timeOf(row.at, updatedAt)];
  const content = stringOf(row.content)?.slice(0, TEXT_MAX) ?? "";
  const rows = splitLabelled(content, stringOf(body.rows) ?? "", count(body.first)).map((said, i): Said => {
    return { ...said, nth: index * CHUNK_ROWS + i, at, text: text(said.text) };
  });
  // a span of rows goes forward
  rows.sort((a, b) => a.line - b.line);
  const chunk: Chunk = {
    ...{ index, at, rows, content: contentOf(rows) },
    hasDecision: body.decision === true,
    hasAction: body.action === true,
    header: { ...readHeader(text(body.header)), topics: textsIn(body.topics).map(line) },
    tools: text(body.tools),
    tokens: count(body.tokens),
  };
  const deeds = listIn(body.deeds, CHUNK_MAX_DEEDS).map((deed, i) => {
    return toDeed(deed, { nth: index * CHUNK_ROWS + rows.length + i, text, line, updatedAt });
  });
  const hash = typeof row.hash === "string" ? Buffer.from(row.hash, "hex") : undefined;
  return { chunk, exchangeLine: count(body.exchange), hash, deeds };
}

const OUTCOMES: readonly Outcome[] = ["done", "failed", "rejected", "running"];

/** Returns a deed of the hub, checked and cleaned. */
function toDeed(
  value: unknown,
  { nth, text, line: oneLine, updatedAt }: Cleaner & Pick<SharedSession, "updatedAt"> & Pick<Done, "nth">,
): Done {
  const { line, resultLine, at, kind, tool, target, paths, input, outcome, result } = recordOf(value);
  return {
    ...{ line: count(line), nth, who: "tool" },
    resultLine: typeof resultLine === "number" ? count(resultLine) : undefined,
    at: timeOf(at, updatedAt),
    kind: CALL_KINDS.find((known) => known === kind) ?? "other",
    tool: oneLine(tool),
    target: text(target).replaceAll("\n", " "),
    paths: listIn(paths, PATHS_MAX).map((path) => text(path).replaceAll("\n", " ")),
    input: text(input),
    outcome: OUTCOMES.find((known) => known === outcome) ?? "unknown",
    result: text(result),
  };
}

/** Returns a role or machine for printing; a hash keeps one that had to be changed apart from others. */
function label(value: unknown): string {
  const name = String(value);
  const clean = name.replace(/[^\p{L}\p{N}._-]/gu, "_").slice(0, 64) || "_";
  return clean === name ? name : `${clean}~${shortHash(name).toString(36).slice(0, 4)}`;
}

/** Returns a time as ISO UTC, one after the latest that it can be as that: nothing is newer than when it was read. */
function timeOf(value: unknown, latest: string): string {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return time >= 0 ? new Date(Math.min(time, Date.parse(latest))).toISOString() : UNKNOWN_TIME;
}

function textsIn(value: unknown): string[] {
  return listIn(value, TEXTS_MAX).filter((item) => typeof item === "string");
}

/** Returns the first items of a list; none of what is no list. */
function listIn(value: unknown, max: number): unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : [];
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

interface FetchOptions {
  replica: Store;
  config: Config;
  exclusion: Exclusion;
  /** Filled in with the sessions of which something went. */
  gone: Set<string>;
  /** Filled in with those of which something is gone at the hub. */
  withdrawn: Set<string>;
  /** How much of each owner's share is left beside what is counted. */
  room: Map<string, number>;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Chunks of one statement's answer: more would not come in time on a slow line. */
const PAGE = 1000;
/** Bytes of one statement's answer: what a member wrote up to every limit still comes in time. */
const PAGE_BYTES = 16 * 1024 * 1024;
/** Chunks of one transaction here: the full text merges a segment for each. */
const WRITE = 5000;

/** What the hub holds of sessions, in chunks of the usual size; JSON as it is packed, since unpacking takes long. */
const SIZES = `SELECT number, greatest(1,
    (least(coalesce(octet_length(observations), 0), ${TEXT_MAX}) + coalesce(pg_column_size(meta), 0)) / ${WEIGHT_BYTES}
    + coalesce((SELECT sum(size) FROM (
      SELECT greatest(1, ceil((coalesce(octet_length(content), 0) + coalesce(pg_column_size(body), 0)) / ${WEIGHT_BYTES}.0))
        AS size
      FROM session_memory.chunks WHERE session = number AND hash IS NOT NULL LIMIT ${SESSION_MAX_CHUNKS}) AS c), 0)) AS size
  FROM session_memory.sessions WHERE number = ANY($1::bigint[])`;

/** Counts what the hub holds of sessions, by their numbers. */
export async function countSizes(
  hub: Hub,
  sessions: readonly SharedSession[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await hub.query(SIZES, [sessions.map(({ number }) => number)]);
  return new Map(rows.map(({ number, size }) => [Number(number), Number(size)]));
}

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

/** Reads some sessions whole, or what of them is new. */
async function fetchBatch(
  hub: Hub,
  batch: readonly SharedSession[],
  { replica, config, exclusion, gone, withdrawn, room }: FetchOptions,
): Promise<number> {
  const clean = cleaner(config.settings.redact.extra);
  const byNumber = new Map(batch.map((session) => [session.number, session]));
  const described: { shared: SharedSession; session: IncomingSession }[] = [];
  for (const page of batchesBy(byNumber.keys(), { max: DESCRIBED, weigh: () => 1 })) {
    for (const row of await hub.query(DESCRIBE_SESSIONS, [page])) {
      const shared = byNumber.get(Number(row.number));
      if (!shared) continue;
      const session = toSession(row, shared, clean);
      const isNamedOut = exclusion.hasText(session.name ?? "");
      described.push({ shared, session: isNamedOut ? { ...session, name: undefined } : session });
    }
  }
  replica.db.transaction(() => {
    for (const { shared, session } of described) writeSession(replica, shared, session);
  });
  let count = 0;
  const read = new Map<SharedSession, number>();
  // what it is counted as is not known before it is unpacked
  const isOver = (shared: SharedSession) =>
    (read.get(shared) ?? 0) > shared.chunks + (room.get(shared.owner) ?? 0);
  const put = (row: HubRow) => {
    const shared = byNumber.get(Number(row.session));
    if (!shared || isOver(shared)) return;
    read.set(shared, (read.get(shared) ?? 0) + Math.ceil(Number(row.size ?? 0) / WEIGHT_BYTES));
    const { storedId } = shared;
    const incoming = toChunk(row, shared, clean);
    const { chunk, deeds } = incoming;
    const isOut = exclusion.hasText(`${headerText(chunk.header)}${chunk.content}\n${chunk.tools}`);
    if (isOut || !incoming.hash) {
      if (!removeIncoming(replica, storedId, chunk.index)) return;
      markErase(replica);
      gone.add(storedId);
      if (!incoming.hash) withdrawn.add(storedId);
    } else {
      const kept = deeds.filter((deed) => !rowTexts(deed).some(exclusion.hasText));
      putChunk(replica, storedId, { ...incoming, deeds: kept });
    }
  };
  const left = () => batch.filter((shared) => !isOver(shared));
  for await (const page of gathered(pagesOf(hub, left), WRITE)) {
    replica.db.transaction(() => page.forEach(put));
    count += page.length;
  }
  replica.db.transaction(() => {
    for (const { shared, session } of described) {
      finishSession(replica, shared, session);
      const size = Math.max(shared.chunks, read.get(shared) ?? 0, heldSize(replica, shared.storedId));
      noteSize(replica, shared, size);
      const left = (room.get(shared.owner) ?? 0) + shared.chunks;
      if (size > left) emptyShared(replica, shared.storedId);
      room.set(shared.owner, size > left ? left : left - size);
    }
  });
  return count;
}

/**
 * Returns SQL that is null where a text is over its limit. What is stored is compared first: PostgreSQL tells its size
 * without reading a value of hundreds of megabytes back.
 */
function within(column: string, bytes: number): string {
  return `CASE WHEN pg_column_size(${column}) <= ${bytes} AND octet_length(${column}) <= ${bytes} THEN ${column} END`;
}

/** The most sessions that are described in one statement: each may have a megabyte to be unpacked. */
const DESCRIBED = 100;

const DESCRIBE_SESSIONS = `SELECT number, seq, ${within("name", 4000)} AS name, left(folder, 4096) AS folder,
    ${within("parent_id", 2048)} AS parent_id, left(started_at, 64) AS started_at,
    CASE WHEN jsonb_typeof(made) = 'object' THEN jsonb_build_object(
      'description', left(made ->> 'description', ${TEXT_MAX}), 'summary', left(made ->> 'summary', ${TEXT_MAX}),
      'tags', CASE WHEN octet_length(made ->> 'tags') <= ${TEXT_MAX} THEN made -> 'tags' END) END AS meta,
    CASE WHEN octet_length(observations) <= ${DOCUMENT_MAX_BYTES} THEN left(observations, ${TEXT_MAX}) END AS observations
  FROM (
    SELECT *, CASE WHEN pg_column_size(meta) <= ${DOCUMENT_MAX_BYTES} THEN meta END AS made
    FROM session_memory.sessions WHERE number = ANY($1::bigint[])) AS s`;

/** Bytes of the packed bodies that one statement looks into: unpacked, they may be a hundred times as many. */
const PACKED_BYTES = 1024 * 1024;

/** A page of chunks: those over a limit as gone, and of the rest as many as stay below the page's bytes. */
const PAGE_OF_CHUNKS = `WITH near AS MATERIALIZED (
    SELECT c.session, c.idx, c.hash, c.at, c.body, c.content, coalesce(pg_column_size(c.body), 0) AS packed
    FROM jsonb_to_recordset($1::jsonb) AS w(number bigint, after bigint)
    JOIN session_memory.chunks c ON c.session = w.number AND c.seq > w.after
    WHERE (c.session, c.idx) > ($2::bigint, $3::integer) ORDER BY c.session, c.idx LIMIT ${PAGE}
  ), summed AS MATERIALIZED (
    SELECT *, sum(packed) OVER (ORDER BY session, idx) - packed AS before FROM near
  ), measured AS MATERIALIZED (
    SELECT *, CASE WHEN octet_length(content) <= ${CHUNK_MAX_BYTES} AND octet_length(hash) <= 64 AND length(at) <= 64
      AND packed <= ${DOCUMENT_MAX_BYTES} THEN octet_length(body::text) END AS body_bytes
    FROM summed WHERE before < ${PACKED_BYTES}
  ), sized AS MATERIALIZED (
    SELECT *, sum(size) OVER (ORDER BY session, idx) AS bytes, row_number() OVER (ORDER BY session, idx) AS nth
    FROM (SELECT *, CASE WHEN body_bytes <= ${DOCUMENT_MAX_BYTES} THEN body_bytes + octet_length(content) END AS size
      FROM measured) AS known
  )
  SELECT session, idx, size, (SELECT count(*) FROM near) AS found,
    CASE WHEN size IS NOT NULL THEN encode(hash, 'hex') END AS hash, CASE WHEN size IS NOT NULL THEN at END AS at,
    CASE WHEN size IS NOT NULL THEN body END AS body, CASE WHEN size IS NOT NULL THEN content END AS content
  FROM sized WHERE coalesce(bytes, 0) <= ${PAGE_BYTES} OR nth = 1 ORDER BY session, idx`;

async function* pagesOf(hub: Hub, left: () => SharedSession[]): AsyncGenerator<HubRow[]> {
  let last: [number, number] = [-1, -1];
  for (;;) {
    const wanted = JSON.stringify(
      left().map(({ number, heldSeq }) => ({ number, after: heldSeq === 0 ? -1 : heldSeq })),
    );
    const page = await hub.query(PAGE_OF_CHUNKS, [wanted, ...last]);
    if (page.length > 0) yield page;
    const end = page.at(-1);
    if (!end || (page.length === Number(end.found) && page.length < PAGE)) return;
    last = [Number(end.session), Number(end.idx)];
  }
}

/** Joins pages until they hold some rows, or as many bytes as one page may. */
async function* gathered(pages: AsyncIterable<HubRow[]>, count: number): AsyncGenerator<HubRow[]> {
  let rows: HubRow[] = [];
  let bytes = 0;
  for await (const page of pages) {
    rows.push(...page);
    bytes = page.reduce((sum, { size }) => sum + Number(size), bytes);
    if (rows.length < count && bytes < PAGE_BYTES / 2) continue;
    yield rows;
    rows = [];
    bytes = 0;
  }
  if (rows.length > 0) yield rows;
}

/** Puts a chunk with its deeds, in the index's own tables, in place of the one at its index. */
function putChunk(
  replica: Store,
  storedId: string,
  { chunk, exchangeLine, hash, deeds }: IncomingChunk,
): void {
  const { db } = replica;
  removeIncoming(replica, storedId, chunk.index);
  const session = Number(db.prepare("SELECT number FROM sessions WHERE id = ?").get(storedId)?.number);
  const timestamp = chunk.at ?? "";
  const exchange = putExchange(replica, { session, line: exchangeLine, nth: 0 }, chunk.header);
  addChunk(replica, chunk, { session, timestamp, exchange, hash });
  const last = Number(db.prepare("SELECT coalesce(max(id), 0) AS id FROM rows").get()?.id);
  const rows: readonly Row[] = [...chunk.rows, ...deeds];
  addRows(replica, rows, { session, timestamp });
  db.prepare("INSERT INTO shared_rows (row, stored_id, idx) SELECT id, ?, ? FROM rows WHERE id > ?").run(
    ...[storedId, chunk.index, last],
  );
}

/** Removes a chunk with its deeds; returns whether it was there. */
function removeIncoming(replica: Store, storedId: string, idx: number): boolean {
  const { db } = replica;
  const find = db.prepare("SELECT id FROM session_chunks WHERE session_id = ? AND chunk_index = ?");
  const row = find.get(storedId, idx);
  if (!row) return false;
  const rows = db.prepare(
    "SELECT id, who FROM shared_rows JOIN rows ON id = row WHERE stored_id = ? AND idx = ?",
  );
  for (const { id, who } of rows.all(storedId, idx))
    removeRow(replica, { id: Number(id), who: who as Row["who"] });
  db.prepare("DELETE FROM shared_rows WHERE stored_id = ? AND idx = ?").run(storedId, idx);
  removeChunk(replica, Number(row.id));
  return true;
}

function writeSession({ db }: Store, shared: SharedSession, session: IncomingSession): void {
  const { storedId, owner, machine, agent, project, updatedAt } = shared;
  const { name, folder, parentId, startedAt } = session;
  const cwd = folder === "" ? project : `${project}/${folder}`;
  const parent = parentId === undefined ? null : `${owner}@${machine}:${parentId}`;
  db.prepare(
    `INSERT INTO sessions (id, agent, file, name, cwd, project, parent_id, started_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, cwd = excluded.cwd, project = excluded.project,
       parent_id = excluded.parent_id, started_at = excluded.started_at, updated_at = excluded.updated_at`,
  ).run(storedId, agent, fileOf(storedId), name ?? null, cwd, project, parent, startedAt ?? null, updatedAt);
}

/** Notes what a session was found to take. */
export function noteSize({ db }: Store, { storedId }: SharedSession, size: number): void {
  db.prepare("UPDATE shared_sessions SET chunks = ? WHERE stored_id = ?").run(size, storedId);
}

function finishSession(
  replica: Store,
  { storedId, updatedAt }: SharedSession,
  session: IncomingSession,
): void {
  const { db } = replica;
  const { folder, seq, meta, observations } = session;
  const number = Number(db.prepare("SELECT number FROM sessions WHERE id = ?").get(storedId)?.number);
  removeEmptyExchanges(replica, number);
  const chunks = countChunks(replica, number);
  db.prepare(
    `INSERT OR REPLACE INTO index_state (session_id, session, file_path, file_hash, last_indexed, chunk_count, status,
       size, modified)
     VALUES (?, ?, ?, '', ?, ?, 'complete', 0, ?)`,
  ).run(storedId, number, fileOf(storedId), new Date().toISOString(), chunks, updatedAt);
  db.prepare(
    "UPDATE shared_sessions SET held_seq = ?, folder = ?, meta = ?, observations = ? WHERE stored_id = ?",
  ).run(seq, folder, meta ? JSON.stringify(meta) : null, observations ?? null, storedId);
}

/** Returns a name that is no file on this machine and looks like none. */
function fileOf(storedId: string): string {
  return `${SHARED_FILE}${storedId}`;
}
