/**
 * The one record of each session, in state.db: its transcript, its host's title, its name and summary as its meta file has
 * them, and the state in which it was read for these. Meta files are its export; one that somebody else wrote is read into it and wins.
 *
 * Derived: without state.db it is made again from transcripts and meta files.
 */

import { existsSync } from "node:fs";
import { readJson, readText, remove, statPath } from "../base/files.ts";
import { type JsonRecord, parseRecord, scrub } from "../base/json.ts";
import { WRITER_WAIT_MS, withLock } from "../base/locks.ts";
import { shortHash } from "../base/text.ts";
import { currentPaths, EXCLUDE_KEYS, type PathsWithRules } from "../config/config.ts";
import { findFormat } from "../hosts/hosts.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Agent, PartlyKnown, Session, SessionIdentity, SessionKey } from "../hosts/session.ts";
import { type SqlRow, textOf } from "../store/sqlite.ts";
import {
  type ForgetIn,
  type Forgetting,
  type Found,
  forgetFiles,
  isForgotten,
  recordWritten,
  withExistingState,
  withState,
} from "../store/state.ts";
import { isStorageError } from "../store/storage-errors.ts";
import type { Store } from "../store/store.ts";
import { log } from "../transcripts/event-log.ts";
import { redactionVersion, shownText } from "../transcripts/rules.ts";

import { currentExclusion, type Exclusion } from "./gate.ts";
import {
  agentByPlace,
  cleanName,
  copyDamaged,
  damagedMetas,
  isAbroad,
  metaFile,
  metaFiles,
  metaFilesAbout,
  readMeta,
  type SessionMeta,
  writeMeta,
} from "./meta.ts";
import type { TranscriptFile } from "./places.ts";
import { hostTitle } from "./titles.ts";

export interface SessionRecord extends SessionIdentity {
  /** The host's title, as far as it may be shown. */
  title: string | undefined;
  meta: SessionMeta | undefined;
  /** The reason that an existing meta file cannot be used. */
  problem?: string | undefined;
  /** The transcript as it was read for name and summary. */
  indexedTo: Progress | undefined;
  /** The transcript and the meta file as they were when title and meta were read or written. */
  titleState: string;
  metaState: string;
}

/** The size and time of a transcript when it was read: no text of it is kept here. */
interface Progress {
  size: number;
  modified: string;
  /** The reader's own. */
  note: JsonRecord;
}

/** Returns whether a record knows its transcript and its meta file as they are, by sizes and times: none is opened. */
export function isCurrent(
  record: SessionRecord,
  { size, modifiedAt }: Pick<Session, "size" | "modifiedAt">,
  paths: PathsWithRules,
): boolean {
  const { indexedTo } = record;
  if (indexedTo?.size !== size || indexedTo.modified !== modifiedAt) return false;
  return record.metaState === metaState(record, startReading(paths));
}

/** Returns a session's record with its meta file as it is now; the title is read again when names are asked for. */
export function readRecord(paths: PathsWithRules, session: SessionIdentity): SessionRecord {
  const stored = withState(paths, (store) => find(store, session)) ?? newRecord(session);
  return withMeta(session, stored, startReading(paths));
}

/** Returns every record as it was stored. */
export function readRecords(paths: PathsWithRules): Map<string, SessionRecord> {
  return new Map(withState(paths, allRecords).map((record) => [sessionKey(record), record]));
}

/** Returns a session's key in maps; a hub keeps the hash of it where the session was forgotten. */
export function sessionKey({ agent, id }: PartlyKnown<keyof SessionKey>): string {
  return `${agent} ${id}`;
}

/** Returns sessions with what they are called: Volute's name, the meta file's or the host's title. Writes nothing: a prompt may wait. */
export function withNames(sessions: readonly Session[], paths: PathsWithRules): Session[] {
  if (sessions.length === 0) return [];
  const reader = startReading(paths);
  const named = sessions.map((session) => {
    const name = shownText(session.name, reader.rules) ?? nameInMeta(session, reader);
    return { ...session, name };
  });
  // Where a meta file does not say it, the transcript does, from both of its ends.
  const unnamed = named.filter(({ name }) => name === undefined);
  const known = unnamed.length > 0 ? storedRecords(paths, unnamed) : [];
  for (const [i, session] of unnamed.entries()) {
    const { meta, title } = refreshed(session, known[i], reader);
    session.name = meta?.name ?? title;
  }
  return named;
}

/** Returns what one session is called. */
export function findName(session: Session, paths: PathsWithRules): string | undefined {
  return withNames([session], paths)[0]?.name;
}

function storedRecords(
  paths: PathsWithRules,
  sessions: readonly SessionIdentity[],
): (SessionRecord | undefined)[] {
  try {
    return withExistingState(paths, (store) => sessions.map((session) => find(store, session))) ?? [];
  } catch (error) {
    if (isStorageError(error)) return []; // read again from the files
    throw error;
  }
}

/** Stores a session's record, its meta as just exported; nothing of one that is excluded by now. */
export function saveRecord(paths: PathsWithRules, record: SessionRecord): void {
  const reader = startReading(paths);
  const saved = { ...record, metaState: metaState(record, reader) };
  withState(paths, (store) => writeRecords(store, [saved], reader.paths));
}

/** The name of a session. */
type Naming = { session: SessionKey; names: string[] };

/**
 * Returns the names of all sessions: of the given transcripts, and of the ones with only a meta file left. A
 * transcript is opened only if it changed since; names read from it are kept.
 */
export function namedSessions(paths: PathsWithRules, files: readonly TranscriptFile[]): Naming[] {
  const reader = startReading(paths);
  // Neither given files nor names that are excluded belong into the store.
  const isKept = paths.transcripts.length === 0 && paths.rules.seesExcluded !== true;
  try {
    if (isKept) return withState(paths, (store) => nameAll(files, reader, store));
  } catch (error) {
    // A full disk, a read-only home: names are read again, which takes its time.
    if (!isStorageError(error)) throw error;
  }
  return nameAll(files, reader);
}

function nameAll(files: readonly TranscriptFile[], reader: Reader, store?: Store): Naming[] {
  const known = new Map((store ? allRecords(store) : []).map((record) => [sessionKey(record), record]));
  const present = new Map<string, SessionIdentity>();
  for (const { agent, id, file } of files) {
    if (agent !== undefined && id !== undefined) present.set(sessionKey({ agent, id }), { agent, id, file });
  }
  const changed: SessionRecord[] = [];
  const named = [...present.values(), ...withoutTranscript(reader.paths, known, present)].map((session) => {
    const before = known.get(sessionKey(session));
    const now = refreshed(session, before, reader);
    const isSame = before?.titleState === now.titleState && before.metaState === now.metaState;
    if (!isSame || before.file !== now.file) changed.push(now);
    const names = [now.meta?.name, now.title].filter((name) => name !== undefined);
    return { session, names };
  });
  if (store) writeRecords(store, changed, reader.paths);
  return named;
}

/** Returns the sessions with only a meta file left; one that no record knows is opened. */
function withoutTranscript(
  paths: PathsWithRules,
  known: ReadonlyMap<string, SessionIdentity>,
  present: ReadonlyMap<string, SessionIdentity>,
): SessionIdentity[] {
  const left = new Set(metaFiles(paths));
  for (const session of present.values()) left.delete(metaFile(paths, session));
  const byMeta = new Map([...known.values()].map((session) => [metaFile(paths, session), session]));
  return [...left].flatMap((file) => {
    const session = byMeta.get(file);
    if (session) return [session];
    const { sessionId: id, sessionFile } = readMeta(file).meta ?? {};
    if (id === undefined || sessionFile === undefined) return [];
    return [{ agent: agentByPlace(sessionFile, paths), id, file: sessionFile }];
  });
}

interface Reader {
  paths: PathsWithRules;
  rules: Exclusion;
  /** Changes with the rules: titles read under others are read again. */
  version: string;
}

/** Whoever started before something was excluded must not read it now. */
function startReading(given: PathsWithRules): Reader {
  const rules = currentExclusion(given);
  const { paths } = rules;
  const version = shortHash(JSON.stringify([redactionVersion(paths.rules.redact), paths.rules])).toString(36);
  return { paths, rules, version };
}

/** Returns the record as its files are now. */
function refreshed(
  session: SessionIdentity,
  stored: SessionRecord | undefined,
  reader: Reader,
): SessionRecord {
  const record = withMeta(session, stored ?? newRecord(session), reader);
  const state = titleState(session, reader);
  if (record.titleState === state && record.file === session.file) return record;
  const { agent, file } = session;
  const title = hostTitle({ agent, file, size: statUnpacked(file)?.size ?? 0 });
  return { ...record, file, titleState: state, title: visibleFields({ ...session, title }, reader).title };
}

function withMeta(session: SessionIdentity, stored: SessionRecord, reader: Reader): SessionRecord {
  const state = metaState(session, reader);
  if (stored.metaState === state) return stored;
  const { meta, problem } = readMeta(metaFile(reader.paths, session));
  const shown = visibleFields({ ...session, meta: problem ? stored.meta : meta }, reader).meta;
  const indexedTo = withGiven(stored, shown);
  const isMended = problem !== undefined && mendMeta(session, shown, { problem, paths: reader.paths });
  return {
    ...stored,
    meta: shown,
    problem,
    metaState: isMended ? metaState(session, reader) : state,
    indexedTo,
  };
}

/** Sets a damaged meta file aside and writes what the record holds in its place. Returns whether it could. */
function mendMeta(
  session: SessionIdentity,
  meta: SessionMeta | undefined,
  { problem, paths }: { problem: string; paths: PathsWithRules },
): boolean {
  const file = metaFile(paths, session);
  const isNew = copyDamaged(file, paths);
  if (isNew === null) return false;
  try {
    if (!meta) remove(file);
    else exportMeta(paths, session, meta);
  } catch {
    return false; // a folder that takes no write: the record holds it
  }
  const error = `${file} was damaged (${problem}) and set aside in ${paths.meta}`;
  if (isNew) log(paths.log, { event: "meta", ok: false, session: session.id, error });
  return true;
}

/** Writes a session's meta file. */
export function exportMeta(paths: PathsWithRules, session: SessionKey, meta: SessionMeta): void {
  const path = metaFile(paths, session);
  const content = writeMeta(path, meta);
  if (isAbroad(path, paths)) recordWritten(paths, { path, content, sessionId: session.id });
}

/** Keeps how far the meta knows the transcript, unless it is another one; of an edited one the name stays. */
function withGiven(stored: SessionRecord, meta: SessionMeta | undefined): Progress | undefined {
  const { indexedTo, meta: before } = stored;
  if (!indexedTo || (!meta && !before)) return indexedTo;
  if (!meta || meta.lastIndexedLeafId !== before?.lastIndexedLeafId) return undefined;
  const isEdited = meta.name !== before.name && meta.updatedAt === before.updatedAt;
  return isEdited ? { ...indexedTo, note: { ...indexedTo.note, given: meta.name } } : indexedTo;
}

/** Returns the name in a session's meta file, whose other texts need no redaction then; undefined where it says none to show. */
function nameInMeta({ agent, id, file }: SessionIdentity, { paths, rules }: Reader): string | undefined {
  const { meta } = readMeta(metaFile(paths, { agent, id }));
  if (!meta || !rules.admits({ agent, id, file, name: meta.name, cwd: meta.cwd })) return undefined;
  return scrub(meta, rules.hasText).removed > 0 ? undefined : (cleanName(rules.clean(meta.name)) ?? "");
}

/** Redacts what is stored, and leaves out what is excluded by itself or with its session. */
function visibleFields(
  { agent, id, file, title, meta }: SessionIdentity & Partial<SessionRecord>,
  { rules }: Reader,
): Pick<SessionRecord, "title" | "meta"> {
  const name = meta?.name ?? title;
  if (!rules.admits({ agent, id, file, name, cwd: meta?.cwd })) return { title: undefined, meta: undefined };
  const shown = meta && scrub(meta, rules.hasText).removed === 0 ? rules.clean(meta) : undefined;
  return {
    title: cleanName(shownText(title, rules) ?? ""),
    meta: shown && { ...shown, name: cleanName(shown.name) ?? "" },
  };
}

/** Returns a text that changes when the title may: with the transcript, and with what else its host keeps one in. */
function titleState({ agent, file }: SessionIdentity, { version }: Reader): string {
  const kept = findFormat(agent).titleFile?.(file);
  const beside = kept === undefined ? "" : fileState(kept);
  return `${fileState(file)} ${beside} ${version}`;
}

function metaState(session: SessionIdentity, { paths, version }: Reader): string {
  return `${fileState(metaFile(paths, session))} ${version}`;
}

function fileState(file: string): string {
  const stat = statPath(file);
  return stat ? `${stat.size} ${stat.mtimeMs} ${stat.ino}` : "";
}

function newRecord({ agent, id, file }: SessionIdentity): SessionRecord {
  const nothing = { title: undefined, meta: undefined, indexedTo: undefined };
  return { agent, id, file, titleState: "", metaState: "", ...nothing };
}

function find(db: Store, { agent, id }: SessionKey): SessionRecord | undefined {
  const row = db.get("SELECT * FROM sessions WHERE agent = ? AND id = ?", agent, id);
  return row && toRecord(row);
}

function allRecords(db: Store): SessionRecord[] {
  return db.all("SELECT * FROM sessions").map(toRecord);
}

function writeRecords(db: Store, records: readonly SessionRecord[], paths: PathsWithRules): void {
  if (records.length === 0 || db.readOnly !== undefined) return;
  const json = (value: object | undefined) => (value ? JSON.stringify(value) : null);
  db.transaction(() => {
    // Asked under the lock: whoever forgets something writes config.json first, then takes it out of here.
    if (!isExclusionCurrent(paths)) return;
    for (const { agent, id, file, title, titleState, meta, metaState, indexedTo } of records)
      db.run(
        "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        agent,
        id,
        file,
        title ?? null,
        titleState,
        json(meta),
        metaState,
        json(indexedTo),
      );
  });
}

/** Returns whether config.json excludes nothing beyond what was read at the start. */
function isExclusionCurrent(paths: PathsWithRules): boolean {
  const known = paths.rules.exclude;
  const now = currentPaths(paths).rules.exclude;
  return EXCLUDE_KEYS.every((key) => now[key].length === new Set(known[key]).size);
}

function toRecord(row: SqlRow): SessionRecord {
  const parsed = <T>(value: SqlRow[string] | undefined) =>
    typeof value === "string" ? (parseRecord(value) as T | undefined) : undefined;
  return {
    agent: row.agent as Agent,
    id: String(row.id),
    file: String(row.file),
    title: textOf(row.title),
    titleState: String(row.title_state),
    meta: parsed<SessionMeta>(row.meta),
    metaState: String(row.meta_state),
    indexedTo: parsed<Progress>(row.indexed_to),
  };
}

/** Removes records and the meta files of ours that they are exported to, and returns these and the others about the same. */
export async function forgetMetas(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<Pick<Found, "metaFiles" | "keptFiles">> {
  const files =
    "ids" in forgetting ? metasAbout(forgetting.ids, paths) : metasWith(forgetting.hasText, paths);
  const { ours, others } = forgetFiles(files, { paths, dryRun: true });
  const found = { metaFiles: ours.length, keptFiles: others };
  if (dryRun) return found;
  for (const file of ours) {
    await withLock(`${file}.lock`, WRITER_WAIT_MS, () => void forgetFiles([file], { paths, dryRun }));
  }
  withExistingState(paths, (store) => {
    for (const record of allRecords(store))
      if (isForgotten(forgetting, record.id, textsIn(record)))
        store.run("DELETE FROM sessions WHERE agent = ? AND id = ?", record.agent, record.id);
  });
  return found;
}

/** Returns whether there is a meta file about a session. */
export function hasMeta(id: string, paths: PathsWithRules): boolean {
  return metasAbout(new Set([id]), paths).length > 0;
}

function metasAbout(ids: ReadonlySet<string>, paths: PathsWithRules): string[] {
  const files = [...ids].flatMap((id) => [...metaFilesAbout(id, paths), ...damagedMetas(paths, id)]);
  return [...new Set(files)].filter((file) => existsSync(file));
}

function metasWith(hasText: (text: string) => boolean, paths: PathsWithRules): string[] {
  const damaged = damagedMetas(paths).filter((file) => hasText(readText(file)));
  return [...damaged, ...metaFiles(paths).filter((file) => scrub(readJson(file), hasText).removed > 0)];
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
