/**
 * Lists our copies of sessions: one file each in one folder, named by a hash of the session. The note in its header names the session;
 * `list.db` repeats these notes, so that a listing opens no copy, and is made again from them.
 */

import { basename, join } from "node:path";
import { describeError } from "../base/errors.ts";
import { remove, statPath } from "../base/files.ts";
import { numberOf, stringOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { readNote } from "../hosts/blocks.ts";
import { storedNames } from "../hosts/names.ts";
import type { Session } from "../hosts/session.ts";
import { openDatabase, type SqlDatabase, type SqlRow, textOf } from "../store/sqlite.ts";
import { tryHead } from "../transcripts/head.ts";

/** The facts of a session in the note of its copy. */
export interface Told extends Pick<Session, "agent" | "id" | "parentId"> {
  /** `store`: a host's database or document; `prompts`; `shared`: another person's. @default an idle transcript */
  from?: string | undefined;
  /** The time of its last change, in milliseconds. */
  changed?: number | undefined;
  owner?: string | undefined;
  machine?: string | undefined;
}

type Known = ReadonlyMap<string, Told>;
type Place = Pick<Paths, "copies">;

/** The files of the table. */
const PARTS = ["", "-wal", "-shm", "-journal"];

const SCHEMA = `
CREATE TABLE IF NOT EXISTS copies (
  name TEXT PRIMARY KEY, agent TEXT NOT NULL, id TEXT NOT NULL, parent TEXT, source TEXT, changed REAL, owner TEXT, machine TEXT
);
-- the state in which a host's file was read, by a hash of its path
CREATE TABLE IF NOT EXISTS sources (place INTEGER PRIMARY KEY, state TEXT NOT NULL)`;

function tablePath({ copies }: Place): string {
  return join(copies, "list.db");
}

/** The sessions without a copy where none can be written, by the path that it would have. */
const unwritten = new Map<string, Told>();

/** Lists a session as if there were a copy of it. */
export function tellUnwritten(file: string, told: Told): void {
  unwritten.set(file, told);
}

/** Returns the facts of every copy in the folder of copies, by its path without the suffix. */
export function toldCopies(paths: Place): Map<string, Told> {
  const listed = [...readTold(paths).told].map(([name, told]) => [join(paths.copies, name), told] as const);
  return new Map([...listed, ...unwritten]);
}

/** Reads the session of each copy: from the table, and from its note where the table does not have it. */
function readTold(paths: Place): { told: Map<string, Told>; known: Known | undefined } {
  const names = storedNames(paths.copies).filter((name) => name.endsWith(".jsonl"));
  const known = readTable(paths, readRows);
  const told = new Map<string, Told>();
  for (const name of names) {
    const found = known?.get(name) ?? readOwner(join(paths.copies, name));
    if (found) told.set(name, found);
  }
  return { told, known };
}

/** Returns the session of a copy by its note, else by its rows. */
function readOwner(file: string): Told | undefined {
  const note = readNote(file) ?? {};
  const [agent, id] = [stringOf(note.agent), stringOf(note.id)];
  const [from, owner, machine] = [note.from, note.owner, note.machine].map(stringOf);
  if (agent !== undefined && id !== undefined)
    return {
      agent,
      id,
      parentId: stringOf(note.parent),
      from,
      changed: numberOf(note.changed),
      owner,
      machine,
    };
  const head = tryHead(file);
  return head?.id === undefined ? undefined : { agent: head.agent, id: head.id, parentId: head.parentId };
}

function readRows(db: SqlDatabase): Known {
  const rows = db.all("SELECT name, agent, id, parent, source, changed, owner, machine FROM copies");
  const toTold = ({ agent, id, parent, source, changed, owner, machine }: SqlRow): Told => ({
    agent: String(agent),
    id: String(id),
    parentId: textOf(parent),
    from: textOf(source),
    changed: numberOf(changed),
    owner: textOf(owner),
    machine: textOf(machine),
  });
  return new Map(rows.map((row) => [String(row.name), toTold(row)]));
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
 * Brings the table up to date with the folder. One that knows a copy which is gone is made anew: no page of it may keep the name of
 * a forgotten session. Returns the reason where it cannot be written: listings do without.
 */
export function keepCopyList(
  paths: Place,
  { written = [], states = new Map() }: Kept = {},
): string | undefined {
  const { told, known } = readTold(paths);
  const anew = new Set([...written].map((file) => basename(file)));
  for (const name of anew) {
    const found = readOwner(join(paths.copies, name));
    if (found) told.set(name, found);
  }
  const isMade = statPath(tablePath(paths)) !== undefined;
  const hasGone = isMade && (!known || known.keys().some((name) => !told.has(name)));
  const missing = [...told].filter(([name]) => hasGone || anew.has(name) || !known?.has(name));
  if (!hasGone && missing.length + states.size === 0) return undefined;
  try {
    if (hasGone) for (const part of PARTS) remove(tablePath(paths) + part);
    if (missing.length + states.size === 0) return undefined;
    withTable(paths, { create: true }, (db) => {
      db.exec(SCHEMA);
      db.transaction(() => {
        for (const [name, { agent, id, parentId, from, changed, owner, machine }] of missing)
          db.run(
            "INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            name,
            agent,
            id,
            ...[parentId, from, changed, owner, machine].map((value) => value ?? null),
          );
        for (const entry of states) db.run("INSERT OR REPLACE INTO sources VALUES (?, ?)", ...entry);
      });
    });
    return undefined;
  } catch (error) {
    return describeError(error);
  }
}
