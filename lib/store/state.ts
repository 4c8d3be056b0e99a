/**
 * `state.db`: names, due times, spend, backoffs, and the files we wrote outside the state folder; and what is forgotten of
 * these. Most of it cannot be rebuilt from transcripts. It has few rows, so deleted ones are overwritten immediately
 * (secure_delete).
 */

import { realpathSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { hasContent, isFile, readBytes, remove, resolveRealPath } from "../base/files.ts";
import { sha256 } from "../base/text.ts";
import type { Paths, PathsWithRules } from "../config/config.ts";
import { copyTable, openVersioned } from "./carry-over.ts";
import type { Store } from "./store.ts";

type StatePaths = Pick<Paths, "state">;

/** `PRAGMA user_version` of `state.db`. */
const STATE_VERSION = 3;

/** State that is kept nowhere else: files of ours elsewhere, spend, and what the hub has or is to be told. */
const CARRIED = ["written_files", "spend", "share_facts", "share_published", "share_withdrawals"] as const;
/** Carried too, from versions that had them: standing rules, which only every transcript together would give again. */
const CARRIED_SINCE = ["standing_marks", "standing_ends"] as const;

/**
 * Opens `state.db`, created or carried over as needed.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened.
 */
export function openState({ state }: StatePaths): Store {
  const db = openVersioned(state, {
    schema: STATE_SCHEMA,
    version: STATE_VERSION,
    carry: (from, to) => {
      for (const table of CARRIED_SINCE) copyTable(table, from, to);
      return CARRIED.map((table) => copyTable(table, from, to)).every(Boolean);
    },
  });
  db.exec("PRAGMA secure_delete = ON");
  return db;
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

/** Runs `work` on `state.db` if there is one. */
export function withExistingState<T>(paths: StatePaths, work: (state: Store) => T): T | undefined {
  return hasContent(paths.state) ? withState(paths, work) : undefined;
}

/** Removes deleted data from the database file and its WAL. */
export function eraseFreedState(paths: StatePaths): void {
  withExistingState(paths, (db) => {
    db.exec("VACUUM");
    db.get("PRAGMA wal_checkpoint(TRUNCATE)");
  });
}

/** The tables of `state.db`, at their present version. */
const STATE_SCHEMA = `
-- files that we wrote outside the state folder, as they were then
CREATE TABLE written_files (
  path TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  session_id TEXT NOT NULL,
  written_at TEXT NOT NULL,
  -- the state folder that wrote it: in a copy of that folder the file is not ours
  home TEXT NOT NULL
) STRICT;
CREATE INDEX written_files_session ON written_files(session_id);

-- each session: its transcript, what it is called, and the state in which it was read; lib/sessions/record.ts
CREATE TABLE sessions (
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  file TEXT NOT NULL,
  -- the host's
  title TEXT,
  -- the files that the title comes from, as they were when it was read
  title_state TEXT NOT NULL,
  -- name, description, summary, tags and more, as in the meta file, which is the export of it: JSON
  meta TEXT,
  -- the meta file, as it was when it was read or written
  meta_state TEXT NOT NULL,
  -- the transcript as it was read to name and describe it: JSON
  indexed_to TEXT,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;

-- paid calls: at their estimate until they end, then at their price; the day is that of UTC
CREATE TABLE spend (
  id TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  day TEXT NOT NULL,
  feature TEXT NOT NULL,
  model TEXT NOT NULL,
  input_tokens REAL NOT NULL,
  output_tokens REAL NOT NULL,
  usd REAL NOT NULL CHECK (usd >= 0),
  -- whose cap a call counts against, where that is not the general one: an observer may have its own
  purse TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX spend_day ON spend(day);

-- failed attempts of observers in a row, and when (in milliseconds) the next one may be made
CREATE TABLE observer_backoffs (
  session_id TEXT PRIMARY KEY,
  failures INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT;

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
-- the errors that a session was told the ends of, by the keys of their lines
CREATE TABLE seen_before (
  viewer TEXT NOT NULL,
  key INTEGER NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (viewer, key)
) STRICT, WITHOUT ROWID;

-- what users laid down beyond a task, as their sessions have it: derived; lib/observe/standing-marks.ts
CREATE TABLE standing_marks (
  agent TEXT NOT NULL,
  session_id TEXT NOT NULL,
  id TEXT NOT NULL,
  line INTEGER NOT NULL,
  at TEXT NOT NULL,
  -- where it was said, as it may be shown: lib/index/own-project.ts tells whose project that is by now
  project TEXT NOT NULL,
  cwd TEXT NOT NULL,
  file TEXT NOT NULL,
  words TEXT NOT NULL,
  -- words, or the model
  marked_by TEXT NOT NULL,
  -- rule; repeat or end: of the rules of those that it names
  kind TEXT NOT NULL,
  -- ids of earlier ones, with a blank between
  names TEXT NOT NULL,
  PRIMARY KEY (agent, session_id, id)
) STRICT, WITHOUT ROWID;
-- the ones that a person ended, by where they were said: nothing else knows
CREATE TABLE standing_ends (
  session_id TEXT NOT NULL,
  line INTEGER NOT NULL,
  words TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (session_id, line, words)
) STRICT, WITHOUT ROWID;
`;

/** Sessions by id, of some no more than these lines and what was made of the whole; or anything that contains a matching text. */
export type Forgetting =
  | { ids: ReadonlySet<string>; lines?: ReadonlyMap<string, ReadonlySet<number>> }
  | ForgettingText;

interface ForgettingText {
  hasText: (text: string) => boolean;
  /** True if the words of a file's name match: our own are in lower case. */
  hasName: (words: string) => boolean;
}

/** The places in which something is forgotten. */
export interface ForgetScope {
  paths: PathsWithRules;
  /** Only count; remove nothing. */
  dryRun: boolean;
  /** Further places of notes: the current directory, and those of the sessions. */
  directories: readonly string[];
  /** Directories of a forgotten project, whose log lines are removed too. */
  places?: readonly string[] | undefined;
}

/** The report of what stores hold, in its order. */
export interface Found {
  chunks: number;
  vectors: number;
  ledgers: number;
  observations: number;
  /** Messages that laid something down beyond their task. */
  rules: number;
  /** Copies of sessions in the archive. */
  copies: number;
  /** Files with marks of and about the session, and the errors it was informed about. */
  cursors: number;
  logLines: number;
  /** Chunks of sessions that others share. */
  sharedChunks: number;
  metaFiles: number;
  notes: string[];
  /** Pages, and overviews that link them. */
  reports: string[];
  /** Matching files outside the state folder that stay because they do not have the bytes we wrote. */
  keptFiles: string[];
  /** Damaged databases that were set aside: they may contain it, and are deleted. */
  setAside: string[];
  /** Indexes that another process kept from being overwritten. */
  unerased: number;
}

/** The scope of a store that needs no more. */
export type ForgetIn = Pick<ForgetScope, "paths" | "dryRun">;

/** Returns whether a record about this session, or one of its lines, containing these texts, is to be forgotten. */
export function isForgotten(
  forgetting: Forgetting,
  sessionId: string,
  texts: readonly string[],
  line?: number,
): boolean {
  if ("hasText" in forgetting) return texts.some(forgetting.hasText);
  const lines = line === undefined ? undefined : forgetting.lines?.get(sessionId);
  return forgetting.ids.has(sessionId) && lines?.has(line ?? 0) !== false;
}

/** Returns whether a file is in the state folder, where every file is ours. */
export function isInState(file: string, { home }: Paths): boolean {
  return file.startsWith(`${home}${sep}`);
}

interface WrittenFile {
  path: string;
  sessionId: string;
}

/** Records a file that was just written. */
export function recordWritten(
  paths: StatePaths,
  { path, content, sessionId }: WrittenFile & { content: string | Uint8Array },
): void {
  withState(paths, (db) => {
    db.run(
      "INSERT OR REPLACE INTO written_files (path, sha256, session_id, written_at, home) VALUES (?, ?, ?, ?, ?)",
      realFile(path),
      hashContent(content),
      sessionId,
      new Date().toISOString(),
      stateFolder(paths),
    );
  });
}

/** Returns every recorded file. */
export function writtenFiles(paths: StatePaths): WrittenFile[] {
  const rows = withExistingState(paths, (db) =>
    db.all("SELECT path, session_id FROM written_files ORDER BY path"),
  );
  return (rows ?? []).map(({ path, session_id }) => ({ path: String(path), sessionId: String(session_id) }));
}

/** Reports are the largest files that we write elsewhere; a larger file is not one of them. */
const WRITTEN_MAX_BYTES = 256 * 1024 * 1024;

/** Returns whether a file still has the bytes that we wrote. */
export function isAsWritten(paths: StatePaths, file: string): boolean {
  return withExistingState(paths, (state) => isRecorded(state, file, paths)) ?? false;
}

/** Deletes those of the given files that still have the bytes we wrote. */
export function removeWritten(paths: StatePaths, files: readonly string[]): void {
  withExistingState(paths, (state) => {
    for (const file of files) if (isRecorded(state, file, paths)) remove(file);
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
    dropRecords(paths, ours);
  }
  return { ours, others: files.filter((file) => !ours.includes(file)) };
}

/** Drops the records of files that are gone: their names have words of what was forgotten. */
function dropRecords(paths: StatePaths, files: readonly string[]): void {
  withExistingState(paths, (db) => {
    for (const file of files) db.run("DELETE FROM written_files WHERE path = ?", realFile(file));
  });
}

/** Drops the records of files about forgotten sessions, or with a matching text in their path. */
export function forgetWritten(forgetting: Forgetting, { paths, dryRun }: ForgetIn): Partial<Found> {
  if (dryRun) return {};
  const files = writtenFiles(paths).filter(({ sessionId, path }) =>
    isForgotten(byName(forgetting), sessionId, [path]),
  );
  dropRecords(
    paths,
    files.map(({ path }) => path),
  );
  return {};
}

/** Returns what to forget as it is found in paths too: the name of a file joins its words by hyphens. */
export function byName(forgetting: Forgetting): Forgetting {
  if ("ids" in forgetting) return forgetting;
  const { hasText, hasName } = forgetting;
  const isNamed = (text: string) => !text.includes("\n") && hasName(basename(text).replaceAll("-", " "));
  return { hasName, hasText: (text) => hasText(text) || isNamed(text) };
}

function isRecorded(db: Store, file: string, paths: StatePaths): boolean {
  const content = readBytes(file, WRITTEN_MAX_BYTES);
  if (content === undefined) return false;
  const row = db.get("SELECT sha256, home FROM written_files WHERE path = ?", realFile(file));
  return row?.sha256 === hashContent(content) && isWrittenHere(String(row.home), paths);
}

/** A copied state folder knows the original's files, which are not its own while the original is there; a moved one's are. */
function isWrittenHere(home: string, paths: StatePaths): boolean {
  return home === stateFolder(paths) || !isFile(join(home, basename(paths.state)));
}

function stateFolder({ state }: StatePaths): string {
  const folder = dirname(state);
  return resolveRealPath(folder) ?? folder;
}

/** Resolves symlinks in the folder part: the same folder may be reached by several paths. */
function realFile(file: string): string {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file; // its folder is gone
  }
}

function hashContent(content: string | Uint8Array): string {
  return sha256().update(content).digest("hex");
}
