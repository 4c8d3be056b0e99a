/**
 * Which session a reference means: id, beginning of an id, name, something like a name, `last`, or a transcript's path.
 *
 * A reference is compared with what was found and never made part of a path: only one that is itself the path of a
 * `.jsonl` file reaches the file system.
 */

import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Paths } from "./config.ts";
import { newestCopies, sessionOf } from "./discovery.ts";
import { hostTitle } from "./ends.ts";
import { SessionMemoryError } from "./errors.ts";
import { findTranscripts } from "./find.ts";
import { metaFile } from "./meta.ts";
import { likeName, type Named, nearest, sameName } from "./name-match.ts";
import { knownNames, type MetaName, nameOf, readMetaName } from "./names.ts";
import { agentOfFile } from "./places.ts";
import { oneLine, redact } from "./redact.ts";
import type { Agent, Session } from "./session.ts";
import { describeSession, hasConversation, sessionAt } from "./sessions.ts";
import { formatAge } from "./times.ts";

export interface ResolveContext {
  paths: Paths;
  /** Where relative paths start and Volute's folder is looked for. */
  cwd: string;
  /** Id of the session that asks. */
  current?: string | undefined;
  /** Whether the beginning of an id and a name may mean a subagent's session too; a full id always may. @default {false} */
  subagents?: boolean | undefined;
}

/** What an error's details name a session by. */
export interface Candidate {
  id: string;
  agent: Agent;
  name: string | undefined;
  ageSeconds: number;
}

/** Shorter beginnings of ids are too likely to be words. */
const PREFIX_MIN = 4;
const AMBIGUOUS_SHOWN = 5;
const NEAREST_SHOWN = 3;
const NAME_SHOWN = 60;
/** An id that is cut names nothing. */
const ID_SHOWN = 255;

/**
 * The one session that a reference means, described.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`, with `details.candidates`.
 */
export function resolveSession(reference: string, context: ResolveContext): Session {
  const wanted = reference
    .trim()
    .replace(/^@@/, "")
    .replace(/^"(.*)"$/, "$1");
  // What no name or path of ours can hold is not worth looking for.
  if (wanted === "" || /\p{Cc}/u.test(wanted)) throw notFound(wanted, [], context);
  const session =
    wanted === "last" ? lastSession(context) : (atPath(wanted, context) ?? named(wanted, context));
  return describeSession(session, context.paths);
}

/** A path is told by its suffix, so that no other file is ever touched on a reference's word. */
function atPath(wanted: string, { cwd }: ResolveContext): Session | undefined {
  if (!wanted.endsWith(".jsonl")) return undefined;
  const path = wanted.startsWith("~/") ? join(homedir(), wanted.slice(2)) : resolve(cwd, wanted);
  return sessionAt(path);
}

function lastSession(context: ResolveContext): Session {
  const last = allSessions(context).find(
    (session) => session.id !== context.current && hasConversation(session),
  );
  if (!last) throw notFound("last", [], context);
  return last;
}

function named(wanted: string, context: ResolveContext): Session {
  const exact = byId(wanted, context);
  if (exact.length > 0) return one(wanted, exact, context);
  const sessions = allSessions(context);
  const quick = withNames(sessions, context, { thorough: false });
  const prefixed = byPrefix(wanted, quick);
  if (prefixed.length === 1) return one(wanted, prefixed, context);
  const found = sameName(wanted, quick);
  if (found.length === 1 && found.every((session) => isCalled(session, wanted, context))) {
    return one(wanted, found, context);
  }
  // A meta file edited in place may change any other answer.
  const all = withNames(sessions, context, { thorough: true });
  const same = sameName(wanted, all);
  if (same.length > 0) return one(wanted, same, context);
  if (prefixed.length > 0) return one(wanted, prefixed, context);
  const like = likeName(wanted, all);
  if (like.length > 0) return one(wanted, like, context);
  const ids = all.map(({ item, names }) => ({ item, names: names.length > 0 ? names : [item.id] }));
  throw notFound(wanted, nearest(wanted, ids, NEAREST_SHOWN), context);
}

/** Told from file names, so that a full id costs no more than listing folders. */
function byId(wanted: string, { paths, cwd }: ResolveContext): Session[] {
  const sessions: Session[] = [];
  for (const found of findTranscripts(paths, { cwd, subagents: wanted.startsWith("agent-") })) {
    const mayBe = found.id === undefined ? basename(found.file).includes(wanted) : found.id === wanted;
    const session = mayBe ? sessionOf(found) : undefined;
    if (session?.id === wanted) sessions.push(session);
  }
  return newestCopies(sessions);
}

function byPrefix(wanted: string, all: readonly Named<Session>[]): Session[] {
  const sessions = all.map(({ item }) => item);
  const exact = sessions.filter(({ id }) => id === wanted);
  if (exact.length > 0 || wanted.length < PREFIX_MIN) return exact;
  const prefix = wanted.toLowerCase();
  return sessions.filter(({ id }) => id.toLowerCase().startsWith(prefix));
}

function allSessions({ paths, cwd, subagents = false }: ResolveContext): Session[] {
  const sessions: Session[] = [];
  for (const found of findTranscripts(paths, { cwd, subagents })) {
    const session = found.ephemeral ? undefined : sessionOf(found);
    if (session && (subagents || session.parentId === undefined)) sessions.push(session);
  }
  return newestCopies(sessions);
}

/** Sessions with all their names, and after them those of which only the meta file is left. */
function withNames(
  sessions: readonly Session[],
  { paths }: ResolveContext,
  { thorough }: { thorough: boolean },
): Named<Session>[] {
  const { titles, metas } = knownNames(sessions, { paths, thorough });
  const byId = new Map([...metas.values()].map((meta) => [meta.id, meta]));
  const all = sessions.map((item) => {
    const meta = byId.get(item.id);
    byId.delete(item.id);
    return {
      item,
      names: [item.name, meta?.name, titles.get(item.file)].filter((name) => name !== undefined),
    };
  });
  if (paths.transcripts.length > 0) return all;
  return [...all, ...[...byId.values()].flatMap((meta) => withoutTranscript(meta, paths))];
}

/** A session whose host has deleted the transcript, or keeps it where we do not look. */
function withoutTranscript(meta: MetaName, paths: Paths): Named<Session>[] {
  const { id, name, sessionFile, cwd, updatedAt } = meta;
  if (sessionFile === undefined || name === undefined) return [];
  const time = Date.parse(updatedAt ?? "");
  const item: Session = {
    id,
    agent: agentOfFile(sessionFile, paths),
    file: sessionFile,
    name,
    cwd,
    updatedAt: new Date(Number.isNaN(time) ? 0 : time).toISOString(),
    size: 0,
  };
  return [{ item, names: [name] }];
}

/** Whether the name that was found is still the one that the files say. */
function isCalled(session: Session, wanted: string, { paths }: ResolveContext): boolean {
  const names = [session.name, readMetaName(metaFile(paths, session))?.name, hostTitle(session)];
  return sameName(wanted, [{ item: session, names: names.filter((name) => name !== undefined) }]).length > 0;
}

function one(wanted: string, sessions: readonly Session[], context: ResolveContext): Session {
  const [session, ...others] = sessions;
  if (!session) throw notFound(wanted, [], context);
  if (others.length === 0) return session;
  const candidates = candidatesOf(sessions.slice(0, AMBIGUOUS_SHOWN), context);
  const shown = others.length < AMBIGUOUS_SHOWN ? "" : `, the newest ${AMBIGUOUS_SHOWN} are listed`;
  throw new SessionMemoryError(
    "AMBIGUOUS",
    `Cannot tell which session "${safe(wanted)}" is: it fits ${sessions.length}${shown}`,
    { details: { reference: safe(wanted), candidates }, hint: `use an id: ${listOf(candidates)}` },
  );
}

function notFound(wanted: string, near: readonly Session[], context: ResolveContext): SessionMemoryError {
  const candidates = candidatesOf(near, context);
  const hint =
    candidates.length > 0
      ? `the nearest are ${listOf(candidates)}`
      : "name a session by its id, its name or the path of its .jsonl file";
  return new SessionMemoryError("NOT_FOUND", `Cannot find session "${safe(wanted)}"`, {
    details: { reference: safe(wanted), candidates },
    hint,
  });
}

function candidatesOf(sessions: readonly Session[], { paths }: ResolveContext): Candidate[] {
  return sessions.map((session) => {
    const name = nameOf(session, paths);
    return {
      id: oneLine(redact(session.id), ID_SHOWN),
      agent: session.agent,
      name: name === undefined ? undefined : safe(name),
      ageSeconds: Math.max(0, Math.round((Date.now() - Date.parse(session.updatedAt)) / 1000)),
    };
  });
}

function listOf(candidates: readonly Candidate[]): string {
  return candidates
    .map(({ id, agent, name, ageSeconds }) => {
      const called = name === undefined ? "" : ` "${name}"`;
      return `${id}${called} (${agent}, ${formatAge(ageSeconds)} ago)`;
    })
    .join(", ");
}

function safe(text: string): string {
  return oneLine(redact(text), NAME_SHOWN);
}
