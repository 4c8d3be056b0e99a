/**
 * Forgets sessions that a host has or only our own data still knows, or anything that contains a text: first excludes it,
 * then removes it from every store, then overwrites the freed bytes. The next run completes one that was interrupted.
 */

import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { findMarksFile } from "../activity/look.ts";
import { SessionMemoryError } from "../base/errors.ts";
import {
  defaultSettings,
  EXCLUDE_KEYS,
  type ExcludeKey,
  forgottenFile,
  type PathsWithRules,
  readHookSettings,
  type Settings,
  seeingExcluded,
} from "../config/config.ts";
import { addExclusions, removeExclusions } from "../config/config-file.ts";
import { eraseFreed, isEraseDue } from "../index/forget-rows.ts";
import { ensureIndex } from "../index/freshness.ts";
import { heldSessions } from "../index/held-sessions.ts";
import { ledgerFile } from "../observe/ledger.ts";
import { oneLine, redact } from "../redact/redact.ts";
import { fitting } from "../sessions/gate.ts";
import { findMachine } from "../sessions/places.ts";
import {
  directoryHere,
  namesOfDirectory,
  projectDirectories,
  projectKey,
  projectLookup,
  projectNames,
  readOrigin,
  realDirectory,
  sessionProject,
} from "../sessions/project.ts";
import { hasMeta } from "../sessions/record.ts";
import { isBeginning } from "../sessions/references.ts";
import { type Held, type ResolveContext, resolvePlace } from "../sessions/resolve.ts";
import { listSessions, sessionPlace } from "../sessions/sessions.ts";
import { readmitForgotten, withdrawForgotten } from "../share/share-state.ts";
import type { Forgetting } from "../store/state.ts";
import { allIndexes, sharedBy } from "../store/store.ts";
import { firstRecord } from "../transcripts/jsonl.ts";
import { findRestorer } from "../transcripts/restored.ts";
import { dropForgottenRows, keepForgottenRows, ownRules } from "../transcripts/rules.ts";
import type { Entry, PartlyKnown, Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { type Counts, countAll, type ForgetScope, inIndexes, type Matches, removeAll } from "./stores.ts";

type Exclude = Settings["exclude"];

/** A session to forget, as far as anything still records it: without `file` where neither host nor archive has it. */
export type Target = Pick<Session, "id"> &
  PartlyKnown<"agent" | "name" | "cwd" | "parentId" | "file" | "archived">;

interface TargetOptions extends Pick<ResolveContext, "paths" | "cwd" | "current" | "remark"> {
  held: readonly Held[];
}

/**
 * Resolves references to sessions, each with its subagents.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS`, or `NOT_FOUND` when neither a host nor our data knows it.
 */
export function namedTargets(references: readonly string[], options: TargetOptions): Target[] {
  const named = references.map((reference) => namedTarget(reference, options));
  const ids = new Set(named.map(({ id }) => id));
  const all = allKnown(options).map(({ target }) => target);
  const children = all.filter(({ parentId }) => parentId !== undefined && ids.has(parentId));
  return distinct([...named, ...children]);
}

function namedTarget(reference: string, options: TargetOptions): Target {
  const { paths, held } = options;
  const exactly = { subagents: true, exact: true, sessionOnly: true, held: () => held };
  try {
    return toTarget(resolvePlace(reference, { ...options, ...exactly }).session);
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
    // Our files are named by id.
    if (isHeldById(reference, paths)) return { id: reference };
    throw error;
  }
}

/** Returns whether any file of ours other than an index is about a session. */
function isHeldById(id: string, paths: PathsWithRules): boolean {
  const files = [ledgerFile(paths, id), findMarksFile(paths.cursors, id).path];
  return hasMeta(id, paths) || files.some((file) => existsSync(file));
}

/** Returns the entry of `exclude.projects` for a project as the user named it. */
export function projectEntry(project: string, cwd: string): string {
  if (!/[/\\]|^\.\.?$/.test(project)) return project;
  const directory = realDirectory(project.startsWith(".") ? `${cwd}/${project}` : project);
  // The top of a repository means all its worktrees, a folder inside one only itself.
  return projectDirectories(directory).includes(directory) ? projectKey(directory) : directory;
}

/** Returns the sessions of a project, or of all, that have been idle since a time. */
export function targetsWhere(
  { project, before }: { project?: string | undefined; before?: Date | undefined },
  options: TargetOptions,
): Target[] {
  const fits = fitting(project ?? "", options.paths.rules);
  // Sessions of other machines belong to the same project if they have the same origin.
  const isDirectory = project !== undefined && isAbsolute(project);
  const origin = isDirectory ? readOrigin(project) : undefined;
  // Its top means the repository, wherever its sessions ran, a folder inside one only itself.
  const isTop = isDirectory && projectKey(project) === project;
  const names = isTop ? namesOfDirectory(project, projectLookup(options.paths)) : [];
  const isWanted = ({ target: { id }, here, updatedAt, project: known, names: own }: Forgettable) =>
    (before === undefined || Date.parse(updatedAt) < before.getTime()) &&
    (project === undefined ||
      (origin !== undefined && known === origin) ||
      own.some((name) => names.includes(name)) ||
      fits({ id, cwd: here, project: isDirectory && here === undefined ? undefined : known }));
  return distinct(
    allKnown(options)
      .filter(isWanted)
      .map(({ target }) => target),
  );
}

interface Forgettable {
  target: Target;
  /** Its directory, where that is one of this machine. */
  here: string | undefined;
  project: string | undefined;
  /** What its project is known by. */
  names: readonly string[];
  updatedAt: string;
}

/** Returns every session that a host or an index knows. */
function allKnown({ paths, cwd, held }: TargetOptions): Forgettable[] {
  const listed = listSessions(paths, { subagents: true, cwd, dated: true });
  const there = new Set(listed.map(({ id }) => id));
  const lookup = projectLookup(paths);
  const sessions = listed.map((session) => {
    const place = sessionPlace(session);
    const { updatedAt } = session;
    const project = sessionProject(place, lookup);
    const target = toTarget({ ...session, cwd: place.cwd });
    const [here, names] = [directoryHere(place), projectNames(place, lookup)];
    return { target, here, project, names, updatedAt };
  });
  const gone = held.filter(({ session }) => !there.has(session.id));
  const known = gone.map(({ session }) => {
    const { id, parentId = id, cwd, file, project, updatedAt } = session;
    const place = { id: parentId, cwd, machine: findMachine(file, paths) };
    const names = projectNames(sharedBy(session) ? { ...place, cwd: project } : place, lookup);
    return { target: toTarget(session), here: directoryHere(place), project, names, updatedAt };
  });
  return [...sessions, ...known];
}

/** Returns a session as a target; where only an index holds it, no transcript is left. */
function toTarget(session: Session): Target {
  const { id, agent, name, cwd, parentId } = session;
  const known = { id, agent, name, cwd, parentId };
  if (session.size === 0) return known;
  return { ...known, file: session.file, archived: session.archived };
}

/** Returns the transcript that the host still has. */
export function hostTranscript({ file, archived }: Target): string | undefined {
  return archived ? undefined : file;
}

function distinct(targets: readonly Target[]): Target[] {
  const byId = new Map<string, Target>();
  for (const target of targets) if (!byId.has(target.id)) byId.set(target.id, target);
  return [...byId.values()];
}

export interface ForgetOptions {
  paths: PathsWithRules;
  /** The current directory, whose `memory` folder is searched for notes too. */
  cwd: string;
  /** Exclusions to add to config.json; undefined adds none. */
  exclude: Exclude | undefined;
  /** Directories of a forgotten project, whose log lines are removed too. */
  places?: readonly string[] | undefined;
  /** Only report what would be removed. */
  dryRun: boolean;
}

/** The result, or in a dry run what it would be. */
export interface Forgotten extends Omit<Matches, "counts"> {
  removed: Counts;
  /** Exclusions that were added to config.json. */
  excluded: Exclude;
  /** False when another process prevented the index from being compacted. */
  erased: boolean;
}

const NOTHING: Exclude = { sessions: [], projects: [], patterns: [] };
/** Work that was already running may have written again. */
const ROUNDS_MAX = 3;

/** Carries over every index that must be, so that what it holds can be found; completes what an interrupted run left undone. */
export async function prepareIndexes(
  paths: PathsWithRules,
  { settings, dryRun }: { settings: Settings; dryRun: boolean },
): Promise<void> {
  for (const index of allIndexes(paths)) await ensureIndex(index, settings);
  if (!dryRun) inIndexes(paths, (store) => isEraseDue(store) && eraseFreed(store));
}

/** Returns the sessions in all indexes. */
export function readHeld(paths: PathsWithRules): Held[] {
  return inIndexes(paths, (store) => heldSessions(store)).flat();
}

/** Forgets the given sessions. */
export async function forgetTargets(targets: readonly Target[], options: ForgetOptions): Promise<Forgotten> {
  const ids = new Set(targets.map(({ id }) => id));
  const directories = targets.flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd]));
  const { exclude, dryRun, paths } = options;
  if (exclude && !dryRun) {
    for (const { id, file } of targets) {
      const rows = file === undefined ? [] : readRows(file);
      await keepForgottenRows(forgottenFile(paths.config), exclude.projects[0] ?? id, rows);
    }
  }
  const restored = restoredFrom(targets, paths);
  const found = await forgetAll({ ids }, { ...options, directories: [options.cwd, ...directories] });
  const forgotten = { ...found, forks: [...new Set([...found.forks, ...restored])] };
  // Without an exclusion it would be indexed and shared again.
  if (exclude && !dryRun) {
    const [project] = exclude.projects;
    withdrawForgotten(
      paths,
      targets.map(({ id }) => ({ id, entry: project ?? id })),
    );
  }
  return forgotten;
}

/** Returns the sessions that were restored from others, or that their host began as forks of them: they hold their rows. */
function restoredFrom(targets: readonly Target[], paths: PathsWithRules): string[] {
  const ids = new Set(targets.map(({ id }) => id));
  const origins = new Set(targets.flatMap(({ id, file }) => [id, file]));
  const all = listSessions(seeingExcluded(paths), { excluded: true });
  const made = all.filter(({ id, agent, file, machine, archived }) => {
    const restorer = ids.has(id) || machine !== undefined || archived ? undefined : findRestorer(agent);
    const first = restorer && firstRecord(file);
    const origin = first && restorer.originIn(first);
    return origin !== undefined && origins.has(origin);
  });
  return made.map(({ id }) => id);
}

/** Reads all rows of a transcript; none when the host has deleted it. */
function readRows(transcript: string): Entry[] {
  try {
    return [...readEntries(transcript, { rules: ownRules(), results: true })];
  } catch {
    return [];
  }
}

/** Forgets everything that contains a matching text. */
export async function forgetText(
  hasText: (text: string) => boolean,
  options: ForgetOptions,
): Promise<Forgotten> {
  const directories = readHeld(options.paths).flatMap(({ session: { cwd } }) =>
    cwd === undefined ? [] : [cwd],
  );
  return await forgetAll({ hasText }, { ...options, directories: [options.cwd, ...directories] });
}

/** Returns whether anything was removed. */
export function isAnything({ removed: { notes, reports, ...counts } }: Pick<Forgotten, "removed">): boolean {
  return notes.length + reports.length > 0 || Object.values(counts).some((count) => count > 0);
}

async function forgetAll(
  forgetting: Forgetting,
  { paths, places, exclude, dryRun, directories }: ForgetOptions & Pick<ForgetScope, "directories">,
): Promise<Forgotten> {
  const scope = { paths, places, directories };
  const { counts: removed, ...found } = await countAll(forgetting, scope);
  if (dryRun) return { removed, ...found, excluded: exclude ?? NOTHING, erased: true };
  // Excluded before it is removed, so that no process that starts now brings it back.
  const excluded = exclude ? await addExclusions(paths.config, exclude) : NOTHING;
  let erased = true;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    erased = await removeAll(forgetting, scope);
    if (!isAnything({ removed: (await countAll(forgetting, scope)).counts })) break;
  }
  return { removed, ...found, excluded, erased };
}

/**
 * Removes the exclusions that match and returns them. `project` is the argument as a project directory.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` when nothing is excluded under it.
 */
export async function undoExclusion(
  what: string,
  { paths, project, dryRun }: { paths: PathsWithRules; project: string; dryRun: boolean },
): Promise<Exclude> {
  // A session by its id or the beginning of it, a project by directory or name, a pattern exactly.
  const isChosen = (key: ExcludeKey, entry: string) =>
    entry === what ||
    (key === "projects" && entry === project) ||
    (key === "sessions" && isBeginning(what) && entry.startsWith(what));
  const { exclude } = readHookSettings(paths) ?? defaultSettings();
  const chosen = (key: ExcludeKey) => exclude[key].filter((entry) => isChosen(key, entry));
  const found = { sessions: chosen("sessions"), projects: chosen("projects"), patterns: chosen("patterns") };
  if (EXCLUDE_KEYS.every((key) => found[key].length === 0)) {
    const message = `Cannot undo "${oneLine(redact(what), 200)}": config.json does not exclude it`;
    throw new SessionMemoryError("NOT_FOUND", message, { hint: "see exclude in config.json" });
  }
  if (dryRun) return found;
  const removed = await removeExclusions(paths.config, found);
  const entries = [...removed.sessions, ...removed.projects];
  readmitForgotten(paths, entries);
  await dropForgottenRows(forgottenFile(paths.config), entries);
  return removed;
}
