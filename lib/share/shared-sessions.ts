/** Finds and reads others' sessions in the replica: `<owner>@<machine>:<id>`, an id or its start, a name. No hub. */

import { recordOf } from "../base/json.ts";
import type { PathsWithRules } from "../config/config.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Agent, LineRange, Row, Session } from "../hosts/session.ts";
import { storedRows } from "../index/held-sessions.ts";
import { exclusionBy } from "../sessions/gate.ts";
import { META_SCHEMA_VERSION, type SessionMeta } from "../sessions/meta.ts";
import { type Held, type ResolveContext, resolvePlace, type Shared } from "../sessions/resolve.ts";
import { type SqlRow, textOf } from "../store/sqlite.ts";
import { type Store, withShared } from "../store/store.ts";

/** A session of this machine or another's that a reference means, and lines of it. */
export interface Place {
  session: Session;
  lines: LineRange[] | undefined;
  /** Its rows, where no transcript here holds them: it is gone, or another's. */
  rows?: Row[] | undefined;
  /** The facts that its owner shares. */
  shared?: Shared;
}

/** Returns the sessions that others share as references know them, without those excluded since the last pull. */
export function sharedHeld({ shared, rules }: Pick<PathsWithRules, "shared" | "rules">): Held[] {
  return admitted(withShared({ shared }, (replica) => select(replica, "true")) ?? [], rules);
}

/** Returns the session of a project, given by its origin, that others went on with last, unless it is excluded. */
export function newestShared(
  { shared, rules }: Pick<PathsWithRules, "shared" | "rules">,
  project: string,
): Held | undefined {
  const ofProject = "s.project = ?1 AND s.parent_id IS NULL";
  const [found] = withShared({ shared }, (replica) => select(replica, ofProject, project)) ?? [];
  return found && admitted([found], rules)[0];
}

function admitted(held: readonly Held[], rules: PathsWithRules["rules"]): Held[] {
  const { admits } = exclusionBy(rules);
  return held.filter(({ session: { id, name, project } }) => admits({ id, name, project }));
}

function select({ db }: Store, where: string, ...values: string[]): Held[] {
  const rows = db.prepare(
    `SELECT h.stored_id AS reference, h.id, h.owner, h.machine, h.agent, h.project, h.meta, h.observations, s.name, s.cwd,
       s.started_at AS startedAt, s.updated_at AS updatedAt
     FROM shared_sessions h JOIN sessions s ON s.id = h.stored_id WHERE ${where} ORDER BY s.updated_at DESC`,
  );
  return rows.all(...values).map(toHeld);
}

/** Returns a shared session in the shape of one whose transcript is here, with what its owner's machine says of it. */
function toHeld({ reference, agent, meta, ...row }: SqlRow): Held {
  const [storedId, id, updatedAt] = [reference, row.id, row.updatedAt].map(String) as [
    string,
    string,
    string,
  ];
  const [name, cwd, startedAt, observations] = [row.name, row.cwd, row.startedAt, row.observations].map(
    textOf,
  );
  const session: Session = {
    ...{ id: storedId, agent: agent as Agent, file: "", name, cwd, project: String(row.project) },
    ...{ startedAt, updatedAt, modifiedAt: updatedAt, size: 0 },
  };
  const made = recordOf(JSON.parse(String(meta)));
  const shared = { owner: String(row.owner), machine: String(row.machine), id, observations };
  return {
    ...{ session, storedId, ids: [storedId, id], names: name === undefined ? [] : [name] },
    shared: {
      ...shared,
      meta: toMeta(session, { description: "", summary: "", tags: [], ...made }, observations),
    },
  };
}

/** Returns the metadata that its owner's machine made of a session; undefined where it made none. */
function toMeta(
  { id, name = id, cwd = "", startedAt, updatedAt }: Session,
  { description, summary, tags }: Pick<SessionMeta, "description" | "summary" | "tags">,
  observations: string | undefined,
): SessionMeta | undefined {
  if (description === "" && summary === "" && observations === undefined) return undefined;
  return {
    ...{ schemaVersion: META_SCHEMA_VERSION, sessionId: id, sessionFile: "" },
    ...{ name, description, summary: summary === "" ? (observations ?? "") : summary, tags, cwd },
    ...{ createdAt: startedAt ?? updatedAt, updatedAt, model: "shared", lastIndexedLeafId: "" },
  };
}

/**
 * Returns what a reference means: a session with a transcript or a copy, or one that others share.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export function findStoredPlace(reference: string, context: ResolveContext): Place {
  const { paths } = context;
  const { session, lines, held } = resolvePlace(reference, { ...context, held: () => sharedHeld(paths) });
  if (held?.shared) {
    const stored = withShared(paths, (replica) => storedRows(replica, held.storedId)) ?? [];
    const rows = stored.map((row): Row => (row.who === "user" ? { ...row, typed: false } : row));
    return { session, lines, rows, shared: held.shared };
  }
  return { session, lines };
}

/**
 * Returns the session that a reference means among those of this machine with a transcript or a ledger, or another's.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export async function findObserved(
  reference: string,
  context: ResolveContext,
): Promise<Pick<Place, "session" | "shared">> {
  const { paths } = context;
  const { ledgersHeld } = await import("../observe/observe-view.ts");
  const held = (wanted: string) => [...sharedHeld(paths), ...ledgersHeld(paths, wanted)];
  const { session, held: found } = resolvePlace(reference, { ...context, held });
  if (found?.shared) return { session, shared: found.shared };
  return { session: statUnpacked(session.file) ? session : { ...session, file: "" } };
}
