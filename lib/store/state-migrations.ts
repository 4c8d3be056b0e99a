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
  `
-- shared memory: our origin, the hub as it was last seen, times, the last failure
CREATE TABLE share_facts (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
-- what of a session is at the hub; a hint, the hub itself is asked where it may be wrong
CREATE TABLE share_published (
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  -- changes with everything that is sent of it
  signature TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT,
  cwd TEXT,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
-- forgotten sessions that the hub has not heard of yet
CREATE TABLE share_withdrawals (
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  -- whether the user wants it back
  undone INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
`,
];
