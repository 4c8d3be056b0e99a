/** What the search must know of the index as a whole: its size, its words, its sessions, the time it covers. */

import type { Agent } from "./session.ts";
import type { Row } from "./sqlite.ts";
import type { Store } from "./store.ts";

/** A session as the search needs it. */
export interface SessionRow {
  number: number;
  id: string;
  agent: Agent;
  file: string;
  name: string | undefined;
  cwd: string | undefined;
  project: string | undefined;
  parentId: string | undefined;
  sourceGone: boolean;
  chunks: number;
}

/** The size of the index, as far as bm25 needs it. */
export interface Corpus {
  chunks: number;
  /** Words of a chunk by column: content, header, tools, extra. */
  averageWords: readonly number[];
}

/** How many chunks there are and how long they are, from the full-text index's own record. */
export function readCorpus(store: Store): Corpus {
  const row = store.db.prepare("SELECT block FROM chunks_fts_data WHERE id = 1").get();
  const [chunks = 0, ...totals] = row?.block instanceof Uint8Array ? readVarints(row.block) : [];
  return { chunks, averageWords: totals.map((total) => (chunks > 0 ? total / chunks : 0)) };
}

/** In how many chunks each stem stands. */
export function documentFrequencies(store: Store, stems: Iterable<string>): Map<string, number> {
  const find = store.db.prepare("SELECT doc FROM chunks_vocab WHERE term = ?");
  return new Map(Array.from(new Set(stems), (stem) => [stem, Number(find.get(stem)?.doc ?? 0)]));
}

/** Stems of the index that begin with `prefix`, with how many chunks have them. */
export function stemsWithPrefix(store: Store, prefix: string): { stem: string; chunks: number }[] {
  return store.db
    .prepare("SELECT term, doc FROM chunks_vocab WHERE term >= ? AND term < ?")
    .all(prefix, `${prefix}\u{10ffff}`)
    .map((row) => ({ stem: String(row.term), chunks: Number(row.doc) }));
}

/** Every session the index knows, by id. */
export function readSessions(store: Store): Map<string, SessionRow> {
  const rows = store.db
    .prepare(
      `SELECT number, id, agent, file, name, cwd, project, parent_id, source_gone, chunk_count
       FROM sessions LEFT JOIN index_state ON session_id = id`,
    )
    .all();
  return new Map(rows.map(toSessionRow).map((session) => [session.id, session]));
}

/** How much the index holds. */
export function readIndexSize(store: Store): { sessions: number; chunks: number; vectors: number } {
  const count = (sql: string) => Number(store.db.prepare(sql).get()?.n ?? 0);
  return {
    sessions: count("SELECT count(*) AS n FROM sessions"),
    chunks: count("SELECT coalesce(sum(chunk_count), 0) AS n FROM index_state"),
    vectors: count("SELECT count(*) AS n FROM session_chunks WHERE embedder IS NOT NULL"),
  };
}

/** The time of the oldest and of the newest chunk. */
export function readCoveredTime(store: Store): { from: string; to: string } {
  const row = store.db
    .prepare("SELECT min(timestamp) AS first, max(timestamp) AS last FROM session_chunks")
    .get();
  return { from: String(row?.first ?? ""), to: String(row?.last ?? "") };
}

/** Notes how long a search took. */
export function logSearch(store: Store, { tookMs, results }: { tookMs: number; results: number }): void {
  try {
    // an index run holds the lock for up to half a second: the answer does not wait for its own note
    store.db.exec("PRAGMA busy_timeout = 0");
    store.db
      .prepare("INSERT INTO searches (at, took_ms, results) VALUES ($at, $tookMs, $results)")
      .run({ at: new Date().toISOString(), tookMs, results });
  } catch {
    // one number less for the average
  } finally {
    store.db.exec("PRAGMA busy_timeout = 10000");
  }
}

function toSessionRow(row: Row): SessionRow {
  const text = (value: Row[string] | undefined) =>
    value === null || value === undefined ? undefined : String(value);
  return {
    number: Number(row.number),
    id: String(row.id),
    agent: String(row.agent) as Agent,
    file: String(row.file),
    name: text(row.name),
    cwd: text(row.cwd),
    project: text(row.project),
    parentId: text(row.parent_id),
    sourceGone: row.source_gone === 1,
    chunks: Number(row.chunk_count ?? 0),
  };
}

/** SQLite's variable-length integers: seven bits a byte, the highest set on all but the last. */
function readVarints(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let value = 0;
  for (const byte of bytes) {
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      numbers.push(value);
      value = 0;
    }
  }
  return numbers;
}
