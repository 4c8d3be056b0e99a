/**
 * Lists our copies of sessions: one file each in one folder, named by a hash of the session. The note in its header names the session;
 * `list.db` repeats these notes, so that a listing opens no copy, and is made again from them.
 */

import { basename, join, sep } from "node:path";
import { remove, statPath } from "../base/files.ts";
import { type JsonRecord, numberOf, stringOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { readNote } from "../hosts/blocks.ts";
import { statStored, storedNames } from "../hosts/names.ts";
import type { Session } from "../hosts/session.ts";
import { openDatabase, type SqlDatabase, type SqlRow } from "../store/sqlite.ts";
import { tryHead } from "../transcripts/head.ts";

/** A copy, with the facts of its session that its note has. */
export interface Copy extends Pick<Session, "agent" | "id" | "parentId" | "file"> {
  /** `store`: a host's database or document; `prompts`; `shared`: another person's. @default an idle transcript */
  from?: string | undefined;
  /** The time of its last change, in milliseconds. */
  changed?: number | undefined;
  owner?: string | undefined;
  machine?: string | undefined;
  /** The bytes and the ISO time of the transcript that was copied, and the version of the rules. */
  size?: number | undefined;
  modified?: string | undefined;
  rules?: string | undefined;
  /** The bytes of the copy itself: fewer ones are damage. */
  bytes?: number | undefined;
}

type Copies = Map<string, Copy>;
/** The copies that the table has; undefined for one that is not wanted. */
type KnownCopies = Map<string, Copy | undefined>;
type Place = Pick<Paths, "copies">;

/** The files of the table. */
const PARTS = ["", "-wal", "-shm", "-journal"];

const SCHEMA = `
CREATE TABLE IF NOT EXISTS copies (
  name TEXT PRIMARY KEY, agent TEXT NOT NULL, id TEXT NOT NULL, parent TEXT, source TEXT, changed REAL, owner TEXT, machine TEXT,
  size REAL, modified TEXT, rules TEXT, bytes REAL
);
-- the state in which a host's file was read, by a hash of its path
CREATE TABLE IF NOT EXISTS sources (place INTEGER PRIMARY KEY, state TEXT NOT NULL)`;

function tablePath({ copies }: Place): string {
  return join(copies, "list.db");
}

/** The sessions without a copy where none can be written, as if there were one, by the path that it would have. */
const unwritten: Copies = new Map();

/** Lists a session as if there were a copy of it. */
export function tellUnwritten(copy: Copy): void {
  unwritten.set(copy.file, copy);
}

/** A test of the session that a copy is of. */
type CopyTest = (session: Pick<Copy, "agent" | "id">) => boolean;

/** Returns the copies in the folder of copies that pass a test, by their paths without the suffix. */
export function listCopies(paths: Place, isWanted: CopyTest = () => true): Copies {
  const known = readTable(paths, (db) => readRows(db, paths, isWanted));
  return new Map([...readFolder(paths, known), ...unwritten].filter(([, copy]) => isWanted(copy)));
}

/** Returns the copies of own sessions that pass a test. */
export function ownCopies(paths: Place, isWanted?: CopyTest): Copy[] {
  return [...listCopies(paths, isWanted).values()].filter(({ owner }) => owner === undefined);
}

/** Reads the copies in the folder: as they are known, without those known as not wanted, and else from their notes. */
function readFolder(paths: Place, known: KnownCopies | undefined): Copies {
  const copies: Copies = new Map();
  for (const name of storedNames(paths.copies)) {
    const file = `${paths.copies}${sep}${name}`;
    const copy = known?.has(file) ? known.get(file) : name.endsWith(".jsonl") && readCopy(file);
    if (copy) copies.set(file, copy);
  }
  return copies;
}

/** Reads the session of a copy from its note, else from its rows. */
function readCopy(file: string): Copy | undefined {
  const copy = toCopy(file, { ...readNote(file), bytes: statStored(file)?.size });
  if (copy) return copy;
  const { agent, id, parentId: parent } = tryHead(file) ?? {};
  return toCopy(file, { agent, id, parent });
}

/** Returns a copy by its note, or by a row of the table; undefined where that names no session. */
function toCopy(file: string, note: JsonRecord): Copy | undefined {
  const [agent, id] = [stringOf(note.agent), stringOf(note.id)];
  if (agent === undefined || id === undefined) return undefined;
  // one by one: a listing makes thousands of these
  return {
    file,
    agent,
    id,
    parentId: stringOf(note.parent),
    from: stringOf(note.from),
    changed: numberOf(note.changed),
    owner: stringOf(note.owner),
    machine: stringOf(note.machine),
    size: numberOf(note.size),
    modified: stringOf(note.modified),
    rules: stringOf(note.rules),
    bytes: numberOf(note.bytes),
  };
}

/** Reads the rows of the copies that pass a test: of thousands a search wants none, and the columns are what a row costs. */
function readRows(db: SqlDatabase, { copies }: Place, isWanted: CopyTest): KnownCopies {
  const known: KnownCopies = new Map();
  const wanted: SqlRow[] = [];
  for (const row of db.all("SELECT name, agent, id FROM copies")) {
    if (isWanted(row as unknown as Copy)) wanted.push(row);
    else known.set(`${copies}${sep}${row.name}`, undefined);
  }
  const rows = db.all(
    `SELECT name, agent, id, parent, source AS "from", changed, owner, machine, size, modified, rules, bytes FROM copies
     WHERE name IN (SELECT value FROM json_each($names))`,
    { names: JSON.stringify(wanted.map(({ name }) => name)) },
  );
  for (const row of rows) {
    const copy = toCopy(`${copies}${sep}${row.name}`, row);
    if (copy) known.set(copy.file, copy);
  }
  return known;
}

/** Reads from the table; undefined where it is missing, damaged or of another form: the notes say the same. */
function readTable<T>(paths: Place, read: (db: SqlDatabase) => T): T | undefined {
  if (!statPath(tablePath(paths))) return undefined;
  try {
    return withTable(paths, { create: false }, read);
  } catch {
    return undefined;
  }
}

function withTable<T>(paths: Place, options: { create: boolean }, use: (db: SqlDatabase) => T): T {
  const db = openDatabase(tablePath(paths), options);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** The states in which hosts' files were read, by a hash of their paths. */
type SourceStates = ReadonlyMap<number, string>;

/** Returns in what state each file of a host's was read last. */
export function sourceStates(paths: Place): SourceStates {
  const read = (db: SqlDatabase) =>
    new Map(db.all("SELECT place, state FROM sources").map((row) => [Number(row.place), String(row.state)]));
  return readTable(paths, read) ?? new Map();
}

interface Kept {
  /** The copies that were written, by their paths without the suffix. @default none */
  written?: Iterable<string>;
  /** The states in which hosts' files were read. @default as they were */
  states?: SourceStates;
}

/**
 * Brings the table up to date with the folder; listings do without where it cannot be written. One that knows a copy which is gone
 * is made anew: no page of it may keep the name of a forgotten session.
 */
export function keepCopyList(paths: Place, { written = [], states = new Map() }: Kept = {}): void {
  const known = readTable(paths, (db) => readRows(db, paths, () => true));
  const isMade = statPath(tablePath(paths)) !== undefined;
  const current = new Map(known);
  for (const file of written) current.delete(file);
  const copies = readFolder(paths, current);
  const hasGone = isMade && (!known || known.keys().some((file) => !copies.has(file)));
  const missing = [...copies.values()].filter(({ file }) => hasGone || !current.has(file));
  try {
    if (hasGone) for (const part of PARTS) remove(tablePath(paths) + part);
    if (missing.length + states.size > 0)
      withTable(paths, { create: true }, (db) => writeRows(db, missing, states));
  } catch {
    // a folder that takes no write
  }
}

function writeRows(db: SqlDatabase, copies: readonly Copy[], states: SourceStates): void {
  db.exec(SCHEMA);
  db.transaction(() => {
    for (const { file, agent, id, parentId, from, changed, owner, machine, ...made } of copies) {
      const { size, modified, rules, bytes } = made;
      db.run(
        "INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        basename(file),
        agent,
        id,
        ...[parentId, from, changed, owner, machine, size, modified, rules, bytes].map(
          (value) => value ?? null,
        ),
      );
    }
    for (const entry of states) db.run("INSERT OR REPLACE INTO sources VALUES (?, ?)", ...entry);
  });
}
