import { describe, expect, test } from "bun:test";
import { linkSync, mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyTable, openVersioned } from "../lib/store/carry-over.ts";
import { openDatabase, openScratch, type SqlDatabase } from "../lib/store/sqlite.ts";
import { openStore } from "../lib/store/store.ts";

function folder(): string {
  return mkdtempSync(join(tmpdir(), "session-memory-store-"));
}

describe("openDatabase()", () => {
  test("creates a private file in WAL mode with sqlite-vec loaded", () => {
    const path = join(folder(), "deep", "memory.db");
    const db = openDatabase(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(db.prepare("PRAGMA foreign_keys").get()).toEqual({ foreign_keys: 1 });
    expect(db.vectors).toEqual({ mode: "vec0" });
    db.exec("CREATE TABLE t (x)");
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    db.close();
  });

  test("transaction() rolls everything back when its work throws, also from inside another one", () => {
    const db = openScratch();
    db.exec("CREATE TABLE t (x INTEGER PRIMARY KEY)");
    const insert = (x: number) => db.prepare("INSERT INTO t VALUES (?)").run(x);
    expect(() =>
      db.transaction(() => {
        insert(1);
        db.transaction(() => insert(2));
        throw new RangeError("no");
      }),
    ).toThrow(new RangeError("no"));
    db.transaction(() => insert(3));
    expect(db.prepare("SELECT x FROM t").all()).toEqual([{ x: 3 }]);
    expect(() => db.transaction(() => insert(3))).toThrow(
      expect.objectContaining({ type: "STORAGE_ERROR", recoverable: false }),
    );
    db.close();
  });
});

describe("openStore()", () => {
  test("has the tables and columns that other programs may rely on", () => {
    const store = openStore(join(folder(), "memory.db"));
    const columns = (table: string) =>
      store
        .prepare("SELECT name FROM pragma_table_info(?)")
        .all(table)
        .map((row) => row.name);
    const promised = `id session_id chunk_index timestamp speakers topic_tags has_decision has_action content
      context_content token_count embedding created_at`;
    expect(columns("session_chunks")).toEqual(expect.arrayContaining(promised.split(/\s+/)));
    const ofState = "session_id file_path file_hash last_indexed chunk_count status";
    expect(columns("index_state")).toEqual(expect.arrayContaining(ofState.split(" ")));
    store.close();
  });
});

describe("openVersioned()", () => {
  const tables = { schema: "CREATE TABLE t (x)", version: 2 };

  /** A database whose row is only in its log. */
  function withValue(path: string, value: string): string {
    const db = openVersioned(path, tables);
    db.prepare("INSERT INTO t VALUES (?)").run(value);
    db.close();
    return path;
  }

  const valuesIn = (db: SqlDatabase) => {
    const rows = db.prepare("SELECT x FROM t").all();
    db.close();
    return rows;
  };

  test("leaves an old file whole until the new one has its name, whoever is killed in between", () => {
    const path = withValue(join(folder(), "memory.db"), "old");
    const old = `${path}.linked`;
    linkSync(path, old);
    openDatabase(path).exec("PRAGMA user_version = 1");
    openVersioned(path, { ...tables, carry: (from, to) => copyTable("t", from, to) }).close();
    expect([path, old].map((file) => valuesIn(openDatabase(file)))).toEqual([[{ x: "old" }], [{ x: "old" }]]);
  });
});
