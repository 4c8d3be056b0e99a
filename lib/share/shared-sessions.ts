/** Finds and reads others' sessions in the replica: `<owner>@<machine>:<id>`, an id or its start, a name. No hub. */

import { SessionMemoryError } from "../base/errors.ts";
import { statUnpacked } from "../base/files.ts";
import { recordOf } from "../base/json.ts";
import type { PathsWithRules } from "../config/config.ts";
import { ensureIndex, isIndexCurrent } from "../index/freshness.ts";
import { heldIn, readIndexedRows, storedRows } from "../index/held-sessions.ts";
import { oneLine, redact } from "../redact/redact.ts";
import { storedGate } from "../sessions/gate.ts";
import { META_SCHEMA_VERSION, type SessionMeta } from "../sessions/meta.ts";
import type { LineRange } from "../sessions/references.ts";
import { type Held, notFound, type ResolveContext, resolvePlace } from "../sessions/resolve.ts";
import { type Store, withExistingStore, withShared } from "../store/store.ts";
import type { Agent, Row, Session } from "../transcripts/session.ts";

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
}

/** What a reference means: a session of this machine or another's, and lines of it. */
export interface Place {
  session: Session;
  lines: LineRange | undefined;
  /** Its rows, where no transcript here holds them: it is gone, or another's. */
  rows?: Row[] | undefined;
  /** What its owner shares of it. */
  shared?: FoundShared;
}

/** Returns the sessions that others share as references know them, without those excluded since the last pull. */
export function sharedHeld({ shared, rules }: Pick<PathsWithRules, "shared" | "rules">): Held[] {
  const all = withShared({ shared }, (replica) => select(replica, "true")) ?? [];
  return visible(all, rules).map((found) => {
    const { reference, id, name } = found;
    const names = name === undefined ? [] : [name];
    return { session: asSession(found), storedId: reference, ids: [reference, id], names, isShared: true };
  });
}

/** Returns what another person's machine says of a session of theirs. */
export function readShared({ storedId }: Held, paths: Pick<PathsWithRules, "shared">): FoundShared {
  const [found] = withShared(paths, (replica) => select(replica, "h.stored_id = ?1", storedId)) ?? [];
  if (found) return found;
  throw new SessionMemoryError(
    "NOT_FOUND",
    `Cannot read session "${oneLine(redact(storedId), 60)}" any more`,
  );
}

/** Returns the session of a project, given by its origin, that others went on with last, unless it is excluded. */
export function newestShared(
  { shared, rules }: Pick<PathsWithRules, "shared" | "rules">,
  project: string,
): FoundShared | undefined {
  const ofProject = "s.project = ?1 AND s.parent_id IS NULL";
  const [found] = withShared({ shared }, (replica) => select(replica, ofProject, project)) ?? [];
  return found && visible([found], rules)[0];
}

function visible(found: readonly FoundShared[], rules: PathsWithRules["rules"]): FoundShared[] {
  const admits = storedGate(rules);
  return found.filter(({ reference, name, project }) => admits({ id: reference, name, project }));
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

/**
 * Returns what a reference means: a session with a transcript, one that only the index still has, or one that others share.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export async function findStoredPlace(reference: string, context: ResolveContext): Promise<Place> {
  const { paths } = context;
  const { session, lines, held } = await resolveStored(reference, context);
  if (held?.isShared) {
    const shared = readShared(held, paths);
    return {
      session,
      lines,
      rows: withShared(paths, (replica) => storedRows(replica, held.storedId)) ?? [],
      shared,
    };
  }
  if (!held && statUnpacked(session.file)) return { session, lines };
  await ensureIndex(paths.database, paths.rules);
  const rows = readIndexedRows(session.id, paths);
  if (held && !rows) throw notFound(reference);
  return { session, lines, rows };
}

/** Resolves a reference among transcripts, then among what the index alone holds and what others share. */
async function resolveStored(
  reference: string,
  context: ResolveContext,
): Promise<ReturnType<typeof resolvePlace>> {
  const { paths } = context;
  let isLeftOut = false;
  const readGone = () => {
    isLeftOut = !isIndexCurrent(paths.database, paths.rules);
    if (isLeftOut) return [];
    return withExistingStore(paths.database, (store) => heldIn(store, { gone: true })) ?? [];
  };
  const resolve = () =>
    resolvePlace(reference, { ...context, held: () => [...readGone(), ...sharedHeld(paths)] });
  const first = attempt(resolve);
  // An index of an older version is carried over first, which most references need not wait for.
  if (isLeftOut) {
    const carried = ensureIndex(paths.database, paths.rules);
    await (first.found ? carried.catch(() => undefined) : carried);
    return resolve();
  }
  if (first.found) return first.found;
  throw first.error;
}

function attempt<T>(work: () => T): { found: T; error?: undefined } | { found?: undefined; error: unknown } {
  try {
    return { found: work() };
  } catch (error) {
    return { error };
  }
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
  const { paths } = context;
  const { ledgersHeld } = await import("../observe/observe-view.ts");
  const held = (wanted: string) => [...sharedHeld(paths), ...ledgersHeld(paths, wanted)];
  const found = resolvePlace(reference, { ...context, held });
  if (found.held?.isShared) return { shared: readShared(found.held, paths) };
  const { session } = found;
  return { session: statUnpacked(session.file) ? session : { ...session, file: "" } };
}

/** Returns a shared session in the shape of one whose transcript is here. */
function asSession({ reference, agent, name, cwd, startedAt, updatedAt }: FoundShared): Session {
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
