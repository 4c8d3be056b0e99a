/**
 * Carries over from an index that cannot be used what cannot be made again: the sessions whose transcript is gone, redacted
 * and without what is excluded now, and the vectors and topics that were paid for.
 */

import type { Settings } from "../config/config.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Row } from "../hosts/session.ts";
import { readMeaning } from "../language/meaning.ts";
import { type Exclusion, exclusionBy } from "../sessions/gate.ts";
import { copyTable, eachRow, listColumns } from "../store/carry-over.ts";
import type { SqlDatabase, SqlRow, SqlValue } from "../store/sqlite.ts";
import { rowTexts } from "../transcripts/calls.ts";
import type { Excludable } from "../transcripts/rules.ts";
import { joinContent } from "./chunk-text.ts";
import { hostId } from "./index-state.ts";
import { addRows, cachedTopics, contentHash, putTopics } from "./session-rows.ts";
import { isBefore, readChunkTexts, type StoredPlace, toStored } from "./stored-rows.ts";

/** The two databases of a carry-over. */
interface Carrying {
  from: SqlDatabase;
  to: SqlDatabase;
  rules: Exclusion;
  /** The ids of the sessions that are carried over, and the same by their number. */
  ids: Set<string>;
  numbers: Map<number, string>;
  /** Messages that had to be cleaned, as they were, by their place. */
  cleaned: Map<string, string>;
  /** The places of rows that are left out. */
  dropped: StoredPlace[];
  /** The exchanges whose subject had to be cleaned. */
  renamed: Set<number>;
}

/** Fills a new index from an old one; returns whether all of the old one could be read. */
export function carryIndex(
  from: SqlDatabase,
  to: SqlDatabase,
  settings: Pick<Settings, "redact" | "exclude">,
): boolean {
  const carrying: Carrying = {
    ...{
      from,
      to,
      rules: exclusionBy(settings),
      ids: new Set(),
      numbers: new Map(),
    },
    ...{ cleaned: new Map(), dropped: [], renamed: new Set() },
  };
  // what a pattern over several rows takes out again leaves no bytes
  to.exec("PRAGMA secure_delete = ON");
  const steps = [carrySessions, carryPaid, carryContents, carryLines];
  const isWhole = steps.map((carry) => carry(carrying)).every(Boolean);
  to.exec(
    `DELETE FROM exchanges WHERE id NOT IN (SELECT exchange FROM chunks);
     UPDATE index_state SET chunk_count = (SELECT count(*) FROM chunks c WHERE c.session = index_state.session)`,
  );
  return isWhole;
}

function carrySessions({ from, to, rules, ids, numbers }: Carrying): boolean {
  const read = new Set<string>();
  const cleaned = (text: SqlValue | undefined) =>
    typeof text !== "string" || rules.hasText(text) ? null : rules.clean(text);
  const areSessions = copyTable("sessions", from, to, (row) => {
    const id = String(row.id);
    read.add(id);
    const shown = { ...row, name: cleaned(row.name), cwd: cleaned(row.cwd), project: cleaned(row.project) };
    const isExcluded = [row, shown].some((facts) => !rules.admits(excludable(facts)));
    if (statUnpacked(String(row.file)) || isExcluded) return undefined;
    ids.add(id);
    return { ...shown, source_gone: 1 };
  });
  const insertLost = to.prepare(
    "INSERT OR IGNORE INTO sessions (number, id, agent, file, updated_at, source_gone) VALUES (?, ?, 'plain', ?, ?, 1)",
  );
  const areStates = copyTable("index_state", from, to, (row) => {
    const [id, file] = [String(row.session_id), String(row.file_path)];
    // of the two rows that identify a session either may be lost
    if (!read.has(id) && !statUnpacked(file) && rules.admits({ id: hostId(id) })) {
      insertLost.run(row.session ?? null, id, file, row.last_indexed ?? "");
      ids.add(id);
    }
    return ids.has(id) ? { ...row, error: null } : undefined;
  });
  to.exec(`
    INSERT OR IGNORE INTO index_state (session_id, file_path, file_hash, last_indexed, status, size, modified)
      SELECT id, file, '', updated_at, 'partial', 0, '' FROM sessions;
    UPDATE index_state SET session = (SELECT number FROM sessions WHERE id = session_id)`);
  for (const { number, id } of to.prepare("SELECT number, id FROM sessions").all())
    numbers.set(Number(number), String(id));
  return areSessions && areStates;
}

function excludable({ id, name, cwd, project, parent_id }: SqlRow): Excludable {
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

/** Carries over rows, exchanges and chunks. */
function carryContents(carrying: Carrying): boolean {
  const { from, to, numbers } = carrying;
  const seen = new Set<string>();
  const take = (table: CarriedTable, row: SqlRow) => {
    const key = `${table} ${row.id}`;
    // a damaged table is read from both of its ends
    if (seen.has(key)) return;
    seen.add(key);
    if (numbers.has(Number(row.session))) TAKES[table](row, carrying);
    else if (table === "chunks") keepVector(row, to);
  };
  return (Object.keys(TAKES) as CarriedTable[])
    .map((table) => eachRow(from, { table, columns: "*" }, (row) => take(table, row)))
    .every(Boolean);
}

/** In the order in which they are carried over: a chunk needs its rows and its exchange. */
const TAKES = { rows: takeRow, exchanges: carryExchange, chunks: takeChunk };
type CarriedTable = keyof typeof TAKES;

function takeRow(stored: SqlRow, { to, rules, cleaned, dropped }: Carrying): void {
  const row = toStored(stored);
  const clean = cleanRow(row, rules.clean);
  if (rowTexts(clean).some(rules.hasText)) return void dropped.push(row);
  if (row.who !== "tool" && clean.who !== "tool" && clean.text !== row.text)
    cleaned.set(storedKey(row), row.text);
  addRows({ db: to }, [clean], { session: row.session, timestamp: row.at });
}

function cleanRow(row: Row, clean: (text: string) => string): Row {
  if (row.who !== "tool") return { ...row, text: clean(row.text) };
  const [target, input, result] = [clean(row.target), clean(row.input), clean(row.result)];
  return { ...row, target, input, result, paths: row.paths.map(clean) };
}

function storedKey({ session, line, nth }: StoredPlace): string {
  return `${session} ${line} ${nth}`;
}

function carryExchange(row: SqlRow, { to, rules, renamed }: Carrying): void {
  const subject = rules.clean(String(row.subject));
  if (subject !== row.subject) renamed.add(Number(row.id));
  insertRow(to, "exchanges", { ...row, subject });
}

/** Keeps the vector of a chunk that will be made again. */
function keepVector(
  { content_hash = null, embedder = null, embedding = null }: SqlRow,
  to: SqlDatabase,
): void {
  if (embedder !== null) insertRow(to, "vector_cache", { content_hash, embedder, embedding });
}

function takeChunk(row: SqlRow, { to, rules, cleaned, dropped, renamed }: Carrying): void {
  const [id, session] = [Number(row.id), Number(row.session)];
  const [first, last] = [
    { session, line: Number(row.first_line), nth: Number(row.first_nth) },
    { session, line: Number(row.last_line), nth: Number(row.last_nth) },
  ];
  if (dropped.some((out) => out.session === session && !isBefore(out, first) && !isBefore(last, out))) return;
  const whole = row.part_from === null ? undefined : cleaned.get(storedKey(first));
  const tools = rules.clean(String(row.tools));
  const kept = { ...row, tools, ...(whole && carryPart(row, whole, rules.clean)) };
  insertRow(to, "chunks", kept);
  const [text] = readChunkTexts({ db: to }, [id]);
  const content = joinContent(text?.rows ?? []);
  if (!text || content === "" || rules.hasText(content) || rules.hasText(tools)) {
    // a pattern may reach over several messages
    to.prepare("DELETE FROM chunks WHERE id = ?").run(id);
    dropped.push(...(text?.rows ?? []).map((said) => ({ session, ...said })));
    const remove = to.prepare("DELETE FROM rows WHERE session = ? AND line = ? AND nth = ?");
    for (const { line, nth } of text?.rows ?? []) remove.run(session, line, nth);
    return;
  }
  const key = contentHash({ header: text.header, content });
  to.prepare("UPDATE chunks SET content_hash = ? WHERE id = ?").run(key, id);
  const isCleaned = text.rows.some((said) => cleaned.has(storedKey({ session, ...said })));
  if (isCleaned || renamed.has(Number(row.exchange)))
    to.prepare("UPDATE chunks SET embedder = NULL, embedding = NULL WHERE id = ?").run(id);
  putTopics({ db: to }, id, cachedTopics(to, key) ?? readMeaning(content).topics);
}

/** Returns the characters of a message that a piece is once the message is clean: a text cut in two stays in it. */
function carryPart({ part_from, part_to }: SqlRow, whole: string, clean: (text: string) => string): SqlRow {
  const points = [...whole];
  const after = (end: SqlValue | undefined) => [...clean(points.slice(0, Number(end)).join(""))].length;
  return { part_from: after(part_from), part_to: after(part_to) };
}

function insertRow(to: SqlDatabase, table: string, row: SqlRow): void {
  const columns = listColumns(table, to).filter((column) => column in row);
  to.prepare(
    `INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  ).run(...columns.map((column) => row[column] ?? null));
}

function cleanList(json: string, clean: (text: string) => string): string {
  const list: unknown = JSON.parse(json);
  return JSON.stringify(list, (_, value: unknown) => (typeof value === "string" ? clean(value) : value));
}

/** Carries over which lines were taken back, and which rows forks must not bring in again. */
function carryLines({ from, to, ids, numbers }: Carrying): boolean {
  const isOfCarried = ({ session, session_id }: SqlRow) =>
    session_id === undefined ? numbers.has(Number(session)) : ids.has(String(session_id));
  return ["rewound", "row_keys", "copies"]
    .map((table) => copyTable(table, from, to, (row) => (isOfCarried(row) ? row : undefined)))
    .every(Boolean);
}
