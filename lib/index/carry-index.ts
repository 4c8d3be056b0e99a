/**
 * Carries over from an index that cannot be used what cannot be made again: the sessions whose transcript is gone, redacted
 * and without what is excluded now, and the vectors and topics that were paid for.
 */

import { existsSync } from "node:fs";
import type { Settings } from "../config/config.ts";
import { copyTable, eachRow } from "../store/carry-over.ts";
import type { SqlDatabase, SqlRow, SqlValue } from "../store/sqlite.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import type { Chunk } from "../transcripts/session.ts";
import { cleanMessages } from "./chunk-messages.ts";
import { deedFrom } from "./deeds.ts";
import { hostId } from "./index-state.ts";
import { chunkAdder, deedAdder } from "./session-rows.ts";

/** What a carry-over works on. */
interface Carrying {
  from: SqlDatabase;
  to: SqlDatabase;
  rules: Rules;
  /** The ids of the sessions that are carried over. */
  ids: Set<string>;
  /** Their numbers, where the row that has them could be read. */
  numbers: Set<number>;
}

/** Fills a new index from an old one; returns whether all of the old one could be read. */
export function carryIndex(
  from: SqlDatabase,
  to: SqlDatabase,
  settings: Pick<Settings, "redact" | "exclude">,
): boolean {
  const carrying: Carrying = { from, to, rules: readRules(settings), ids: new Set(), numbers: new Set() };
  // the topics before the chunks that take them from there
  const steps = [carrySessions, carryPaid, carryChunks, carryDeeds, carryLines];
  return steps.map((carry) => carry(carrying)).every(Boolean);
}

function carrySessions({ from, to, rules, ids, numbers }: Carrying): boolean {
  const read = new Set<string>();
  const cleaned = (text: SqlValue | undefined) =>
    typeof text !== "string" || rules.hasText(text) ? null : rules.clean(text);
  const areSessions = copyTable("sessions", from, to, (row) => {
    const id = String(row.id);
    read.add(id);
    if (existsSync(String(row.file)) || rules.hasSession(excludable(row))) return undefined;
    ids.add(id);
    numbers.add(Number(row.number));
    const texts = { name: cleaned(row.name), cwd: cleaned(row.cwd), project: cleaned(row.project) };
    return { ...row, ...texts, source_gone: 1 };
  });
  const insertLost = to.prepare(
    "INSERT OR IGNORE INTO sessions (id, agent, file, updated_at, source_gone) VALUES (?, 'plain', ?, ?, 1)",
  );
  const areStates = copyTable("index_state", from, to, (row) => {
    const [id, file] = [String(row.session_id), String(row.file_path)];
    // of the two rows that identify a session either may be lost
    if (!read.has(id) && !existsSync(file) && !rules.hasSession({ id: hostId(id) })) {
      insertLost.run(id, file, row.last_indexed ?? "");
      ids.add(id);
    }
    return ids.has(id) ? { ...row, error: null } : undefined;
  });
  to.exec(`
    INSERT OR IGNORE INTO index_state (session_id, file_path, file_hash, last_indexed, status, size, modified)
      SELECT id, file, '', updated_at, 'partial', 0, '' FROM sessions`);
  return areSessions && areStates;
}

function excludable({ id, name, cwd, project, parent_id }: SqlRow): Parameters<Rules["hasSession"]>[0] {
  const text = (value: SqlValue | undefined) => (typeof value === "string" ? value : undefined);
  const [parentId, ...places] = [parent_id, name, cwd, project].map(text);
  return { id: hostId(String(id)), parentId, name: places[0], cwd: places[1], project: places[2] };
}

/** Carries over vectors and topics, by the hash of the words they were made of. */
function carryPaid({ from, to, rules }: Carrying): boolean {
  const areVectors = ["embedders", "vector_cache"].map((table) => copyTable(table, from, to));
  const areTopics = copyTable("topic_cache", from, to, (row) => ({
    ...row,
    topics: cleanList(String(row.topics), rules.clean),
  }));
  return areVectors.every(Boolean) && areTopics;
}

const CHUNK = `session_id, chunk_index, timestamp, speakers, topic_tags, has_decision, has_action, first_line, last_line,
  exchange_line, content_hash, content, context_content, tools, entry_ids, token_count, row_lines, embedder, embedding`;

function carryChunks({ from, to, rules, ids }: Carrying): boolean {
  const add = chunkAdder({ db: to });
  const cache = to.prepare(
    "INSERT OR IGNORE INTO vector_cache (content_hash, embedder, embedding) VALUES (?, ?, ?)",
  );
  const isWhole = eachRow(from, { table: "session_chunks", columns: CHUNK }, (row) => {
    const { content_hash = null, embedder = null, embedding = null } = row;
    if (embedder !== null) cache.run(content_hash, embedder, embedding);
    if (!ids.has(String(row.session_id))) return;
    const chunk = cleanChunk(row, rules);
    if (rules.hasText(chunk.content) || rules.hasText(chunk.tools)) return;
    const isSame = chunk.contextContent === row.context_content;
    const place = { timestamp: String(row.timestamp), exchangeLine: Number(row.exchange_line) };
    add(chunk, place, isSame ? (row.content_hash as Uint8Array) : undefined);
  });
  to.exec(`UPDATE index_state SET chunk_count =
    (SELECT count(*) FROM session_chunks c WHERE c.session_id = index_state.session_id)`);
  return isWhole;
}

function cleanChunk(row: SqlRow, { clean }: Rules): Chunk {
  const [content, context] = [String(row.content), String(row.context_content)];
  const after = cleanMessages({ content, rowLines: String(row.row_lines) }, clean);
  return {
    sessionId: String(row.session_id),
    index: Number(row.chunk_index),
    at: String(row.timestamp),
    firstLine: Number(row.first_line),
    lastLine: Number(row.last_line),
    entryIds: JSON.parse(String(row.entry_ids)),
    speakers: JSON.parse(String(row.speakers)),
    topics: JSON.parse(cleanList(String(row.topic_tags), clean)),
    hasDecision: row.has_decision === 1,
    hasAction: row.has_action === 1,
    content: after.content,
    rows: after.rows,
    contextContent: clean(context.slice(0, context.length - content.length)) + after.content,
    tools: clean(String(row.tools)),
    tokens: Number(row.token_count),
  };
}

function cleanList(json: string, clean: (text: string) => string): string {
  const list: unknown = JSON.parse(json);
  return JSON.stringify(list, (_, value: unknown) => (typeof value === "string" ? clean(value) : value));
}

const DEED = `id, session, line, result_line, exchange_line, timestamp, kind, tool, target, paths, input, outcome,
  result`;

function carryDeeds({ from, to, rules: { clean, hasText }, numbers }: Carrying): boolean {
  const add = deedAdder({ db: to });
  const seen = new Set<number>();
  return eachRow(from, { table: "deeds", columns: DEED }, (row) => {
    const { id, session, exchangeLine, timestamp, ...deed } = deedFrom(row);
    if (seen.has(id) || !numbers.has(session)) return;
    seen.add(id);
    const [target, input, result] = [clean(deed.target), clean(deed.input), clean(deed.result)];
    const paths = deed.paths.map(clean);
    if ([target, input, result, ...paths].some(hasText)) return;
    add([{ ...deed, at: timestamp, target, input, result, paths }], { session, exchangeLine, timestamp });
  });
}

/** Carries over which lines were taken back, and which rows forks must not bring in again. */
function carryLines({ from, to, ids, numbers }: Carrying): boolean {
  const isOfCarried = ({ session, session_id }: SqlRow) =>
    session_id === undefined ? numbers.has(Number(session)) : ids.has(String(session_id));
  return ["rewound", "row_keys", "copies"]
    .map((table) => copyTable(table, from, to, (row) => (isOfCarried(row) ? row : undefined)))
    .every(Boolean);
}
