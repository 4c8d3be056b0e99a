/**
 * Lists sessions by place and name alone, describes them from the first and last bytes of their files, and finds the
 * repository that a session works in and the session that it came from.
 *
 * References are resolved in lib/sessions/resolve.ts, names in lib/sessions/names.ts, projects in lib/sessions/project.ts.
 */

import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { namesIn } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { textOf } from "../transcripts/format.ts";
import { readHead } from "../transcripts/head.ts";
import { ownRules } from "../transcripts/rules.ts";
import type { Agent, Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { headOf, lastDirectory, lastTime, newestCopies, parentOf, sessionOf } from "./discovery.ts";
import { directoriesOf, findTranscripts, voluteSessions } from "./find.ts";
import { nameOf } from "./meta.ts";
import { encodeClaudeCwd } from "./places.ts";
import { normalizeRemote, origins, projectKeys } from "./project.ts";
import { isExcluded } from "./unlisted.ts";

export interface ListOptions {
  agent?: Agent | undefined;
  /** A project: a directory in it (a path, or `.`), or its name. @default all */
  project?: string | undefined;
  /** Whether subagent transcripts are included. @default {false} */
  subagents?: boolean | undefined;
  /**
   * Milliseconds: only files changed later. No others are opened, and Codex sessions started more than a month ago are
   * not searched.
   */
  changedAfter?: number | undefined;
  /** Whether to add names, directories and times, and leave out sessions without conversation. @default {false} */
  described?: boolean | undefined;
  /**
   * Whether to order by the last dated row, read from the end of every file: copied, synced and restored files have
   * the time of the copying. @default as described
   */
  dated?: boolean | undefined;
  /** The maximum number of sessions, newest first. @default all */
  limit?: number | undefined;
  /** Whether excluded sessions are included, for removing what is held of them. @default {false} */
  excluded?: boolean | undefined;
  /** The directory of relative projects, and where the search for `.volute` starts. @default the process's directory */
  cwd?: string | undefined;
}

/** Files up to this size are checked for conversation. */
const SMALL_BYTES = 64 * 1024;

/**
 * Lists sessions, newest first, each id once.
 *
 * Costs listing folders and a stat per file. `described` and `project` also read the heads of the files that
 * `changedAfter` leaves; so do given folders, where only the content names the agent.
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
    if (!isWanted(session) || (!excluded && isExcluded(session, { paths, exclude }))) continue;
    if (!options.described) listed.push(session);
    else if (hasConversation(session)) listed.push(describeSession(session, paths));
  }
  return listed;
}

function dated(session: Session): Session {
  return { ...session, updatedAt: lastTime(session.file) ?? session.modifiedAt };
}

/** Adds name, directory, start time and the time of the last row. */
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

/** Returns the session of a transcript's path, described if `paths` are given; undefined when it is not a transcript. */
export function sessionAt(file: string, paths?: Paths): Session | undefined {
  const session = sessionOf({ file: resolve(file) });
  return session && paths ? describeSession(session, paths) : session;
}

/** Whether anything was said yet. Exact for small files; larger ones are assumed to have conversation. */
export function hasConversation({ file, size }: Session): boolean {
  if (size > SMALL_BYTES) return true;
  try {
    return !readEntries(file, { rules: ownRules(), unterminated: "accept" }).next().done;
  } catch {
    return false; // gone since it was listed, or not ours to read
  }
}

/** Returns the directory that names the project; undefined for a project's name, or none. */
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

/** Returns a check whether a session belongs to a directory's project. Folder names are lossy, so the rows decide. */
export function inProjectOf(directory: string, cwd: string): (session: Session) => boolean {
  const keyOf = projectKeys();
  const key = keyOf(directory);
  const folders = new Set(directoriesOf(directory).map(encodeClaudeCwd));
  // Sessions of an untrusted folder are never asked about.
  const volute = voluteSessions(cwd, "any");
  const ofMind = new Set(volute.transcripts.map(({ file }) => file));
  const originAt = origins();
  return (session) => {
    const { id, agent, file } = session;
    // A mind's sessions belong to it wherever they work.
    if (volute.names.has(id) || ofMind.has(file)) return true;
    const origin = session.machine === undefined ? undefined : sessionOrigin(session, originAt);
    if (origin !== undefined && origin === originAt(directory)) return true;
    const started = headOf(file)?.cwd;
    if (started !== undefined && keyOf(started) === key) return true;
    // A session that moved here while it ran begins with rows of another directory.
    if (agent !== "claude" || !folders.has(basename(dirname(file)))) return false;
    const now = lastDirectory(file);
    return now !== undefined && keyOf(now) === key;
  };
}

const HOME = /^(?:\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Za-z]:[/\\]Users[/\\][^/\\]+)(?=[/\\]|$)/;

/** The origin of a session's repository: as its host noted it, else by its directory. */
function sessionOrigin(
  session: Pick<Session, "file" | "cwd" | "machine">,
  originAt: (directory: string) => string | undefined,
): string | undefined {
  const head = session.cwd === undefined ? headOf(session.file) : undefined;
  const noted = head?.remote === undefined ? undefined : normalizeRemote(head.remote);
  if (noted !== undefined) return noted;
  const cwd = session.cwd ?? head?.cwd;
  if (cwd === undefined) return undefined;
  return originAt(session.machine === undefined ? cwd : directoryHere(cwd));
}

/** Where another machine's directory is on this one: at the same place, or at the same place below the user's home. */
function directoryHere(cwd: string): string {
  if (existsSync(cwd)) return cwd;
  const home = HOME.exec(cwd)?.[0];
  if (home === undefined) return cwd;
  return join(process.getBuiltinModule("node:os").homedir(), cwd.slice(home.length).replaceAll("\\", "/"));
}

const HEAD_BYTES = 64 * 1024;
/** Larger folders are not searched for the origin of a fork. */
const SIBLINGS_MAX = 500;

/** Returns the transcript of the session that this one came from; undefined when none is known. */
export function parentFile(session: Session): string | undefined {
  const head = readHead(session.file);
  if (!head) return undefined;
  if (session.agent === "pi") return head.forkedFrom;
  if (session.agent !== "claude") return undefined;
  const parentId = session.parentId ?? head.parentId;
  if (parentId !== undefined && parentId !== session.id)
    return besideOrAbove(session.file, `${parentId}.jsonl`);
  return forkOrigin(session, head.startedAt);
}

/** A subagent's file lies two folders below its parent's, or beside it in older versions. */
function besideOrAbove(file: string, name: string): string | undefined {
  let folder = dirname(file);
  for (let up = 0; up < 5; up++, folder = dirname(folder)) {
    if (namesIn(folder).includes(name)) return join(folder, name);
  }
  return undefined;
}

/** Claude Code copies a fork's rows with their ids and begins the new file later: the older holder of the first is the origin. */
function forkOrigin({ file }: Session, startedAt: string | undefined): string | undefined {
  const first = readEntries(file, { rules: ownRules() }).next().value;
  if (first?.id === undefined || startedAt === undefined || first.at === undefined || first.at >= startedAt)
    return undefined;
  const names = namesIn(dirname(file)).filter((name) => name.endsWith(".jsonl"));
  if (names.length > SIBLINGS_MAX) return undefined;
  let origin: { file: string; startedAt: string } | undefined;
  for (const name of names) {
    const other = join(dirname(file), name);
    if (other === file || !headHolds(other, `"uuid":"${first.id}"`)) continue;
    const began = readHead(other)?.startedAt;
    if (began !== undefined && began < startedAt && began < (origin?.startedAt ?? "~"))
      origin = { file: other, startedAt: began };
  }
  return origin?.file;
}

function headHolds(file: string, text: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return false; // gone since it was listed, or not ours to read
  }
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, HEAD_BYTES, 0)).includes(text);
  } finally {
    closeSync(descriptor);
  }
}

/** A transcript as flat text, with the line of each message. */
export interface SessionFile {
  /** File name. */
  path: string;
  absPath: string;
  mtimeMs: number;
  size: number;
  /** sha256 of content and line map. */
  hash: string;
  /** One line per message: `User: …` or `Assistant: …`. */
  content: string;
  /** For each line of `content` its 1-based line in the transcript. */
  lineMap: number[];
}

/** Reads a whole transcript's messages; null when it cannot be read. */
export async function parseSessionFile(absPath: string): Promise<SessionFile | null> {
  try {
    const { mtimeMs, size } = statSync(absPath);
    const lines: string[] = [];
    const lineMap: number[] = [];
    for (const entry of readEntries(absPath, { rules: ownRules(), unterminated: "accept" })) {
      if (entry.kind !== "user" && entry.kind !== "assistant") continue;
      const text = extractSessionText(entry.text);
      if (text === null) continue;
      lines.push(`${entry.kind === "user" ? "User" : "Assistant"}: ${text}`);
      lineMap.push(entry.line);
    }
    const content = lines.join("\n");
    // The global: importing node:crypto would double the start of everything that reads transcripts.
    const text = new TextEncoder().encode(`${content}\n${lineMap.join(",")}`);
    const hash = Buffer.from(await crypto.subtle.digest("SHA-256", text)).toString("hex");
    return { path: basename(absPath), absPath, mtimeMs, size, hash, content, lineMap };
  } catch {
    return null; // promised: no reason is wanted, validateSessionFile gives it
  }
}

/** Returns the words of a message's content on one line; null when there are none. */
export function extractSessionText(content: unknown): string | null {
  const blocks = Array.isArray(content) ? content : [content];
  const parts = blocks
    .map((block) =>
      textOf(typeof block === "string" ? block : [block])
        .replace(/\s+/g, " ")
        .trim(),
    )
    .filter(Boolean);
  return parts.join(" ") || null;
}

/** Lists the `*.jsonl` files of a directory; none when it cannot be read. */
export async function listSessionFiles(directory: string): Promise<string[]> {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((item) => item.isFile() && item.name.endsWith(".jsonl"))
      .map((item) => join(directory, item.name))
      .sort();
  } catch {
    return [];
  }
}
