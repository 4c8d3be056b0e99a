/**
 * Others' sessions: the copies that `share` pulled, each with a document beside it that holds what its owner's machine says of the
 * session. The index reads them as it reads any copy; without the index they are listed from here.
 */

import { changedAt, readJson } from "../base/files.ts";
import { recordOf, stringOf } from "../base/json.ts";
import { compareText, onMachine, shortId } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { Paths, PathsWithRules } from "../config/config.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Session } from "../hosts/session.ts";
import { withExistingState } from "../store/state.ts";
import { isStorageError } from "../store/storage-errors.ts";
import { type Copy, listCopies } from "./copy-list.ts";
import { exclusionBy } from "./gate.ts";
import { META_SCHEMA_VERSION, type SessionMeta } from "./meta.ts";
import { hasPulled } from "./places.ts";

/** Copies whose hub was not asked for longer may hold what their reader may no longer read. */
const LEASE_DAYS = 30; // promised

/** Returns whether there are others' sessions, and the hub was asked so lately that they may be shown. */
export function mayShowShared(paths: Pick<Paths, "state" | "copies">, now: Date = new Date()): boolean {
  if (!hasPulled(paths)) return false;
  try {
    const row = withExistingState(paths, (db) =>
      db.get("SELECT value FROM share_facts WHERE name = 'pulled_at'"),
    );
    return now.getTime() - Date.parse(String(row?.value)) < LEASE_DAYS * DAY_MS;
  } catch (error) {
    if (isStorageError(error)) return false; // own sessions are still found
    throw error;
  }
}

/** Returns the file beside a copy with what its owner's machine says of the session. */
export function besideCopy(file: string): string {
  return file.replace(/\.jsonl$/, ".json");
}

/** Returns the paths of the copies of others' sessions, without the suffix; none where the user names what is read. */
export function pulledFiles(paths: Paths): string[] {
  return pulledCopies(paths).map(({ file }) => file);
}

function pulledCopies(paths: Paths): Copy[] {
  if (paths.transcripts.length > 0) return [];
  return [...listCopies(paths).values()].filter(({ owner }) => owner !== undefined);
}

interface PulledOptions {
  /** The paths of the copies. @default all */
  files?: readonly string[];
  /** True if sessions that config.json excludes are among them. @default {false} */
  excluded?: boolean;
}

/** Returns the sessions that others share, newest first, whether or not they may be shown. */
export function pulledSessions(
  paths: PathsWithRules,
  { files, excluded = false }: PulledOptions = {},
): Session[] {
  const copies = files?.length === 0 ? [] : pulledCopies(paths);
  const wanted = files && new Set(files);
  const { admits } = exclusionBy(paths);
  const sessions = copies.flatMap(({ file, agent, id, owner, machine }): Session[] => {
    const stat = wanted?.has(file) === false ? undefined : statUnpacked(file);
    if (!stat) return [];
    const said = recordOf(readJson(besideCopy(file)));
    const [name, project, cwd, parentId, startedAt] = [
      said.name,
      said.project,
      said.cwd,
      said.parentId,
      said.startedAt,
    ].map(stringOf);
    const [stored, modifiedAt] = [`${owner}@${machine}:${id}`, changedAt(stat)];
    const facts = { id: stored, agent, file, name, cwd, project, parentId, startedAt, owner };
    return [{ ...facts, updatedAt: modifiedAt, modifiedAt, size: stat.size }];
  });
  return sessions
    .filter(({ id, name, project }) => excluded || admits({ id, name, project }))
    .sort((a, b) => compareText(b.updatedAt, a.updatedAt) || compareText(a.id, b.id));
}

/** Returns the sessions that others share, newest first; none while they may not be shown. */
export function sharedSessions(paths: PathsWithRules): Session[] {
  return mayShowShared(paths) ? pulledSessions(paths) : [];
}

/** Returns what its owner's machine made of a session: a meta file, unless it made none, and the text of its observations. */
export function readTheirs({ id, name = id, cwd = "", file, startedAt, updatedAt }: Session): {
  meta: SessionMeta | undefined;
  observations: string | undefined;
} {
  const said = recordOf(readJson(besideCopy(file)));
  const observations = stringOf(said.observations);
  const { description = "", summary = "", tags = [] } = recordOf(said.meta) as Partial<SessionMeta>;
  if (description === "" && summary === "" && observations === undefined)
    return { meta: undefined, observations };
  const meta = {
    schemaVersion: META_SCHEMA_VERSION,
    sessionId: id,
    sessionFile: "",
    name,
    description,
    summary: summary === "" ? (observations ?? "") : summary,
    tags,
    cwd,
    createdAt: startedAt ?? updatedAt,
    updatedAt,
    model: "shared",
    lastIndexedLeafId: "",
  };
  return { meta, observations };
}

/** Returns the ids by which a session may be meant; another's session and its parent have ids on their own machine too. */
export function idsOf(session: Pick<Session, "id" | "owner">): string[] {
  return [session.id, ...(sharedBy(session)?.id.split("/") ?? [])];
}

/** Returns who shares a session, from which machine, and its id there; undefined for one's own. */
export function sharedBy({
  id,
  owner,
}: Pick<Session, "id" | "owner">): { owner: string; machine: string; id: string } | undefined {
  if (owner === undefined) return undefined;
  const [, machine = "", host = id] = /^[^@]+@([^:]+):(.+)$/.exec(id) ?? [];
  return { owner, machine, id: host };
}

/** Returns the short reference to a session, with whose or on which machine it is. */
export function shortReference(session: Pick<Session, "id" | "owner" | "machine">): string {
  const from = sharedBy(session);
  return from ? `${from.owner}@${from.machine}:${shortId(from.id)}` : onMachine(shortId(session.id), session);
}
