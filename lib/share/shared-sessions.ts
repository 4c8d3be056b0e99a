/** Finds others' sessions by their copies: `<owner>@<machine>:<id>`, an id or its start, a name. No hub. */

import { SessionMemoryError } from "../base/errors.ts";
import { readJson } from "../base/files.ts";
import { recordOf, stringOf } from "../base/json.ts";
import { projectName, quoted, shortId } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Session } from "../hosts/session.ts";
import { META_SCHEMA_VERSION, type SessionMeta } from "../sessions/meta.ts";
import { readOrigin } from "../sessions/project.ts";
import { besideCopy, mayShowShared, pulledSessions, sharedBy } from "../sessions/pulled.ts";
import { type Held, type ResolveContext, resolvePlace, type Shared } from "../sessions/resolve.ts";
import { type ListOptions, listSessions, projectDirectory } from "../sessions/sessions.ts";
import type { Place } from "./find-place.ts";

/** Returns the sessions that others share as references know them, as far as they may be shown. */
export function sharedHeld(paths: PathsWithRules): Held[] {
  return mayShowShared(paths) ? pulledSessions(paths).map(toHeld) : [];
}

/** Returns every session that others share, for removing what is held of it: no transcript of it is anybody's here. */
export function heldShared(paths: PathsWithRules): Held[] {
  return pulledSessions(paths, { excluded: true }).map((session) => toHeld({ ...session, size: 0 }));
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
    .map(({ session }) => session);
}

interface SharedList extends Pick<ListOptions, "agent" | "project" | "subagents"> {
  cwd: string;
  /** ISO time. */
  since: string;
}

/** Returns the session of a project, given by its origin, that others went on with last. */
export function newestShared(paths: PathsWithRules, project: string): Held | undefined {
  return sharedHeld(paths).find(
    ({ session }) => session.project === project && session.parentId === undefined,
  );
}

/** Returns a shared session in the shape of one of this machine, with what its owner's machine says of it, read when it is asked. */
function toHeld(session: Session): Held {
  const { id, name, file } = session;
  const from = sharedBy(session) ?? { owner: "", machine: "", id };
  const said = () => recordOf(readJson(besideCopy(file)));
  const shared: Shared = {
    ...from,
    get observations() {
      return stringOf(said().observations);
    },
    get meta() {
      const made = { description: "", summary: "", tags: [], ...recordOf(said().meta) };
      return toMeta(session, made, shared.observations);
    },
  };
  const names = name === undefined ? [] : [name];
  return { session, storedId: id, ids: [id, from.id], names, shared };
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
  if (held?.shared) return { session, lines, shared: held.shared };
  if (statUnpacked(session.file)) return { session, lines };
  const id = shortId(session.id);
  throw new SessionMemoryError(
    "NOT_FOUND",
    `Cannot read ${id}: its transcript is gone, and there is no copy of it`,
    {
      hint: `session-memory search --session ${quoted(id)} "<question>" finds what the index still holds of it`,
    },
  );
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
  const { ledgersHeld } = await import("../observe/ledger.ts");
  const held = (wanted: string) => [...sharedHeld(paths), ...ledgersHeld(paths, wanted)];
  const { session, held: found } = resolvePlace(reference, { ...context, held });
  if (found?.shared) return { session, shared: found.shared };
  return { session: statUnpacked(session.file) ? session : { ...session, file: "" } };
}
