/** A session's deeds in the index: their rows and their full text. */

import { splitJoined } from "../language/words.ts";
import type { Row } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { errorKeys } from "../transcripts/error-lines.ts";
import type { Deed, DeedKind, DeedOutcome } from "../transcripts/session.ts";

/** A deed as the index holds it. */
export interface StoredDeed extends Omit<Deed, "at"> {
  id: number;
  /** Number of the session. */
  session: number;
  /** Line of the first row of its exchange. */
  exchangeLine: number;
  /** The deed's time, or the nearest that is known. */
  timestamp: string;
}

/** Lines of one session: those after one, up to another. */
export interface LineRange {
  after: number;
  to: number;
}

/** The place of an exchange's deeds in the index. */
interface DeedPlace {
  session: number;
  exchangeLine: number;
  /** For deeds without a time. */
  timestamp: string;
}

export type AddDeeds = (deeds: readonly Deed[], place: DeedPlace) => void;

/** Prepares the statements that put deeds in, once for a run. */
export function deedAdder({ db }: Pick<Store, "db">): AddDeeds {
  const insert = db.prepare(
    `INSERT INTO deeds (session, line, result_line, exchange_line, timestamp, kind, tool, target, paths, input,
       outcome, result)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertText = textInserter(db);
  const insertErrors = errorInserter(db);
  return (deeds, { session, exchangeLine, timestamp }) => {
    for (const deed of deeds) {
      const { line, resultLine = null, at = timestamp, kind, tool, target, paths, outcome } = deed;
      const named = paths.join("\n");
      const place = [session, line, resultLine, exchangeLine, at];
      const texts = [target, named === target ? null : named, deed.input, outcome, deed.result];
      const { lastId } = insert.run(...place, kind, tool, ...texts);
      insertText({ ...deed, id: lastId });
      insertErrors({ ...deed, id: lastId });
    }
  };
}

/** Inserts the keys of the error lines of a command's output: one that went well may print some too. */
function errorInserter(db: Store["db"]): (deed: DeedText) => void {
  const insert = db.prepare("INSERT INTO error_lines (key, deed) VALUES (?, ?)");
  return ({ id, kind, outcome, result }) => {
    if (kind !== "command" || outcome === "rejected") return;
    for (const key of errorKeys(result, { hasFailed: outcome === "failed" }).keys()) insert.run(key, id);
  };
}

type DeedText = Pick<StoredDeed, "id" | "kind" | "target" | "paths" | "input" | "outcome" | "result">;

function textInserter(db: Store["db"]): (deed: DeedText) => void {
  const insert = db.prepare(
    "INSERT INTO deeds_fts (rowid, target, input, result, extra) VALUES (?, ?, ?, ?, ?)",
  );
  return ({ id, kind, target, paths, input, outcome, result }) => {
    const named = paths.join("\n");
    const names = named === target ? target : `${target}\n${named}`;
    const words = isFileText(kind, outcome) ? "" : result;
    insert.run(id, names, input, words, splitJoined(names, input));
  };
}

/** Returns whether a result only repeats a file: nobody searches for the deed by that. */
function isFileText(kind: DeedKind, outcome: DeedOutcome): boolean {
  return outcome === "done" && (kind === "read" || kind === "edit" || kind === "write");
}

/** Removes the deeds of a session: all, or those whose calls are on these lines. */
export function removeDeeds(
  store: Store,
  session: number,
  { after, to }: LineRange = { after: -1, to: Number.MAX_SAFE_INTEGER },
): void {
  const rows = store.db
    .prepare("SELECT id FROM deeds WHERE session = ? AND line > ? AND line <= ?")
    .all(session, after, to);
  for (const { id } of rows) removeDeed(store, Number(id));
}

/** Removes the deeds that hold a text. */
export function removeDeedsWith(store: Store, hasText: (text: string) => boolean): void {
  const ids: number[] = [];
  const rows = store.db.prepare("SELECT id, target, paths, input, result FROM deeds");
  for (const { id, ...texts } of rows.iterate()) {
    if (Object.values(texts).some((text) => text !== null && hasText(String(text)))) ids.push(Number(id));
  }
  for (const id of ids) removeDeed(store, id);
}

/** Removes a deed with its full text and its error lines. */
export function removeDeed({ db }: Store, id: number): void {
  db.prepare("DELETE FROM deeds_fts WHERE rowid = ?").run(id);
  db.prepare("DELETE FROM error_lines WHERE deed = ?").run(id);
  db.prepare("DELETE FROM deeds WHERE id = ?").run(id);
}

/** The columns of a deed, for `deedFrom`. */
export const DEED_COLUMNS =
  "d.id, d.session, d.line, d.result_line, d.exchange_line, d.timestamp, d.kind, d.tool, d.target, d.paths, d.input, d.outcome, d.result";

/** Converts a row of `DEED_COLUMNS` to a deed. */
export function deedFrom(row: Row): StoredDeed {
  const target = String(row.target);
  const paths = row.paths === null ? target : String(row.paths);
  return {
    id: Number(row.id),
    session: Number(row.session),
    line: Number(row.line),
    resultLine: row.result_line === null ? undefined : Number(row.result_line),
    exchangeLine: Number(row.exchange_line),
    timestamp: String(row.timestamp),
    kind: row.kind as DeedKind,
    tool: String(row.tool),
    target,
    paths: paths === "" ? [] : paths.split("\n"),
    input: String(row.input),
    outcome: row.outcome as DeedOutcome,
    result: String(row.result),
  };
}

/** Reads the deeds of a session whose calls are on these lines, in order. */
export function readDeeds(store: Store, session: number, { after, to }: LineRange): StoredDeed[] {
  return store.db
    .prepare(
      `SELECT ${DEED_COLUMNS} FROM deeds d WHERE d.session = ? AND d.line > ? AND d.line <= ? ORDER BY d.line, d.id`,
    )
    .all(session, after, to)
    .map(deedFrom);
}
