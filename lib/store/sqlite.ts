/**
 * A SQLite file behind one small interface on Bun (bun:sqlite) and on Node and Deno (node:sqlite), with sqlite-vec
 * where it can be loaded. Handles drivers, pragmas and file modes; contains no table or query of ours.
 */

import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { ensureDirectory, pause, refuseDevice, statPath } from "../base/files.ts";
import { isRecord } from "../base/json.ts";
import { damaged, isBusy, isDamage, isDiskError, isSqliteError, storageError } from "./storage-errors.ts";

export type SqlValue = string | number | bigint | null | Uint8Array;
export type NamedValues = Record<string, SqlValue>;
/** Either one object for `$name` parameters (written without the `$`) or values for `?` in order. */
type SqlParameters = [NamedValues] | SqlValue[];
export type SqlRow = Record<string, SqlValue>;

/** Returns the text of a column, "" included. */
export function textOf(value: SqlRow[string] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

interface Statement {
  all(...parameters: SqlParameters): SqlRow[];
  get(...parameters: SqlParameters): SqlRow | undefined;
  run(...parameters: SqlParameters): { changes: number; lastId: number };
  iterate(...parameters: SqlParameters): IterableIterator<SqlRow>;
}

/** The ways to ask a database, by the text of a statement. */
type Statements = {
  [What in keyof Statement]: (
    sql: string,
    ...parameters: Parameters<Statement[What]>
  ) => ReturnType<Statement[What]>;
};

export interface SqlDatabase extends Statements {
  readonly path: string;
  /** The reason that nothing can be written: the folder is read-only or full. Undefined if writing works. */
  readonly readOnly: string | undefined;
  /** The way of finding nearest vectors: by sqlite-vec's `vec0` tables, or by our own scan and the reason for it. */
  readonly vectors: { mode: "vec0" } | { mode: "scan"; why: string };
  /** Runs one or several statements without parameters. */
  exec(sql: string): void;
  /** Prepares a statement; the same text is prepared once. */
  prepare(sql: string): Statement;
  /** Runs `work` in a transaction (BEGIN IMMEDIATE), rolled back if it throws. A nested call joins the outer one. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** Time a statement waits for another process's write. */
const BUSY_TIMEOUT_MS = 10_000;
/** Switching a new file to WAL ignores the busy timeout, so concurrent first runs retry. */
const WAL_ATTEMPTS = 100;
/** Two seconds in all, many times what creating a file takes. */
const WAL_PAUSE_MS = 20;

/** A vector of 1,536 floats is 6 KB: with smaller pages a third of the file is slack. */
const PAGE_BYTES = 8192;
/** 16 MB: writing a page into the file once instead of after each transaction is a tenth of a cold run. */
const CHECKPOINT_PAGES = 2000;

/** SQLite libraries on macOS that can load extensions; the system library that Bun uses cannot. */
const MAC_LIBRARIES = [
  "/opt/homebrew/opt/sqlite/lib/libsqlite3.dylib",
  "/usr/local/opt/sqlite/lib/libsqlite3.dylib",
  "/opt/local/lib/libsqlite3.dylib",
];

/** The part of both drivers' interfaces that we use. */
interface DriverStatement {
  all(...parameters: unknown[]): unknown[];
  get(...parameters: unknown[]): unknown;
  run(...parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  iterate(...parameters: unknown[]): IterableIterator<unknown>;
}

interface Driver {
  exec(sql: string): void;
  prepare(sql: string): DriverStatement;
  loadExtension(path: string): void;
  close(): void;
}

const require = createRequire(import.meta.url);

/**
 * Opens a database file, created when missing (mode 0600) unless `create` is false. One that cannot be written is
 * opened for reading.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened or is not a database.
 */
export function openDatabase(path: string, options: { create?: boolean } = {}): SqlDatabase {
  const { create = true } = options;
  refuseDevice(path);
  let driver: Driver | undefined;
  try {
    prepareFile(path, create);
    driver = openDriver(path);
    switchToWal(driver);
    applyPragmas(driver);
    return wrapDriver(driver, path);
  } catch (error) {
    driver?.close();
    const reading = isDamage(error) || isBusy(error) ? undefined : openForReading(path, error);
    if (reading) return reading;
    throw isDamage(error) ? damaged(path, error) : storageError("open", path, error);
  }
}

/**
 * Opens another program's database for reading, also beside that program, and leaves no file of ours there. The tables that
 * are read must be tables: a view or a virtual table runs as long as it likes, and cannot be interrupted.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when one is not a table.
 */
export function openForeign(path: string, tables: readonly string[]): SqlDatabase {
  refuseDevice(path);
  const uri = readingUri(path, { isImmutable: !existsSync(`${path}-wal`) });
  const convert: Convert = (error) => (isSqliteError(error) ? storageError("read", path, error) : error);
  // neither driver waits for a lock unless told to: whoever asks has other sessions to show
  const driver = guarded(convert, () => openDriver(path, { uri }));
  const db = wrapDriver(driver, path, { readOnly: "it is another program's", convert });
  try {
    const find = db.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND lower(name) = ?",
    );
    const missing = tables.find((table) => find.get(table) === undefined);
    if (missing === undefined) return db;
    throw new SessionMemoryError("STORAGE_ERROR", `Cannot read "${path}": it has no table "${missing}"`);
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Returns a URI that opens a file for reading: an immutable one without locks, and without files beside it. A database
 * attached in memory can be written, as it could not be in a connection that is read-only as a whole.
 */
function readingUri(path: string, { isImmutable }: { isImmutable: boolean }): string {
  const file = encodeURI(path).replace(/[?#]/g, encodeURIComponent);
  return `file:${file}?mode=ro${isImmutable ? "&immutable=1" : ""}`;
}

/** Opens a database of no file, gone when it is closed. */
export function openScratch(): SqlDatabase {
  return wrapDriver(openDriver(":memory:"), "a database in memory");
}

/** Opens a file whose folder takes no write; undefined where that fails too. */
function openForReading(path: string, reason: unknown): SqlDatabase | undefined {
  // A database in WAL mode needs a file beside it, unless it cannot change.
  for (const isImmutable of [false, true]) {
    let driver: Driver | undefined;
    try {
      driver = openDriver(path, { uri: readingUri(path, { isImmutable }) });
      applyPragmas(driver);
      driver.prepare("SELECT 1 FROM sqlite_schema").get();
      return wrapDriver(driver, path, { readOnly: describeError(reason) });
    } catch {
      driver?.close();
    }
  }
  return undefined;
}

function openDriver(path: string, reading?: { uri: string }): Driver {
  return process.versions.bun ? openOnBun(path, reading) : openOnNode(path, reading);
}

function prepareFile(path: string, create: boolean): void {
  if (!existsSync(path)) {
    // a state folder that is a file is said to be one
    if (!create && (statPath(dirname(path))?.isDirectory() ?? true)) {
      throw new SessionMemoryError("STORAGE_ERROR", `Cannot open "${path}": there is no index yet`, {
        recoverable: true,
        hint: "run session-memory embed",
      });
    }
    ensureDirectory(dirname(path));
    // SQLite gives its -wal and -shm files the mode of the main file, so the main file must be private first.
    closeSync(openSync(path, "a", 0o600));
  }
  try {
    chmodSync(path, 0o600);
  } catch {
    // another user's file: opening it will report the problem
  }
}

let librarySearched = false;

function openOnBun(path: string, reading?: { uri: string }): Driver {
  const { Database, constants } = require("bun:sqlite") as typeof import("bun:sqlite");
  if (process.platform === "darwin" && !librarySearched) {
    librarySearched = true; // only before the first open, and only once
    const library = MAC_LIBRARIES.find((file) => existsSync(file));
    if (library) {
      try {
        Database.setCustomSQLite(library);
      } catch {
        // this process has already opened a database: full text still works
      }
    }
  }
  const database = reading
    ? new Database(reading.uri, constants.SQLITE_OPEN_READWRITE | constants.SQLITE_OPEN_URI)
    : new Database(path, { strict: true, readwrite: true, create: true });
  return {
    exec: (sql) => void database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql) as unknown as DriverStatement;
      return reading ? withPrefixedNames(statement) : statement;
    },
    loadExtension: (file) => void database.loadExtension(file),
    close: () => database.close(),
  };
}

/** Opened by flags, Bun takes no `strict`, without which parameters are named with their `$`. */
function withPrefixedNames(statement: DriverStatement): DriverStatement {
  return withParameters(statement, (parameter) =>
    isNamed(parameter)
      ? Object.fromEntries(Object.entries(parameter).map(([name, value]) => [`$${name}`, value]))
      : parameter,
  );
}

/** node:sqlite binds every number as REAL, which cannot be a key of a virtual table and divides with a remainder. */
function asInteger(value: unknown): unknown {
  return Number.isSafeInteger(value) ? BigInt(value as number) : value;
}

function isNamed(parameter: unknown): parameter is Record<string, unknown> {
  return isRecord(parameter) && !ArrayBuffer.isView(parameter);
}

function mapValues(values: Record<string, unknown>, change: (value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

/** Returns a statement each of whose parameters is changed before it is bound. */
function withParameters(
  statement: DriverStatement,
  change: (parameter: unknown) => unknown,
): DriverStatement {
  return {
    all: (...parameters) => statement.all(...parameters.map(change)),
    get: (...parameters) => statement.get(...parameters.map(change)),
    run: (...parameters) => statement.run(...parameters.map(change)),
    iterate: (...parameters) => statement.iterate(...parameters.map(change)),
  };
}

function openOnNode(path: string, reading?: { uri: string }): Driver {
  const { DatabaseSync } = withoutExperimentalWarning(
    () => require("node:sqlite") as typeof import("node:sqlite"),
  );
  const database = new DatabaseSync(reading?.uri ?? path, { allowExtension: true });
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) =>
      withParameters(database.prepare(sql) as unknown as DriverStatement, (parameter) =>
        isNamed(parameter) ? mapValues(parameter, asInteger) : asInteger(parameter),
      ),
    loadExtension: (file) => database.loadExtension(file),
    close: () => database.close(),
  };
}

/** Suppresses Node's warning that node:sqlite is experimental. */
function withoutExperimentalWarning<T>(load: () => T): T {
  const emit = process.emitWarning;
  process.emitWarning = () => {};
  try {
    return load();
  } finally {
    process.emitWarning = emit;
  }
}

function applyPragmas(driver: Driver): void {
  driver.exec(
    `PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
     PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
  );
}

function switchToWal(driver: Driver): void {
  // The page size only applies to a new file, before WAL.
  driver.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA page_size = ${PAGE_BYTES}`);
  for (let attempt = 1; ; attempt++) {
    try {
      driver.prepare("PRAGMA journal_mode = WAL").get();
      return;
    } catch (error) {
      if (attempt >= WAL_ATTEMPTS || !isBusy(error)) throw error;
      pause(WAL_PAUSE_MS);
    }
  }
}

/** SQLite prepares a join anew whenever a value compared with a column is bound, but not for an expression of it. */
const BOUND = /= (?=[?$])/g;

function wrapDriver(
  driver: Driver,
  path: string,
  { readOnly, convert = ownErrors(path) }: { readOnly?: string; convert?: Convert } = {},
): SqlDatabase {
  const statements = new Map<string, Statement>();
  const prepare = (sql: string) => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = wrapStatement(
        guarded(convert, () => driver.prepare(sql.replace(BOUND, "= +"))),
        convert,
      );
      statements.set(sql, statement);
    }
    return statement;
  };
  let vectors: SqlDatabase["vectors"] | undefined;
  return {
    path,
    readOnly,
    // loading sqlite-vec costs as much as an empty start, so load it on first use
    get vectors() {
      vectors ??= loadVectors(driver);
      return vectors;
    },
    exec: (sql) => guarded(convert, () => driver.exec(sql)),
    prepare,
    all: (sql, ...parameters) => prepare(sql).all(...parameters),
    get: (sql, ...parameters) => prepare(sql).get(...parameters),
    run: (sql, ...parameters) => prepare(sql).run(...parameters),
    iterate: (sql, ...parameters) => prepare(sql).iterate(...parameters),
    transaction: transactions(driver, path),
    close: () => driver.close(),
  };
}

/** Returns what runs work as one transaction; work within it is part of it. */
function transactions(driver: Driver, path: string): SqlDatabase["transaction"] {
  let depth = 0;
  return (work) => {
    if (depth > 0) return work();
    try {
      driver.exec("BEGIN IMMEDIATE");
      depth++;
      const result = work();
      driver.exec("COMMIT");
      return result;
    } catch (error) {
      if (depth > 0) rollback(driver);
      if (isDamage(error)) throw damaged(path, error);
      throw isSqliteError(error) ? storageError("write", path, error) : error;
    } finally {
      depth = 0;
    }
  };
}

function rollback(driver: Driver): void {
  try {
    driver.exec("ROLLBACK");
  } catch {
    // SQLite has already rolled back (disk full, I/O error)
  }
}

function guarded<T>(convert: Convert, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw convert(error);
  }
}

type Convert = (error: unknown) => unknown;

/** Converts damage, and a disk that refuses, into errors with their remedy; leaves mistakes in SQL as they are. */
function ownErrors(path: string): Convert {
  return (error) => {
    if (isDamage(error)) return damaged(path, error);
    return isDiskError(error) ? storageError("write", path, error) : error;
  };
}

function wrapStatement(statement: DriverStatement, convert: Convert): Statement {
  return {
    all: (...parameters) => guarded(convert, () => statement.all(...parameters) as SqlRow[]),
    get: (...parameters) =>
      guarded(convert, () => (statement.get(...parameters) ?? undefined) as SqlRow | undefined),
    run(...parameters) {
      const { changes, lastInsertRowid } = guarded(convert, () => statement.run(...parameters));
      return { changes: Number(changes), lastId: Number(lastInsertRowid) };
    },
    *iterate(...parameters) {
      try {
        yield* statement.iterate(...parameters) as IterableIterator<SqlRow>;
      } catch (error) {
        throw convert(error);
      }
    },
  };
}

function loadVectors(driver: Driver): SqlDatabase["vectors"] {
  try {
    const { getLoadablePath } = require("sqlite-vec") as typeof import("sqlite-vec");
    driver.loadExtension(getLoadablePath());
    return { mode: "vec0" };
  } catch (error) {
    return { mode: "scan", why: describeError(error).split("\n")[0] ?? "unknown" };
  }
}
