/**
 * `state.db`: names, due times, spend, backoffs, and the files we wrote outside the state folder. Most of it cannot be
 * rebuilt from transcripts. It has few rows, so deleted ones are overwritten immediately (secure_delete).
 */

import { existsSync } from "node:fs";
import { readIfExists, remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { migrate } from "./migrate.ts";
import { repairDamaged } from "./repair.ts";
import { openDatabase } from "./sqlite.ts";
import { STATE_MIGRATIONS } from "./state-migrations.ts";
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
