/**
 * Opens databases at their only version. One that is damaged or of an older version is replaced: a new file takes its name,
 * empty where it is a cache, else filled with what could not be made again, read from the old one by plain SELECTs. A damaged
 * file that holds more than a cache stays beside it until something is forgotten. A file of a newer version is left as it is.
 */

import { copyFileSync, existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { namesIn, remove, statPath } from "../base/files.ts";
import { waitForLock } from "../base/locks.ts";
import type { Paths } from "../config/config.ts";
import { openDatabase, type SqlDatabase, type SqlRow } from "./sqlite.ts";
import { damageMark, isMarkedDamaged, storageError } from "./storage-errors.ts";

/** A carry-over may have to read gigabytes; who comes second waits this long. */
const WAIT_MS = 10_000;
const SET_ASIDE = /\.db\.damaged-\d{8}T\d{6}Z$/;
/** A database and what SQLite keeps beside it. */
export const PARTS = ["", "-wal", "-shm"] as const;

export interface Versioned {
  schema: string;
  /** `PRAGMA user_version`. */
  version: number;
  /** @default {true} */
  create?: boolean;
  /**
   * Copies what cannot be made again, and returns whether all of it could be read; "nothing" of a cache. Without it nothing is
   * replaced.
   */
  carry?: "nothing" | ((from: SqlDatabase, to: SqlDatabase) => boolean) | undefined;
  /** Returns whether the contents are of this version too. @default {true} */
  isCurrent?: ((db: SqlDatabase) => boolean) | undefined;
}

/**
 * Opens a database at this version, created or replaced as needed.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened; `BUSY` while another process replaces it.
 */
export function openVersioned(path: string, options: Versioned): SqlDatabase {
  // Beside a file that is being replaced, the old one's log would be taken for that of the new one.
  const isReplacing = existsSync(lockOf(path));
  const db = isReplacing ? undefined : openUndamaged(path, options);
  if (db) return db;
  if (!options.carry) {
    const state = isMarkedDamaged(path) ? "it is damaged" : "it is of another version";
    throw unusable(path, isReplacing ? "another process is carrying it over" : state);
  }
  const release = waitForLock(lockOf(path), WAIT_MS);
  if (!release) {
    throw new SessionMemoryError("BUSY", `Cannot open "${path}": another process is carrying it over`, {
      recoverable: true,
      hint: "run the same command again",
    });
  }
  try {
    const replaced = openUndamaged(path, options);
    if (replaced) return replaced;
    takePlace(path, fillNew(path, options));
  } finally {
    release();
  }
  const fresh = openCurrent(path, options);
  if (fresh) return fresh;
  throw unusable(path, "it is of another version again");
}

function openUndamaged(path: string, options: Versioned): SqlDatabase | undefined {
  if (isMarkedDamaged(path)) return undefined;
  try {
    return openCurrent(path, options);
  } catch (error) {
    if (isMarkedDamaged(path) && options.carry) return undefined;
    throw error;
  }
}

/** Opens a database and creates its tables; undefined where it is of another version. */
function openCurrent(path: string, options: Versioned): SqlDatabase | undefined {
  const { version, create, isCurrent } = options;
  const db = openDatabase(path, create === undefined ? {} : { create });
  try {
    if (readVersion(db) === 0 && isEmpty(db)) createTables(db, options);
    if (isOfVersion(db, version) && (isCurrent?.(db) ?? true)) return db;
    if (readVersion(db) > version) throw newer(path);
  } catch (error) {
    db.close();
    throw storageError("open", path, error);
  }
  db.close();
  return undefined;
}

function createTables(db: SqlDatabase, { schema, version }: Versioned): void {
  db.transaction(() => {
    if (!isEmpty(db)) return; // another process has just created them
    db.exec(schema);
    db.exec(`PRAGMA user_version = ${version}`);
  });
}

/** Returns whether a database has our tables of a version. */
export function isOfVersion(db: SqlDatabase, version: number): boolean {
  return readVersion(db) === version;
}

function readVersion(db: SqlDatabase): number {
  return Number(db.get("PRAGMA user_version")?.user_version ?? 0);
}

function isEmpty(db: SqlDatabase): boolean {
  return db.get("SELECT 1 FROM sqlite_schema") === undefined;
}

/** Fills a new database with what is carried over; returns whether all of the old one could be read. */
function fillNew(path: string, options: Versioned): boolean {
  const fresh = newOf(path);
  for (const part of PARTS) remove(fresh + part);
  const to = openDatabase(fresh);
  try {
    createTables(to, options);
    const { carry } = options;
    if (carry === undefined || carry === "nothing") {
      to.exec("PRAGMA journal_mode = DELETE");
      return true;
    }
    const from = openOld(path);
    try {
      // either side of a reference may be lost
      to.exec("PRAGMA foreign_keys = OFF");
      const isWhole = from !== undefined && to.transaction(() => carry(from, to));
      // all of it in the one file that takes the name
      to.exec("PRAGMA journal_mode = DELETE");
      if (!isWhole || isMarkedDamaged(path)) return false;
      // the old file loses its log before its name
      from.get("PRAGMA wal_checkpoint(TRUNCATE)");
      return true;
    } finally {
      from?.close();
    }
  } finally {
    to.close();
  }
}

function openOld(path: string): SqlDatabase | undefined {
  try {
    return openDatabase(path, { create: false });
  } catch {
    return undefined; // not even the header is readable
  }
}

/** Gives the new database its name, in an order in which a crash loses neither it nor the old one. */
function takePlace(path: string, isWhole: boolean): void {
  if (!isWhole && existsSync(path)) {
    const aside = `${path}.damaged-${new Date().toISOString().replace(/[-:]|\.\d+/g, "")}`;
    if (statPath(`${path}-wal`)?.size) renameSync(`${path}-wal`, `${aside}-wal`);
    copyFileSync(path, aside);
  }
  // Whoever has the old file open keeps its log; the new one must not meet it.
  for (const part of ["-wal", "-shm"]) remove(path + part);
  renameSync(newOf(path), path);
  remove(damageMark(path));
}

const newOf = (path: string) => `${path}.new`;
const lockOf = (path: string) => `${path}.carry.lock`;

function newer(path: string): SessionMemoryError {
  return new SessionMemoryError("STORAGE_ERROR", `Cannot read "${path}": a newer version wrote it`, {
    hint: "update session-memory",
  });
}

function unusable(path: string, why: string): SessionMemoryError {
  return new SessionMemoryError("STORAGE_ERROR", `Cannot read "${path}": ${why}`, {
    recoverable: true,
    hint: "run session-memory embed, which makes it again",
  });
}

/** Returns the damaged files in the state folder that were replaced. */
export function setAsideIn({ home, indexes }: Paths): string[] {
  return [home, indexes].flatMap((folder) =>
    namesIn(folder)
      .filter((name) => SET_ASIDE.test(name))
      .map((name) => join(folder, name)),
  );
}

/**
 * Copies a table, in the columns that both databases have, each row as `change` gives it; undefined leaves a row out.
 * Returns whether all of the table could be read.
 */
export function copyTable(
  table: string,
  from: SqlDatabase,
  to: SqlDatabase,
  change: (row: SqlRow) => SqlRow | undefined = (row) => row,
): boolean {
  const had = listColumns(table, from);
  const columns = listColumns(table, to).filter((column) => had.includes(column));
  if (columns.length === 0) return false;
  return eachRow(from, { table, columns: columns.join(", ") }, (row) => {
    const changed = change(row);
    if (changed)
      to.run(
        `INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
        ...columns.map((column) => changed[column] ?? null),
      );
  });
}

/**
 * Reads a table from its start up to the damage, then from its end back to the damage, so that `use` may get a row
 * twice, and skips a row whose bytes are garbage. Returns whether the table is whole.
 */
function eachRow(
  from: SqlDatabase,
  { table, columns }: { table: string; columns: string },
  use: (row: SqlRow) => void,
): boolean {
  let isWhole = true;
  const take = (row: SqlRow) => {
    try {
      use(row);
    } catch {
      isWhole = false;
    }
  };
  for (const order of ["", "ORDER BY rowid DESC"]) {
    try {
      // an index may be damaged too
      const sql = `SELECT ${columns} FROM ${table} NOT INDEXED ${order}`;
      for (const row of from.iterate(sql)) take(row);
      if (isWhole) return true;
    } catch {
      isWhole = false; // the damage starts here, or a small table has no end to start from
    }
  }
  return false;
}

/** Returns the columns of a table or a view; none if the table is missing. */
function listColumns(table: string, db: SqlDatabase): string[] {
  try {
    return db.all(`PRAGMA table_info(${table})`).map(({ name }) => String(name));
  } catch {
    return []; // its definition cannot be read
  }
}
