/** A search's filters as people write them, as the statements need them: times, references, folders. */

import { resolve } from "node:path";
import type { ChunkFilter } from "./candidates.ts";
import type { Config } from "./config.ts";
import type { SessionRow } from "./corpus.ts";
import { SessionMemoryError } from "./errors.ts";
import { projectKey } from "./project.ts";
import { resolveSession } from "./resolve.ts";
import type { Agent } from "./session.ts";
import { parseTime } from "./times.ts";

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
}

interface FilterContext {
  config: Config;
  /** The sessions in the index. */
  known: ReadonlyMap<string, SessionRow>;
  subagents: boolean;
}

/**
 * Reads filters.
 *
 * @throws {SessionMemoryError} `USAGE` for what is no time; `NOT_FOUND` or `AMBIGUOUS` for a session.
 */
export function toFilter(filters: SearchFilters, { config, known, subagents }: FilterContext): ChunkFilter {
  const { session, project, after, before, topics, speaker, agent } = filters;
  const isFolder = project !== undefined && /[/\\]|^\.\.?$/.test(project);
  return {
    after: toIso(after, "start", config),
    before: toIso(before, "end", config),
    speaker,
    topics,
    agent,
    subagents,
    hasDecision: filters.has_decision,
    hasAction: filters.has_action,
    session: session === undefined ? undefined : sessionId(session, config, known),
    project: isFolder ? projectKey(resolve(project)) : project,
    among: amongGiven(config, known),
    caller: config.currentSession,
  };
}

function toIso(text: string | undefined, edge: "start" | "end", { settings }: Config): string | undefined {
  if (text === undefined) return undefined;
  const time = parseTime(text, { now: new Date(), edge, timezone: settings.timezone });
  if (time) return time.toISOString();
  const what = `Cannot search ${edge === "start" ? "after" : "before"} "${text}": not a time`;
  throw new SessionMemoryError("USAGE", what, { hint: "try 2026-02-03, yesterday or 7d" });
}

/** A session may be known to the index alone: its transcript was deleted since. */
function sessionId(reference: string, config: Config, known: ReadonlyMap<string, SessionRow>): string {
  if (known.has(reference)) return reference;
  const { paths, currentSession: current } = config;
  try {
    const { id, file } = resolveSession(reference, { paths, cwd: process.cwd(), current, subagents: true });
    return [...known.values()].find((session) => session.file === file)?.id ?? id;
  } catch (error) {
    const gone = [...known.values()].filter((session) => session.sourceGone && isMeant(session, reference));
    if (gone.length === 1 && gone[0]) return gone[0].id;
    throw error;
  }
}

function isMeant({ id, name }: SessionRow, reference: string): boolean {
  const wanted = reference.toLowerCase();
  return name?.toLowerCase() === wanted || (wanted.length >= 4 && id.startsWith(wanted));
}

/** Folders given in place of the agents' own: nothing else that the index holds is searched. */
function amongGiven({ paths }: Config, known: ReadonlyMap<string, SessionRow>): string[] | undefined {
  if (paths.transcripts.length === 0) return undefined;
  const isWithin = (file: string) =>
    paths.transcripts.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, "")}/`));
  return [...known.values()].filter(({ file }) => isWithin(file)).map(({ id }) => id);
}
