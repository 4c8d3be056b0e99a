/**
 * Reads the words of sessions from the hub into the replica's rows: new ones whole, of others what changed. They are other
 * people's words, written by programs that may be older than ours or not ours at all: fields are checked and redacted by
 * our rules, and what config.json excludes is left out.
 */

import { recordOf, stringOf } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import { markErase } from "../index/forget-rows.ts";
import { addChunk, addDeeds, removeChunk, removeDeed } from "../index/session-rows.ts";
import { cleanMessages } from "../index/stored-rows.ts";
import { oneLine, redact, redactor } from "../redact/redact.ts";
import { SHARED_FILE, type Store } from "../store/store.ts";
import { AGENTS } from "../transcripts/hosts.ts";
import type { Exclusion } from "../transcripts/rules.ts";
import type { Chunk, Deed, DeedKind, DeedOutcome } from "../transcripts/session.ts";
import { batchesBy, type Hub, type HubRow } from "./hub.ts";
import { CHUNK_MAX_BYTES, DOCUMENT_MAX_BYTES } from "./hub-schema.ts";
import { holdsText } from "./outgoing.ts";
import type { SharedSession } from "./replica.ts";

/** A session's description as the replica keeps it. */
type IncomingSession = ReturnType<typeof toSession>;

/** More of a text than any chunk of ours holds. */
const TEXT_MAX = 64 * 1024;
const NAME_MAX = 200; // ours have at most 80
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
export function toListed(row: HubRow): Omit<SharedSession, "heldSeq"> {
  const owner = label(row.owner);
  const machine = label(row.machine);
  const id = sessionId(row.id);
  return {
    storedId: `${owner}@${machine}:${id}`,
    owner,
    machine,
    agent: AGENTS.find((agent) => agent === row.agent) ?? "plain",
    id,
    number: Number(row.number),
    origin: String(row.origin),
    project: oneLine(redact(String(row.project)), 512),
    seq: Number(row.seq),
    updatedAt: timeOf(row.updated_at),
    chunks: Number(row.chunks),
  };
}

/** Returns an id fit to be printed; a session and its subagents come to the same. */
function sessionId(value: unknown): string {
  return String(value).replace(/[\p{Cc}\s]/gu, "_");
}

function toSession(row: HubRow, { text, line }: Cleaner) {
  const meta = row.meta === null ? undefined : recordOf(row.meta);
  const name = line(row.name);
  return {
    number: Number(row.number),
    seq: Number(row.seq),
    name: name === "" ? undefined : name,
    folder: line(row.folder),
    parentId: row.parent_id === null ? undefined : sessionId(row.parent_id),
    startedAt: row.started_at === null ? undefined : timeOf(row.started_at),
    updatedAt: timeOf(row.updated_at),
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
function toChunk(row: HubRow, sessionId: string, { text, line }: Cleaner) {
  const body = recordOf(row.body);
  const rowLines = stringOf(body.rows) ?? "";
  const said = cleanMessages({ content: stringOf(row.content)?.slice(0, TEXT_MAX) ?? "", rowLines }, text);
  const chunk: Chunk = {
    sessionId,
    index: Number(row.idx),
    at: timeOf(row.at),
    firstLine: count(body.first),
    lastLine: count(body.last),
    entryIds: [],
    speakers: textsIn(body.speakers).filter((speaker) => speaker === "user" || speaker === "assistant"),
    topics: textsIn(body.topics).map(line),
    hasDecision: body.decision === true,
    hasAction: body.action === true,
    content: said.content,
    rows: said.rows,
    contextContent: text(body.header) + said.content,
    tools: text(body.tools),
    tokens: count(body.tokens),
  };
  return {
    chunk,
    place: { timestamp: timeOf(row.at), exchangeLine: count(body.exchange) },
    hash: typeof row.hash === "string" ? Buffer.from(row.hash, "hex") : undefined,
    deeds: (Array.isArray(body.deeds) ? body.deeds : []).map((deed) => toDeed(deed, { text, line })),
  };
}

const KINDS: readonly DeedKind[] = ["command", "edit", "write", "read", "search", "fetch"];
const OUTCOMES: readonly DeedOutcome[] = ["done", "failed", "rejected", "running"];

/** Returns a deed of the hub, checked and cleaned. */
function toDeed(value: unknown, { text, line: oneLine }: Cleaner): Deed {
  const { line, resultLine, at, kind, tool, target, paths, input, outcome, result } = recordOf(value);
  return {
    line: count(line),
    resultLine: typeof resultLine === "number" ? count(resultLine) : undefined,
    at: stringOf(at) ?? "",
    kind: KINDS.find((known) => known === kind) ?? "other",
    tool: oneLine(tool),
    target: text(target).replaceAll("\n", " "),
    paths: (Array.isArray(paths) ? paths : []).map((path) => text(path).replaceAll("\n", " ")),
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

function timeOf(value: unknown): string {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? UNKNOWN_TIME : new Date(time).toISOString();
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
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
  { replica, config, exclusion, gone }: FetchOptions,
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
    for (const { shared, session } of described) writeSession(replica, shared, session);
  });
  let count = 0;
  const put = (row: HubRow) => {
    const storedId = byNumber.get(Number(row.session))?.storedId ?? "";
    const incoming = toChunk(row, storedId, clean);
    const { chunk, deeds } = incoming;
    const isOut = exclusion.hasText(`${chunk.contextContent}\n${chunk.tools}`);
    if (isOut || !incoming.hash) {
      if (!removeIncoming(replica, storedId, chunk.index)) return;
      markErase(replica);
      gone.add(storedId);
    } else {
      const kept = deeds.filter((deed) => !holdsText(deed, exclusion.hasText));
      putChunk(replica, { ...incoming, deeds: kept });
    }
  };
  for await (const page of gathered(pagesOf(hub, batch), WRITE)) {
    replica.db.transaction(() => page.forEach(put));
    count += page.length;
  }
  replica.db.transaction(() => {
    for (const { shared, session } of described) finishSession(replica, shared, session);
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

/** Puts a chunk with its deeds, in the index's own tables, in place of the one at its index. */
function putChunk(replica: Store, { chunk, place, hash, deeds }: IncomingChunk): void {
  const { db } = replica;
  const { sessionId, index } = chunk;
  removeIncoming(replica, sessionId, index);
  addChunk(replica, chunk, { ...place, hash });
  if (deeds.length === 0) return;
  const last = Number(db.prepare("SELECT coalesce(max(id), 0) AS id FROM deeds").get()?.id);
  const number = Number(db.prepare("SELECT number FROM sessions WHERE id = ?").get(sessionId)?.number);
  addDeeds(replica, deeds, { session: number, ...place });
  db.prepare("INSERT INTO shared_deeds (deed, stored_id, idx) SELECT id, ?, ? FROM deeds WHERE id > ?").run(
    ...[sessionId, index, last],
  );
}

/** Removes a chunk with its deeds; returns whether it was there. */
function removeIncoming(replica: Store, storedId: string, idx: number): boolean {
  const { db } = replica;
  const find = db.prepare("SELECT id FROM session_chunks WHERE session_id = ? AND chunk_index = ?");
  const row = find.get(storedId, idx);
  if (!row) return false;
  const deeds = db.prepare("SELECT deed FROM shared_deeds WHERE stored_id = ? AND idx = ?");
  for (const { deed } of deeds.all(storedId, idx)) removeDeed(replica, Number(deed));
  db.prepare("DELETE FROM shared_deeds WHERE stored_id = ? AND idx = ?").run(storedId, idx);
  removeChunk(replica, Number(row.id));
  return true;
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
