/**
 * `state.db`: what no transcript can give back (unlike the index), above all which files we wrote elsewhere. Holds few
 * rows, so deleted ones are overwritten as they go.
 */

import { existsSync } from "node:fs";
import { readIfExists, remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { migrate } from "./migrate.ts";
import { repairDamaged } from "./repair.ts";
import { openDatabase, storageError } from "./sqlite.ts";
import { STATE_MIGRATIONS } from "./state-migrations.ts";
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

/** Runs `work` on `state.db`. */
export function withState<T>(paths: StatePaths, work: (state: Store) => T): T {
  const state = openState(paths);
  try {
    return work(state);
  } finally {
    state.close();
  }
}

/** Runs `work` on `state.db` where there is one. */
export function withExistingState<T>(paths: StatePaths, work: (state: Store) => T): T | undefined {
  return existsSync(paths.state) ? withState(paths, work) : undefined;
}

/**
 * Takes the content of a file in which an earlier version kept the same, and deletes it. Run again after a crash in
 * between, so `read` leaves rows alone that are there.
 */
export function takeOver({ db }: Store, file: string, read: (text: string) => void): void {
  if (!existsSync(file)) return;
  db.transaction(() => {
    // asked again under the lock: another process may have just done it
    const text = readIfExists(file);
    if (text !== undefined) read(text);
  });
  remove(file);
}

/** Removes deleted bytes from the file and its log. */
export function eraseFreedState(paths: StatePaths): void {
  withExistingState(paths, ({ db }) => {
    db.exec("VACUUM");
    db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  });
}
