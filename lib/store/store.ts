/**
 * Opens an index at the current schema version, and reads and writes the facts it keeps about itself. Beside the main
 * one there is an index for each list of given paths.
 */

import { existsSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { namesIn, remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { openVersioned, PARTS, type Versioned } from "./carry-over.ts";
import { INDEX_SCHEMA } from "./schema.ts";
import { openDatabase, type SqlDatabase } from "./sqlite.ts";

/** An open index. Queries are in the modules that own their subject, such as index-state.ts and chunk-rows.ts. */
export interface Store {
  readonly db: SqlDatabase;
  close(): void;
}

/**
 * Opens an index. One that is damaged or of another version is only replaced where the options say what to carry over.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened, or is missing and `create` is false.
 */
export function openStore(path: string, options: Omit<Versioned, "schema"> = {}): Store {
  const db = openVersioned(path, { ...options, schema: INDEX_SCHEMA });
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
export function readFact(store: Pick<Store, "db">, name: string): string | undefined {
  const row = store.db.prepare("SELECT value FROM facts WHERE name = $name").get({ name });
  return row ? String(row.value) : undefined;
}

/** Sets a fact, or removes it when the value is undefined. */
export function writeFact(store: Pick<Store, "db">, name: string, value: string | undefined): void {
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

/** Returns the path of every index that may exist, the main one first. */
export function allIndexes({ home, indexes }: Pick<Paths, "home" | "indexes">): string[] {
  return [join(home, "memory.db"), ...givenIndexes({ indexes })];
}

/** Returns the indexes of given transcripts. */
function givenIndexes({ indexes }: Pick<Paths, "indexes">): string[] {
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
