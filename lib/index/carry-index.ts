/**
 * Carries over from an index that cannot be used what cannot be made again: the sessions whose transcript is gone, redacted
 * and without what is excluded now, and the vectors and topics that were paid for.
 */

import { statUnpacked } from "../base/files.ts";
import type { Settings } from "../config/config.ts";
import { columnsOf, copyTable, eachRow } from "../store/carry-over.ts";
import type { SqlDatabase, SqlRow, SqlValue } from "../store/sqlite.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import { hostId } from "./index-state.ts";
import { addDeeds, contentHash, putFullText } from "./session-rows.ts";
import { cleanMessages, deedFrom } from "./stored-rows.ts";

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
    const shown = { ...row, name: cleaned(row.name), cwd: cleaned(row.cwd), project: cleaned(row.project) };
    const isExcluded = [row, shown].some((facts) => rules.hasSession(excludable(facts)));
    if (statUnpacked(String(row.file)) || isExcluded) return undefined;
    ids.add(id);
    numbers.add(Number(row.number));
    return { ...shown, source_gone: 1 };
  });
  const insertLost = to.prepare(
    "INSERT OR IGNORE INTO sessions (id, agent, file, updated_at, source_gone) VALUES (?, 'plain', ?, ?, 1)",
  );
  const areStates = copyTable("index_state", from, to, (row) => {
    const [id, file] = [String(row.session_id), String(row.file_path)];
    // of the two rows that identify a session either may be lost
    if (!read.has(id) && !statUnpacked(file) && !rules.hasSession({ id: hostId(id) })) {
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

function carryChunks({ from, to, rules, ids }: Carrying): boolean {
  const cache = to.prepare(
    "INSERT OR IGNORE INTO vector_cache (content_hash, embedder, embedding) VALUES (?, ?, ?)",
  );
  const columns = columnsOf("chunks", to);
  const insert = to.prepare(
    `INSERT OR IGNORE INTO chunks (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const isWhole = eachRow(from, { table: chunkTable(from), columns: "*" }, (row) => {
    const { content_hash = null, embedder = null, embedding = null } = row;
    if (!ids.has(String(row.session_id))) {
      if (embedder !== null) cache.run(content_hash, embedder, embedding);
      return;
    }
    const header = headerFrom(row);
    const texts = cleanTexts({ ...row, header }, rules);
    if (rules.hasText(texts.content) || rules.hasText(texts.tools)) return;
    const isSame = texts.header === header && texts.content === row.content;
    const vector = isSame ? {} : { content_hash: contentHash(texts), embedder: null, embedding: null };
    const kept: SqlRow = { ...row, ...texts, ...vector };
    insert.run(...columns.map((column) => kept[column] ?? null));
  });
  for (const { id } of to.prepare("SELECT id FROM chunks").all()) putFullText({ db: to }, Number(id));
  to.exec(`UPDATE index_state SET chunk_count =
    (SELECT count(*) FROM chunks c WHERE c.session_id = index_state.session_id)`);
  return isWhole;
}

/** Returns the table of an index that holds its chunks; up to version 2 it had the promised name. */
function chunkTable(from: SqlDatabase): string {
  return columnsOf("chunks", from).length > 0 ? "chunks" : "session_chunks";
}

/** Returns a chunk's header, which up to version 2 was stored before a second copy of the content. */
function headerFrom({ header, content, context_content }: SqlRow): string {
  const length = String(context_content).length - String(content).length;
  return String(header ?? String(context_content).slice(0, length));
}

function cleanTexts(row: SqlRow, { clean }: Rules) {
  const said = cleanMessages({ content: String(row.content), rowLines: String(row.row_lines) }, clean);
  return {
    content: said.content,
    row_lines: said.rowLines,
    header: clean(String(row.header)),
    topic_tags: cleanList(String(row.topic_tags), clean),
    tools: clean(String(row.tools)),
  };
}

function cleanList(json: string, clean: (text: string) => string): string {
  const list: unknown = JSON.parse(json);
  return JSON.stringify(list, (_, value: unknown) => (typeof value === "string" ? clean(value) : value));
}

const DEED = `id, session, line, result_line, exchange_line, timestamp, kind, tool, target, paths, input, outcome,
  result`;

function carryDeeds({ from, to, rules: { clean, hasText }, numbers }: Carrying): boolean {
  const seen = new Set<number>();
  return eachRow(from, { table: "deeds", columns: DEED }, (row) => {
    const { id, session, exchangeLine, timestamp, ...deed } = deedFrom(row);
    if (seen.has(id) || !numbers.has(session)) return;
    seen.add(id);
    const [target, input, result] = [clean(deed.target), clean(deed.input), clean(deed.result)];
    const paths = deed.paths.map(clean);
    if ([target, input, result, ...paths].some(hasText)) return;
    addDeeds({ db: to }, [{ ...deed, at: timestamp, target, input, result, paths }], {
      session,
      exchangeLine,
      timestamp,
    });
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
