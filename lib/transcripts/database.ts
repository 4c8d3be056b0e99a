/**
 * Copies sessions that a host keeps in another form than lines, as rows of a database or in documents that it writes anew: each
 * is written, redacted, as lines of our plain form below one that names the session, and read from there. A host's file is only
 * read, beside a client that may be running.
 */

import { appendFileSync, existsSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { ensureDirectory, fileStem, readJson, replaceFile } from "../base/files.ts";
import { isRecord, type JsonRecord, recordOf } from "../base/json.ts";
import { counted, shortHash } from "../base/text.ts";
import { openForeign, type SqlDatabase } from "../store/sqlite.ts";
import { isBusy } from "../store/storage-errors.ts";
import { recordTest } from "./forgotten.ts";
import { copiedFormat, isoTime } from "./format.ts";
import type { Rules } from "./rules.ts";
import { secretMemory } from "./secret-rows.ts";
import type { Session } from "./session.ts";

/** How sessions are read from the files in which a host keeps them. */
export interface HostStore {
  /** Returns the files beside one that hold more of its sessions: when one of them changed, it is read again. */
  beside(file: string): string[];
  /** Opens a file of the host's, until it is closed. */
  open(file: string): OpenStore;
  /** Whether what is read are rows as the host's transcripts have them, which name the session themselves. @default {false} */
  hasHostRows?: true;
}

export interface OpenStore {
  /** Whether a client is writing it: it is opened again. */
  isBeingWritten?: boolean;
  /** Lists every session, the newest first. */
  sessions(): StoredSession[];
  /** Reads a session's messages after a place. */
  read(session: string, options: ReadOptions): Reading;
  close(): void;
}

interface ReadOptions {
  after: string | undefined;
  clean: Clean;
}

/** How sessions are read from a host's database. */
interface HostDatabase {
  /** The tables without which it is not the host's. */
  tables: readonly string[];
  /** Lists every session, the newest first, by one query. */
  sessions(db: SqlDatabase): StoredSession[];
  read(db: SqlDatabase, session: string, options: ReadOptions): Reading;
}

/** Returns how sessions are read from a host's databases. */
export function databaseStore({ tables, sessions, read }: HostDatabase): HostStore {
  return {
    beside: (file) => [`${file}-wal`],
    open(file) {
      const db = openForeign(file, tables);
      return {
        sessions: () => sessions(db),
        read: (session, options) => read(db, session, options),
        close: () => db.close(),
      };
    },
  };
}

export interface StoredSession {
  id: string;
  /** The session that it works for, of a subagent. */
  parent: string | undefined;
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
  last: string | undefined;
  /** False if the last message is still being written. */
  isWhole: boolean;
  /** True if the lines take the place of all that were copied: the conversation went on from an earlier one. */
  isAnew?: boolean;
}

export type Clean = Rules["clean"];

/** The most rows that are read at once: of sessions the newest, of one session its messages, and their parts. */
export const ROWS_MAX = 200_000;
/** The longest row that is read: a longer one is no message, and would take all memory. */
export const DATA_MAX = 16 * 1024 * 1024;

/** How far a session was copied: when it had changed, the hash of its title, which may be forgotten, its last place, and whether it holds secrets. */
type Copied = Record<string, [changed: number, title: number, last: string, hasSecrets?: boolean]>;

/** Raised when the note means something else: all is copied again. */
const FORMAT = 5;
const NOTE = "copied.json";
/** The longest that one run copies from a host's files: the next one goes on. */
const COPY_MS = 5000;

interface CopyOptions {
  agent: string;
  store: HostStore;
  /** The host's home, and its files there. */
  root: string;
  files: readonly string[];
  /** Where the copies are, and how their names end. */
  folder: string;
  end: string;
  rules: Rules;
  /** Whether a session may be copied. */
  admits(session: Pick<Session, "id" | "cwd">): boolean;
}

/**
 * Copies what is new in a host's files, a file a session, of subagents below their parent's id. A file is not opened while it
 * and those beside it are as they were.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` after all others were copied, if some sessions cannot be read.
 */
export function copySessions(options: CopyOptions): void {
  const { root, files, folder, store } = options;
  const note = recordOf(readJson(join(folder, NOTE)));
  const isCurrent = note.format === FORMAT;
  const before = isCurrent ? recordOf(note.states) : {};
  const copied = (isCurrent ? recordOf(note.sessions) : {}) as Copied;
  const state = (file: string) => describeState([file, ...store.beside(file)]);
  const states = Object.fromEntries(files.map((file) => [relative(root, file), state(file)]));
  const changed = files.filter((file) => before[relative(root, file)] !== states[relative(root, file)]);
  if (changed.length === 0) return;
  ensureDirectory(folder);
  const problems: string[] = [];
  const until = Date.now() + COPY_MS;
  for (const file of changed) {
    try {
      const { isAll, failed } = copyFrom(file, copied, { ...options, until });
      // What could not be read is tried, and named, again.
      if (!isAll || failed.length > 0) delete states[relative(root, file)];
      problems.push(...failed);
    } catch (error) {
      if (isBusy(error)) delete states[relative(root, file)];
      problems.push(describeError(error));
    }
  }
  const text = JSON.stringify({ format: FORMAT, states, sessions: copied });
  replaceFile(join(folder, NOTE), text, { durable: false });
  const [problem, ...others] = problems;
  if (problem === undefined) return;
  const more = others.length > 0 ? ` (and ${counted(others.length, "more like this")})` : "";
  throw new SessionMemoryError("STORAGE_ERROR", `${problem}${more}`);
}

interface CopyFromOptions extends CopyOptions {
  until: number;
}

/** Copies what is new in one file of a host's; returns whether that was all, and why sessions could not be read. */
function copyFrom(
  file: string,
  copied: Copied,
  options: CopyFromOptions,
): { isAll: boolean; failed: string[] } {
  const { admits, until } = options;
  if (Date.now() > until) return { isAll: false, failed: [] };
  const store = options.store.open(file);
  const failed: string[] = [];
  if (store.isBeingWritten) return { isAll: false, failed };
  try {
    for (const session of store.sessions()) {
      if (Date.now() > until) return { isAll: false, failed };
      const target = copyPath(session, options);
      const known = existsSync(target) ? copied[session.id] : undefined;
      if (known?.[0] === session.changed || !admits({ id: session.id, cwd: session.cwd })) continue;
      try {
        const { last, isWhole, hasSecrets } = copySession(store, { session, target, known }, options);
        const changed = isWhole ? session.changed : 0;
        copied[session.id] = [changed, shortHash(session.title), last ?? "", hasSecrets];
      } catch (error) {
        failed.push(`Cannot read session ${session.id} of ${file}: ${describeError(error)}`);
      }
    }
    return { isAll: true, failed };
  } finally {
    store.close();
  }
}

function copyPath({ id, parent }: StoredSession, { folder, end }: CopyOptions): string {
  return join(folder, parent === undefined ? "" : fileStem(parent), `${fileStem(id)}${end}`);
}

function copySession(
  store: OpenStore,
  { session, target, known }: { session: StoredSession; target: string; known: Copied[string] | undefined },
  { agent, store: { hasHostRows }, rules }: CopyOptions,
): Reading & { hasSecrets: boolean } {
  const memory = secretMemory(target, { clean: rules.clean });
  const clean: Clean = (text, taken) => memory.clean(text, { rows: [], taken });
  const read = (after: string | undefined) => store.read(session.id, { after, clean });
  let reading = read(known?.[3] ? undefined : known?.[2] || undefined);
  const hasSecrets = known?.[3] === true || memory.takeNew().length > 0;
  // what one message announces is taken out of those before it too, which are copied again
  if (hasSecrets) reading = read(undefined);
  const isNew = known === undefined || hasSecrets || reading.isAnew === true;
  const lines = reading.lines.map((line) =>
    line.role === "user" ? { ...line, typed: line.typed ?? session.parent === undefined } : line,
  );
  if (!hasHostRows && (isNew || known[1] !== shortHash(session.title)))
    lines.unshift(headLine(agent, session, { clean, isLater: !isNew }));
  const isForgotten = recordTest(copiedFormat(agent), rules);
  // What is kept out leaves its line: the places of others stay as they are.
  const rows = lines.map((line) => (isForgotten(line) ? "" : JSON.stringify(line)));
  const isOut = (row: string) => rules.hasPatterns && rules.hasText(row);
  const text = rows.map((row) => `${isOut(row) ? "" : row}\n`).join("");
  // A crash between file and note makes the file anew.
  if (isNew) replaceFile(target, text, { durable: false });
  else if (text !== "") appendFileSync(target, text);
  return { ...reading, hasSecrets };
}

function describeState(files: readonly string[]): string {
  return files
    .map((each) => statSync(each, { throwIfNoEntry: false }))
    .map((stat) => (stat ? `${stat.size}:${stat.mtimeMs}` : ""))
    .join(" ");
}

function headLine(
  agent: string,
  { id, parent, cwd, title, started, changed }: StoredSession,
  { clean, isLater }: { clean: Clean; isLater: boolean },
): JsonRecord {
  return {
    host: agent,
    session: id,
    ...(parent !== undefined && { parent }),
    cwd: clean(cwd),
    title: clean(title),
    timestamp: isoTime(isLater ? changed : started),
  };
}

/** Redacts every text of a value, with the names around it: what is on disk twice must not hold a secret twice. */
export function redacted(value: unknown, clean: Clean): unknown {
  if (typeof value === "string" || typeof value !== "object" || value === null)
    return redactedAlone(value, clean);
  const text = clean(JSON.stringify(value));
  try {
    return redactedAlone(JSON.parse(text), clean);
  } catch {
    return text; // a secret that was cut had part of the form
  }
}

function redactedAlone(value: unknown, clean: Clean): unknown {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map((each) => redactedAlone(each, clean));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, redactedAlone(each, clean)]));
}
