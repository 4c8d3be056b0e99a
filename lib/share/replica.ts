/**
 * The list of others' sessions: which session is whose and how much of it is here, in one file with the index of their copies.
 * Search reads it beside the main index; only `share` writes it, and `forget` takes out of it. Without it all is pulled anew.
 */

import { join } from "node:path";
import { besideCopy, writeCopy } from "../archive/copy.ts";
import { changedAt, namesIn, readJson, replaceFile, statPath } from "../base/files.ts";
import { shortHash } from "../base/text.ts";
import { type Paths, type PathsWithRules, REPLICA_VERSION, type Settings } from "../config/config.ts";
import { readNote } from "../hosts/blocks.ts";
import { BLOCKED } from "../hosts/names.ts";
import { statUnpacked } from "../hosts/packed.ts";
import { countRows, eraseFreed, forgetRows } from "../index/forget-rows.ts";
import { heldSessions } from "../index/held-sessions.ts";
import { removeSession } from "../index/session-rows.ts";
import { redactionVersion } from "../redact/redact.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { archivePlace } from "../sessions/places.ts";
import type { Held } from "../sessions/resolve.ts";
import type { ForgetIn, Forgetting } from "../store/state.ts";
import { hasReplica, openStore, readFact, removeDatabase, type Store, writeFact } from "../store/store.ts";
import { removePulled } from "./pulled-copy.ts";

/** The list, and the folder of the copies. */
export interface Replica extends Store {
  copies: string;
}

/** A session of the hub, as far as it is known here. */
export interface SharedSession {
  /** Its id in the replica: `<owner>@<machine>:<id>`. */
  storedId: string;
  owner: string;
  machine: string;
  agent: string;
  id: string;
  /** The hub's number of it. */
  number: number;
  origin: string;
  project: string;
  /** The hub's last change of it, and the last one that is here; 0: nothing of it is. */
  seq: number;
  heldSeq: number;
  updatedAt: string;
  /** Its size at the hub, in chunks of the usual size, as it was counted; -1: not yet. */
  chunks: number;
  /** The reason that it is not taken; undefined if it is. */
  fault?: string | undefined;
}

/** The bytes that count as one chunk: at the hub one has half as many with its deeds, in a copy about as many. */
export const WEIGHT_BYTES = 4096;

const TABLES = `
CREATE TABLE IF NOT EXISTS shared_sessions (
  stored_id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  machine TEXT NOT NULL,
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  origin TEXT NOT NULL,
  project TEXT NOT NULL,
  seq INTEGER NOT NULL,
  held_seq INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  PRIMARY KEY (owner, agent, id)
) STRICT;
-- rows of the hub that are not taken, and why
CREATE TABLE IF NOT EXISTS shared_refused (
  number TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  origin TEXT NOT NULL,
  session TEXT NOT NULL,
  fault TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shared_feeds (
  project TEXT NOT NULL,
  origin TEXT NOT NULL,
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum TEXT NOT NULL,
  PRIMARY KEY (project, origin)
) STRICT, WITHOUT ROWID`;

type ReplicaPaths = Pick<Paths, "shared" | "copies">;

/** Raised when what a pull writes means something else. */
const FORMAT = 5;
/** A digest of the rules under which the replica was filled. */
const SHARE_RULES_FACT = "share_rules";

/** Opens the replica for writing, created as needed. */
export function openReplica({ shared, copies }: ReplicaPaths): Replica {
  const store = openStore(shared, { carry: "nothing", version: REPLICA_VERSION });
  store.db.exec(TABLES);
  // Written in bulk: pages that change often stay in memory and go into the file once.
  store.db.exec("PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 20000; PRAGMA cache_size = -65536");
  return Object.assign(store, { copies });
}

/** Opens the replica for a pull; what came in under other rules is deleted, to be pulled again as a whole. */
export function openForPull(
  paths: ReplicaPaths,
  { redact, exclude }: Pick<Settings, "redact" | "exclude">,
): Replica {
  const rules = shortHash(JSON.stringify([FORMAT, exclude, redactionVersion(redact.extra)])).toString(36);
  let replica = openReplica(paths);
  if (readFact(replica, SHARE_RULES_FACT) !== rules) {
    replica.close();
    removeReplica(paths);
    replica = openReplica(paths);
  }
  writeFact(replica, SHARE_RULES_FACT, rules);
  return replica;
}

/** Runs work on the replica; undefined if there is none. */
export function withReplica<T>(paths: ReplicaPaths, work: (replica: Replica) => T): T | undefined {
  if (!hasReplica(paths)) return undefined;
  const replica = openReplica(paths);
  try {
    return work(replica);
  } finally {
    replica.close();
  }
}

/** Deletes the replica, with every copy of others' sessions. */
export function removeReplica(paths: ReplicaPaths): void {
  const end = `.jsonl${BLOCKED}`;
  for (const name of namesIn(paths.copies).filter((each) => each.endsWith(end))) {
    const file = join(paths.copies, name.slice(0, -BLOCKED.length));
    if (readNote(file)?.owner !== undefined) removePulled(file);
  }
  keepCopyList(paths);
  removeDatabase(paths.shared);
}

/** Returns where the copy of a session is, without its suffix. */
export function placeOfShared(
  { copies }: Pick<Replica, "copies">,
  { owner, machine, agent, id }: Pick<SharedSession, "owner" | "machine" | "agent" | "id">,
): string {
  return archivePlace({ copies }, { owner, machine, agent, id });
}

/** Returns every session of the hub that is known here; nothing is held of one whose copy is gone. */
export function readShared({ db }: Store): SharedSession[] {
  const rows = db.prepare(
    `SELECT h.stored_id AS storedId, h.owner, h.machine, h.agent, h.id, h.number, h.origin, h.project, h.seq,
       h.held_seq AS heldSeq, h.updated_at AS updatedAt, h.chunks, s.file
     FROM shared_sessions h LEFT JOIN sessions s ON s.id = h.stored_id ORDER BY h.updated_at DESC, h.stored_id`,
  );
  const sessions = rows.all() as unknown[] as (SharedSession & { file: string | null })[];
  return sessions.map(({ file, ...session }) =>
    file === null || statPath(file + BLOCKED) ? session : { ...session, heldSeq: 0 },
  );
}

/** Returns what a session takes here, in chunks of the usual size. */
export function heldSize(replica: Replica, session: SharedSession): number {
  const file = placeOfShared(replica, session);
  const bytes = [statUnpacked(file), statPath(besideCopy(file))].map((stat) => stat?.size ?? 0);
  return Math.ceil(bytes.reduce((sum, size) => sum + size) / WEIGHT_BYTES);
}

/** Returns the sessions of the hub that were not taken, each with why. */
export function refusedSessions(paths: ReplicaPaths): string[] {
  const rows = withReplica(paths, ({ db }) =>
    db.prepare("SELECT session, fault FROM shared_refused ORDER BY session").all(),
  );
  return (rows ?? []).map(({ session, fault }) => `${session} (${fault})`);
}

/** Removes a session and its contents. */
export function removeShared(replica: Replica, session: SharedSession): void {
  emptyShared(replica, session);
  replica.db.prepare("DELETE FROM shared_sessions WHERE stored_id = ?").run(session.storedId);
}

/** Removes the contents of a session, but keeps that it exists. */
export function emptyShared(replica: Replica, session: SharedSession): void {
  const { db } = replica;
  const { storedId } = session;
  removePulled(placeOfShared(replica, session));
  const number = db.prepare("SELECT number FROM sessions WHERE id = ?").get(storedId)?.number;
  if (number !== undefined) removeSession(replica, { number: Number(number), id: storedId });
  db.prepare("UPDATE shared_sessions SET held_seq = 0 WHERE stored_id = ?").run(storedId);
}

/** Returns the sessions that others share, as the replica holds them; nothing if there is none. */
export function heldShared(paths: Paths): Held[] {
  return withReplica(paths, heldSessions) ?? [];
}

/** Forgets in the replica, and counts the chunks it was found in. */
export async function forgetShared(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<{ sharedChunks: number }> {
  if (!("ids" in forgetting) && !dryRun) await forgetInCopies(forgetting, paths);
  const chunks = withReplica(paths, (replica) =>
    "ids" in forgetting
      ? forgetSharedSessions(replica, forgetting.ids, dryRun)
      : forgetSharedText(replica, forgetting, dryRun),
  );
  if (!dryRun) keepCopyList(paths);
  return { sharedChunks: chunks ?? 0 };
}

function forgetSharedSessions(replica: Replica, ids: ReadonlySet<string>, dryRun: boolean): number {
  const found = readShared(replica).filter(
    ({ id, storedId }) => ids.has(storedId) || id.split("/").some((part) => ids.has(part)),
  );
  const count = replica.db.prepare("SELECT count(*) AS n FROM session_chunks WHERE session_id = ?");
  const chunks = found.reduce((sum, { storedId }) => sum + Number(count.get(storedId)?.n), 0);
  if (dryRun || found.length === 0) return chunks;
  replica.db.transaction(() => {
    for (const session of found) removeShared(replica, session);
    // the next pull compares all: it would take them for read
    replica.db.exec("DELETE FROM shared_feeds");
  });
  eraseFreed(replica);
  return chunks;
}

function forgetSharedText(
  replica: Store,
  forgetting: Exclude<Forgetting, { ids: unknown }>,
  dryRun: boolean,
): number {
  const { chunks } = countRows(forgetting, replica);
  if (dryRun) return chunks;
  forgetRows(forgetting, replica);
  return chunks;
}

/** Writes the copies that hold a text anew without it, and what is beside them. */
async function forgetInCopies(
  { hasText }: Exclude<Forgetting, { ids: unknown }>,
  paths: PathsWithRules,
): Promise<void> {
  const rules = currentExclusion({ paths, settings: paths.rules });
  const held =
    withReplica(paths, (replica) => readShared(replica).map((each) => placeOfShared(replica, each))) ?? [];
  for (const file of held) {
    const [stat, about = {}] = [statPath(file + BLOCKED), readNote(file)];
    if (!stat) continue;
    const options = { rules, about, note: {}, modifiedAt: changedAt(stat), durable: true };
    if ((await writeCopy(file, file, { ...options, dryRun: true }))?.excluded)
      await writeCopy(file, file, options);
    const kept = Object.entries(readJson(besideCopy(file)) ?? {}).filter(
      ([, value]) => !hasText(JSON.stringify(value)),
    );
    replaceFile(besideCopy(file), JSON.stringify(Object.fromEntries(kept)));
  }
}
