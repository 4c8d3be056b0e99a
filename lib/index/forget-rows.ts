/**
 * Removes sessions, or chunks by their text, from the index for good (rows, full text, vectors, caches, claims), then
 * overwrites their bytes in its files. Also removes sessions that are excluded by now, and those whose transcript is gone.
 */

import { dirname } from "node:path";
import { statPath } from "../base/files.ts";
import type { Row } from "../hosts/session.ts";
import type { Exclusion } from "../sessions/gate.ts";
import { idsOf } from "../sessions/pulled.ts";
import { erasePaid, releasePaid } from "../store/paid.ts";
import type { SqlRow, SqlValue } from "../store/sqlite.ts";
import type { Forgetting } from "../store/state.ts";
import { IS_OWN, noteForgotten, readFact, SAID_IN_CHUNK, type Store, writeFact } from "../store/store.ts";
import { type ForgottenTest, makeKeys } from "../transcripts/forgotten.ts";
import { isFilteredBy, noteFilter } from "./freshness.ts";
import { heldSessions } from "./held-sessions.ts";
import { forgetProgress, hostId, readAllProgress } from "./index-state.ts";
import { removeChunk, removeContents, removeRow, removeSession, sessionsWithCopies } from "./session-rows.ts";
import type { Stored } from "./stored-rows.ts";

/** The rows that would be removed. */
interface RowsFound {
  /** Chunks of own sessions. */
  chunks: number;
  vectors: number;
  /** Chunks of others' sessions. */
  sharedChunks: number;
}

const NOTHING: RowsFound = { chunks: 0, vectors: 0, sharedChunks: 0 };

/** Present while the files may still hold bytes of forgotten rows. */
const ERASE_FACT = "erase_due";

/** Counts what `forgetRows` would remove. */
export function countRows(forgetting: Forgetting, store: Store): RowsFound {
  if ("ids" in forgetting)
    return countChunks(
      store,
      "session",
      JSON.stringify(heldAmong(store, forgetting).map(({ number }) => number)),
    );
  const { chunks } = findText(store, forgetting.hasText);
  return countChunks(store, "id", JSON.stringify(chunks));
}

/** Removes rows and their bytes. Returns false if another process is reading the files, which then still hold the bytes. */
export function forgetRows(forgetting: Forgetting, store: Store): boolean {
  if ("ids" in forgetting) forgetSessions(store, heldAmong(store, forgetting));
  else forgetChunks(store, forgetting.hasText);
  return eraseFreed(store);
}

function heldAmong(
  store: Store,
  { ids, lines }: Exclude<Forgetting, { hasText: unknown }>,
): ReturnType<typeof heldSessions> {
  return heldSessions(store).filter(
    ({ session }) => !lines?.has(session.id) && idsOf(session).some((id) => ids.has(id)),
  );
}

/** Counts chunks by their own ids or their sessions' numbers. */
function countChunks(db: Store, column: "id" | "session", values: string): RowsFound {
  const counts = db.get(
    `SELECT count(*) FILTER (WHERE own) AS chunks, count(embedder) AS vectors, count(*) FILTER (WHERE NOT own) AS sharedChunks
     FROM (SELECT embedder, ${IS_OWN} AS own FROM chunks WHERE ${column} IN (SELECT value FROM json_each(?)))`,
    values,
  );
  return { ...NOTHING, ...counts };
}

/**
 * Removes what was forgotten since; where the exclude patterns have changed, marks all sessions as unread, so that the next run
 * applies the new ones.
 */
export function applyExclude(store: Store, rules: Exclusion): void {
  if (isFilteredBy(store, rules.paths)) return;
  store.transaction(() => {
    if (noteFilter(store, rules.paths)) forgetProgress(store, [...readAllProgress(store).keys()]);
    removeForgotten(store, rules);
  });
}

/** Removes what the index holds of sessions with rows that may be forgotten ones, by time and speaker: they are read again. */
function removeForgotten(store: Store, rules: ForgottenTest): void {
  const { isForgotten } = rules;
  if (!isForgotten) return;
  for (const { number, storedId, session } of heldSessions(store)) {
    const isOut = ({ who, at }: SqlRow) =>
      isForgotten(
        makeKeys({ kind: who as Row["who"], at: String(at), text: "" }, session.agent, rules)?.time ?? "",
      );
    if (!store.all("SELECT who, at FROM rows WHERE session = ? ORDER BY line, nth", number).some(isOut))
      continue;
    removeContents(store, number);
    forgetProgress(store, [storedId]);
  }
}

/** Removes sessions, and the vectors and topics that no other session's words were paid for. */
export function forgetSessions(
  store: Store,
  sessions: readonly { number: number; storedId: string }[],
): void {
  forget(store, () => {
    for (const { number, storedId } of sessions) removeSession(store, { number, id: storedId });
    return sessions.map(({ storedId }) => hostId(storedId));
  });
}

type FoundRow = Pick<Stored, "id" | "who">;

/**
 * Finds the rows and chunks that contain a text. It may reach over several messages, so a chunk that contains it goes with all
 * its messages, and a long message with all its pieces.
 */
function findText(store: Store, hasText: (text: string) => boolean): { chunks: number[]; rows: FoundRow[] } {
  const [chunks, rows] = [new Set<number>(), new Map<number, FoundRow>()];
  const addChunk = ({ id }: SqlRow) => chunks.add(Number(id));
  const addRow = ({ id, who }: SqlRow) =>
    rows.set(Number(id), { id: Number(id), who: who as FoundRow["who"] });
  const isIn = (...texts: (SqlValue | undefined)[]) =>
    texts.some((text) => typeof text === "string" && hasText(text));
  const addMessages = () => {
    for (const row of inChunks(store, "r.id, r.who", "c.id", chunks)) addRow(row);
  };
  for (const chunk of store.iterate("SELECT id, context_content, content, tools FROM session_chunks"))
    if (isIn(chunk.context_content, chunk.content, chunk.tools)) addChunk(chunk);
  for (const row of store.iterate("SELECT id, who, text, target, paths, input, result FROM rows"))
    if (isIn(row.text, row.target, row.paths, row.input, row.result)) addRow(row);
  addMessages();
  for (const chunk of inChunks(store, "c.id", "r.id", rows.keys())) addChunk(chunk);
  addMessages();
  return { chunks: [...chunks], rows: [...rows.values()] };
}

/** Reads the messages `r` in chunks `c`, or the chunks of messages, for some ids of either. */
function inChunks(db: Store, columns: string, of: "c.id" | "r.id", ids: Iterable<number>): SqlRow[] {
  return db.all(
    `SELECT DISTINCT ${columns} FROM chunks c JOIN rows r ON ${SAID_IN_CHUNK}
       WHERE ${of} IN (SELECT value FROM json_each(?))`,
    JSON.stringify([...ids]),
  );
}

/** Removes the rows and chunks that contain a text, and the names, directories and projects of sessions that do. */
function forgetChunks(store: Store, hasText: (text: string) => boolean): void {
  forget(store, () => {
    const { chunks, rows } = findText(store, hasText);
    const holding = store.all(
      "SELECT DISTINCT s.id FROM chunks c JOIN sessions s ON s.number = c.session WHERE c.id IN (SELECT value FROM json_each(?))",
      JSON.stringify(chunks),
    );
    for (const id of chunks) removeChunk(store, id);
    for (const row of rows) removeRow(store, row);
    store.exec(
      `DELETE FROM exchanges WHERE id NOT IN (SELECT exchange FROM chunks);
       UPDATE index_state SET chunk_count = (SELECT count(*) FROM chunks c WHERE c.session = index_state.session)`,
    );
    for (const row of store.all("SELECT number, name, cwd, project FROM sessions")) {
      const facts = [row.name, row.cwd, row.project].map((fact = null) => fact);
      const kept = facts.map((fact) => (fact === null || hasText(String(fact)) ? null : fact));
      if (kept.some((fact, i) => fact !== facts[i]))
        store.run(
          "UPDATE sessions SET name = ?, cwd = ?, project = ? WHERE number = ?",
          ...kept,
          Number(row.number),
        );
    }
    return holding.map(({ id }) => hostId(String(id)));
  });
}

/** Removes rows by `work`, which returns the host's ids of their sessions, and what was paid for their words. */
function forget(store: Store, work: () => readonly string[]): void {
  store.exec("PRAGMA secure_delete = ON");
  store.transaction(() => {
    const touched = work();
    releasePaid(store, touched);
    noteForgotten(store);
    markErase(store);
  });
}

/** Notes that the files still hold bytes of removed rows. */
export function markErase(store: Store): void {
  writeFact(store, ERASE_FACT, "1");
}

/** Returns whether the files may still hold bytes of forgotten rows. */
export function isEraseDue(store: Store): boolean {
  return readFact(store, ERASE_FACT) !== undefined;
}

/**
 * Rewrites the database, so that neither its free pages nor its write-ahead log hold what was deleted. Returns false if
 * another process is reading it, since the log then still does.
 */
export function eraseFreed(store: Store): boolean {
  mergeText(store);
  store.exec("PRAGMA temp_store = FILE"); // a large index would not fit into memory a second time
  store.exec("VACUUM");
  if (!emptyLog(store)) return false;
  if (!erasePaid(store)) return false;
  writeFact(store, ERASE_FACT, undefined);
  return emptyLog(store);
}

function emptyLog(db: Store): boolean {
  return db.get("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0;
}

/** Removes indexed sessions that are excluded now, whether or not their transcripts changed. */
export function removeExcluded(store: Store, { paths, admits }: Exclusion): void {
  const { sessions, projects } = paths.rules.exclude;
  if (sessions.length + projects.length === 0) return;
  for (const { session, number, storedId } of heldSessions(store)) {
    if (!admits(session)) removeSession(store, { number, id: storedId });
  }
}

/**
 * Removes the sessions whose transcript is gone, without a copy: all, or those whose folder is still there, since one that is not may
 * come back. Returns how many.
 */
export function pruneGone(store: Store, { all }: { all: boolean }): number {
  const marked = store.all("SELECT number, id, file FROM sessions WHERE source_gone = 1");
  const gone = marked.filter(({ file }) => all || statPath(dirname(String(file))) !== undefined);
  if (gone.length === 0) return 0;
  for (const { number, id } of gone) {
    store.transaction(() => {
      // the next run reads forks with copies of its rows again, and indexes those rows there
      forgetProgress(store, sessionsWithCopies(store, String(id)));
      removeSession(store, { number: Number(number), id: String(id) });
    });
  }
  mergeText(store);
  return gone.length;
}

/** Merges the full text: deleted rows of a contentless table are only marked until its segments are merged. */
function mergeText(db: Store): void {
  for (const table of ["chunks_fts", "deeds_fts"])
    db.exec(`INSERT INTO ${table}(${table}) VALUES ('optimize')`);
}
