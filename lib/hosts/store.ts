/**
 * Sessions that a host keeps in another form than lines, as rows of a database or in documents that it writes anew. A host's
 * file is only read, beside a client that may be running.
 */

import type { JsonRecord } from "../base/json.ts";
import type { openForeign, SqlDatabase } from "../store/sqlite.ts";

/** Opens a database that another program writes: given, so that readers of rows load no SQLite. */
type OpenDatabase = typeof openForeign;

/** Reads sessions from a host's own files. */
export interface HostStore {
  /** Returns the files beside one that hold more of its sessions: when one of them changed, it is read again. */
  beside(file: string): string[];
  /** Opens a file of the host's, until it is closed; `openDatabase` opens one that is a database. */
  open(file: string, openDatabase: OpenDatabase): OpenStore;
  /** True if its rows have the form of the host's transcripts, which name the session themselves. @default {false} */
  hasHostRows?: true;
}

export interface OpenStore {
  /** True if a client is writing it: it is opened again. */
  isBeingWritten?: boolean;
  /** Lists every session, the newest first. */
  sessions(): StoredSession[];
  /** Reads a session's messages after a place, as their host has them. */
  read(session: string, after: string | undefined): Reading;
  close(): void;
}

/** Reads sessions from a host's database. */
interface HostDatabase {
  /** The tables without which it is not the host's. */
  tables: readonly string[];
  /** Lists every session, the newest first, by one query. */
  sessions(db: SqlDatabase): StoredSession[];
  read(db: SqlDatabase, session: string, after: string | undefined): Reading;
}

/** Returns how sessions are read from a host's databases. */
export function databaseStore({ tables, sessions, read }: HostDatabase): HostStore {
  return {
    beside: (file) => [`${file}-wal`],
    open(file, openDatabase) {
      const db = openDatabase(file, tables);
      return {
        sessions: () => sessions(db),
        read: (session, after) => read(db, session, after),
        close: () => db.close(),
      };
    },
  };
}

export interface StoredSession {
  id: string;
  /** The session that it works for, of a subagent. */
  parent?: string | undefined;
  /** Asked for only when it is copied. */
  readonly cwd: string;
  title: string;
  /** Milliseconds. */
  started: number;
  changed: number;
}

export interface Reading {
  lines: JsonRecord[];
  /** The place after the last of them. */
  last?: string | undefined;
  /** True if the last message is still being written. @default {false} */
  isCut?: true;
  /** True if the lines take the place of all that were copied: the conversation went on from an earlier one. */
  isAnew?: boolean;
}

/** The most rows that are read at once: of sessions the newest, of one session its messages, and their parts. */
export const ROWS_MAX = 200_000;
/** The longest row that is read: a longer one is not a message, and would take all memory. */
export const DATA_MAX = 16 * 1024 * 1024;
