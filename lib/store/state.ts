/**
 * `state.db`: names, due times, spend, backoffs, and the files we wrote outside the state folder. Most of it cannot be
 * rebuilt from transcripts. It has few rows, so deleted ones are overwritten immediately (secure_delete).
 */

import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { bytesOf, readIfExists, remove } from "../base/files.ts";
import { sha256 } from "../base/hash.ts";
import type { Paths } from "../config/config.ts";
import { type ForgetIn, type Forgetting, isForgotten, isInState } from "./forgetting.ts";
import { migrate } from "./migrations.ts";
import { repairDamaged } from "./repair.ts";
import { openDatabase } from "./sqlite.ts";
import { storageError } from "./storage-errors.ts";
import type { Store } from "./store.ts";

type StatePaths = Pick<Paths, "state">;

/**
 * Opens `state.db`, created and migrated as needed.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened or is newer than this program.
 */
export function openState({ state }: StatePaths): Store {
  repairDamaged(state, { migrations: STATE_MIGRATIONS, derived: ["titles", "meta_names", "name_sources"] });
  const db = openDatabase(state);
  try {
    db.exec("PRAGMA secure_delete = ON");
    migrate(db, STATE_MIGRATIONS);
  } catch (error) {
    db.close();
    throw storageError("migrate", state, error);
  }
  return { db, close: () => db.close() };
}

/** Opens `state.db`, runs `work` on it and closes it. */
export function withState<T>(paths: StatePaths, work: (state: Store) => T): T {
  const state = openState(paths);
  try {
    return work(state);
  } finally {
    state.close();
  }
}

/** Runs `work` on `state.db` if the file exists. */
export function withExistingState<T>(paths: StatePaths, work: (state: Store) => T): T | undefined {
  return existsSync(paths.state) ? withState(paths, work) : undefined;
}

/**
 * Imports a file in which an earlier version kept this data, then deletes the file. A crash in between repeats the
 * import, so `read` must not overwrite existing rows.
 */
export function importOldFile({ db }: Store, file: string, read: (text: string) => void): void {
  if (!existsSync(file)) return;
  db.transaction(() => {
    // checked again under the lock: another process may have imported it meanwhile
    const text = readIfExists(file);
    if (text !== undefined) read(text);
  });
  remove(file);
}

/** Removes deleted data from the database file and its WAL. */
export function eraseFreedState(paths: StatePaths): void {
  withExistingState(paths, ({ db }) => {
    db.exec("VACUUM");
    db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  });
}

/** A recorded file. */
interface WrittenFile {
  path: string;
  sessionId: string;
}

/** Records a file that was just written. */
export function recordWritten(paths: StatePaths, file: WrittenFile & { content: string | Uint8Array }): void {
  withState(paths, (state) => keepWritten(state, file));
}

/** Records a file in an open state.db. */
export function keepWritten(
  { db }: Store,
  { path, content, sessionId }: WrittenFile & { content: string | Uint8Array },
): void {
  db.prepare("INSERT OR REPLACE INTO written_files VALUES ($path, $hash, $session, $at)").run({
    path: realFile(path),
    hash: hashOf(content),
    session: sessionId,
    at: new Date().toISOString(),
  });
}

/** Returns every recorded file. */
export function writtenFiles(paths: StatePaths): WrittenFile[] {
  const rows = withExistingState(paths, ({ db }) =>
    db.prepare("SELECT path, session_id FROM written_files ORDER BY path").all(),
  );
  return (rows ?? []).map(({ path, session_id }) => ({ path: String(path), sessionId: String(session_id) }));
}

/** Returns whether a file still has the bytes that we wrote. */
export function isAsWritten(paths: StatePaths, file: string): boolean {
  return withExistingState(paths, (state) => isRecorded(state, file)) ?? false;
}

/** Deletes those of the given files that still have the bytes we wrote. */
export function removeWritten(paths: StatePaths, files: readonly string[]): void {
  withExistingState(paths, (state) => {
    for (const file of files) if (isRecorded(state, file)) remove(file);
  });
}

/** Sorts files about something forgotten into ours and others', and removes ours unless this is a dry run. */
export function forgetFiles(
  files: readonly string[],
  { paths, dryRun }: ForgetIn,
): { ours: string[]; others: string[] } {
  const isOurs = (file: string) => isInState(file, paths) || isAsWritten(paths, file);
  const ours = files.filter(isOurs);
  if (!dryRun) {
    for (const file of ours) if (isInState(file, paths)) remove(file);
    removeWritten(paths, ours);
  }
  return { ours, others: files.filter((file) => !ours.includes(file)) };
}

/** Drops the records of files about forgotten sessions, or with a matching text in their path. */
export function forgetWritten(forgetting: Forgetting, { paths, dryRun }: ForgetIn): void {
  if (dryRun) return;
  const files = writtenFiles(paths).filter(({ sessionId, path }) =>
    isForgotten(forgetting, sessionId, [path]),
  );
  withExistingState(paths, ({ db }) => {
    for (const { path } of files) db.prepare("DELETE FROM written_files WHERE path = ?").run(path);
  });
}

function isRecorded({ db }: Store, file: string): boolean {
  const content = bytesOf(file);
  if (content === undefined) return false;
  const row = db.prepare("SELECT sha256 FROM written_files WHERE path = ?").get(realFile(file));
  return row?.sha256 === hashOf(content);
}

/** Resolves symlinks in the folder part: the same folder may be reached by several paths. */
function realFile(file: string): string {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file; // its folder is gone
  }
}

function hashOf(content: string | Uint8Array): string {
  return sha256().update(content).digest("hex");
}

/** The schema history of state.db, in the same form as migrations.ts. Released entries are never edited. */
const STATE_MIGRATIONS: readonly string[] = [
  `
-- files that we wrote outside the state folder, as they were then
CREATE TABLE written_files (
  path TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  session_id TEXT NOT NULL,
  written_at TEXT NOT NULL
) STRICT;
CREATE INDEX written_files_session ON written_files(session_id);

-- names as they were read, each with the state of its file then; folded as names are compared
CREATE TABLE titles (
  file TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  changed REAL NOT NULL,
  state TEXT NOT NULL,
  title TEXT,
  folded TEXT
) STRICT;
CREATE INDEX titles_folded ON titles(folded) WHERE folded IS NOT NULL;
CREATE INDEX titles_changed ON titles(changed);
CREATE TABLE meta_names (
  file TEXT PRIMARY KEY,
  folder TEXT NOT NULL,
  state TEXT NOT NULL,
  id TEXT,
  lower_id TEXT,
  name TEXT,
  folded TEXT
) STRICT;
CREATE INDEX meta_names_folded ON meta_names(folded) WHERE folded IS NOT NULL;
CREATE INDEX meta_names_id ON meta_names(lower_id) WHERE name IS NOT NULL;
-- what the names above depend on: config.json, and the folders of meta files
CREATE TABLE name_sources (
  path TEXT PRIMARY KEY,
  state TEXT NOT NULL
) STRICT;

-- when each session was last looked at for its meta file, and what came of it, as JSON; key: <agent>:<id>
CREATE TABLE meta_looks (
  key TEXT PRIMARY KEY,
  look TEXT NOT NULL
) STRICT;

-- paid calls: at their estimate while open, then at their price; the day is the local one
CREATE TABLE spend (
  id TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  day TEXT NOT NULL,
  feature TEXT NOT NULL,
  model TEXT NOT NULL,
  input_tokens REAL NOT NULL,
  output_tokens REAL NOT NULL,
  usd REAL NOT NULL CHECK (usd >= 0),
  is_unpriced INTEGER NOT NULL,
  is_open INTEGER NOT NULL
) STRICT;
CREATE INDEX spend_day ON spend(day);

-- failed attempts of observers in a row, and when (in milliseconds) the next one may be made
CREATE TABLE observer_backoffs (
  session_id TEXT PRIMARY KEY,
  failures INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT;
`,
  `
-- shared memory: our origin, the hub as it was last seen, times, the last failure
CREATE TABLE share_facts (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
-- what of a session is at the hub; a hint, the hub itself is asked where it may be wrong
CREATE TABLE share_published (
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  -- changes with everything that is sent of it
  signature TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT,
  cwd TEXT,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
-- forgotten sessions, for the hub to hear of
CREATE TABLE share_withdrawals (
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  -- the entry of exclude that keeps it out: where that is taken back, so is this
  entry TEXT NOT NULL,
  undone INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
`,
  `
-- whose cap a call counts against, where that is not the general one: pi's observer has its own
ALTER TABLE spend ADD COLUMN purse TEXT NOT NULL DEFAULT '';
`,
];
