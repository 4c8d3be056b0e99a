/** The index file: opening it at the current schema version, and the facts it keeps about itself. */

import { existsSync } from "node:fs";
import { SessionMemoryError } from "../base/errors.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openDatabase, type SqlDatabase, storageError } from "./sqlite.ts";

/** An open index. Statements live with what they are about: index-state.ts, chunk-rows.ts, chunk-vectors.ts, candidates.ts. */
export interface Store {
  readonly db: SqlDatabase;
  close(): void;
}

/**
 * Opens the index, created and migrated as needed.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened, is newer than this program, or is missing and
 * `create` is false.
 */
export function openStore(path: string, options: { create?: boolean } = {}): Store {
  const db = openDatabase(path, options);
  try {
    migrate(db, MIGRATIONS);
  } catch (error) {
    db.close();
    throw storageError("migrate", path, error);
  }
  return { db, close: () => db.close() };
}

/** Brings a database to the last of `migrations`; all pending ones in one transaction. */
export function migrate(db: SqlDatabase, migrations: readonly string[]): void {
  if (schemaVersion(db, migrations.length) === migrations.length) return;
  db.transaction(() => {
    // read again under the lock: another process may have just done it
    const version = schemaVersion(db, migrations.length);
    for (const sql of migrations.slice(version)) db.exec(sql);
    db.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}

function schemaVersion(db: SqlDatabase, known: number): number {
  const version = Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0);
  if (version > known) {
    throw new SessionMemoryError(
      "STORAGE_ERROR",
      `Cannot open "${db.path}": schema version ${version}, this program knows ${known}`,
      { hint: "update session-memory" },
    );
  }
  return version;
}

/** Copies a database that others may be writing, as of one moment; none is made where there is none. */
export function copyDatabase(from: string, to: string): void {
  if (!existsSync(from)) return;
  const original = openDatabase(from, { create: false });
  try {
    original.exec(`VACUUM INTO '${to.replaceAll("'", "''")}'`);
  } finally {
    original.close();
  }
}

/** A fact the index keeps about itself. */
export function readFact(store: Store, name: string): string | undefined {
  const row = store.db.prepare("SELECT value FROM facts WHERE name = $name").get({ name });
  return row ? String(row.value) : undefined;
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
