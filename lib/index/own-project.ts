/** Tells which sessions of an index belong to a project, wherever its folder is by now. */

import { folderName, projectName } from "../base/text.ts";
import type { Paths } from "../config/config.ts";
import { findMachine } from "../sessions/places.ts";
import { namesOfDirectory, projectFolders, projectLookup, projectNames } from "../sessions/project.ts";
import { sharedBy } from "../sessions/pulled.ts";
import type { Store } from "../store/store.ts";
import { hostId, type IndexedSession, SESSION_COLUMNS, toIndexedSession } from "./index-state.ts";

type Places = Pick<Paths, "repositories" | "synced">;
type PlacedSession = Pick<IndexedSession, "id" | "file" | "cwd" | "project" | "parentId" | "owner">;
type NamesOf = (
  place: Parameters<typeof projectNames>[0],
  lookup: ReturnType<typeof projectLookup>,
) => readonly string[];

/** Returns a test for sessions of a directory's project. */
export function matchProject(directory: string, paths: Places): (session: PlacedSession) => boolean {
  const lookup = projectLookup(paths);
  const names = new Set(namesOfDirectory(directory, lookup));
  return (session) =>
    storedNames(session, { paths, lookup, namesOf: projectNames }).some((name) => names.has(name));
}

/** Returns a lookup of what sessions' projects are known by: two with one name of them are one project. */
export function lookUpProjectNames(paths: Places): (session: PlacedSession) => readonly string[] {
  const lookup = projectLookup(paths);
  return (session) => storedNames(session, { paths, lookup, namesOf: projectNames });
}

/** Returns a test for sessions of projects that are called so, or ran in a folder called so; a path of Windows is a name. */
export function projectCalled(name: string, paths: Places): (session: PlacedSession) => boolean {
  const lookup = projectLookup(paths);
  const wanted = name.toLowerCase().replace(/[/\\]+$/, "");
  return (session) =>
    [session.cwd ?? "", ...storedNames(session, { paths, lookup, namesOf: projectFolders })]
      .map((path) => path.toLowerCase())
      .some((path) => path === wanted || [folderName(path), projectName(path)].includes(wanted));
}

/** Returns what a stored session's project is known by: of one that is not on this machine what was stored. */
function storedNames(
  session: PlacedSession,
  { paths, lookup, namesOf }: { paths: Places; lookup: ReturnType<typeof projectLookup>; namesOf: NamesOf },
): readonly string[] {
  const { project, cwd, file, parentId } = session;
  const known = project === undefined ? [] : [project];
  if (sharedBy(session) || findMachine(file, paths) !== undefined) return known;
  const id = parentId ?? hostId(session.id);
  const isNoted = known.some((top) => lookup.known.get(top)?.some(({ sessions }) => sessions.includes(id)));
  // What was not noted is known as it was when it was indexed: a worktree may be gone since.
  return [...namesOf({ id, cwd }, lookup), ...(isNoted ? [] : known)];
}

/** Returns the ids of the sessions in the index that pass a test. */
export function idsWhere(db: Store, isWanted: (session: PlacedSession) => boolean): string[] {
  const rows = db.all(`SELECT ${SESSION_COLUMNS} FROM sessions`).map(toIndexedSession);
  return rows.filter(isWanted).map(({ id }) => id);
}
