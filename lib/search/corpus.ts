/** Reads what search needs to know about the index as a whole: its size, its words, its sessions, the time it covers. */

import { type IndexedSession, SESSION_COLUMNS, toIndexedSession } from "../index/index-state.ts";
import type { SqlDatabase } from "../store/sqlite.ts";
import { IS_OWN, type Store } from "../store/store.ts";
import { statUnpacked } from "../transcripts/files.ts";

/** The sessions that a search looks into, as far as its words are weighed by them. */
export interface Corpus {
  db: SqlDatabase;
  /** True if there are others' sessions, which do not count. */
  isOwn: boolean;
  chunks: number;
}

/** Returns how many chunks the index holds, or own sessions in it. */
export function readCorpus(db: Store, { own = false }: { own?: boolean | undefined }): Corpus {
  const count = (sql: string) => Number(db.get(`SELECT count(*) AS n FROM ${sql}`)?.n);
  const others = own
    ? count("sessions s JOIN chunks c ON c.session = s.number WHERE s.owner IS NOT NULL")
    : 0;
  return { db, isOwn: others > 0, chunks: count("chunks") - others };
}

/** Returns in how many chunks a stem occurs, given a word of it. */
export function documentFrequency(corpus: Corpus, stem: string, word: string): number {
  const { db, isOwn } = corpus;
  if (!isOwn) return Number(db.get("SELECT doc FROM chunks_vocab WHERE term = ?", stem)?.doc ?? 0);
  return Number(db.get(`SELECT count(*) AS n FROM (${said(corpus)})`, matchAny([word]))?.n);
}

/** Returns the statement for the sessions of the chunks that match, one row for each chunk. */
function said({ isOwn }: Corpus): string {
  return `SELECT session FROM chunks_fts f JOIN chunks c ON c.id = f.rowid
    WHERE chunks_fts MATCH ? AND ${isOwn ? IS_OWN : "1"}`;
}

/** Returns the statement for the sessions of the tool calls that match, one row for each call. */
function done({ isOwn }: Corpus): string {
  return `SELECT session FROM deeds_fts f JOIN rows r ON r.id = f.rowid
    WHERE deeds_fts MATCH ? AND ${isOwn ? IS_OWN : "1"}`;
}

/** Returns whether a tool call holds one of some words. */
export function isInDeeds(corpus: Corpus, words: readonly string[]): boolean {
  return corpus.db.get(`${done(corpus)} LIMIT 1`, matchAny(words)) !== undefined;
}

/** Returns whether a session holds one of some words, and one of others: mostly some exchange of it does. */
export function areTogether(corpus: Corpus, words: readonly string[], others: readonly string[]): boolean {
  const [one, other] = [matchAny(words), matchAny(others)];
  if (corpus.db.get(`${said(corpus)} LIMIT 1`, `(${one}) AND (${other})`)) return true;
  const having = `SELECT * FROM (${said(corpus)} UNION ${done(corpus)})`;
  return corpus.db.get(`${having} INTERSECT ${having} LIMIT 1`, one, one, other, other) !== undefined;
}

function matchAny(words: readonly string[]): string {
  return words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
}

/** Returns whether some words, parted by blanks, stand one after the other in what was said or done. */
export function isPhraseIn(corpus: Corpus, words: string): boolean {
  const phrase = corpus.db.get(`${said(corpus)} LIMIT 1`, matchAny([words]));
  return phrase !== undefined || isInDeeds(corpus, [words]);
}

/** Returns whether a session or its project is called so, or something with that in it. */
export function isNamed({ db, isOwn }: Corpus, name: string): boolean {
  const called = `SELECT 1 FROM ${isOwn ? "own_sessions" : "sessions"}
    WHERE instr(lower(coalesce(project, cwd, '') || ' ' || coalesce(name, '')), ?) LIMIT 1`;
  return db.get(called, name) !== undefined;
}

const PREFIX_MIN = 8;

type TextColumn = "content" | "header" | "tools" | "extra";

/** Returns the occurrences of a stem in some chunks of the store, one row for each. */
export function readOccurrences(
  store: Store,
  stem: string,
  ids: string,
): { id: number; column: TextColumn }[] {
  store.exec(
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.occurrences USING fts5vocab(main, chunks_fts, instance)",
  );
  return store.all(
    "SELECT doc AS id, col AS column FROM temp.occurrences WHERE term = $stem AND +doc IN (SELECT value FROM json_each($ids))",
    { stem, ids },
  ) as { id: number; column: TextColumn }[];
}

/** Reads some sessions of the index, by id. */
export function readIndexedSessions(store: Store, ids: Iterable<string>): Map<string, IndexedSession> {
  const rows = store.all(
    `SELECT ${SESSION_COLUMNS} FROM sessions WHERE id IN (SELECT value FROM json_each($ids))`,
    { ids: JSON.stringify([...ids]) },
  );
  return new Map(rows.map(toIndexedSession).map((session) => [session.id, session]));
}

/** Returns the time of the oldest and of the newest chunk. */
export function readCoveredTime(db: Store): { from: string; to: string } {
  const span = db.get("SELECT min(timestamp) AS first, max(timestamp) AS last FROM chunks");
  return { from: String(span?.first ?? ""), to: String(span?.last ?? "") };
}

/** Returns the shortest start of an id that is unique in the store, at least eight characters after the first ones. */
export function uniquePrefix(store: Store, id: string, first = 0): string {
  // a range of ids, so that their index answers
  const sharing = "SELECT 1 FROM sessions WHERE id >= $start AND id < $end LIMIT 2";
  for (let length = first + PREFIX_MIN; length < id.length; length++) {
    const start = id.slice(0, length);
    const rows = store.all(sharing, { start, end: `${start}\u{10ffff}` });
    if (rows.length <= 1) return start;
  }
  return id;
}

/** Returns whether a transcript is gone, also where it was deleted since the index last looked. */
export function isSourceGone({ sourceGone, file }: IndexedSession): boolean {
  return sourceGone || !statUnpacked(file);
}
