/**
 * The sessions there are: listed by place and name alone, described from the first and last bytes of their files.
 *
 * Which one a reference means is lib/sessions/resolve.ts; what one is called, lib/sessions/names.ts; which project, lib/sessions/project.ts.
 */

import { basename, dirname, resolve } from "node:path";
import type { Paths } from "../config/config.ts";
import { ownRules } from "../transcripts/rules.ts";
import type { Agent, Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { headOf, newestCopies, parentOf, sessionOf } from "./discovery.ts";
import { lastDirectory, lastTime } from "./ends.ts";
import { directoriesOf, findTranscripts } from "./find.ts";
import { isKeptOut } from "./kept-out.ts";
import { origins, sessionOrigin } from "./origin.ts";
import { encodeClaudeCwd } from "./places.ts";
import { projectKeys } from "./project.ts";
import { nameOf } from "./session-name.ts";
import { voluteSessions } from "./volute.ts";

export interface ListOptions {
  agent?: Agent | undefined;
  /** Sessions of one project: by a directory in it (a path, or `.`), or by its name. @default all */
  project?: string | undefined;
  /** Whether subagent transcripts are listed too. @default {false} */
  subagents?: boolean | undefined;
  /**
   * Only files changed after this time, in milliseconds. No other is opened, whatever else is asked for, and Codex
   * sessions started more than a month ago are not looked for.
   */
  changedAfter?: number | undefined;
  /** Whether names, directories and start times are wanted, and sessions without conversation left out. @default {false} */
  described?: boolean | undefined;
  /**
   * Whether the order is that of the last dated rows, read from the ends of all files: the files' own times are those
   * of copying where they were copied, synced or restored. @default as described
   */
  dated?: boolean | undefined;
  /** At most this many, the newest. @default all */
  limit?: number | undefined;
  /** Whether excluded sessions are listed too, for what removes all that is held of them. @default {false} */
  excluded?: boolean | undefined;
  /** Where relative projects start, and where to look for Volute's folder from. @default the process's directory */
  cwd?: string | undefined;
}

/** A file no larger is read to tell whether it holds conversation. */
const SMALL_BYTES = 64 * 1024;

/**
 * The sessions there are, newest first, every id once.
 *
 * Costs listing folders and a stat per file. `described` and `project` also read the heads of the files that
 * `changedAfter` leaves; so do folders given in place of the agents' own, where only the content names the agent.
 */
export function listSessions(paths: Paths, options: ListOptions = {}): Session[] {
  const { agent, subagents, changedAfter, limit = Number.POSITIVE_INFINITY, excluded = false } = options;
  const { exclude } = paths.rules;
  const directory = projectDirectory(options);
  const sessions: Session[] = [];
  const recent = changedAfter !== undefined;
  for (const found of findTranscripts(paths, { agent, subagents, recent, directory, cwd: options.cwd })) {
    const session = found.ephemeral ? undefined : sessionOf(found, { changedAfter });
    if (!session || (agent !== undefined && session.agent !== agent)) continue;
    if (subagents || session.parentId === undefined) sessions.push(session);
  }
  const isWanted = projectFilter(options, directory);
  const listed: Session[] = [];
  const isDated = options.dated ?? options.described ?? false;
  for (const session of newestCopies(isDated ? sessions.map(dated) : sessions)) {
    if (listed.length >= limit) break;
    if (!isWanted(session) || (!excluded && isKeptOut(session, { paths, exclude }))) continue;
    if (!options.described) listed.push(session);
    else if (hasConversation(session)) listed.push(describeSession(session, paths));
  }
  return listed;
}

function dated(session: Session): Session {
  return { ...session, updatedAt: lastTime(session.file) ?? session.modifiedAt };
}

/** Adds what a session is called, where it works, when it began and when it went on last. */
export function describeSession(session: Session, paths: Paths): Session {
  const head = headOf(session.file);
  return {
    ...dated(session),
    name: nameOf(session, paths),
    cwd: head?.cwd ?? session.cwd,
    startedAt: head?.startedAt ?? session.startedAt,
    parentId: session.parentId ?? parentOf(session.id, head),
  };
}

/** The session of a transcript given by its path, described where `paths` are given; undefined when it is none. */
export function sessionAt(file: string, paths?: Paths): Session | undefined {
  const session = sessionOf({ file: resolve(file) });
  return session && paths ? describeSession(session, paths) : session;
}

/** Whether anything was said yet. Told exactly for small files; a larger one is taken to hold conversation. */
export function hasConversation({ file, size }: Session): boolean {
  if (size > SMALL_BYTES) return true;
  try {
    return !readEntries(file, { rules: ownRules(), unterminated: "accept" }).next().done;
  } catch {
    return false; // gone since it was listed, or not ours to read
  }
}

/** The directory that a project is asked for by; undefined when it is asked for by name or not at all. */
function projectDirectory({ project, cwd = process.cwd() }: ListOptions): string | undefined {
  if (project === undefined || !/[/\\]|^\.\.?$/.test(project)) return undefined;
  return resolve(cwd, project);
}

function projectFilter(
  { project, cwd }: ListOptions,
  directory: string | undefined,
): (session: Session) => boolean {
  if (directory !== undefined) return inProjectOf(directory, cwd ?? directory);
  if (project === undefined) return () => true;
  const keyOf = projectKeys();
  const wanted = project.toLowerCase();
  return ({ file }) => {
    const cwd = headOf(file)?.cwd;
    return cwd !== undefined && [cwd, keyOf(cwd)].some((path) => basename(path).toLowerCase() === wanted);
  };
}

function isSame(origin: string | undefined, other: string | undefined): boolean {
  return origin !== undefined && origin === other;
}

/** Folder names are lossy and sessions move, so the rows' own directory decides. */
export function inProjectOf(directory: string, cwd: string): (session: Session) => boolean {
  const keyOf = projectKeys();
  const key = keyOf(directory);
  const folders = new Set(directoriesOf(directory).map(encodeClaudeCwd));
  // Of those that are not taken none is asked about.
  const volute = voluteSessions(cwd, "any");
  const ofMind = new Set(volute.transcripts.map(({ file }) => file));
  const originAt = origins();
  return (session) => {
    const { id, agent, file } = session;
    // A mind's sessions are its own wherever they work.
    if (volute.names.has(id) || ofMind.has(file)) return true;
    if (session.machine !== undefined && isSame(sessionOrigin(session, originAt), originAt(directory))) {
      return true;
    }
    const started = headOf(file)?.cwd;
    if (started !== undefined && keyOf(started) === key) return true;
    // One that was moved here while it ran begins with rows that name another directory.
    if (agent !== "claude" || !folders.has(basename(dirname(file)))) return false;
    const now = lastDirectory(file);
    return now !== undefined && keyOf(now) === key;
  };
}
