/** Opens an index at the current schema version, and reads and writes the facts it keeps about itself. */

import { existsSync } from "node:fs";
import { basename } from "node:path";
import { migrate } from "./migrate.ts";
import { MIGRATIONS } from "./migrations.ts";
import { repairDamaged } from "./repair.ts";
import { openDatabase, type SqlDatabase } from "./sqlite.ts";
import { storageError } from "./storage-errors.ts";

/** An open index. Queries are in the modules that own their subject, such as index-state.ts and chunk-rows.ts. */
export interface Store {
  readonly db: SqlDatabase;
  close(): void;
}

/** Set while the full text of rows copied from a damaged file still has to be built. */
export const CARRIED_FACT = "carried_over";

/** A hub's replica is pulled again as a whole. For an index, facts that say it is current must not be copied. */
function derivedIn(path: string): string[] | undefined {
  return basename(path) === "shared.db" ? undefined : ["facts", "read_marks"];
}

function markCarried(db: SqlDatabase): void {
  db.prepare("INSERT INTO facts (name, value) VALUES (?, '1')").run(CARRIED_FACT);
}

/**
 * Opens the index, created and migrated as needed.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened, is newer than this program, or is missing and
 * `create` is false.
 */
export function openStore(path: string, options: { create?: boolean } = {}): Store {
  repairDamaged(path, { migrations: MIGRATIONS, derived: derivedIn(path), finish: markCarried });
  const db = openDatabase(path, options);
  try {
    migrate(db, MIGRATIONS);
  } catch (error) {
    db.close();
    throw storageError("migrate", path, error);
  }
  return { db, close: () => db.close() };
}

/** Copies a consistent snapshot of a database that others may be writing; does nothing if it does not exist. */
export function copyDatabase(from: string, to: string): void {
  if (!existsSync(from)) return;
  const original = openDatabase(from, { create: false });
  try {
    original.exec(`VACUUM INTO '${to.replaceAll("'", "''")}'`);
  } finally {
    original.close();
  }
}

/** Reads a fact that the index keeps about itself. */
export function readFact(store: Store, name: string): string | undefined {
  const row = store.db.prepare("SELECT value FROM facts WHERE name = $name").get({ name });
  return row ? String(row.value) : undefined;
}

/** Returns whether rows were copied from a damaged file, and the index does not yet cover them. */
export function isCarriedOver(store: Store): boolean {
  return readFact(store, CARRIED_FACT) !== undefined;
}

/** Sets a fact, or removes it when the value is undefined. */
export function writeFact(store: Store, name: string, value: string | undefined): void {
  if (value === undefined) store.db.prepare("DELETE FROM facts WHERE name = $name").run({ name });
  else {
    store.db
      .prepare(
        "INSERT INTO facts (name, value) VALUES ($name, $value) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      )
      .run({ name, value });
  }
}
