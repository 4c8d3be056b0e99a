/** Converts a search's filters from the form people write (times, references, folders) to the one that statements need. */

import { resolve } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { quoted } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import type { Agent } from "../hosts/session.ts";
import type { IndexedSession } from "../index/index-state.ts";
import { parseTime } from "../language/times.ts";
import { sharedBy } from "../sessions/pulled.ts";
import type { Store } from "../store/store.ts";
import type { ChunkFilter } from "./candidates.ts";
import { readIndexedSessions } from "./corpus.ts";

export interface SearchFilters {
  /** ISO time, date, or words such as `last week`. */
  after?: string | undefined;
  before?: string | undefined;
  speaker?: "user" | "assistant" | undefined;
  topics?: string[] | undefined;
  has_decision?: boolean | undefined;
  has_action?: boolean | undefined;
  /** Any reference to a session. */
  session?: string | undefined;
  agent?: Agent | undefined;
  /** A folder in it, or its name. */
  project?: string | undefined;
  /** Only sessions that had to do with this file, error or command. */
  file?: string | undefined;
  error?: string | undefined;
  command?: string | undefined;
}

interface FilterContext {
  store: Store;
  config: Config;
  subagents: boolean;
  own: boolean;
  remark: ((text: string) => void) | undefined;
}

/**
 * Reads filters.
 *
 * @throws {SessionMemoryError} `USAGE` for an invalid time; `NOT_FOUND` or `AMBIGUOUS` for a session.
 */
export async function toFilter(filters: SearchFilters, context: FilterContext): Promise<ChunkFilter> {
  const { config, subagents, own } = context;
  const { session, project, after, before, topics, speaker, agent } = filters;
  return {
    after: toIso(after, "start", config),
    before: toIso(before, "end", config),
    speaker,
    topics,
    agent,
    subagents,
    own,
    hasDecision: filters.has_decision,
    hasAction: filters.has_action,
    session: session === undefined ? undefined : await sessionId(session, context),
    among: project === undefined ? undefined : await findSessions(project, context),
    caller: config.currentSession,
  };
}

/** A Windows path, which names no file on this system. */
export const WINDOWS_PATH = /^[a-z]:[/\\]/i;

/** Returns the ids of the sessions of a folder's project, or of those with a name or a path of Windows. */
async function findSessions(project: string, { store, config, remark }: FilterContext): Promise<string[]> {
  const { idsWhere, projectCalled, matchProject } = await import("../index/own-project.ts");
  const isFolder = !WINDOWS_PATH.test(project) && /[/\\]|^\.\.?$/.test(project);
  const isWanted = isFolder
    ? matchProject(resolve(project), config.paths)
    : projectCalled(project, config.paths);
  const ids = idsWhere(store, isWanted);
  if (ids.length === 0) remark?.(`no session is of the project ${quoted(project)}`);
  return ids;
}

function toIso(text: string | undefined, edge: "start" | "end", { settings }: Config): string | undefined {
  if (text === undefined) return undefined;
  const time = parseTime(text, { now: new Date(), edge, timezone: settings.timezone });
  if (time) return time.toISOString();
  const what = `Cannot search ${edge === "start" ? "after" : "before"} "${text}": not a time`;
  throw new SessionMemoryError("USAGE", what, { hint: 'try 2026-02-03, "14 July" or 7d' });
}

/** Resolves a session, which only an index may know: its transcript was deleted since, or is another's. */
async function sessionId(reference: string, { store, own, config, remark }: FilterContext): Promise<string> {
  const known = readIndexedSessions(store, [reference]).get(reference);
  if (known && !(own && known.owner !== undefined)) return reference;
  // most searches name no session
  const [{ resolveSession }, { heldAlone }] = await Promise.all([
    import("../sessions/resolve.ts"),
    import("../index/held-sessions.ts"),
  ]);
  const { paths, currentSession: current } = config;
  const { id, file } = resolveSession(reference, {
    paths,
    current,
    remark,
    cwd: process.cwd(),
    subagents: true,
    shared: !own,
    held: () => heldAlone(store),
  });
  return idOfFile(store, file) ?? id;
}

/** Returns the id under which the index has a session, by its transcript; undefined when it has none of it. */
function idOfFile(store: Store, file: string): string | undefined {
  const row = store.get("SELECT id FROM sessions WHERE file = $file", { file });
  return row && String(row.id);
}

/** Returns a test for sessions to hide: those excluded since they were indexed, and shared ones that the index has, or all of these. */
export async function hiddenSessions(
  store: Store,
  { settings, paths, own }: Pick<Config, "settings" | "paths"> & { own: boolean },
): Promise<(session: IndexedSession) => boolean> {
  const { sessions, projects } = settings.exclude;
  // Where nothing is excluded, no transcript is asked for its project, and nothing that reads one is loaded.
  const isAsked = sessions.length + projects.length > 0;
  const admits = isAsked ? (await import("../sessions/gate.ts")).exclusionBy(paths).admits : undefined;
  return (session) => {
    if (admits?.(session) === false) return true;
    const from = sharedBy(session);
    return from !== undefined && (own || readIndexedSessions(store, [from.id]).size > 0);
  };
}
