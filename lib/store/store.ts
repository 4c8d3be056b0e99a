/**
 * Opens an index at the current schema version, and reads and writes the facts it keeps about itself. Beside the main
 * one there is an index for each list of given paths.
 */

import { existsSync, statSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import { namesIn, remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { MIGRATIONS, migrate } from "./migrations.ts";
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
  return basename(path) === "shared.db"
    ? undefined
    : ["facts", "read_marks", "session_topics", "topic_marks"];
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

/** Runs `work` on the index, then closes it; undefined where there is none. */
export function withExistingStore<T>(path: string, work: (store: Store) => T): T | undefined {
  if (!existsSync(path)) return undefined;
  const store = openStore(path, { create: false });
  try {
    return work(store);
  } finally {
    store.close();
  }
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

/** A counter of what was forgotten: running work may hold that very data in memory. */
const FORGOTTEN_FACT = "forgotten";

/** Returns a counter that changes each time something is forgotten. */
export function forgottenSoFar(store: Store): string | undefined {
  return readFact(store, FORGOTTEN_FACT);
}

/** Increments the counter; call it in the transaction that removes the data. */
export function noteForgotten(store: Store): void {
  writeFact(store, FORGOTTEN_FACT, String(Number(forgottenSoFar(store) ?? 0) + 1));
}

/** Returns whether a chunk still has the same content. */
export function isStillThere(store: Store, { id, hash }: { id: number; hash: Uint8Array }): boolean {
  const row = store.db
    .prepare("SELECT 1 FROM session_chunks WHERE id = ? AND content_hash = ?")
    .get(id, hash);
  return row !== undefined;
}

/** An index of given transcripts is removed after 30 days without use. */
const UNUSED_MS = 30 * 24 * 3_600_000;
const PARTS = ["", "-wal", "-shm"] as const;

/** Returns the path of every index that may exist, the main one first. */
export function allIndexes({ home, indexes }: Pick<Paths, "home" | "indexes">): string[] {
  return [join(home, "memory.db"), ...givenIndexes({ indexes })];
}

/** Returns the indexes of given transcripts. */
export function givenIndexes({ indexes }: Pick<Paths, "indexes">): string[] {
  return namesIn(indexes)
    .filter((name) => name.endsWith(".db"))
    .map((name) => join(indexes, name));
}

/** Records the use of the current index and removes indexes of given transcripts that are no longer used. */
export function tendIndexes({ database, indexes }: Pick<Paths, "database" | "indexes">, now: Date): void {
  for (const index of givenIndexes({ indexes })) {
    if (index === database) utimesSync(index, now, now);
    else if (now.getTime() - lastUse(index) > UNUSED_MS) for (const part of PARTS) remove(index + part);
  }
}

/** Returns the size of an index in bytes, including its WAL files. */
export function indexBytes(index: string): number {
  const sizes = PARTS.map((part) => statSync(index + part, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

function lastUse(index: string): number {
  const times = PARTS.map((part) => statSync(index + part, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}
