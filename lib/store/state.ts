/**
 * `state.db`: names, due times, spend, backoffs, and the files we wrote outside the state folder. Most of it cannot be
 * rebuilt from transcripts. It has few rows, so deleted ones are overwritten immediately (secure_delete).
 */

import { existsSync } from "node:fs";
import type { Paths } from "../config/config.ts";
import { copyTables, openUnsaved, openVersioned } from "./carry-over.ts";
import type { Store } from "./store.ts";

export type StatePaths = Pick<Paths, "state">;

/** What nothing else knows: files of ours elsewhere, spend, and what the hub has or is to hear of. */
const CARRIED = ["written_files", "spend", "share_facts", "share_published", "share_withdrawals"] as const;

/**
 * Opens `state.db`, created or carried over as needed.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened.
 */
export function openState({ state }: StatePaths): Store {
  const db = openVersioned(state, {
    schema: STATE_SCHEMA,
    carry: (from, to) => copyTables(CARRIED, from, to),
  });
  db.exec("PRAGMA secure_delete = ON");
  return { db, close: () => db.close() };
}

/** Opens a state of which nothing is kept. */
export function openPassingState(): Store {
  const db = openUnsaved(STATE_SCHEMA);
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

/** Removes deleted data from the database file and its WAL. */
export function eraseFreedState(paths: StatePaths): void {
  withExistingState(paths, ({ db }) => {
    db.exec("VACUUM");
    db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  });
}

/** The tables of `state.db`, at the only version there is. */
const STATE_SCHEMA = `
-- files that we wrote outside the state folder, as they were then
CREATE TABLE written_files (
  path TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  session_id TEXT NOT NULL,
  written_at TEXT NOT NULL,
  -- the state folder that wrote it: in a copy of that folder the file is not ours
  home TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX written_files_session ON written_files(session_id);

-- each session: its transcript, what it is called, and how far it was read; lib/sessions/record.ts
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
  -- how far the transcript was read to name and describe it, and to observe it: JSON
  indexed_to TEXT,
  observed_to TEXT,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;

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
  is_open INTEGER NOT NULL,
  -- whose cap a call counts against, where that is not the general one: pi's observer has its own
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
`;
