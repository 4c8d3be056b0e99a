/** Finds and reads others' sessions in the replica: `<owner>@<machine>:<id>`, an id or its start, a name. No hub. */

import { SessionMemoryError } from "../base/errors.ts";
import { recordOf } from "../base/json.ts";
import { formatAge } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import { overlapOf } from "../index/carry-old.ts";
import { resolveOrIndexed, storedSteps } from "../index/held-sessions.ts";
import { oneLine, redact } from "../redact/redact.ts";
import { META_SCHEMA_VERSION, type SessionMeta } from "../sessions/meta.ts";
import { foldName, type LineRange, linesIn } from "../sessions/references.ts";
import { type ResolveContext, resolvePlace } from "../sessions/resolve.ts";
import { hasReplica, type Store, withShared } from "../store/store.ts";
import { type Exclusion, readRules } from "../transcripts/rules.ts";
import type { Agent, Session } from "../transcripts/session.ts";
import type { Step } from "../transcripts/steps.ts";

/** A session that someone else shares. */
export interface FoundShared {
  /** Its id in the replica, and its reference: `alice@desk:<id>`. */
  reference: string;
  id: string;
  owner: string;
  machine: string;
  agent: string;
  name: string | undefined;
  project: string;
  cwd: string;
  startedAt: string | undefined;
  updatedAt: string;
  description: string;
  summary: string;
  tags: string[];
  observations: string | undefined;
  /** The lines of it that the reference names. @default all */
  lines?: LineRange | undefined;
}

const PREFIX_MIN = 4; // as of own sessions
const CANDIDATES_SHOWN = 5; // as of own sessions

/**
 * The one shared session that a reference means, with the lines that it names; undefined for none.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` when it fits several.
 */
function findShared(
  reference: string,
  paths: Pick<PathsWithRules, "shared" | "rules">,
): FoundShared | undefined {
  const wanted = reference
    .trim()
    .replace(/^@@/, "")
    .replace(/^"(.*)"$/, "$1");
  return withShared(paths, (replica) => {
    const exclusion = readRules(paths.rules);
    const whole = one(wanted, { replica, exclusion });
    if (whole) return whole;
    const [, session, after = ""] = /^([\s\S]+):([\d-]+)$/.exec(wanted) ?? [];
    const lines = linesIn(after);
    const found = session === undefined || !lines ? undefined : one(session, { replica, exclusion });
    return found && { ...found, lines };
  });
}

function one(
  wanted: string,
  { replica, exclusion }: { replica: Store; exclusion: Exclusion },
): FoundShared | undefined {
  // sessions excluded since the last pull are still there
  const found = candidates(wanted, replica).filter(
    ({ id, reference, name, project }) =>
      !exclusion.hasSession({ id, name, project }) && !exclusion.hasSession({ id: reference }),
  );
  if (found.length <= 1) return found[0];
  const shown = found.slice(0, CANDIDATES_SHOWN).map(({ reference, name, updatedAt }) => {
    const age = formatAge(Math.max(0, Math.round((Date.now() - Date.parse(updatedAt)) / 1000)));
    return `${reference}${name === undefined ? "" : ` "${oneLine(redact(name), 60)}"`} (${age} ago)`;
  });
  throw new SessionMemoryError(
    "AMBIGUOUS",
    `Cannot tell which shared session "${oneLine(redact(wanted), 60)}" is: it fits ${found.length}`,
    { hint: `use an id: ${shown.join(", ")}` },
  );
}

/** Finds the sessions by the surest match: the whole reference, its start, the id or its start, the name. */
function candidates(wanted: string, replica: Store): FoundShared[] {
  const exact = select(replica, "h.stored_id = ?1 OR h.id = ?1", wanted);
  if (exact.length > 0) return exact;
  const [, after = wanted] = /^[^@\s]+@[^:@\s]+:(.+)$/.exec(wanted) ?? [];
  const start = `${wanted.replace(/[\\%_]/g, (character) => `\\${character}`)}%`;
  const begun = "h.stored_id LIKE ?1 ESCAPE '\\' OR h.id LIKE ?1 ESCAPE '\\'";
  const found = after.length < PREFIX_MIN ? [] : select(replica, begun, start);
  const folded = foldName(wanted);
  if (found.length > 0 || folded === "") return found;
  return select(replica, "s.name IS NOT NULL").filter(({ name = "" }) => foldName(name) === folded);
}

function select({ db }: Store, where: string, ...values: string[]): FoundShared[] {
  const rows = db.prepare(
    `SELECT h.stored_id AS reference, h.id, h.owner, h.machine, h.agent, h.project, h.meta, h.observations, s.name, s.cwd,
       s.started_at AS startedAt, s.updated_at AS updatedAt
     FROM shared_sessions h JOIN sessions s ON s.id = h.stored_id WHERE ${where} ORDER BY s.updated_at DESC`,
  );
  return rows.all(...values).map(({ meta, ...row }) => {
    const made = { description: "", summary: "", tags: [], ...recordOf(JSON.parse(String(meta))) };
    const known = Object.entries(row).map(([name, value]) => [name, value ?? undefined]);
    return { ...Object.fromEntries(known), ...made };
  });
}

/** What a reference means: a transcript of this machine, or a session that others share. */
type AnySession = ReturnType<typeof resolvePlace> | { shared: FoundShared };

/**
 * Resolves a reference among this machine's sessions, then among others'; `<owner>@<machine>:…` among others' first.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export function resolveAny(reference: string, context: ResolveContext): AnySession {
  const { paths } = context;
  if (!hasReplica(paths)) return resolvePlace(reference, context);
  const named = /^(?:@@)?"?[^@\s]+@[^:@\s]+:/.test(reference.trim())
    ? findShared(reference, paths)
    : undefined;
  if (named) return { shared: named };
  try {
    return resolvePlace(reference, context);
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
    const shared = findShared(reference, paths);
    if (shared) return { shared };
    throw error;
  }
}

/** Returns the steps of a session that others share; the pieces of a long message, which came one by one, are one. */
export function sharedSteps(replica: Store, storedId: string): Step[] {
  const steps: Step[] = [];
  for (const step of storedSteps(replica, storedId)) {
    const [last, { entry }] = [steps.at(-1)?.entry, step];
    const isSame = last?.line === entry.line && last.kind === entry.kind && !entry.tool;
    const overlap = isSame ? overlapOf(last.text, entry.text) : 0;
    if (last && overlap > 0) last.text += entry.text.slice(overlap);
    else steps.push(step);
  }
  return steps;
}

/** What a reference means: a session of this machine or another's, and lines of it. */
export interface Place {
  session: Session;
  lines: LineRange | undefined;
  /** Its steps, where no transcript here holds them: it is gone, or another's. */
  steps?: Step[] | undefined;
  /** What its owner shares of it. */
  shared?: FoundShared;
}

/**
 * Returns what a reference means: a session with a transcript, one that only the index still has, or one that others share.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export async function findPlace(reference: string, context: ResolveContext): Promise<Place> {
  const { paths } = context;
  const found = await resolveOrIndexed(reference, paths, () => resolveAny(reference, context));
  if (!("shared" in found)) return { session: found.session, lines: found.lines, steps: found.indexed };
  const { shared } = found;
  const steps = withShared(paths, (replica) => sharedSteps(replica, shared.reference)) ?? [];
  return { session: asSession(shared), lines: shared.lines, steps, shared };
}

/**
 * Returns the session that a reference means among those of this machine with a transcript or a ledger, or another's.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export async function findObserved(
  reference: string,
  context: ResolveContext,
): Promise<{ session: Session } | { shared: FoundShared }> {
  const { observedSession } = await import("../observe/observe-view.ts");
  if (!hasReplica(context.paths)) return { session: observedSession(reference, context) };
  try {
    const found = resolveAny(reference, context);
    if ("shared" in found) return found;
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
  }
  return { session: observedSession(reference, context) };
}

/** Returns a shared session in the shape of one whose transcript is here. */
export function asSession({ reference, agent, name, cwd, startedAt, updatedAt }: FoundShared): Session {
  const common = { name, cwd, startedAt, updatedAt, modifiedAt: updatedAt };
  return { id: reference, agent: agent as Agent, file: "", size: 0, ...common };
}

/** Reads the metadata that its owner's machine made; undefined where it made none. */
export function metaOfShared(shared: FoundShared): SessionMeta | undefined {
  const { reference, name, cwd, startedAt, updatedAt, description, summary, tags, observations } = shared;
  if (description === "" && summary === "" && observations === undefined) return undefined;
  return {
    schemaVersion: META_SCHEMA_VERSION,
    sessionId: reference,
    sessionFile: "",
    name: name ?? reference,
    description,
    summary: summary === "" ? (observations ?? "") : summary,
    tags,
    cwd,
    createdAt: startedAt ?? updatedAt,
    updatedAt,
    model: "shared",
    lastIndexedLeafId: "",
  };
}
