/** Sets a damaged database aside, without ever deleting it, and copies its readable rows into a new one. */

import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { namesIn, remove } from "../base/files.ts";
import { tryLock } from "../base/locks.ts";
import type { Paths } from "../config/config.ts";
import { migrate } from "./migrations.ts";
import { openDatabase, type Row, type SqlDatabase } from "./sqlite.ts";
import { isMarkedDamaged, markOf } from "./storage-errors.ts";

interface RepairOptions {
  migrations: readonly string[];
  /** Tables whose rows are rebuilt rather than copied; undefined when nothing is to be copied. */
  derived: readonly string[] | undefined;
  /** Runs on the new database before it replaces the old one. */
  finish?: (db: SqlDatabase) => void;
}

const SET_ASIDE = /\.db\.damaged-\d{8}T\d{6}Z$/;
const PARTS = ["-wal", "-shm", ""] as const;

/**
 * Sets a database aside if it is marked as damaged.
 *
 * @throws {SessionMemoryError} `BUSY` while another process is doing so.
 */
export function repairDamaged(path: string, options: RepairOptions): void {
  if (!isMarkedDamaged(path)) return;
  const release = tryLock(`${path}.repair.lock`);
  if (!release) {
    throw new SessionMemoryError("BUSY", `Cannot open "${path}": another process is repairing it`, {
      recoverable: true,
      hint: "run the same command again",
    });
  }
  try {
    if (isMarkedDamaged(path)) setAside(path, options);
  } finally {
    release();
  }
}

/** Returns the damaged files that were set aside in the state folder. */
export function setAsideIn({ home, indexes }: Pick<Paths, "home" | "indexes">): string[] {
  return [home, indexes].flatMap((folder) =>
    namesIn(folder)
      .filter((name) => SET_ASIDE.test(name))
      .map((name) => join(folder, name)),
  );
}

function setAside(path: string, options: RepairOptions): void {
  const aside = `${path}.damaged-${new Date().toISOString().replace(/[-:]|\.\d+/g, "")}`;
  for (const part of PARTS) if (existsSync(path + part)) renameSync(path + part, aside + part);
  const fresh = `${path}.new`;
  for (const part of PARTS) remove(fresh + part);
  const db = openDatabase(fresh);
  try {
    migrate(db, options.migrations);
    if (options.derived) carryOver(aside, db, options.derived);
    options.finish?.(db);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
  }
  for (const part of PARTS) if (existsSync(fresh + part)) renameSync(fresh + part, path + part);
  remove(markOf(path));
}

function carryOver(aside: string, to: SqlDatabase, derived: readonly string[]): void {
  let from: SqlDatabase;
  try {
    from = openDatabase(aside, { create: false });
  } catch {
    return; // not even the header is readable
  }
  try {
    // Either side of a reference may be lost.
    to.exec("PRAGMA foreign_keys = OFF");
    to.transaction(() => {
      for (const table of plainTables(to)) if (!derived.includes(table)) copyTable(table, from, to);
    });
  } finally {
    from.close();
    remove(markOf(aside));
  }
}

/** Returns the tables to copy: virtual tables and their shadow tables are rebuilt instead. */
function plainTables(db: SqlDatabase): string[] {
  const all = db
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  const virtual = all.filter(({ sql }) => /^CREATE VIRTUAL/i.test(String(sql))).map(({ name }) => name);
  return all
    .map(({ name }) => String(name))
    .filter((name) => !virtual.some((each) => name === each || name.startsWith(`${each}_`)));
}

/** Copies a table from its start up to the damage, then from its end back to the damage. */
function copyTable(table: string, from: SqlDatabase, to: SqlDatabase): void {
  try {
    const had = columnsOf(table, from);
    const columns = columnsOf(table, to).filter((column) => had.includes(column));
    if (columns.length === 0) return;
    const insert = to.prepare(
      `INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    );
    const keep = (row: Row) => {
      try {
        insert.run(...columns.map((column) => row[column] ?? null));
      } catch {
        // the row's bytes are garbage
      }
    };
    const key = keyOf(table, from);
    for (const order of ["ASC", "DESC"]) {
      eachReadable(from, `SELECT ${columns.join(", ")} FROM ${table} ORDER BY ${key} ${order}`, keep);
    }
  } catch {
    // the table definition cannot be read
  }
}

function eachReadable(db: SqlDatabase, sql: string, use: (row: Row) => void): void {
  try {
    for (const row of db.prepare(sql).iterate()) use(row);
  } catch {
    // the damage starts here
  }
}

function columnsOf(table: string, db: SqlDatabase): string[] {
  return db
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name }) => String(name));
}

/** Returns the table's own row order, which needs no index: an index may be damaged too. */
function keyOf(table: string, db: SqlDatabase): string {
  const row = db.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").get(table);
  if (!/WITHOUT ROWID/i.test(String(row?.sql))) return "rowid";
  const keys = db
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .filter(({ pk }) => Number(pk) > 0)
    .sort((a, b) => Number(a.pk) - Number(b.pk));
  return keys.map(({ name }) => String(name)).join(", ");
}
