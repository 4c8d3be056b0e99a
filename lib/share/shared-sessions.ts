/** Finds others' sessions by their copies: `<owner>@<machine>:<id>`, an id or its start, a name. No hub. */

import { besideCopy } from "../archive/copy.ts";
import { changedAt, readJson } from "../base/files.ts";
import { recordOf, stringOf } from "../base/json.ts";
import { projectName } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Agent, Session } from "../hosts/session.ts";
import { exclusionBy } from "../sessions/gate.ts";
import { META_SCHEMA_VERSION, type SessionMeta } from "../sessions/meta.ts";
import { readOrigin } from "../sessions/project.ts";
import { type Held, type ResolveContext, resolvePlace, type Shared } from "../sessions/resolve.ts";
import { type ListOptions, listSessions, projectDirectory } from "../sessions/sessions.ts";
import { type SqlRow, textOf } from "../store/sqlite.ts";
import { type Store, withShared } from "../store/store.ts";
import type { Place } from "./find-place.ts";

/** Returns the sessions that others share as references know them, without those excluded since the last pull. */
export function sharedHeld({ shared, rules }: Pick<PathsWithRules, "shared" | "rules">): Held[] {
  return admitted(withShared({ shared }, (replica) => select(replica, "true")) ?? [], rules);
}

/** Returns the sessions that others share and that are not here as one's own, those of a project or agent where one is named. */
export function listShared(
  paths: PathsWithRules,
  { agent, project, subagents, cwd, since }: SharedList,
): Session[] {
  const directory = projectDirectory({ project, cwd });
  const origin = directory === undefined ? undefined : readOrigin(directory);
  const wanted = project?.toLowerCase();
  const isOfProject = (session: Session) => {
    if (wanted === undefined) return true;
    if (directory !== undefined) return session.project === origin;
    return [session.project, session.cwd].some((path) => projectName(path ?? "").toLowerCase() === wanted);
  };
  const own = new Set(listSessions(paths, { subagents: true, cwd }).map(({ id }) => id));
  return sharedHeld(paths)
    .filter(({ session, shared }) => {
      if (own.has(shared?.id ?? "") || !isOfProject(session)) return false;
      return (
        session.updatedAt >= since &&
        (subagents || session.parentId === undefined) &&
        (agent ?? session.agent) === session.agent
      );
    })
    .map(({ session }) => measured(session));
}

interface SharedList extends Pick<ListOptions, "agent" | "project" | "subagents"> {
  cwd: string;
  /** ISO time. */
  since: string;
}

/** Adds the size and the time of a session's copy. */
function measured(session: Session): Session {
  const stat = statUnpacked(session.file);
  return stat ? { ...session, size: stat.size, modifiedAt: changedAt(stat) } : session;
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
    `SELECT h.stored_id AS reference, h.id, h.owner, h.machine, h.agent, h.project, s.file, s.name, s.cwd, s.parent_id AS parentId,
       s.started_at AS startedAt, s.updated_at AS updatedAt
     FROM shared_sessions h JOIN sessions s ON s.id = h.stored_id WHERE ${where} ORDER BY s.updated_at DESC`,
  );
  return rows.all(...values).map(toHeld);
}

/** Returns a shared session in the shape of one of this machine, with what its owner's machine says of it, read when it is asked. */
function toHeld({ reference, agent, ...row }: SqlRow): Held {
  const [storedId = "", id = "", updatedAt = "", file = ""] = [
    reference,
    row.id,
    row.updatedAt,
    row.file,
  ].map(String);
  const [name, cwd, startedAt, parentId] = [row.name, row.cwd, row.startedAt, row.parentId].map(textOf);
  const session: Session = {
    ...{ id: storedId, agent: agent as Agent, file, name, cwd, project: String(row.project) },
    ...{ startedAt, parentId, owner: String(row.owner), updatedAt, modifiedAt: updatedAt, size: 0 },
  };
  const said = () => recordOf(readJson(besideCopy(file)));
  const shared: Shared = {
    ...{ owner: String(row.owner), machine: String(row.machine), id },
    get observations() {
      return stringOf(said().observations);
    },
    get meta() {
      const made = { description: "", summary: "", tags: [], ...recordOf(said().meta) };
      return toMeta(session, made, shared.observations);
    },
  };
  return {
    ...{ session, storedId, ids: [storedId, id], names: name === undefined ? [] : [name] },
    shared,
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
 * Returns what a reference means: a session with a transcript or a copy, of this machine or shared.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export function findStoredPlace(reference: string, context: ResolveContext): Place {
  const { paths } = context;
  const { session, lines, held } = resolvePlace(reference, { ...context, held: () => sharedHeld(paths) });
  if (!held?.shared) return { session, lines };
  return { session: measured(session), lines, shared: held.shared };
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
