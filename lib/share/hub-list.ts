/**
 * The list of the hub's sessions, in state.db, with the reasons that some are not taken. Only a copy says how far its session was
 * read: its note has the hub's number of the last change. Without the list all is compared again, and nothing is read twice.
 */

import { removeCopy } from "../archive/copy-files.ts";
import { statPath } from "../base/files.ts";
import { numberOf } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import type { Config, PathsWithRules, Settings } from "../config/config.ts";
import { markErase } from "../index/forget-rows.ts";
import { unreadPulled } from "../index/freshness.ts";
import { indexInTurn } from "../index/indexing.ts";
import { removeSession } from "../index/session-rows.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { archivePlace } from "../sessions/places.ts";
import { besideCopy, pulledFiles, pulledSessions } from "../sessions/pulled.ts";
import { withExistingState } from "../store/state.ts";
import type { Store } from "../store/store.ts";
import { readNote, statUnpacked } from "../transcripts/files.ts";
import { redactionVersion } from "../transcripts/rules.ts";
import { readShareFact, type Sharing, writeShareFact } from "./share-state.ts";

/** The list, which state.db holds, and the place of the copies. */
interface HubList extends Pick<Sharing, "state"> {
  config: Pick<Config, "paths">;
}

/** A pull. */
export interface Pull extends Sharing {
  /** The keys of sessions that the index has itself. */
  own: ReadonlySet<string>;
  /** Filled in with the sessions that lost something: a file's bytes and the log may still hold it. */
  gone: Set<string>;
  /** Filled in with the sessions that are at the hub no more, or only in part. */
  withdrawn: Set<string>;
}

/** A session of the hub, as far as it is known here. */
export interface SharedSession {
  /** Its id here: `<owner>@<machine>:<id>`. */
  storedId: string;
  owner: string;
  machine: string;
  agent: string;
  id: string;
  /** The hub's number of it. */
  number: number;
  origin: string;
  project: string;
  /** The hub's last change of it, and the one up to which nothing was said in it: it has no copy. */
  seq: number;
  silentSeq: number;
  updatedAt: string;
  /** Its size at the hub, in chunks of the usual size, as it was counted; -1: not yet. */
  chunks: number;
  /** The reason that it is not taken; undefined if it is. */
  fault?: string | undefined;
}

/** A session that is to be read, from the change on that is here. */
export interface WantedSession extends SharedSession {
  heldSeq: number;
}

/** The bytes that count as one chunk: at the hub one has half as many with its deeds, in a copy about as many. */
export const WEIGHT_BYTES = 4096;

const TABLE = `
CREATE TABLE IF NOT EXISTS hub_sessions (
  stored_id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  machine TEXT NOT NULL,
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  origin TEXT NOT NULL,
  project TEXT NOT NULL,
  seq INTEGER NOT NULL,
  silent_seq INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  PRIMARY KEY (owner, agent, id)
) STRICT`;

/** Raised when what a pull writes means something else. */
const FORMAT = 6;

/** Opens the list for a pull; what came in under other rules is removed, to be pulled again as a whole. */
export function openForPull({ state, config }: Pick<Sharing, "state" | "config">): void {
  state.exec(TABLE);
  const { redact, exclude } = config.settings;
  const rules = shortHash(JSON.stringify([FORMAT, exclude, redactionVersion(redact)])).toString(36);
  if (readShareFact(state, "pull_rules") !== rules) removeAllPulled({ state, config });
  writeShareFact(state, "pull_rules", rules);
}

/** Runs work on the list; undefined where nothing was pulled yet. */
export function withHubList<T>(config: HubList["config"], work: (list: HubList) => T): T | undefined {
  return withExistingState(config.paths, (state) => {
    const hasTables = state.get("SELECT 1 FROM sqlite_schema WHERE name = 'hub_sessions'") !== undefined;
    return hasTables ? work({ state, config }) : undefined;
  });
}

/** Removes every copy of others' sessions, and the list. */
export function removeAllPulled({ state, config: { paths } }: HubList): void {
  for (const file of pulledFiles({ ...paths, transcripts: [] })) removeCopy(file);
  keepCopyList(paths);
  state.exec("DELETE FROM hub_sessions");
  for (const name of ["feeds", "unread"] as const) writeShareFact(state, name, undefined);
}

/** Returns every session of the hub that is known here. */
export function readShared({ state }: HubList): SharedSession[] {
  return state.all(`SELECT stored_id AS storedId, owner, machine, agent, id, number, origin, project, seq, silent_seq AS silentSeq,
       updated_at AS updatedAt, chunks
     FROM hub_sessions ORDER BY updated_at DESC, stored_id`) as unknown[] as SharedSession[];
}

/** Returns the hub's last change of a session that is here, as its copy's note says; 0: nothing of it is. */
export function readHeldSeq({ config }: HubList, session: SharedSession): number {
  const note = readNote(archivePlace(config.paths, session));
  if (!note) return session.silentSeq;
  return (note.number === session.number && numberOf(note.seq)) || 0;
}

/** Returns what a session takes here, in chunks of the usual size. */
export function heldSize({ config }: HubList, session: SharedSession): number {
  const file = archivePlace(config.paths, session);
  const bytes = [statUnpacked(file), statPath(besideCopy(file))].map((stat) => stat?.size ?? 0);
  return Math.ceil(bytes.reduce((sum, size) => sum + size) / WEIGHT_BYTES);
}

/** A session of the hub that is not taken, by its id. */
interface UnreadSession extends Pick<SharedSession, "number" | "project" | "origin"> {
  session: string;
  /** The reason. */
  fault: string;
}

/** Returns the sessions of the hub that were not taken. */
export function readUnread({ state }: HubList): UnreadSession[] {
  return JSON.parse(readShareFact(state, "unread") ?? "[]");
}

/** Returns the sessions of the hub that were not taken, each with why. */
export function refusedSessions(config: HubList["config"]): string[] {
  const unread = withHubList(config, readUnread) ?? [];
  return unread.map(({ session, fault }) => `${session} (${fault})`).sort();
}

/** Removes a session and its contents. */
export function removeShared(list: HubList, session: SharedSession): void {
  emptyShared(list, session);
  list.state.run("DELETE FROM hub_sessions WHERE stored_id = ?", session.storedId);
}

/** Removes the contents of a session, but keeps that it exists. */
export function emptyShared(list: HubList, session: SharedSession): void {
  removeCopy(archivePlace(list.config.paths, session));
  noteSilent(list, session, 0);
}

/** Notes the change up to which nothing was said in a session. */
export function noteSilent({ state }: HubList, { storedId }: SharedSession, seq: number): void {
  state.run("UPDATE hub_sessions SET silent_seq = ? WHERE stored_id = ?", seq, storedId);
}

/** Notes what a session was found to take. */
export function noteSize({ state }: HubList, { storedId }: SharedSession, size: number): void {
  state.run("UPDATE hub_sessions SET chunks = ? WHERE stored_id = ?", size, storedId);
}

/** Brings the index up to date with the copies of others' sessions; a copy that is gone takes its rows along. Returns how many chunks are new. */
export async function indexPulled(
  store: Store,
  { paths, settings }: { paths: PathsWithRules; settings: Settings },
): Promise<number> {
  dropGone(store, new Set(pulledFiles(paths)));
  const sessions = pulledSessions(paths, { files: unreadPulled(store, paths) });
  return sessions.length === 0 ? 0 : (await indexInTurn({ store, paths, settings, sessions })).newChunks;
}

function dropGone(store: Store, files: ReadonlySet<string>): void {
  const known = store.all("SELECT number, id, file FROM sessions WHERE owner IS NOT NULL");
  const gone = known.filter(({ file }) => !files.has(String(file)));
  if (gone.length === 0) return;
  store.transaction(() => {
    for (const { number, id } of gone) removeSession(store, { number: Number(number), id: String(id) });
    markErase(store);
  });
}
