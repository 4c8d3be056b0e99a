/**
 * Resolves a reference to a session: id, id prefix, name, something like a name, `last`, or a transcript's path.
 *
 * A reference is compared with what was found and never becomes part of a path: only one that is itself the path of a
 * `.jsonl` file reaches the file system.
 */

import { basename } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import type { Paths } from "../config/config.ts";
import type { Session } from "../transcripts/session.ts";
import { newestCopies, sessionOf, whyNoTranscript } from "./discovery.ts";
import { findTranscripts } from "./find.ts";
import { isCalled, readMetaName } from "./meta.ts";
import type { NamedMeta } from "./name-table.ts";
import { type KnownNames, withNames } from "./names.ts";
import type { TranscriptFile } from "./places.ts";
import {
  foldName,
  type LineRange,
  likeName,
  type Named,
  nearest,
  pathOf,
  placeIn,
  splitMachine,
  startsAlike,
} from "./references.ts";
import { describeSession, lastSession, sessionAt } from "./sessions.ts";
import {
  ambiguous,
  assertNotExcluded,
  isExcluded,
  noPlace,
  notFound,
  withoutTranscript,
} from "./unlisted.ts";

export interface ResolveContext {
  paths: Paths;
  /** The directory of relative paths, and where the search for `.volute` starts. */
  cwd: string;
  /** The id of the session that asks. */
  current?: string | undefined;
  /** Whether an id prefix or a name may mean a subagent's session too; a full id always may. @default {false} */
  subagents?: boolean | undefined;
  /** Whether a name must match exactly. @default {false} */
  exact?: boolean | undefined;
  /** Whether only stored names are used, without reading files again. @default {false} */
  quick?: boolean | undefined;
  /** Whether a place in a session is wrong usage. @default {false} */
  sessionOnly?: boolean | undefined;
  /** Receives a remark on what a reference came to mean. */
  remark?: ((text: string) => void) | undefined;
}

/** Shorter prefixes are too likely to be words. */
const PREFIX_MIN = 4;
const NEAREST_SHOWN = 3;
const CANDIDATES_SHOWN = 5;

/** A session and, if the reference names them, lines of its transcript. */
interface ResolvedPlace {
  session: Session;
  lines: LineRange | undefined;
}

/**
 * Returns the session that a reference means, described. A place in a session means the session, unless `exact`.
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
export function resolvePlace(reference: string, context: ResolveContext): ResolvedPlace {
  const wanted = reference
    .trim()
    .replace(/^@@/, "")
    .replace(/^"(.*)"$/, "$1");
  // No name or path of ours can match this.
  if (wanted === "" || /\p{Cc}/u.test(wanted)) throw notFound(wanted);
  const place = context.exact ? undefined : placeIn(wanted);
  if (!place) return { session: resolveWhole(wanted, context), lines: undefined };
  const session = sessionNamed(wanted, { ...context, exact: true, quick: place.isId });
  if (session) return { session, lines: undefined };
  if (context.sessionOnly) throw noPlace(wanted, place.session);
  return { session: resolveWhole(place.session, context), lines: place.lines };
}

function last({ paths, cwd, current, remark }: ResolveContext): Session {
  const own = lastSession(paths, { cwd, current, project: cwd });
  const session = own ?? lastSession(paths, { cwd, current });
  if (!session) throw notFound("last", { reason: "there is no other session yet" });
  if (!own) remark?.("no other session of this project: last is the newest of all");
  return session;
}

function resolveWhole(wanted: string, context: ResolveContext): Session {
  const path = pathOf(wanted, context.cwd);
  const there = path === undefined ? undefined : sessionAt(path);
  if (there) assertNotExcluded(there, context.paths);
  const session = there ?? (wanted === "last" ? last(context) : named(wanted, context));
  return describeSession(session, context.paths);
}

function sessionNamed(name: string, context: ResolveContext): Session | undefined {
  try {
    return resolveWhole(name, context);
  } catch (error) {
    if (error instanceof SessionMemoryError && error.type === "NOT_FOUND") return undefined;
    throw error;
  }
}

/** A candidate: a transcript, or a meta file whose transcript is gone. */
interface Known {
  id: string;
  found?: TranscriptFile;
  metaFile?: string;
}

/** Everything that is searched. */
interface Searched {
  files: readonly TranscriptFile[];
  names: KnownNames;
  paths: Paths;
}

/** Finds a named session, searching in order of cost: file names, stored names, every name read again. */
function named(reference: string, context: ResolveContext): Session {
  const { paths, cwd, subagents = false, exact, quick } = context;
  const { wanted, machine } = splitMachine(reference, paths.synced);
  const found = findTranscripts(paths, { cwd, subagents: subagents || wanted.startsWith("agent-") }).filter(
    (file) => machine === undefined || file.machine === machine,
  );
  const withSameId = withId(wanted, found);
  if (withSameId.length > 0) return one(wanted, withSameId, paths);
  const files = identified(found, subagents);
  const path = pathOf(wanted, cwd);
  return withNames(paths, (names) => byNames(wanted, { files, names, paths }, { exact, quick, path }));
}

function byNames(
  wanted: string,
  searched: Searched,
  { exact, quick, path }: Pick<ResolveContext, "exact" | "quick"> & { path: string | undefined },
): Session {
  const { names, paths } = searched;
  names.update(searched.files, { thorough: false });
  const begun = withBeginning(wanted, searched);
  if (begun.length === 1) return one(wanted, begun, paths);
  const called = withName(wanted, searched);
  if (called.length === 1 && called.every((session) => isCalled(session, wanted, paths))) {
    return one(wanted, called, paths);
  }
  if (quick) throw notFound(wanted);
  // Any other answer may change with names that were not read again.
  names.update(searched.files, { thorough: true });
  const same = withName(wanted, searched);
  if (same.length > 0) return one(wanted, same, paths);
  if (begun.length > 0) return one(wanted, begun, paths);
  const all = allNamed(searched);
  const like = sessionsOf(likeName(wanted, all), searched);
  if (like.length > 0 && exact) throw notFound(wanted, { near: like.slice(0, CANDIDATES_SHOWN), paths });
  if (like.length > 0) return one(wanted, like, paths);
  if (path !== undefined) throw notFound(path, { reason: whyNoTranscript(path) });
  throw notFound(wanted, { near: nearestTo(wanted, all, searched), paths });
}

function withId(wanted: string, found: readonly TranscriptFile[]): Session[] {
  const mayBe = found.filter(({ id, file }) =>
    id === undefined ? basename(file).includes(wanted) : id === wanted,
  );
  const sessions = mayBe.map((file) => sessionOf(file)).filter((session) => session?.id === wanted);
  return newestCopies(sessions.filter((session) => session !== undefined));
}

/** Identifies files by content where their names do not suffice, and drops temporary Volute sessions. */
function identified(found: readonly TranscriptFile[], subagents: boolean): TranscriptFile[] {
  const files: TranscriptFile[] = [];
  for (const file of found) {
    if (file.ephemeral) continue;
    const known = file.agent !== undefined && file.id !== undefined ? file : sessionOf(file);
    if (known?.id === undefined) continue;
    if (subagents || (known.parentId === undefined && !file.subagent)) files.push(known);
  }
  return files;
}

/** Returns the files of some sessions; a prompt waits for this, and mostly one is meant: no index of all is built. */
function filesOf(ids: ReadonlySet<string>, { files }: Searched): TranscriptFile[] {
  return ids.size === 0 ? [] : files.filter(({ id = "" }) => ids.has(id));
}

function withBeginning(wanted: string, searched: Searched): Session[] {
  const prefix = wanted.toLowerCase();
  const isBegun = (id: string) => id.startsWith(prefix) || startsAlike(id, prefix);
  const metas = searched.names.metasBegun(prefix);
  const files = searched.files.filter(({ id = "" }) => isBegun(id));
  const begun = sessionsFrom(searched, { metas, files });
  const exact = begun.filter(({ id }) => id === wanted);
  return exact.length > 0 || wanted.length < PREFIX_MIN ? exact : begun;
}

function withName(wanted: string, searched: Searched): Session[] {
  const folded = foldName(wanted);
  if (folded === "") return [];
  const { files, names } = searched;
  const metas = names.metasNamed(folded);
  const titled = names.titled(folded);
  const ids = new Set(metas.map(({ id }) => id));
  const called = files.filter(
    ({ file, id = "", name }) =>
      ids.has(id) || titled.has(file) || (name !== undefined && foldName(name) === folded),
  );
  return sessionsFrom(searched, { metas, files: called });
}

function sessionsFrom(
  searched: Searched,
  { metas, files }: { metas: readonly NamedMeta[]; files: readonly TranscriptFile[] },
): Session[] {
  const known: Known[] = files.map((found) => ({ id: found.id ?? "", found }));
  return sessionsOf([...known, ...withoutFile(metas, searched)], searched);
}

/** Returns the meta files of sessions without a transcript; none where transcripts are given. */
function withoutFile(metas: readonly NamedMeta[], searched: Searched): Known[] {
  if (searched.paths.transcripts.length > 0) return [];
  const present = filesOf(new Set(metas.map(({ id }) => id)), searched);
  const ids = new Set(present.map(({ id = "" }) => id));
  return metas.filter(({ id }) => !ids.has(id)).map(({ id, file }) => ({ id, metaFile: file }));
}

/** Returns all sessions with all their names, then those of which only the meta file is left. */
function allNamed(searched: Searched): Named<Known>[] {
  const { names } = searched;
  const metas = new Map(names.metas().map((meta) => [meta.id, meta]));
  const titles = names.titles();
  const all: Named<Known>[] = searched.files.map((found) => {
    const { id = "", file, name } = found;
    const called = [name, metas.get(id)?.name, titles.get(file)].filter((each) => each !== undefined);
    return { item: { id, found }, names: called };
  });
  for (const item of withoutFile([...metas.values()], searched)) {
    all.push({ item, names: [metas.get(item.id)?.name ?? ""] });
  }
  return all;
}

/** Returns the most similar first, not the newest. */
function nearestTo(wanted: string, all: readonly Named<Known>[], searched: Searched): Session[] {
  const named = all.map(({ item, names }) => ({ item, names: names.length > 0 ? names : [item.id] }));
  return nearest(wanted, named, NEAREST_SHOWN).flatMap((known) =>
    withoutExcluded(sessionsOf([known], searched), searched.paths),
  );
}

/** Considers all copies of each session: another one may be newer than the one with the name. */
function sessionsOf(known: readonly Known[], searched: Searched): Session[] {
  const { paths } = searched;
  const agents = new Set(known.map(({ found }) => found?.agent));
  const sessions = filesOf(new Set(known.map(({ id }) => id)), searched)
    .filter(({ agent }) => agents.has(agent))
    .map((file) => sessionOf(file));
  for (const { metaFile } of known) {
    const meta = metaFile === undefined ? undefined : readMetaName(metaFile);
    if (meta) sessions.push(withoutTranscript(meta, paths));
  }
  return newestCopies(sessions.filter((session) => session !== undefined));
}

/** Returns the only session that is not excluded. */
function one(wanted: string, sessions: readonly Session[], paths: Paths): Session {
  const [first] = sessions;
  if (!first) throw notFound(wanted);
  const shown = sessions.length === 1 ? sessions : withoutExcluded(sessions, paths);
  if (shown.length > 1) throw ambiguous(wanted, shown, paths);
  const session = shown[0] ?? first;
  assertNotExcluded(session, paths);
  return session;
}

function withoutExcluded(sessions: readonly Session[], paths: Paths): Session[] {
  const { exclude } = paths.rules;
  return sessions.filter((session) => !isExcluded(session, { paths, exclude }));
}
