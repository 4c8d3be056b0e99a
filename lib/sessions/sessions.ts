/** Lists sessions by place and name alone, describes them from the ends of their files, and says which are kept out. */

import { existsSync, type Stats } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { changedAt } from "../base/files.ts";
import { compareText, folderName, projectName } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { Paths, PathsWithRules } from "../config/config.ts";
import type { Head } from "../hosts/format.ts";
import { findFormat, findHost, HOSTS } from "../hosts/hosts.ts";
import { readBegin } from "../hosts/lines.ts";
import { unpackedName } from "../hosts/names.ts";
import { isCopyOnDisk, statUnpacked } from "../hosts/packed.ts";
import type { Agent, Session, SessionIdentity } from "../hosts/session.ts";
import { outermostEntries } from "../transcripts/cursor.ts";
import { tryHead } from "../transcripts/head.ts";
import type { Rules } from "../transcripts/rules.ts";
import { isForgottenWhole } from "../transcripts/transcript.ts";
import { archivedTranscripts, findTranscripts } from "./found.ts";
import { currentExclusion, type Exclusion } from "./gate.ts";
import { compareAge, newestFirst } from "./newest-first.ts";
import { hasSubagentId, idInName, listDirectories, type TranscriptFile } from "./places.ts";
import {
  namesOfDirectory,
  type ProjectPlace,
  projectFolders,
  projectLookup,
  projectNames,
} from "./project.ts";
import { sessionKey, withNames } from "./record.ts";
import { lastDirectory, lastTime } from "./titles.ts";
import { voluteSessions } from "./volute.ts";

export interface ListOptions {
  agent?: Agent | undefined;
  /** A project: a directory in it (a path, or `.`), or its name. @default all */
  project?: string | undefined;
  /** True if subagent transcripts are included. @default {false} */
  subagents?: boolean | undefined;
  /** True if excluded sessions are included, for removing what is held of them. @default {false} */
  excluded?: boolean | undefined;
  /** The directory of relative projects, and where the search for `.volute` starts. @default the process's directory */
  cwd?: string | undefined;
}

/** Files up to this size are checked for conversation. */
const SMALL_BYTES = 64 * 1024;

/**
 * Lists sessions, newest first by the time of their files, each id once.
 *
 * Costs listing folders and a stat per file. `project` also reads the heads of the files, since their rows name it; so do
 * given folders, where only the content names the agent.
 */
export function listSessions(paths: PathsWithRules, options: ListOptions = {}): Session[] {
  const listed = listFiles(paths, options).map(({ session }) => session);
  const wanted = newestCopies(listed.filter(projectFilter(options, paths)));
  return options.excluded ? wanted : visibleAmong(wanted, paths);
}

/**
 * Yields sessions by their last dated row, newest first, each id once: copied, synced and restored files have the time of the
 * copying. A file is opened only where it may have a later row than the files read before.
 */
export function byLastRow(paths: PathsWithRules, options: ListOptions = {}): Generator<Session, undefined> {
  const isOfProject = projectFilter(options, paths);
  const copies = Map.groupBy(listFiles(paths, options), ({ session }) => sessionKey(session));
  const rules = options.excluded ? undefined : currentExclusion(paths);
  const mayRead = (session: Session) => !rules || isVisible(session, rules);
  const read = (files: readonly ListedFile[]) => {
    const wanted = files.filter(({ session }) => isOfProject(session));
    const sessions = wanted.map(({ session, stat }) => dated(session, stat));
    return (sessions.length > 1 ? newestCopies(sessions) : sessions).filter(mayRead);
  };
  return newestFirst(
    [...copies.values()].map((files) => ({
      latest: Math.max(...files.map(latestRow)),
      read: () => read(files),
    })),
  );
}

interface ListedFile {
  session: Session;
  stat: Stats;
}

/** Rows are dated by one clock and files by another: the zones of the two may differ. */
const CLOCKS_APART_MS = DAY_MS;

/** Returns the time, in milliseconds, after which a file has no row. Its time of change may be any, its system's own may not. */
function latestRow({ stat }: ListedFile): number {
  return Math.max(stat.ctimeMs, stat.mtimeMs) + CLOCKS_APART_MS;
}

/** Identifies every transcript there is. */
function listFiles(paths: Paths, { agent, subagents, cwd }: ListOptions): ListedFile[] {
  return findTranscripts(paths, { agent, subagents, cwd }).flatMap((found) => {
    const stat = found.ephemeral ? undefined : statUnpacked(found.file);
    const session = stat && identifySession(found, stat);
    if (!session || (agent !== undefined && session.agent !== agent)) return [];
    return !subagents && session.parentId !== undefined ? [] : [{ session, stat }];
  });
}

function dated(session: Session, stat?: Stats): Session {
  const { agent, file, modifiedAt } = session;
  // A file that its host compressed has the time of the rows, and its end is not reached without all of it.
  if (findHost(agent)?.compresses && !existsSync(file) && !isCopyOnDisk(file)) return session;
  return { ...session, updatedAt: lastTime(session, stat) ?? modifiedAt };
}

/** Adds name, directory, start time and the time of the last row. */
export function describeSessions(sessions: readonly Session[], paths: PathsWithRules): Session[] {
  return withNames(sessions.map(fromHead), paths);
}

function fromHead(session: Session): Session {
  const head = tryHead(session.file);
  return {
    ...dated(session),
    cwd: head?.cwd ?? session.cwd,
    startedAt: head?.startedAt ?? session.startedAt,
    parentId: session.parentId ?? findParentId(session.id, head),
  };
}

export function describeSession(session: Session, paths: PathsWithRules): Session {
  const [described = session] = describeSessions([session], paths);
  return described;
}

/** Returns the session of a transcript's path, described if `paths` is set; undefined when it is not a transcript. */
export function sessionAt(file: string, paths?: PathsWithRules): Session | undefined {
  const rows = unpackedName(resolve(file));
  const copy = paths && archivedTranscripts(paths).find(({ file }) => file === rows);
  const session = identifySession(copy ?? { file: rows });
  return session && paths ? describeSession(session, paths) : session;
}

/** Returns the session of a transcript's path, described; undefined when it is not a transcript, or may not be read. */
export function visibleSessionAt(file: string, paths: PathsWithRules): Session | undefined {
  const session = sessionAt(file, paths);
  return session && visibleAmong([session], paths)[0];
}

/** Returns the sessions that may be read at this moment: a run may have waited for whoever was excluding something. */
export function visibleAmong(sessions: readonly Session[], paths: PathsWithRules): Session[] {
  const rules = currentExclusion(paths);
  return sessions.filter((session) => isVisible(session, rules));
}

/** Returns whether a session may be read by these rules. */
export function isVisible(session: Session, rules: Exclusion): boolean {
  return rules.admits(session) && !isCopy(session.file, rules);
}

/** Returns whether a transcript is a copy of forgotten sessions. */
function isCopy(file: string, rules: Rules): boolean {
  try {
    return rules.isForgotten !== undefined && isForgottenWhole(file, rules);
  } catch {
    return false; // gone since it was listed, or not ours to read
  }
}

/** Returns whether a session may still be read: one may have waited for whoever was forgetting it. */
export function isStillVisible(session: Session, paths: PathsWithRules): boolean {
  return isVisible(session, currentExclusion(paths));
}

/** Returns the files that are not transcripts as sessions of unknown kind. */
export function unlistedTranscripts(paths: PathsWithRules, listed: readonly Session[]): Session[] {
  const files = new Set(listed.map(({ file }) => file));
  const isGiven = paths.transcripts.length > 0;
  // Where names give agent and id, every file is listed already.
  const agents = isGiven ? [undefined] : HOSTS.flatMap((host) => (host.hasOtherFiles ? host.agent : []));
  const found = agents.flatMap((agent) => findTranscripts(paths, { agent, subagents: true }));
  return found.flatMap((found) => {
    if (!isGiven && found.agent === undefined) return [];
    if (files.has(found.file) || found.ephemeral || identifySession(found)) return [];
    const stat = statUnpacked(found.file);
    if (!stat?.isFile() || stat.size === 0) return [];
    const id = basename(found.file, ".jsonl");
    const modifiedAt = changedAt(stat);
    const { file, agent = "plain" } = found;
    return [{ id, agent, file, updatedAt: modifiedAt, modifiedAt, size: stat.size }];
  });
}

/** Returns whether anything was said yet. Exact for small files; larger ones are assumed to have conversation. */
export function hasConversation({ file, size }: Session): boolean {
  if (size > SMALL_BYTES) return true;
  try {
    return outermostEntries(file).length > 0;
  } catch {
    return false; // gone since it was listed, or not ours to read
  }
}

/** Returns the directory that names the project; undefined for a project's name, or none. */
export function projectDirectory({
  project,
  cwd = process.cwd(),
}: Pick<ListOptions, "project" | "cwd">): string | undefined {
  if (project === undefined || !/[/\\]|^\.\.?$/.test(project)) return undefined;
  return resolve(cwd, project);
}

function projectFilter({ project, cwd }: ListOptions, paths: Paths): (session: Session) => boolean {
  const directory = projectDirectory({ project, cwd });
  if (directory !== undefined) return projectTest(directory, { cwd: cwd ?? directory, paths });
  if (project === undefined) return () => true;
  const lookup = projectLookup(paths);
  const wanted = project.toLowerCase();
  return (session) => {
    const place = sessionPlace(session);
    return [place.cwd ?? "", ...projectFolders(place, lookup)].some((path) =>
      [folderName(path), projectName(path)].some((name) => name.toLowerCase() === wanted),
    );
  };
}

/** Returns a check whether a session belongs to a directory's project. Folder names are lossy, so the rows decide. */
export function projectTest(
  directory: string,
  { cwd, paths }: { cwd: string; paths: Pick<Paths, "repositories"> },
): (session: Session) => boolean {
  const lookup = projectLookup(paths);
  const names = new Set(namesOfDirectory(directory, lookup));
  const isHere = (place: Parameters<typeof projectNames>[0]) =>
    projectNames(place, lookup).some((name) => names.has(name));
  const directories = listDirectories(directory, paths);
  // Sessions of an untrusted folder are never asked about.
  const volute = voluteSessions(cwd);
  const ofMind = new Set(volute.transcripts.map(({ file }) => file));
  return (session) => {
    const { id, agent, file, machine } = session;
    // A mind's sessions belong to it wherever they work.
    if (volute.names.has(id) || ofMind.has(file) || isHere(sessionPlace(session))) return true;
    // A session that moved here while it ran begins with rows of another directory.
    const folder = basename(dirname(file));
    const { folderName } = findHost(agent) ?? {};
    if (!folderName || !directories.some((each) => folderName(each) === folder)) return false;
    return isHere({ id: session.parentId ?? id, cwd: lastDirectory(file), machine });
  };
}

/** Returns where a session began: the directory it is listed under. */
export function sessionPlace({ id, parentId = id, file, cwd, machine }: Session): ProjectPlace {
  const head = tryHead(file);
  return { id: parentId, cwd: head?.cwd ?? cwd, remote: head?.remote, machine };
}

/** Ids that a host took from its user: never a path. */
const PLAIN_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?$/;

/** Returns the session of a found file; undefined when it is gone or not a transcript. */
export function identifySession(
  found: TranscriptFile,
  stat: Stats | undefined = statUnpacked(found.file),
): Session | undefined {
  if (!stat?.isFile()) return undefined;
  const known = isIdentified(found) ? found : (identify(found, stat) ?? found);
  const { agent, id, name, file, machine, archived } = known;
  if (agent === undefined || id === undefined || (found.subagent && known.parentId === undefined))
    return undefined;
  const modifiedAt = changedAt(stat);
  const parentId = found.parentId ?? known.parentId ?? readParent({ agent, id, file });
  const facts = { id, agent, file, name, parentId, machine, archived };
  return { ...facts, updatedAt: modifiedAt, modifiedAt, size: stat.size };
}

function isIdentified({ agent, id, subagent, parentId }: TranscriptFile): boolean {
  return agent !== undefined && id !== undefined && (!subagent || parentId !== undefined);
}

/** Reads what only the content says: the agent, an id that the name lacks, the parent of a subagent beside its parent's file. */
function identify(found: TranscriptFile, stat: Stats): TranscriptFile | undefined {
  const head = tryHead(found.file, stat);
  if (!head || (found.agent !== undefined && head.agent !== found.agent)) return undefined;
  const id = findId(found.file, head);
  return { ...found, agent: head.agent, id, parentId: found.parentId ?? findParentId(id, head) };
}

function findId(file: string, head: Head): string | undefined {
  const stem = basename(file, ".jsonl");
  const host = findHost(head.agent);
  if (!host || host.isNamedById) return (host && idInName(host, file)) ?? stem;
  return head.id !== undefined && PLAIN_ID.test(head.id) ? head.id : undefined;
}

/** Returns a subagent's parent session. A main transcript may have rows of subagents too, where ids tell these. */
function findParentId(id: string | undefined, head: Head | undefined): string | undefined {
  const host = findHost(head?.agent);
  if (!head || !id || (host?.subagents !== undefined && !hasSubagentId(host, id))) return undefined;
  return head.parentId === id ? undefined : head.parentId;
}

/** A page: a listing reads it of every transcript of such a host. */
const BEGIN_BYTES = 4096;

/** Returns the parent of a session whose host keeps subagents among the others, under names like theirs. */
function readParent({ agent, id, file }: SessionIdentity): string | undefined {
  try {
    const parentId = findFormat(agent).parentIn?.exec(readBegin(file, BEGIN_BYTES))?.[1];
    return parentId === id ? undefined : parentId;
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

/**
 * Sorts newest first, and keeps one of several copies of a session: the newest, or where one was synced from another
 * machine the longest, since a copy may be behind and its time is that of the copying.
 */
export function newestCopies(sessions: readonly Session[]): Session[] {
  const kept = new Map<string, Session>();
  for (const session of sessions.toSorted(compareAge)) {
    const key = sessionKey(session);
    const newer = kept.get(key) ?? session;
    // A host may begin a second file of a session that it resumes, and go on in the first.
    const isEmpty = newer !== session && !hasConversation(newer) && hasConversation(session);
    const isCopy = newer.archived === true && session.archived !== true;
    const better = isEmpty || isCopy || isLonger(session, newer) ? session : newer;
    // Either copy may have the name.
    better.name ??= session.name ?? newer.name;
    kept.set(key, better);
  }
  return [...kept.values()].sort((a, b) => compareText(b.updatedAt, a.updatedAt));
}

function isLonger(session: Session, than: Session): boolean {
  if (session.machine === undefined && than.machine === undefined) return false;
  if (session.archived) return false;
  if (session.size !== than.size) return session.size > than.size;
  return session.machine === undefined && than.machine !== undefined;
}
