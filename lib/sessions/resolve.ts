/**
 * Resolves a reference to a session: id, id prefix, name, something like a name, `last`, or a transcript's path.
 *
 * A reference is compared with what was found and never becomes part of a path: only one that is itself the path of a
 * `.jsonl` file reaches the file system.
 */

import { basename, resolve } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { statPath } from "../base/files.ts";
import { oneLine } from "../base/text.ts";
import { formatAge } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { LineRange, Session, SessionKey } from "../hosts/session.ts";
import { findTranscripts } from "./found.ts";
import { agentByPlace, cleanName, metaFile, readMeta, type SessionMeta } from "./meta.ts";
import type { TranscriptFile } from "./places.ts";
import { isSubagentId } from "./places.ts";
import { sharedBy, sharedSessions } from "./pulled.ts";
import { findName, namedSessions, sessionKey } from "./record.ts";
import {
  asPath,
  findBegun,
  findMeant,
  likeName,
  nearest,
  placeIn,
  type Referable,
  splitMachine,
} from "./references.ts";
import {
  byLastRow,
  describeSession,
  hasConversation,
  identifySession,
  newestCopies,
  sessionAt,
  visibleAmong,
} from "./sessions.ts";
import { lastTime } from "./titles.ts";

export interface ResolveContext {
  paths: PathsWithRules;
  /** The directory of relative paths, and where the search for `.volute` starts. */
  cwd: string;
  /** The id of the session that asks. */
  current?: string | undefined;
  /** True if an id prefix or a name may mean a subagent's session too; a full id always may. @default {false} */
  subagents?: boolean | undefined;
  /** True if a name must match exactly. @default {false} */
  exact?: boolean | undefined;
  /** True if a place in a session is wrong usage. @default {false} */
  sessionOnly?: boolean | undefined;
  /** True if a session that others share may be meant where no own transcript is exactly. @default {false} */
  shared?: boolean | undefined;
  /** Own sessions that only stores of ours hold: these are asked once no transcript is exactly meant. @default none */
  held?: ((wanted: string) => readonly Held[]) | undefined;
  /** Receives a remark on what a reference came to mean. */
  remark?: ((text: string) => void) | undefined;
}

const NEAREST_SHOWN = 3; // promised: the nearest 3
const CANDIDATES_SHOWN = 5; // promised: at most 5

/** A session that a store of ours holds. */
export interface Held extends Referable {
  session: Session;
}

/** A session and, if the reference names them, lines of its transcript. */
export interface Place {
  session: Session;
  lines: LineRange[] | undefined;
}

/**
 * Returns the session that a reference means, described. A place in a session means the session.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`, with `details.candidates`.
 */
export function resolveSession(reference: string, context: ResolveContext): Session {
  return resolvePlace(reference, context).session;
}

/**
 * Returns the session and the lines that a reference means; the whole reference is tried as a name first.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`, with `details.candidates`.
 */
export function resolvePlace(reference: string, context: ResolveContext): Place {
  const wanted = reference
    .trim()
    .replace(/^@@/, "")
    .replace(/^"(.*)"$/, "$1");
  // No name or path of ours can match this.
  if (wanted === "" || /\p{Cc}/u.test(wanted)) throw notFound(wanted);
  const place = placeIn(wanted);
  if (!place) return { session: resolveWhole(wanted, context), lines: undefined };
  const session = tryWhole(wanted, { ...context, exact: true });
  if (session) return { session, lines: undefined };
  if (context.sessionOnly) throw noPlace(wanted, place.session);
  return { session: resolveWhole(place.session, context), lines: place.lines };
}

/** Returns the session with the newest last row, other than the current one: of this project, else of all. */
function last({ paths, cwd, current, remark }: ResolveContext): Session {
  const newest = (project?: string) =>
    byLastRow(paths, { cwd, project }).find((session) => session.id !== current && hasConversation(session));
  const own = newest(cwd);
  const session = own ?? newest();
  if (!session) throw notFound("last", { reason: "there is no other session yet" });
  if (!own) remark?.("this project has no other session: last is the newest of any project");
  return session;
}

function resolveWhole(wanted: string, context: ResolveContext): Session {
  const { paths, cwd } = context;
  const path = asPath(wanted, cwd);
  const there = path === undefined ? undefined : sessionAt(path);
  const at = there && one(wanted, [there], paths);
  const session = at ?? (wanted === "last" ? last(context) : named(wanted, context));
  return session.owner === undefined ? describeSession(session, paths) : session;
}

function tryWhole(wanted: string, context: ResolveContext): Session | undefined {
  try {
    return resolveWhole(wanted, context);
  } catch (error) {
    if (error instanceof SessionMemoryError && error.type === "NOT_FOUND") return undefined;
    throw error;
  }
}

/** A session that a reference may mean. */
interface KnownSession extends Referable {
  session: SessionKey;
  /** Its transcript and its copies, which may be newer; empty if only a meta file is left. */
  files: TranscriptFile[];
  names: string[];
}

/** Finds a named session, searching in order of cost: file names, then names, then what our stores hold. */
function named(reference: string, context: ResolveContext): Session {
  const { paths, cwd, subagents = false, exact } = context;
  const { wanted, machine } = splitMachine(reference, paths.synced);
  const found = findTranscripts(paths, { cwd, subagents: subagents || isSubagentId(wanted) }).filter(
    (file) => machine === undefined || file.machine === machine,
  );
  const withSameId = withId(wanted, found);
  if (withSameId.length > 0) return one(wanted, withSameId, paths);
  const files = identified(found, subagents);
  const there = byId(files);
  const begun = readKnown(findBegun(wanted, [...there.values()]), paths);
  if (begun.length === 1) return one(wanted, begun, paths);
  const isGiven = paths.transcripts.length > 0 || machine !== undefined;
  const all = joinNames(there, namedSessions(paths, files));
  // Where folders or a machine are named, a meta file alone stands for no session there.
  const known = isGiven ? all.filter(({ files }) => files.length > 0) : all;
  const meant = readKnown(findMeant(wanted, known), paths);
  if (meant.length > 0) return one(wanted, meant, paths);
  const held = findHeld(reference, context);
  if (held.length > 0) return one(reference, held, paths);
  const like = readKnown(likeName(wanted, known), paths);
  if (like.length > 0 && exact) throw notFound(wanted, { near: like.slice(0, CANDIDATES_SHOWN), paths });
  if (like.length > 0) return one(wanted, like, paths);
  const path = asPath(wanted, cwd);
  if (path !== undefined) {
    const reason = statPath(path) ? "it holds no conversation that is known" : "there is no such file";
    throw notFound(path, { reason });
  }
  throw notFound(wanted, { near: nearestSessions(wanted, known, paths), paths });
}

function withId(wanted: string, found: readonly TranscriptFile[]): Session[] {
  const mayBe = found.filter(({ id, file }) =>
    id === undefined ? basename(file).includes(wanted) : id === wanted,
  );
  const sessions = mayBe.flatMap((file) => identifySession(file) ?? []);
  return newestCopies(sessions.filter(({ id }) => id === wanted));
}

/** Identifies files by content where their names do not suffice, and drops temporary Volute sessions. */
function identified(found: readonly TranscriptFile[], subagents: boolean): TranscriptFile[] {
  const files: TranscriptFile[] = [];
  for (const file of found) {
    if (file.ephemeral) continue;
    const known = file.agent !== undefined && file.id !== undefined ? file : identifySession(file);
    if (known?.id === undefined) continue;
    if (subagents || (known.parentId === undefined && !file.subagent)) files.push(known);
  }
  return files;
}

/** Returns the sessions of files, each with all of its copies and the names that Volute gives it. */
function byId(files: readonly TranscriptFile[]): Map<string, KnownSession> {
  const known = new Map<string, KnownSession>();
  for (const file of files) {
    const { agent = "", id = "", name } = file;
    const key = sessionKey({ agent, id });
    const one = known.get(key) ?? newKnown({ agent, id });
    one.files.push(file);
    if (name !== undefined) one.names.push(name);
    known.set(key, one);
  }
  return known;
}

function newKnown(session: SessionKey): KnownSession {
  return { session, ids: [session.id], files: [], names: [] };
}

/** Returns the sessions without an own transcript that are meant, each once. */
function findHeld(wanted: string, { held, shared, paths }: ResolveContext): Session[] {
  const theirs = shared ? sharedSessions(paths).map(asHeld) : [];
  const found = findMeant(wanted, [...theirs, ...(held?.(wanted) ?? [])]);
  return [...new Map(found.map(({ session }) => [session.id, session])).values()];
}

/** Returns a session that others share as references know it. */
export function asHeld(session: Session): Held {
  const { id, name } = session;
  return { session, ids: [id, sharedBy(session)?.id ?? id], names: name === undefined ? [] : [name] };
}

/** Adds the names that meta files and hosts give, and the sessions with only a meta file left. */
function joinNames(
  there: ReadonlyMap<string, KnownSession>,
  named: ReturnType<typeof namedSessions>,
): KnownSession[] {
  return named.map(({ session, names }) => {
    const known = there.get(sessionKey(session)) ?? newKnown(session);
    return { ...known, names: [...known.names, ...names] };
  });
}

/** Returns the most similar first, not the newest. */
function nearestSessions(wanted: string, all: readonly KnownSession[], paths: PathsWithRules): Session[] {
  const named = all.map((known) =>
    known.names.length > 0 ? known : { ...known, names: [known.session.id] },
  );
  const found = nearest(wanted, named, NEAREST_SHOWN).flatMap((known) => readKnown([known], paths));
  return visibleAmong(found, paths);
}

function readKnown(known: readonly KnownSession[], paths: PathsWithRules): Session[] {
  const sessions = known.flatMap(({ session, files }) => {
    if (files.length > 0) return files.flatMap((file) => identifySession(file) ?? []);
    const { meta } = readMeta(metaFile(paths, session));
    return meta ? [sessionByMeta(meta, paths)] : [];
  });
  return newestCopies(sessions);
}

/** Returns a session whose transcript the host has deleted, or keeps elsewhere. */
function sessionByMeta(meta: SessionMeta, paths: PathsWithRules): Session {
  const { sessionId: id, sessionFile: file, name, cwd } = meta;
  const there = identifySession({ file: resolve(file) });
  if (there?.id === id) return there;
  const time = Date.parse(meta.updatedAt);
  const at = new Date(time <= Date.now() ? time : 0).toISOString();
  const agent = agentByPlace(file, paths);
  return { id, agent, file, name: cleanName(name), cwd, updatedAt: at, modifiedAt: at, size: 0 };
}

/** Returns the only session that may be read. */
function one(wanted: string, sessions: readonly Session[], paths: PathsWithRules): Session {
  const [first] = sessions;
  if (!first) throw notFound(wanted);
  const [session, ...others] = visibleAmong(sessions, paths);
  if (!session) throw keptOut(first);
  if (others.length > 0) throw ambiguous(wanted, [session, ...others], paths);
  return session;
}

/** Returns the error for a session that config.json excludes. */
function keptOut({ id }: Session): SessionMemoryError {
  return new SessionMemoryError("NOT_FOUND", `Cannot use session "${id}": it is kept out`, {
    details: { isExcluded: true },
    hint: "take it out of exclude in config.json",
  });
}

/** A session in an error's details. */
export interface Candidate extends SessionKey {
  name: string | undefined;
  ageSeconds: number;
}

const NAME_SHOWN = 60; // five of them fit a hint
/** A truncated id would be useless. */
const ID_SHOWN = 255;
const HOW_TO_NAME = "name a session by its id, its name or the path of its .jsonl file";

/** Returns the error for a reference that matches several sessions, newest first. */
function ambiguous(wanted: string, sessions: readonly Session[], paths: PathsWithRules): SessionMemoryError {
  const all = describeCandidates(sessions, paths);
  const candidates = all.sort((a, b) => a.ageSeconds - b.ageSeconds).slice(0, CANDIDATES_SHOWN);
  const isOneId = new Set(sessions.map(({ id }) => id)).size === 1;
  const files = sessions.slice(0, CANDIDATES_SHOWN).map(({ file }) => file);
  const hint = isOneId ? `use a path: ${files.join(", ")}` : `use an id: ${joinCandidates(candidates)}`;
  const shown = sessions.length > CANDIDATES_SHOWN ? `, the newest ${CANDIDATES_SHOWN} are listed` : "";
  return new SessionMemoryError(
    "AMBIGUOUS",
    `Cannot tell which session "${safe(wanted)}" is: ${sessions.length} sessions match${shown}`,
    { details: { reference: safe(wanted), candidates }, hint },
  );
}

/** Returns the error for lines of a session where only a session can be meant. */
function noPlace(wanted: string, session: string): SessionMemoryError {
  return new SessionMemoryError("USAGE", `Cannot use "${safe(wanted)}": it names lines of a session`, {
    hint: `name the session alone: ${safe(session)}`,
  });
}

/** Returns the error for a reference that matches none: with the nearest sessions, or why the named file is not a transcript. */
function notFound(
  wanted: string,
  found?: { near: readonly Session[]; paths: PathsWithRules } | { reason: string },
): SessionMemoryError {
  const reason = found && "reason" in found ? found.reason : undefined;
  const candidates = found && "near" in found ? describeCandidates(found.near, found.paths) : [];
  const reference = oneLine(wanted, reason === undefined ? NAME_SHOWN : Number.POSITIVE_INFINITY);
  const message = [`Cannot find session "${reference}"`, reason].filter(Boolean).join(": ");
  return new SessionMemoryError("NOT_FOUND", message, {
    details: { reference, candidates },
    hint: candidates.length > 0 ? `the nearest are ${joinCandidates(candidates)}` : HOW_TO_NAME,
  });
}

function describeCandidates(sessions: readonly Session[], paths: PathsWithRules): Candidate[] {
  return sessions.map((session) => {
    const name = findName(session, paths);
    return {
      id: oneLine(session.id, ID_SHOWN),
      agent: session.agent,
      name: name === undefined ? undefined : safe(name),
      ageSeconds: Math.max(
        0,
        Math.round((Date.now() - Date.parse(lastTime(session) ?? session.updatedAt)) / 1000),
      ),
    };
  });
}

function joinCandidates(candidates: readonly Candidate[]): string {
  return candidates
    .map(({ id, agent, name, ageSeconds }) => {
      const called = name === undefined ? "" : ` "${name}"`;
      return `${id}${called} (${agent}, ${formatAge(ageSeconds)} ago)`;
    })
    .join(", ");
}

function safe(text: string): string {
  return oneLine(text, NAME_SHOWN);
}
