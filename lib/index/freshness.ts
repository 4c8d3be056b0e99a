/**
 * Opens an index and determines whether it is up to date: with the redaction and exclusion rules, by the facts it keeps
 * about them, and with the transcripts, by file sizes and times alone. Usually nothing is new.
 */

import { existsSync } from "node:fs";
import { changedAt } from "../base/files.ts";
import { counted, shortDigest } from "../base/text.ts";
import type { ExcludeSettings, Paths, PathsWithRules, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { findTranscripts } from "../sessions/found.ts";
import { hasPulled } from "../sessions/places.ts";
import { pulledFiles } from "../sessions/pulled.ts";
import { openStore, readFact, type Store, writeFact } from "../store/store.ts";
import { hasPromptsAlone, statUnpacked } from "../transcripts/files.ts";
import { forgottenState } from "../transcripts/forgotten.ts";
import { forgottenFile, redactionVersion } from "../transcripts/rules.ts";
import { type IndexProgress, markedId, readProgress } from "./index-state.ts";

/** The settings that decide what of a text is stored. */
type StoringRules = Pick<Settings, "redact" | "exclude">;

/** The redaction rules under which every row of an index was stored. */
const REDACTION_FACT = "redaction";

/**
 * Opens an index, created as needed: a cache, made anew, empty, where it is damaged or its rows were stored under another redaction.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened, or is missing and `create` is false.
 */
export function openIndex(path: string, rules: StoringRules, options: { create?: boolean } = {}): Store {
  const store = openStore(path, { ...options, isCurrent: currentTest(rules), carry: "nothing" });
  if (!store.readOnly) noteRules(store, rules);
  return store;
}

function currentTest({ redact }: StoringRules): (db: Store) => boolean {
  const version = redactionVersion(redact);
  return (db) => [version, undefined].includes(readFact(db, REDACTION_FACT));
}

/** Runs work on an index, created or made anew as needed, then closes it. */
export async function withIndex<T>(
  { paths, settings }: { paths: Pick<Paths, "database">; settings: StoringRules },
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = openIndex(paths.database, settings);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

/** Makes an index anew if it must be, for readers that do not; without one there is nothing to do. */
export function ensureIndex(path: string, rules: StoringRules): void {
  if (existsSync(path)) openIndex(path, rules, { create: false }).close();
}

/** Records the rules under which the rows of a new index are stored. */
export function noteRules(store: Store, { redact }: StoringRules): void {
  if (readFact(store, REDACTION_FACT) === undefined)
    writeFact(store, REDACTION_FACT, redactionVersion(redact));
}

/** Returns whether the rows were stored under exactly these rules, so that none of them has anything left to redact. */
export function isRedactedBy(store: Store, { redact }: StoringRules): boolean {
  return readFact(store, REDACTION_FACT) === redactionVersion(redact);
}

/** A digest of the exclude patterns under which every row was stored. */
const PATTERNS_FACT = "patterns";

/** The state of what is forgotten that the rows were last compared with. */
const FORGOTTEN_FACT = "forgotten_state";

/** Returns whether the rows were stored under exactly these exclude patterns, and none was forgotten since. */
export function isFilteredBy(store: Store, paths: PathsWithRules): boolean {
  return (
    readFact(store, PATTERNS_FACT) === digestPatterns(paths.rules.exclude) &&
    readFact(store, FORGOTTEN_FACT) === forgottenState(forgottenFile(paths))
  );
}

/** Records that the rows are stored under these from now on; returns whether the patterns are others than before. */
export function noteFilter(store: Store, paths: PathsWithRules): boolean {
  const [before, digest] = [readFact(store, PATTERNS_FACT), digestPatterns(paths.rules.exclude)];
  writeFact(store, PATTERNS_FACT, digest);
  writeFact(store, FORGOTTEN_FACT, forgottenState(forgottenFile(paths)));
  return digest !== before;
}

/** Returns a hash of patterns. A pattern may name what is to be forgotten, so only this is stored. */
function digestPatterns({ patterns }: ExcludeSettings): string | undefined {
  if (patterns.length === 0) return undefined;
  return shortDigest(JSON.stringify([...new Set(patterns)].sort()));
}

/** The sessions and bytes that are not in the index yet. */
export interface Behind {
  sessions: number;
  bytes: number;
}

export function describeBehind({ sessions, bytes }: Behind): string {
  if (sessions === 0) return "up to date";
  return `behind by ${counted(sessions, "session")} (${(bytes / 1e6).toFixed(1)} MB)`;
}

/** Returns whether a session's file is as it was when it was read to its end. */
export function isReadToEnd(known: IndexProgress, session: Session): boolean {
  const isAsRead =
    known.size === session.size &&
    known.modified === session.modifiedAt &&
    known.file === session.file &&
    !known.sourceGone;
  // What the index holds of a session is more than its prompts.
  return isAsRead || (known.file !== session.file && hasPromptsAlone(session.file));
}

/** Returns whether all of a session is indexed as far as its file's length tells: one that was restored has another time. */
export function isIndexed(known: IndexProgress, session: Session): boolean {
  const isAsLong = known.size === session.size && known.file === session.file && !known.sourceGone;
  return isAsLong || isReadToEnd(known, session);
}

/** Measures what is missing from the index for these sessions. */
export function measureBehind(
  sessions: readonly Session[],
  known: ReadonlyMap<string, IndexProgress>,
  isRead: typeof isReadToEnd = isReadToEnd,
): Behind {
  const behind: Behind = { sessions: 0, bytes: 0 };
  for (const session of sessions) {
    const state = known.get(session.id);
    if (state && (isRead(state, session) || state.status === "failed")) continue;
    behind.sessions++;
    behind.bytes += unreadBytes(session, state);
  }
  return behind;
}

/** Returns the bytes of a session after its cursor, or all of them where the file has become another. */
export function unreadBytes(session: Session, known: IndexProgress | undefined): number {
  const read = known?.cursor.offset ?? 0;
  return session.size >= read ? session.size - read : session.size;
}

/**
 * Returns what the index knows of a session, and the id under which: the host's, unless another session has it already (of
 * another host, or in two plain folders with files of one name) and its file is still there.
 */
export function readStored(store: Store, session: Session): { id: string; known: IndexProgress | undefined } {
  const known = readProgress(store, session.id);
  const isSame = known?.file === session.file || (known?.agent === session.agent && known.agent !== "plain");
  if (!known || isSame || !statUnpacked(known.file)) return { id: session.id, known };
  const id = markedId(session);
  return { id, known: readProgress(store, id) };
}

/** Returns whether every transcript was read to its end. May return false where only opening the files could show it. */
export function isAllIndexed(store: Store, paths: PathsWithRules): boolean {
  if (!isFilteredBy(store, paths) || unreadPulled(store, paths).length > 0) return false;
  const read = filesAsRead(store);
  return findTranscripts(paths, { subagents: true }).every(({ file, id, ephemeral }) => {
    const stat = ephemeral ? undefined : statUnpacked(file);
    if (!stat || read.get(file) === `${stat.size} ${changedAt(stat)}`) return true;
    return isHeldWhole(store, { file, id });
  });
}

/** Returns the copies of others' sessions that the index has yet to read: a pull marks what it changes, so no copy is opened. */
export function unreadPulled(db: Store, paths: Paths): string[] {
  if (!hasPulled(paths)) return [];
  const files = pulledFiles(paths);
  const rows = db.all("SELECT file_path FROM index_state WHERE size >= 0");
  const read = new Set(rows.map(({ file_path }) => file_path));
  return files.filter((file) => !read.has(file));
}

/** Returns whether the index holds more of a session than the prompts that are left of it. */
function isHeldWhole(db: Store, { file, id }: { file: string; id?: string | undefined }): boolean {
  if (!hasPromptsAlone(file) || id === undefined) return false;
  return db.get("SELECT 1 FROM index_state WHERE session_id = ? AND file_path <> ?", id, file) !== undefined;
}

/** Returns the sessions whose file is not as it was when it was read to its end. */
export function findChanged(
  store: Store,
  sessions: readonly Session[],
  paths: PathsWithRules,
): readonly Session[] {
  if (!isFilteredBy(store, paths)) return sessions;
  const read = filesAsRead(store);
  const marked = store.all("SELECT file FROM sessions WHERE source_gone = 1");
  const gone = new Set(marked.map(({ file }) => String(file)));
  return sessions.filter(
    ({ id, size, modifiedAt, file }) =>
      (read.get(file) !== `${size} ${modifiedAt}` || gone.has(file)) && !isHeldWhole(store, { file, id }),
  );
}

/** Marks the sessions whose transcript was deleted, and unmarks the ones that are back. Returns how many are gone. */
export function markSources(db: Store, listed: readonly Session[]): number {
  const files = new Set(listed.map(({ file }) => file));
  const known = db.all("SELECT number, file, source_gone AS gone FROM sessions");
  const sessions = known.map(({ number, file, gone }) => {
    const isGone = !files.has(String(file)) && !statUnpacked(String(file));
    return { number: Number(number), isGone, isMarked: gone === 1 };
  });
  const changed = sessions.filter(({ isGone, isMarked }) => isGone !== isMarked);
  if (changed.length > 0) {
    db.transaction(() => {
      for (const { number, isGone } of changed)
        db.run("UPDATE sessions SET source_gone = ? WHERE number = ?", isGone ? 1 : 0, number);
    });
  }
  return sessions.filter(({ isGone }) => isGone).length;
}

/** Returns the size and time of each file as it was read to its end, in one text. */
function filesAsRead(store: Store): ReadonlyMap<string, string> {
  const rows = store.all("SELECT file_path, size || ' ' || modified AS state FROM index_state");
  return new Map(rows.map(({ file_path, state }) => [String(file_path), String(state)]));
}
