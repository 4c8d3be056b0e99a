/** The SQL statements of the search: finds and filters chunks and deeds that may answer, and reads chunks and their neighbours. */

import { DAY_MS } from "../base/time.ts";
import type { Agent, Done, Said } from "../hosts/session.ts";
import type { Header } from "../index/chunk-text.ts";
import type { IndexedSession } from "../index/index-state.ts";
import { HEADER_COLUMNS, ROW_COLUMNS, type Stored, toDone, toHeader } from "../index/stored-rows.ts";
import type { NamedValues, SqlRow } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { readIndexedSessions } from "./corpus.ts";

/** The limits on results. */
export interface ChunkFilter {
  /** ISO times, both included. */
  after?: string | undefined;
  before?: string | undefined;
  speaker?: "user" | "assistant" | undefined;
  /** One of these topics. */
  topics?: readonly string[] | undefined;
  hasDecision?: boolean | undefined;
  hasAction?: boolean | undefined;
  /** A session's id, with its subagents' when those are wanted. */
  session?: string | undefined;
  /** Ids of sessions. */
  among?: readonly string[] | undefined;
  agent?: Agent | undefined;
  /** Projects and directories as the index has them: paths here, names elsewhere, and origins of shared sessions. */
  projects?: readonly string[] | undefined;
  /** True if subagent transcripts are searched too. */
  subagents?: boolean | undefined;
  /** True if others' sessions are left out. */
  own?: boolean | undefined;
  /** The session whose rows since its last compaction are still before the caller's eyes. */
  caller?: string | undefined;
}

/** A chunk as it is stored. */
export interface IndexedChunk {
  id: number;
  sessionId: string;
  index: number;
  timestamp: string;
  firstLine: number;
  lastLine: number;
  exchangeLine: number;
  header: Header;
  /** UTF-16 units of its header and content, and half of those of its tool calls. */
  length: number;
  hasDecision: boolean;
  hasAction: boolean;
}

/** So much more is asked for before filtering than after: most searches filter little. */
const OVERFETCH = 4;

/** Returns the chunks that match a full-text expression and the filter, best first by bm25. */
export function matchingChunks(
  store: Store,
  match: string,
  { filter, limit }: { filter: ChunkFilter; limit: number },
): number[] {
  // Filtering every match of a common word costs a lookup each; filtering the best of them is mostly enough.
  const best = store
    .all(
      "SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH $match ORDER BY bm25(chunks_fts) LIMIT $limit",
      { match, limit: limit * OVERFETCH },
    )
    .map((row) => Number(row.id));
  const kept = keepMatching(store, best, filter);
  if (kept.length >= limit || best.length < limit * OVERFETCH) return kept.slice(0, limit);
  const { where, values } = toWhere(filter);
  return store
    .all(
      `SELECT c.id FROM chunks_fts CROSS JOIN chunks c ON c.id = chunks_fts.rowid
       CROSS JOIN sessions s ON s.number = c.session
       WHERE chunks_fts MATCH $match AND ${where} ORDER BY bm25(chunks_fts) LIMIT $limit`,
      { ...values, match, limit },
    )
    .map((row) => Number(row.id));
}

/** A deed that matches, and the chunk in or behind which it was done. */
export interface FoundDeed {
  chunk: number;
  deed: Stored<Done>;
}

/** Returns the deeds that match a full-text expression and the filter, best first by bm25. */
export function matchingDeeds(
  store: Store,
  match: string,
  { filter, limit }: { filter: ChunkFilter; limit: number },
): FoundDeed[] {
  const { where, values } = toWhere(filter);
  return store
    .all(
      `SELECT c.id AS chunk, ${ROW_COLUMNS} FROM
         (SELECT rowid AS id, bm25(deeds_fts) AS score FROM deeds_fts WHERE deeds_fts MATCH $match
          ORDER BY score LIMIT $wanted) AS f
       CROSS JOIN rows r ON r.id = f.id
       CROSS JOIN sessions s ON s.number = r.session
       CROSS JOIN chunks c ON c.id = (SELECT id FROM chunks
         WHERE session = r.session AND first_line <= r.line ORDER BY first_line DESC, chunk_index DESC LIMIT 1)
       WHERE ${where} LIMIT $limit`,
      { ...values, match, limit, wanted: limit * OVERFETCH },
    )
    .map((row) => ({ chunk: Number(row.chunk), deed: toDone(row) }))
    .filter(({ deed }) => isTimely(deed, filter));
}

/** Returns those of some chunks that pass the filter, in the order given. */
export function keepMatching(store: Store, ids: readonly number[], filter: ChunkFilter): number[] {
  const { sql, values, isOpen } = filterSelect(filter);
  if (isOpen || ids.length === 0) return [...ids];
  const rows = store.all(`${sql} AND c.id IN (SELECT value FROM json_each($ids))`, {
    ...values,
    ids: JSON.stringify(ids),
  });
  const kept = new Set(rows.map((row) => Number(row.id)));
  return ids.filter((id) => kept.has(id));
}

/** Returns a subselect of the ids that pass a filter, for statements that must filter inside. */
export function filterSelect(filter: ChunkFilter): { sql: string; values: NamedValues; isOpen: boolean } {
  const { where, values } = toWhere(filter);
  const sql = `SELECT c.id FROM chunks c CROSS JOIN sessions s ON s.number = c.session WHERE ${where}`;
  return { sql, values, isOpen: where === "1" };
}

/** Reads chunks and those before and after them, by session and position. */
export function readChunks(store: Store, ids: Iterable<number>): IndexedChunk[] {
  const rows = store.all(
    `SELECT c.id, s.id AS session_id, c.chunk_index, c.timestamp, c.has_decision, c.has_action, c.first_line, c.last_line,
       e.line AS exchange_line, c.length + 0.5 * length(c.tools) AS length, ${HEADER_COLUMNS}
     FROM chunks c JOIN sessions s ON s.number = c.session JOIN exchanges e ON e.id = c.exchange
     WHERE c.id IN (SELECT n.id FROM json_each($ids) CROSS JOIN chunks own ON own.id = value
       CROSS JOIN chunks n ON n.session = own.session
         AND n.chunk_index BETWEEN own.chunk_index - 1 AND own.chunk_index + 1)
     ORDER BY s.id, c.chunk_index`,
    { ids: JSON.stringify([...ids]) },
  );
  return rows.map(toIndexedChunk);
}

/** Returns whether a row is of the time that is asked for. */
function isTimely({ at = "" }: Pick<Said, "at">, { after = "", before = "~" }: ChunkFilter): boolean {
  return at >= after && at <= before;
}

/** Returns a test for rows of the speaker and the time that are asked for; undefined where neither is. */
export function rowTest(filter: ChunkFilter): ((row: Said) => boolean) | undefined {
  const { speaker, after, before } = filter;
  if (speaker === undefined && after === undefined && before === undefined) return undefined;
  return (row) => (speaker === undefined || speaker === row.who) && isTimely(row, filter);
}

/** Returns the first lines of up to `count` exchanges of a session before a line, or from it on, in order. */
export function exchangeLines(
  store: Store,
  session: number,
  { line, count, isBefore }: { line: number; count: number; isBefore: boolean },
): number[] {
  const [beside, order] = isBefore ? ["<", "DESC"] : [">=", "ASC"];
  return store
    .all(
      `SELECT DISTINCT line FROM exchanges WHERE session = ? AND line ${beside} ? ORDER BY line ${order} LIMIT ?`,
      session,
      line,
      count,
    )
    .map((row) => Number(row.line))
    .sort((a, b) => a - b);
}

/** Returns the forks that hold a copy of a session's rows up to some time, which are indexed only once. */
export function sessionsWithCopy(store: Store, sessionId: string, at: string): IndexedSession[] {
  const ids = store
    .all(
      `SELECT session_id FROM copies WHERE owner_id = $sessionId AND $at < coalesce(
         (SELECT min(timestamp) FROM session_chunks c WHERE c.session_id = copies.session_id), '9999')`,
      { sessionId, at },
    )
    .map((row) => String(row.session_id));
  return ids.length > 0 ? [...readIndexedSessions(store, ids).values()] : [];
}

/** Returns the condition that a chunk is of sessions that SQL lists: a fork's copied rows are indexed with the session that they were said in. */
const isHeldIn = (listed: string) => `(s.id IN ${listed}
  OR s.id IN (SELECT owner_id FROM copies WHERE session_id IN ${listed}) AND EXISTS (
    SELECT 1 FROM copies WHERE owner_id = s.id AND session_id IN ${listed} AND c.timestamp < coalesce(
      (SELECT min(timestamp) FROM session_chunks WHERE session_id = copies.session_id), '9999')))`;

/** True of a chunk with a row between two times, its own or a deed behind it. */
const HAS_TIMELY_ROW = `EXISTS (SELECT 1 FROM rows t WHERE t.session = c.session AND t.at BETWEEN $after AND $before
  AND t.line >= c.first_line AND t.line <= coalesce(
    (SELECT min(first_line) FROM chunks WHERE session = c.session AND first_line > c.first_line), t.line))`;

/** Returns the condition of a filter on chunks `c` and sessions `s`. */
function toWhere(filter: ChunkFilter): { where: string; values: NamedValues } {
  const conditions = [...sessionConditions(filter), ...chunkConditions(filter)];
  return {
    where: conditions.map(([condition]) => condition).join(" AND ") || "1",
    values: Object.assign({}, ...conditions.map(([, values]) => values)),
  };
}

type Condition = readonly [condition: string, values?: NamedValues];

function* sessionConditions(filter: ChunkFilter): Generator<Condition> {
  const { session, among, agent, projects, caller } = filter;
  // a subagent's transcript that is named is wanted
  if (!filter.subagents && session === undefined) yield ["s.parent_id IS NULL"];
  if (filter.own) yield ["s.owner IS NULL"];
  if (session !== undefined) {
    const child = filter.subagents ? " OR s.parent_id = $session" : "";
    yield [`(${isHeldIn("($session)")}${child})`, { session }];
  }
  if (among !== undefined)
    yield [isHeldIn("(SELECT value FROM json_each($among))"), { among: JSON.stringify(among) }];
  if (agent !== undefined) yield ["s.agent = $agent", { agent }];
  if (projects !== undefined) {
    const listed = "(SELECT value FROM json_each($projects))";
    yield [`(s.project IN ${listed} OR s.cwd IN ${listed})`, { projects: JSON.stringify(projects) }];
  }
  if (caller !== undefined && session === undefined)
    yield ["NOT (s.id = $caller AND c.first_line > coalesce(s.compacted_line, 0))", { caller }];
}

function* chunkConditions(filter: ChunkFilter): Generator<Condition> {
  const { after, before, speaker, topics = [], hasDecision, hasAction } = filter;
  if (after !== undefined || before !== undefined) {
    // by the rows, since an exchange may have begun the day before
    const begun = after === undefined ? "" : new Date(Date.parse(after) - DAY_MS).toISOString();
    yield ["c.timestamp BETWEEN $begun AND $before", { begun, before: before ?? "~" }];
    yield [HAS_TIMELY_ROW, { after: after ?? "" }];
  }
  if (speaker !== undefined) yield ["instr(c.speakers, $speaker) > 0", { speaker: `"${speaker}"` }];
  if (topics.length > 0) {
    const names = topics.map((topic) => topic.toLowerCase().replace(/[\s_-]+/g, ""));
    yield [
      `EXISTS (SELECT 1 FROM json_each(c.topic_tags)
         WHERE replace(replace(replace(lower(value), '-', ''), '_', ''), ' ', '') IN (SELECT value FROM json_each($names)))`,
      { names: JSON.stringify(names) },
    ];
  }
  if (hasDecision !== undefined) yield ["c.has_decision = $decision", { decision: hasDecision ? 1 : 0 }];
  if (hasAction !== undefined) yield ["c.has_action = $action", { action: hasAction ? 1 : 0 }];
}

function toIndexedChunk(row: SqlRow): IndexedChunk {
  return {
    id: Number(row.id),
    sessionId: String(row.session_id),
    index: Number(row.chunk_index),
    timestamp: String(row.timestamp),
    hasDecision: row.has_decision === 1,
    hasAction: row.has_action === 1,
    firstLine: Number(row.first_line),
    lastLine: Number(row.last_line),
    exchangeLine: Number(row.exchange_line),
    header: toHeader(row),
    length: Number(row.length),
  };
}
