/** Finds the sessions to forget: those the hosts have, and those that only our own data still knows. */

import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { findCursorFile } from "../activity/look.ts";
import { SessionMemoryError } from "../base/errors.ts";
import type { PathsWithRules, Settings } from "../config/config.ts";
import type { HeldSession } from "../index/held-sessions.ts";
import { ledgerFile } from "../observe/ledger.ts";
import { findMachine } from "../sessions/places.ts";
import {
  directoryHere,
  projectDirectories,
  projectKey,
  projectLookup,
  readOrigin,
  realDirectory,
  sessionProject,
} from "../sessions/project.ts";
import { hasMeta } from "../sessions/record.ts";
import { namedExactly } from "../sessions/references.ts";
import { type ResolveContext, resolveSession } from "../sessions/resolve.ts";
import { listSessions, sessionPlace } from "../sessions/sessions.ts";
import { readExclusion } from "../transcripts/rules.ts";
import type { Agent, Session } from "../transcripts/session.ts";

/** A session to forget. */
export interface Target {
  id: string;
  /** Undefined when only files are left that do not record it. */
  agent?: Agent | undefined;
  name?: string | undefined;
  cwd?: string | undefined;
  /** The session that started it. */
  parentId?: string | undefined;
  /** Its transcript, if the host still has it. */
  transcript?: string | undefined;
}

interface TargetOptions extends Pick<ResolveContext, "paths" | "cwd" | "current" | "remark"> {
  held: readonly HeldSession[];
}

/** The most characters of a name in an error message, which is one line. */
const TEXT_MAX = 60;

/**
 * Resolves references to sessions, each with its subagents.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS`, or `NOT_FOUND` when neither a host nor our data knows it.
 */
export function namedTargets(references: readonly string[], options: TargetOptions): Target[] {
  const named = references.map((reference) => namedTarget(reference, options));
  const ids = new Set(named.map(({ id }) => id));
  const children = allKnown(options).filter(({ parentId }) => parentId !== undefined && ids.has(parentId));
  return distinct([...named, ...children]);
}

function namedTarget(reference: string, options: TargetOptions): Target {
  const { paths, held } = options;
  const exactly = { subagents: true, exact: true, sessionOnly: true };
  try {
    return toTarget(resolveSession(reference, { ...options, ...exactly }));
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
    const known = namedExactly(reference, held);
    if (known.length === 1 && known[0]) return toTarget(known[0]);
    if (known.length > 1) {
      const ids = known.map(({ id }) => id).slice(0, 5);
      throw new SessionMemoryError(
        "AMBIGUOUS",
        `Cannot tell which session "${reference.slice(0, TEXT_MAX)}" is: it fits ${known.length}`,
        { details: { candidates: ids }, hint: `use an id: ${ids.join(", ")}` },
      );
    }
    // Our files are named by id.
    if (isHeldById(reference, paths)) return { id: reference };
    throw error;
  }
}

/** Returns whether any file of ours other than an index is about a session. */
function isHeldById(id: string, paths: PathsWithRules): boolean {
  const files = [ledgerFile(paths, id), findCursorFile(paths.cursors, id).path];
  return hasMeta(id, paths) || files.some((file) => existsSync(file));
}

/** Returns the entry of `exclude.projects` for a project as the user named it. */
export function projectEntry(project: string, cwd: string): string {
  if (!/[/\\]|^\.\.?$/.test(project)) return project;
  const directory = realDirectory(project.startsWith(".") ? `${cwd}/${project}` : project);
  // The top of a repository means all its worktrees, a folder inside one only itself.
  return projectDirectories(directory).includes(directory) ? projectKey(directory) : directory;
}

/** Returns the sessions of a project, or of all, that have been idle since a time. */
export function targetsWhere(
  { project, before }: { project?: string | undefined; before?: Date | undefined },
  options: TargetOptions,
): Target[] {
  const exclude: Settings["exclude"] = { sessions: [], projects: project ? [project] : [], patterns: [] };
  const { hasSession } = readExclusion(exclude);
  // Sessions of other machines belong to the same project if they have the same origin.
  const isDirectory = project !== undefined && isAbsolute(project);
  const origin = isDirectory ? readOrigin(project) : undefined;
  const isWanted = ({ id, here, updatedAt, project: known }: Known) =>
    (before === undefined || Date.parse(updatedAt) < before.getTime()) &&
    (project === undefined ||
      (origin !== undefined && known === origin) ||
      hasSession({ id, cwd: here, project: isDirectory && here === undefined ? undefined : known }));
  return distinct(allKnown(options).filter(isWanted));
}

interface Known extends Target {
  /** Its directory, where that is one of this machine. */
  here: string | undefined;
  project: string | undefined;
  updatedAt: string;
}

/** Returns every session that a host or an index knows. */
function allKnown({ paths, cwd, held }: TargetOptions): Known[] {
  const listed = listSessions(paths, { subagents: true, cwd, dated: true });
  const there = new Set(listed.map(({ id }) => id));
  const lookup = projectLookup();
  const sessions = listed.map((session) => {
    const place = sessionPlace(session);
    const { updatedAt } = session;
    const project = sessionProject(place, lookup);
    return { ...toTarget({ ...session, cwd: place.cwd }), here: directoryHere(place), project, updatedAt };
  });
  const gone = held.filter(({ id }) => !there.has(id));
  const hereOf = ({ cwd, file }: HeldSession) => directoryHere({ cwd, machine: findMachine(file, paths) });
  return [
    ...sessions,
    ...gone.map((session) => ({ ...session, ...toTarget(session), here: hereOf(session) })),
  ];
}

/** Of one that only an index holds, no transcript is left. */
function toTarget(session: Session | HeldSession): Target {
  const { id, agent, name, cwd, parentId, file } = session;
  const isThere = "size" in session && session.size > 0;
  return { id, agent, name, cwd, parentId, transcript: isThere ? file : undefined };
}

function distinct(targets: readonly Target[]): Target[] {
  const byId = new Map<string, Target>();
  for (const target of targets) if (!byId.has(target.id)) byId.set(target.id, target);
  return [...byId.values()];
}
