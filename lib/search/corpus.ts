/** Reads what search needs to know about the index as a whole: its size, its words, its sessions, the time it covers. */

import { statUnpacked } from "../hosts/packed.ts";
import { type IndexedSession, SESSION_COLUMNS, toIndexedSession } from "../index/index-state.ts";
import { IS_OWN, type Store } from "../store/store.ts";

/** The size of the index, as far as bm25 needs it. */
export interface Corpus {
  chunks: number;
  /** Words of a chunk by column: content, header, tools, extra. */
  averageWords: readonly number[];
}

/** Returns how many chunks the index holds and how long they are, from the full text's own record. */
export function readCorpus({ db }: Store): Corpus {
  const row = db.prepare("SELECT block FROM chunks_fts_data WHERE id = 1").get();
  const [chunks = 0, ...words] = row?.block instanceof Uint8Array ? readVarints(row.block) : [];
  return { chunks, averageWords: words.map((total) => (chunks > 0 ? total / chunks : 0)) };
}

/** Returns the number of chunks in which each stem occurs. */
export function documentFrequencies({ db }: Store, stems: Iterable<string>): Map<string, number> {
  const find = db.prepare("SELECT doc FROM chunks_vocab WHERE term = ?");
  return new Map(Array.from(stems, (stem) => [stem, Number(find.get(stem)?.doc ?? 0)]));
}

/** Returns whether a tool call holds one of some words. */
export function isInDeeds({ db }: Store, words: readonly string[]): boolean {
  const called = "SELECT 1 FROM deeds_fts WHERE deeds_fts MATCH ? LIMIT 1";
  return db.prepare(called).get(matchAny(words)) !== undefined;
}

const SESSIONS_WITH = `SELECT c.session FROM chunks_fts f JOIN chunks c ON c.id = f.rowid WHERE chunks_fts MATCH ?
  UNION SELECT r.session FROM deeds_fts f JOIN rows r ON r.id = f.rowid WHERE deeds_fts MATCH ?`;

/** Returns whether a session holds one of some words, and one of others. */
export function areTogether({ db }: Store, words: readonly string[], others: readonly string[]): boolean {
  const [one, other] = [matchAny(words), matchAny(others)];
  const both = `SELECT * FROM (${SESSIONS_WITH}) INTERSECT SELECT * FROM (${SESSIONS_WITH}) LIMIT 1`;
  return db.prepare(both).get(one, one, other, other) !== undefined;
}

function matchAny(words: readonly string[]): string {
  return words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
}

/** Returns whether some words, parted by blanks, stand one after the other in what was said or done. */
export function isPhraseIn(store: Store, words: string): boolean {
  const said = "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT 1";
  return store.db.prepare(said).get(`"${words}"`) !== undefined || isInDeeds(store, [words]);
}

/** Returns whether a session or its project is called so, or something with that in it. */
export function isNamed({ db }: Store, name: string): boolean {
  const called = `SELECT 1 FROM sessions
    WHERE instr(lower(coalesce(project, cwd, '') || ' ' || coalesce(name, '')), ?) LIMIT 1`;
  return db.prepare(called).get(name) !== undefined;
}

const PREFIX_MIN = 8;

type TextColumn = "content" | "header" | "tools" | "extra";

/** Returns the occurrences of a stem in some chunks of the store, one row for each. */
export function readOccurrences(
  store: Store,
  stem: string,
  ids: string,
): { id: number; column: TextColumn }[] {
  store.db.exec(
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.occurrences USING fts5vocab(main, chunks_fts, instance)",
  );
  return store.db
    .prepare(
      "SELECT doc AS id, col AS column FROM temp.occurrences WHERE term = $stem AND +doc IN (SELECT value FROM json_each($ids))",
    )
    .all({ stem, ids }) as { id: number; column: TextColumn }[];
}

/** Reads some sessions of the index, by id. */
export function readIndexedSessions(store: Store, ids: Iterable<string>): Map<string, IndexedSession> {
  const rows = store.db
    .prepare(`SELECT ${SESSION_COLUMNS} FROM sessions WHERE id IN (SELECT value FROM json_each($ids))`)
    .all({ ids: JSON.stringify([...ids]) });
  return new Map(rows.map(toIndexedSession).map((session) => [session.id, session]));
}

/** Returns the projects of a store and the directories of its sessions. */
export function projectPaths(store: Store): string[] {
  return store.db
    .prepare(
      "SELECT project AS path FROM sessions WHERE project IS NOT NULL UNION SELECT cwd FROM sessions WHERE cwd IS NOT NULL",
    )
    .all()
    .map(({ path }) => String(path));
}

/** Returns how much the index holds of own sessions. */
export function readIndexSize(store: Store): { sessions: number; chunks: number; vectors: number } {
  const count = (sql: string) => Number(store.db.prepare(sql).get()?.n ?? 0);
  return {
    sessions: count("SELECT count(*) AS n FROM own_sessions"),
    chunks: count(`SELECT coalesce(sum(chunk_count), 0) AS n FROM index_state WHERE ${IS_OWN}`),
    vectors: count("SELECT count(*) AS n FROM chunks WHERE embedder IS NOT NULL"),
  };
}

/** Returns the time of the oldest and of the newest chunk. */
export function readCoveredTime({ db }: Store): { from: string; to: string } {
  const span = db.prepare("SELECT min(timestamp) AS first, max(timestamp) AS last FROM chunks").get();
  return { from: String(span?.first ?? ""), to: String(span?.last ?? "") };
}

/** Returns the shortest start of an id that is unique in the store, at least eight characters after the first ones. */
export function uniquePrefix(store: Store, id: string, first = 0): string {
  // a range of ids, so that their index answers
  const find = store.db.prepare("SELECT 1 FROM sessions WHERE id >= $start AND id < $end LIMIT 2");
  for (let length = first + PREFIX_MIN; length < id.length; length++) {
    const start = id.slice(0, length);
    if (find.all({ start, end: `${start}\u{10ffff}` }).length <= 1) return start;
  }
  return id;
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

/** Returns whether a transcript is gone, also where it was deleted since the index last looked. */
export function isSourceGone({ sourceGone, file }: Pick<IndexedSession, "sourceGone" | "file">): boolean {
  return sourceGone || !statUnpacked(file);
}

/** Reads SQLite's variable-length integers: seven bits a byte, the highest set on all but the last. */
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
