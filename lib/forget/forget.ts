/**
 * Forgets sessions that a host has or only our own data still knows, or anything that contains a text: first excludes it,
 * then removes it from every store, then overwrites the freed bytes. The next run completes one that was interrupted.
 */

import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { forgetMarks } from "../activity/cursors.ts";
import { findCursorFile } from "../activity/look.ts";
import { forgetTold } from "../activity/seen.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { remove, removeLeftovers } from "../base/files.ts";
import { withLock } from "../base/locks.ts";
import {
  defaultSettings,
  EXCLUDE_KEYS,
  type ExcludeKey,
  forgottenFile,
  type PathsWithRules,
  readHookSettings,
  type Settings,
} from "../config/config.ts";
import { addExclusions, removeExclusions } from "../config/config-file.ts";
import { countRows, eraseFreed, forgetRows, isEraseDue, type RowsFound } from "../index/forget-rows.ts";
import { ensureIndex } from "../index/freshness.ts";
import { asHeld, type HeldSession, heldSessions } from "../index/held-sessions.ts";
import { forgetNotes } from "../naming/note.ts";
import { forgetLedgers, ledgerFile } from "../observe/ledger.ts";
import { oneLine, redact } from "../redact/redact.ts";
import { forgetReports } from "../report/html.ts";
import { metaFolders } from "../sessions/meta.ts";
import { findMachine } from "../sessions/places.ts";
import {
  directoryHere,
  projectDirectories,
  projectKey,
  projectLookup,
  readOrigin,
  realDirectory,
  sessionProject,
} from "../sessions/project.ts";
import { forgetMetas, hasMeta } from "../sessions/record.ts";
import { isBeginning } from "../sessions/references.ts";
import { type ResolveContext, resolvePlace } from "../sessions/resolve.ts";
import { listSessions, sessionPlace } from "../sessions/sessions.ts";
import { forgetShared } from "../share/replica.ts";
import { forgetPublished, readmitForgotten, withdrawForgotten } from "../share/share-state.ts";
import { PARTS, setAsideIn } from "../store/carry-over.ts";
import { eraseFreedState, type Forgetting, forgetInLog, forgetWritten } from "../store/state.ts";
import { allIndexes, openStore, type Store } from "../store/store.ts";
import { removeCopies } from "../transcripts/hosts.ts";
import { dropForgottenRows, keepForgottenRows, ownRules, readRules } from "../transcripts/rules.ts";
import type { Agent, Entry, Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";

type Exclude = Settings["exclude"];

/** A session to forget. */
export interface Target {
  id: string;
  /** Undefined when only files are left that do not record it. */
  agent?: Agent | undefined;
  name?: string | undefined;
  cwd?: string | undefined;
  /** The session that started it. */
  parentId?: string | undefined;
  /** Its transcript, if the host still has it. */
  transcript?: string | undefined;
}

interface TargetOptions extends Pick<ResolveContext, "paths" | "cwd" | "current" | "remark"> {
  held: readonly HeldSession[];
}

/**
 * Resolves references to sessions, each with its subagents.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS`, or `NOT_FOUND` when neither a host nor our data knows it.
 */
export function namedTargets(references: readonly string[], options: TargetOptions): Target[] {
  const named = references.map((reference) => namedTarget(reference, options));
  const ids = new Set(named.map(({ id }) => id));
  const children = allKnown(options).filter(({ parentId }) => parentId !== undefined && ids.has(parentId));
  return distinct([...named, ...children]);
}

function namedTarget(reference: string, options: TargetOptions): Target {
  const { paths, held } = options;
  const exactly = { subagents: true, exact: true, sessionOnly: true, held: () => held.map(asHeld) };
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
  const files = [ledgerFile(paths, id), findCursorFile(paths.cursors, id).path];
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
  const exclude = { ...NOTHING, projects: project ? [project] : [] };
  const { hasSession } = readRules({ ...options.paths.rules, exclude });
  // Sessions of other machines belong to the same project if they have the same origin.
  const isDirectory = project !== undefined && isAbsolute(project);
  const origin = isDirectory ? readOrigin(project) : undefined;
  const isWanted = ({ id, here, updatedAt, project: known }: Known) =>
    (before === undefined || Date.parse(updatedAt) < before.getTime()) &&
    (project === undefined ||
      (origin !== undefined && known === origin) ||
      hasSession({ id, cwd: here, project: isDirectory && here === undefined ? undefined : known }));
  return distinct(allKnown(options).filter(isWanted));
}

interface Known extends Target {
  /** Its directory, where that is one of this machine. */
  here: string | undefined;
  project: string | undefined;
  updatedAt: string;
}

/** Returns every session that a host or an index knows. */
function allKnown({ paths, cwd, held }: TargetOptions): Known[] {
  const listed = listSessions(paths, { subagents: true, cwd, dated: true });
  const there = new Set(listed.map(({ id }) => id));
  const lookup = projectLookup();
  const sessions = listed.map((session) => {
    const place = sessionPlace(session);
    const { updatedAt } = session;
    const project = sessionProject(place, lookup);
    return { ...toTarget({ ...session, cwd: place.cwd }), here: directoryHere(place), project, updatedAt };
  });
  const gone = held.filter(({ id }) => !there.has(id));
  const hereOf = ({ cwd, file }: HeldSession) => directoryHere({ cwd, machine: findMachine(file, paths) });
  return [
    ...sessions,
    ...gone.map((session) => ({ ...session, ...toTarget(session), here: hereOf(session) })),
  ];
}

/** Of one that only an index holds, no transcript is left. */
function toTarget(session: Session | HeldSession): Target {
  const { id, agent, name, cwd, parentId, file } = session;
  const isThere = "size" in session && session.size > 0;
  return { id, agent, name, cwd, parentId, transcript: isThere ? file : undefined };
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
export interface Forgotten {
  removed: Omit<RowsFound, "forks"> & {
    observations: number;
    ledgers: number;
    metaFiles: number;
    /** Files with marks of and about the session, and the errors it was informed about. */
    cursors: number;
    notes: string[];
    /** Pages, and overviews that link them. */
    reports: string[];
    logLines: number;
    /** Chunks in the replica that others share. */
    sharedChunks: number;
  };
  /** Matching files outside the state folder that stay because they do not have the bytes we wrote. */
  keptFiles: string[];
  /** Damaged databases that were set aside: they may contain it, and are deleted. */
  setAside: string[];
  /** Exclusions that were added to config.json. */
  excluded: Exclude;
  /** Forks of forgotten sessions, which contain the same rows. */
  forks: string[];
  /** False when another process prevented the index from being compacted. */
  erased: boolean;
}

const NOTHING: Exclude = { sessions: [], projects: [], patterns: [] };
/** An indexing run may take long; running beside it is safe. */
const LOCK_WAIT_MS = 30_000;
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
export function readHeld(paths: PathsWithRules): HeldSession[] {
  return inIndexes(paths, (store) => heldSessions(store)).flat();
}

/** Forgets the given sessions. */
export async function forgetTargets(targets: readonly Target[], options: ForgetOptions): Promise<Forgotten> {
  const ids = new Set(targets.map(({ id }) => id));
  const directories = targets.flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd]));
  const { exclude, dryRun, paths } = options;
  if (exclude && !dryRun) {
    for (const { id, transcript } of targets) {
      const rows = transcript === undefined ? [] : readRows(transcript);
      await keepForgottenRows(forgottenFile(paths.config), exclude.projects[0] ?? id, rows);
    }
  }
  const forgotten = await forgetAll({ ids }, { ...options, directories });
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
  const directories = readHeld(options.paths).flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd]));
  return await forgetAll({ hasText }, { ...options, directories });
}

/** Returns whether anything was removed. */
export function isAnything({ removed: { notes, reports, ...counts } }: Pick<Forgotten, "removed">): boolean {
  return notes.length + reports.length > 0 || Object.values(counts).some((count) => count > 0);
}

interface Options extends ForgetOptions {
  /** The sessions' working directories. */
  directories: readonly string[];
}

async function forgetAll(forgetting: Forgetting, options: Options): Promise<Forgotten> {
  const found = await countAll(forgetting, options);
  if (options.dryRun) return { ...found, excluded: options.exclude ?? NOTHING, erased: true };
  // Excluded before it is removed, so that no process that starts now brings it back.
  const excluded = options.exclude ? await addExclusions(options.paths.config, options.exclude) : NOTHING;
  let erased = true;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    erased = await removeOnce(forgetting, options);
    if (!isAnything(await countAll(forgetting, options))) break;
  }
  return { ...found, excluded, erased };
}

type Found = Pick<Forgotten, "removed" | "keptFiles" | "setAside" | "forks">;

async function countAll(forgetting: Forgetting, options: Options): Promise<Found> {
  const { notes, reports, metas, ...counts } = await inFiles(forgetting, options, true);
  const rows = inIndexes(options.paths, (store) => countRows(forgetting, store));
  const total = (key: "chunks" | "vectors") => rows.reduce((sum, each) => sum + each[key], 0);
  return {
    removed: {
      chunks: total("chunks"),
      vectors: total("vectors"),
      ...counts,
      metaFiles: metas.ours.length,
      notes: notes.ours,
      reports: reports.ours,
    },
    keptFiles: [...notes.others, ...reports.others, ...metas.others],
    setAside: setAsideIn(options.paths),
    forks: [...new Set(rows.flatMap(({ forks }) => forks))],
  };
}

/** Removes everything found now; returns whether its bytes were erased too. */
async function removeOnce(forgetting: Forgetting, options: Options): Promise<boolean> {
  const { paths } = options;
  await inFiles(forgetting, options, false);
  removeCopies(paths);
  forgetWritten(forgetting, { paths, dryRun: false });
  forgetPublished(forgetting, { paths, dryRun: false });
  eraseFreedState(paths);
  for (const folder of [paths.home, ...metaFolders(paths)]) removeLeftovers(folder);
  for (const file of setAsideIn(paths)) for (const part of PARTS) remove(file + part);
  const erased = await withIndexLock(paths, () => inIndexes(paths, (store) => forgetRows(forgetting, store)));
  return erased.every(Boolean);
}

/** Counts or removes in all stores except the indexes. */
async function inFiles(forgetting: Forgetting, options: Options, dryRun: boolean) {
  const { paths, cwd, directories, places = [] } = options;
  return {
    notes: forgetNotes(forgetting, { paths, dryRun, directories: [cwd, ...directories] }),
    reports: forgetReports(forgetting, { paths, dryRun }),
    metas: await forgetMetas(forgetting, { paths, dryRun }),
    ...(await forgetLedgers(forgetting, { paths, dryRun })),
    cursors: forgetMarks(forgetting, { paths, dryRun }) + (await forgetTold(forgetting, { paths, dryRun })),
    logLines: forgetInLog(paths.log, forgetting, { places, dryRun }),
    sharedChunks: forgetShared(forgetting, { paths, dryRun }),
  };
}

/** Runs `work` under the index lock, or without it when an indexing run takes too long. */
async function withIndexLock<T>(paths: PathsWithRules, work: () => T): Promise<T> {
  try {
    return await withLock(join(paths.home, "index.lock"), LOCK_WAIT_MS, work);
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "BUSY") throw error;
    return work();
  }
}

function inIndexes<T>(paths: PathsWithRules, work: (store: Store) => T): T[] {
  return allIndexes(paths)
    .filter((index) => existsSync(index))
    .map((index) => {
      const store = openStore(index);
      try {
        return work(store);
      } finally {
        store.close();
      }
    });
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
