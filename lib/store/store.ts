/**
 * Opens an index at the current schema version, and reads and writes the facts it keeps about itself. Beside the main
 * one there is an index for each list of given paths.
 */

import { existsSync, type Stats, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { hasContent, namesIn, remove } from "../base/files.ts";
import { DAY_MS } from "../base/time.ts";
import { INDEX_VERSION, type Paths } from "../config/config.ts";
import { openVersioned, PARTS, type Versioned } from "./carry-over.ts";
import { attachPaid } from "./paid.ts";
import { openDatabase, type SqlDatabase } from "./sqlite.ts";

/** An open index. Queries are in the modules that own their subject, such as index-state.ts and session-rows.ts. */
export type Store = SqlDatabase;

/**
 * Opens an index, with what was paid for attached as `paid`. One that is damaged or not current is only replaced, empty, where the
 * options say so.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened, or is missing and `create` is false.
 */
export function openStore(path: string, options: Omit<Versioned, "schema" | "version"> = {}): Store {
  const db = openVersioned(path, { ...options, version: INDEX_VERSION, schema: INDEX_SCHEMA });
  attachPaid(db, path);
  return db;
}

/** Runs `work` on the index, then closes it; undefined without an index. */
export function withExistingStore<T>(path: string, work: (store: Store) => T): T | undefined {
  if (!hasContent(path)) return undefined;
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
  const row = store.get("SELECT value FROM facts WHERE name = $name", { name });
  return row ? String(row.value) : undefined;
}

/** Sets a fact, or removes it when the value is undefined. */
export function writeFact(store: Store, name: string, value: string | undefined): void {
  if (value === undefined) store.run("DELETE FROM facts WHERE name = $name", { name });
  else {
    store.run(
      "INSERT INTO facts (name, value) VALUES ($name, $value) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      { name, value },
    );
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

/** An index is removed after 30 days without use. */
const UNUSED_MS = 30 * DAY_MS;

type IndexPlaces = Pick<Paths, "home" | "indexes">;

/** Returns the path of every index of this version, the main one first. */
export function allIndexes(paths: IndexPlaces): string[] {
  return everyIndex(paths).filter((path) => path.endsWith(`-${INDEX_VERSION}.db`));
}

/** Returns the path of every index of other versions since they are caches. */
export function otherIndexes(paths: IndexPlaces): string[] {
  return everyIndex(paths).filter((path) => !path.endsWith(`-${INDEX_VERSION}.db`));
}

function everyIndex({ home, indexes }: IndexPlaces): string[] {
  // others' sessions had an index of their own
  const isIndex = (name: string) => /^(?:index-\d+|shared(?:-\d+)?)\.db$/.test(name);
  const given = namesIn(indexes).filter((name) => name.endsWith(".db"));
  return [
    ...namesIn(home)
      .filter(isIndex)
      .map((name) => join(home, name)),
    ...given.map((name) => join(indexes, name)),
  ];
}

/** Records the use of the current index and removes others that are no longer used. */
export function tendIndexes({ database, ...places }: IndexPlaces & Paths, now: Date): void {
  for (const index of everyIndex(places)) {
    if (index === database) utimesSync(index, now, now);
    else if (isUnused(index, now)) removeDatabase(index);
  }
}

/** Returns whether a database has not been written for thirty days. */
export function isUnused(path: string, now: Date): boolean {
  return readStats(path).every(({ mtimeMs }) => now.getTime() - mtimeMs > UNUSED_MS);
}

/** Removes a database with what SQLite keeps beside it. */
export function removeDatabase(path: string): void {
  for (const part of PARTS) remove(path + part);
}

/** Returns the size of an index in bytes, including its WAL files. */
export function indexBytes(index: string): number {
  return readStats(index).reduce((sum, { size }) => sum + size, 0);
}

function readStats(index: string): Stats[] {
  return PARTS.flatMap((part) => statSync(index + part, { throwIfNoEntry: false }) ?? []);
}

/** Stands in the header of a chunk without topics. */
export const NO_TOPICS = "none";

/** The condition on a row of any table with the number of its session to be one's own. */
export const IS_OWN = "session NOT IN (SELECT number FROM sessions WHERE owner IS NOT NULL)";

/** The condition on a row `r` to be one of the messages of a chunk `c`. */
export const SAID_IN_CHUNK = `r.session = c.session AND r.line BETWEEN c.first_line AND c.last_line AND r.who <> 'tool'
  AND (r.line > c.first_line OR r.nth >= c.first_nth) AND (r.line < c.last_line OR r.nth <= c.last_nth)`;

/**
 * The tables of an index, at the only version there is. Times are ISO-8601 UTC text. `session_embeddings` (vec0) is not
 * here: its width is configured and its module may be missing (see chunk-vectors.ts).
 */
const INDEX_SCHEMA = `
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  file TEXT NOT NULL,
  name TEXT,
  cwd TEXT,
  project TEXT,
  parent_id TEXT,
  started_at TEXT,
  updated_at TEXT NOT NULL,
  source_gone INTEGER NOT NULL DEFAULT 0,
  -- line of the last compaction: what lies before it is no longer in the model's context
  compacted_line INTEGER,
  -- who shares it; null for one of this machine's user
  owner TEXT
) STRICT;
CREATE INDEX sessions_file ON sessions(file);
CREATE VIEW own_sessions AS SELECT * FROM sessions WHERE owner IS NULL;

CREATE TABLE index_state (
  session_id TEXT PRIMARY KEY,
  -- number of the session
  session INTEGER,
  file_path TEXT NOT NULL,
  file_hash TEXT NOT NULL,
  last_indexed TEXT NOT NULL,
  chunk_count INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL CHECK (status IN ('complete', 'partial', 'failed', 'quarantined')),
  -- the file as it was when read: while both are the same, it is not opened
  size INTEGER NOT NULL,
  modified TEXT NOT NULL,
  -- start of the first line that is not indexed for good: the open exchange is read again
  cursor_offset INTEGER NOT NULL DEFAULT 0,
  cursor_line INTEGER NOT NULL DEFAULT 0,
  -- index of the first chunk behind the cursor
  next_chunk INTEGER NOT NULL DEFAULT 0,
  skipped_lines INTEGER NOT NULL DEFAULT 0,
  took_ms REAL NOT NULL DEFAULT 0,
  error TEXT
) STRICT;

CREATE TABLE embedders (
  id INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  UNIQUE (model, dimensions)
) STRICT;

-- what was said and done: the words of a message, or a call with what came of it, cut to what is worth keeping
CREATE TABLE rows (
  id INTEGER PRIMARY KEY,
  -- number of the session
  session INTEGER NOT NULL,
  line INTEGER NOT NULL,
  -- position among what the line gives
  nth INTEGER NOT NULL,
  at TEXT NOT NULL,
  -- user, assistant or tool; without a CHECK, whose list SQLite would build anew for every row
  who TEXT NOT NULL,
  text TEXT,
  result_line INTEGER,
  kind TEXT,
  -- of a call; of a message that no person typed, 'program'
  tool TEXT,
  target TEXT,
  -- one a line; null where the target is the only one
  paths TEXT,
  -- empty where the target says it all
  input TEXT,
  outcome TEXT,
  result TEXT
) STRICT;
CREATE UNIQUE INDEX rows_place ON rows(session, line, nth);

-- a user's message and what followed it, by the place of its first row; what the headers of its chunks say of it
CREATE TABLE exchanges (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  line INTEGER NOT NULL,
  nth INTEGER NOT NULL,
  participants TEXT NOT NULL,
  -- who began it, and with what words
  speaker TEXT NOT NULL CHECK (speaker IN ('user', 'assistant')),
  subject TEXT NOT NULL,
  UNIQUE (session, line, nth)
) STRICT;

-- what is ranked: the messages of an exchange from one row to another, or a piece of a long one
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  chunk_index INTEGER NOT NULL,
  exchange INTEGER NOT NULL,
  timestamp TEXT NOT NULL,
  -- when it was said, as its header has it; no clock where the time is unknown
  day TEXT NOT NULL,
  clock TEXT,
  speakers TEXT NOT NULL,
  topic_tags TEXT NOT NULL,
  has_decision INTEGER NOT NULL DEFAULT 0,
  has_action INTEGER NOT NULL DEFAULT 0,
  first_line INTEGER NOT NULL,
  first_nth INTEGER NOT NULL,
  last_line INTEGER NOT NULL,
  last_nth INTEGER NOT NULL,
  -- the characters of its one message that it is; null where it is whole
  part_from INTEGER,
  part_to INTEGER,
  content_hash BLOB NOT NULL,
  embedder INTEGER REFERENCES embedders(id),
  -- the day since 1970 on which the server refused its text
  embedding_failures INTEGER NOT NULL DEFAULT 0,
  tools TEXT NOT NULL,
  -- UTF-16 units of its header and content, by which ranking knows how long it is without reading them
  length INTEGER NOT NULL,
  token_count INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  embedding BLOB,
  UNIQUE (session, chunk_index)
) STRICT;
CREATE INDEX chunks_timestamp ON chunks(timestamp);
-- the chunk that a call belongs to is the last one that begins before it
CREATE INDEX chunks_line ON chunks(session, first_line);
CREATE INDEX chunks_hash ON chunks(content_hash) WHERE embedder IS NOT NULL;
CREATE INDEX chunks_embedder ON chunks(embedder);

-- what is promised to others, whatever we keep it in
CREATE VIEW session_chunks AS
SELECT *, header || content AS context_content FROM (
  SELECT c.id, c.session, s.id AS session_id, c.chunk_index, c.timestamp, c.speakers, c.topic_tags, c.has_decision, c.has_action,
    c.first_line, c.last_line, e.line AS exchange_line, c.tools, c.token_count, c.content_hash, c.embedder,
    c.embedding_failures, c.embedding, c.created_at,
    '[Session from ' || c.day || coalesce(' at ' || c.clock, '') || char(93, 10) ||
      '[Participants: ' || e.participants || char(93, 10) ||
      '[Topics: ' || coalesce((SELECT group_concat(value, ', ') FROM json_each(c.topic_tags)), '${NO_TOPICS}') || char(93, 10) ||
      '[Context: ' || iif(e.speaker = 'user', 'User asks: ', 'Assistant says: ') || e.subject || char(93, 10, 10)
      AS header,
    (SELECT group_concat(message, char(10)) FROM (
      SELECT iif(r.who = 'user', 'User: ', 'Assistant: ') ||
        iif(c.part_from IS NULL, r.text, substr(r.text, c.part_from + 1, c.part_to - c.part_from)) AS message
      FROM rows r WHERE ${SAID_IN_CHUNK} ORDER BY r.line, r.nth)) AS content
  FROM chunks c JOIN sessions s ON s.number = c.session JOIN exchanges e ON e.id = c.exchange
);

-- rowid = chunks.id; no copy of the text is kept, deletes need none
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  content, header, tools, extra,
  tokenize = 'porter unicode61', content = '', contentless_delete = 1
);
-- one segment per transaction, and fewer merges: a fifth off a cold run
INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('hashsize', 33554432);
INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('automerge', 16);
CREATE VIRTUAL TABLE chunks_vocab USING fts5vocab(chunks_fts, row);

-- which session and line holds a transcript row; the same row elsewhere is a copy (a fork) and is not indexed again
CREATE TABLE row_keys (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  line INTEGER NOT NULL
) STRICT;
CREATE TABLE copies (
  session_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  PRIMARY KEY (session_id, owner_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE searches (
  at TEXT NOT NULL,
  took_ms REAL NOT NULL,
  results INTEGER NOT NULL
) STRICT;
CREATE INDEX searches_at ON searches(at);

-- facts about the index itself: see the constants …_FACT
CREATE TABLE facts (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- rowid = rows.id of a call; of its own, so that it is ranked by itself: code must not outrank what was said of it
CREATE VIRTUAL TABLE deeds_fts USING fts5(
  target, input, result, extra,
  tokenize = 'porter unicode61', content = '', contentless_delete = 1
);
INSERT INTO deeds_fts(deeds_fts, rank) VALUES ('hashsize', 33554432);
INSERT INTO deeds_fts(deeds_fts, rank) VALUES ('automerge', 16);
CREATE VIRTUAL TABLE deeds_vocab USING fts5vocab(deeds_fts, row);

-- lines that the user took back: the conversation went on from a row before them
CREATE TABLE rewound (
  -- number of the session
  session INTEGER NOT NULL,
  first_line INTEGER NOT NULL,
  last_line INTEGER NOT NULL,
  PRIMARY KEY (session, first_line)
) STRICT, WITHOUT ROWID;

-- which commands' outputs hold an error: a hash of its line without what differs between two runs
CREATE TABLE error_lines (
  key INTEGER NOT NULL,
  -- rows.id of the call
  deed INTEGER NOT NULL,
  PRIMARY KEY (key, deed)
) STRICT, WITHOUT ROWID;
CREATE INDEX error_lines_deed ON error_lines(deed);
`;
