/** The history of state.db's schema, as migrations.ts is that of the index. Released entries are never edited. */

export const STATE_MIGRATIONS: readonly string[] = [
  `
-- files outside the state folder; sha256 is empty where the bytes that we wrote are not known
CREATE TABLE written_files (
  path TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  session_id TEXT NOT NULL,
  written_at TEXT NOT NULL
) STRICT;
CREATE INDEX written_files_session ON written_files(session_id);
`,
];
