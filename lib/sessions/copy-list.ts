/**
 * Lists our copies of sessions: one file each in one folder, named by a hash of the session. The note in its header names the session;
 * `list.db` repeats these notes, so that a listing opens no copy, and is made again from them.
 */

import { join } from "node:path";
import { describeError } from "../base/errors.ts";
import { namesIn, remove, statPath } from "../base/files.ts";
import { stringOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { readNote } from "../hosts/blocks.ts";
import { BLOCKED } from "../hosts/names.ts";
import type { Session } from "../hosts/session.ts";
import { openDatabase, type SqlDatabase, textOf } from "../store/sqlite.ts";
import { tryHead } from "../transcripts/head.ts";
import type { TranscriptFile } from "./places.ts";

/** The session of a copy. */
type Told = Pick<Session, "agent" | "id" | "parentId">;

/** The files of the table. */
const PARTS = ["", "-wal", "-shm", "-journal"];

function tablePath({ copies }: Pick<Paths, "copies">): string {
  return join(copies, "list.db");
}

/** Returns every copy in the folder of copies, by the name that it has without its suffix. */
export function listedCopies(paths: Pick<Paths, "copies">): TranscriptFile[] {
  return [...readTold(paths).told].map(([name, { agent, id, parentId }]) => ({
    file: join(paths.copies, name),
    ...{ agent, id, parentId },
    subagent: parentId !== undefined,
    archived: true,
  }));
}

/** Reads the session of each copy: from the table, and from its note where the table does not have it. */
function readTold(paths: Pick<Paths, "copies">): { told: Map<string, Told>; known: Map<string, Told> } {
  const end = `.jsonl${BLOCKED}`;
  const names = namesIn(paths.copies).filter((name) => name.endsWith(end));
  const known = statPath(tablePath(paths)) ? readTable(paths) : new Map<string, Told>();
  const told = new Map<string, Told>();
  for (const each of names) {
    const name = each.slice(0, -BLOCKED.length);
    const found = known.get(name) ?? readOwner(join(paths.copies, name));
    if (found) told.set(name, found);
  }
  return { told, known };
}

/** Returns the session of a copy by its note, else by its rows. */
function readOwner(file: string): Told | undefined {
  const note = readNote(file) ?? {};
  const [agent, id] = [stringOf(note.agent), stringOf(note.id)];
  if (agent !== undefined && id !== undefined) return { agent, id, parentId: stringOf(note.parent) };
  const head = tryHead(file);
  return head?.id === undefined ? undefined : { agent: head.agent, id: head.id, parentId: head.parentId };
}

function readTable(paths: Pick<Paths, "copies">): Map<string, Told> {
  try {
    return withTable(paths, { create: false }, (db) => {
      const rows = db.prepare("SELECT name, agent, id, parent FROM copies").all();
      return new Map(
        rows.map(({ name, agent, id, parent }) => [
          String(name),
          { agent: String(agent), id: String(id), parentId: textOf(parent) },
        ]),
      );
    });
  } catch {
    return new Map(); // damaged, or being made: the notes say the same
  }
}

function withTable<T>(
  paths: Pick<Paths, "copies">,
  options: { create: boolean },
  use: (db: SqlDatabase) => T,
): T {
  const db = openDatabase(tablePath(paths), options);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/**
 * Brings the table up to date with the folder. One that knows a copy which is gone is made anew: no page of it may keep the name of
 * a forgotten session. Returns the reason where it cannot be written: listings do without.
 */
export function keepCopyList(paths: Pick<Paths, "copies">): string | undefined {
  const { told, known } = readTold(paths);
  const isMade = statPath(tablePath(paths)) !== undefined;
  const hasGone = isMade && (known.size === 0 || known.keys().some((name) => !told.has(name)));
  const missing = [...told].filter(([name]) => hasGone || !known.has(name));
  if (!hasGone && missing.length === 0) return undefined;
  try {
    if (hasGone) for (const part of PARTS) remove(tablePath(paths) + part);
    if (missing.length === 0) return undefined;
    withTable(paths, { create: true }, (db) => {
      db.exec(
        "CREATE TABLE IF NOT EXISTS copies (name TEXT PRIMARY KEY, agent TEXT NOT NULL, id TEXT NOT NULL, parent TEXT)",
      );
      const put = db.prepare("INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?)");
      db.transaction(() => {
        for (const [name, { agent, id, parentId }] of missing) put.run(name, agent, id, parentId ?? null);
      });
    });
    return undefined;
  } catch (error) {
    return describeError(error);
  }
}
