/** Finds the sessions that are to be forgotten: a host has them, or only our own data still knows them. */

import { isAbsolute } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import type { PartlyKnown, Session } from "../hosts/session.ts";
import { findMachine } from "../sessions/places.ts";
import {
  directoryHere,
  namesOfDirectory,
  projectKey,
  projectLookup,
  projectNames,
  readOrigin,
  sessionProject,
} from "../sessions/project.ts";
import { hasMeta } from "../sessions/record.ts";
import { type Held, type ResolveContext, resolvePlace } from "../sessions/resolve.ts";
import { byLastRow, sessionPlace } from "../sessions/sessions.ts";
import { fitting } from "../transcripts/rules.ts";

/** A session to forget, as far as anything still records it: without `file` where neither host nor archive has it. */
export type Target = Pick<Session, "id"> &
  PartlyKnown<"agent" | "name" | "cwd" | "parentId" | "file" | "archived">;

interface TargetOptions extends Pick<ResolveContext, "paths" | "cwd" | "current" | "remark"> {
  held: readonly Held[];
  /** Tells whether a room has a file of a session, by its id. */
  hasFile: (id: string) => boolean;
}

/**
 * Resolves references to sessions, each with its subagents.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS`, or `NOT_FOUND` when neither a host nor our data knows it.
 */
export function namedTargets(references: readonly string[], options: TargetOptions): Target[] {
  const named = references.map((reference) => namedTarget(reference, options));
  const ids = new Set(named.map(({ id }) => id));
  const all = allKnown(options).map(({ target }) => target);
  const children = all.filter(({ parentId }) => parentId !== undefined && ids.has(parentId));
  return distinct([...named, ...children]);
}

function namedTarget(reference: string, options: TargetOptions): Target {
  const { paths, held, hasFile } = options;
  const exactly = { subagents: true, exact: true, sessionOnly: true, held: () => held };
  try {
    return toTarget(resolvePlace(reference, { ...options, ...exactly }).session);
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
    // Our files are named by id.
    if (hasMeta(reference, paths) || hasFile(reference)) return { id: reference };
    throw error;
  }
}

/** Returns the sessions of a project, or of all, that have been idle since a time. */
export function targetsWhere(
  { project, before }: { project?: string | undefined; before?: Date | undefined },
  options: TargetOptions,
): Target[] {
  const fits = fitting(project ?? "", options.paths);
  // Sessions of other machines belong to the same project if they have the same origin.
  const isDirectory = project !== undefined && isAbsolute(project);
  const origin = isDirectory ? readOrigin(project) : undefined;
  // Its top means the repository, wherever its sessions ran, a folder inside one only itself.
  const isTop = isDirectory && projectKey(project) === project;
  const names = isTop ? namesOfDirectory(project, projectLookup(options.paths)) : [];
  const isWanted = ({ target: { id }, here, updatedAt, project: known, names: own }: Forgettable) =>
    (before === undefined || Date.parse(updatedAt) < before.getTime()) &&
    (project === undefined ||
      (origin !== undefined && known === origin) ||
      own.some((name) => names.includes(name)) ||
      fits({ id, cwd: here, project: isDirectory && here === undefined ? undefined : known }));
  return distinct(
    allKnown(options)
      .filter(isWanted)
      .map(({ target }) => target),
  );
}

interface Forgettable {
  target: Target;
  /** Its directory, where that is one of this machine. */
  here: string | undefined;
  project: string | undefined;
  /** The names of its project. */
  names: readonly string[];
  updatedAt: string;
}

/** Returns every session that a host or an index knows. */
function allKnown({ paths, cwd, held }: TargetOptions): Forgettable[] {
  const listed = [...byLastRow(paths, { subagents: true, cwd })];
  const there = new Set(listed.map(({ id }) => id));
  const lookup = projectLookup(paths);
  const sessions = listed.map((session) => {
    const place = sessionPlace(session);
    const { updatedAt } = session;
    const project = sessionProject(place, lookup);
    const target = toTarget({ ...session, cwd: place.cwd });
    const [here, names] = [directoryHere(place), projectNames(place, lookup)];
    return { target, here, project, names, updatedAt };
  });
  const gone = held.filter(({ session }) => !there.has(session.id));
  const known = gone.map(({ session }) => {
    const { id, parentId = id, cwd, file, project, updatedAt } = session;
    const place = { id: parentId, cwd, machine: findMachine(file, paths) };
    const names = projectNames(session.owner !== undefined ? { ...place, cwd: project } : place, lookup);
    return { target: toTarget(session), here: directoryHere(place), project, names, updatedAt };
  });
  return [...sessions, ...known];
}

/** Returns a session as a target; where only an index holds it, no transcript is left. */
function toTarget(session: Session): Target {
  const { id, agent, name, cwd, parentId } = session;
  const known = { id, agent, name, cwd, parentId };
  if (session.size === 0) return known;
  return { ...known, file: session.file, archived: session.archived };
}

function distinct(targets: readonly Target[]): Target[] {
  const byId = new Map<string, Target>();
  for (const target of targets) if (!byId.has(target.id)) byId.set(target.id, target);
  return [...byId.values()];
}
