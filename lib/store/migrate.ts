/** Schema migrations. */

import { SessionMemoryError } from "../base/errors.ts";
import type { SqlDatabase } from "./sqlite.ts";

/** Applies all pending migrations in one transaction. */
export function migrate(db: SqlDatabase, migrations: readonly string[]): void {
  if (schemaVersion(db, migrations.length) === migrations.length) return;
  db.transaction(() => {
    // read again under the lock: another process may have migrated meanwhile
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
