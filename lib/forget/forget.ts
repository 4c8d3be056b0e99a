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
  type ExcludeSettings,
  forgottenFile,
  type PathsWithRules,
  readHookSettings,
  type Settings,
} from "../config/config.ts";
import { addExclusions, removeExclusions } from "../config/config-file.ts";
import type { RawEntry } from "../hosts/format.ts";
import type { PartlyKnown, Session } from "../hosts/session.ts";
import { eraseFreed, isEraseDue } from "../index/forget-rows.ts";
import { ensureIndex } from "../index/freshness.ts";
import { heldSessions } from "../index/held-sessions.ts";
import { forgetProgress, readAllProgress } from "../index/index-state.ts";
import { ledgerFile } from "../observe/ledger.ts";
import { oneLine, redact } from "../redact/redact.ts";
import { removeCopies } from "../sessions/copies.ts";
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
import { lastTime } from "../sessions/titles.ts";
import { readmitForgotten, withdrawForgotten } from "../share/share-state.ts";
import type { Forgetting } from "../store/state.ts";
import { allIndexes, sharedBy } from "../store/store.ts";
import { outermostEntries } from "../transcripts/cursor.ts";
import { keepForgotten, makeKeys } from "../transcripts/forgotten.ts";
import { tryHead } from "../transcripts/head.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import { type ReadOptions, readEntries } from "../transcripts/transcript.ts";
import { type Counts, countAll, type ForgetScope, inIndexes, type Matches, removeAll } from "./stores.ts";

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
  /** The names of its project. */
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

export interface ForgetOptions extends Pick<ForgetScope, "refresh"> {
  paths: PathsWithRules;
  /** The current directory, whose `memory` folder is searched for notes too. */
  cwd: string;
  /** Exclusions to add to config.json. */
  exclude: ExcludeSettings;
  /** Directories of a forgotten project, whose log lines are removed too. */
  places?: readonly string[] | undefined;
  /** Only report what would be removed. */
  dryRun: boolean;
}

/** The result, or in a dry run what it would be. */
export interface Forgotten extends Omit<Matches, "counts"> {
  removed: Counts;
  /** Exclusions that were added to config.json. */
  excluded: ExcludeSettings;
  /** The sessions that hold rows of forgotten ones. */
  forks: string[];
  /** False when another process prevented the index from being compacted. */
  erased: boolean;
}

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
  const directories = targets.flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd]));
  const { exclude, dryRun, paths } = options;
  const [rules, times] = [readRules(paths.rules), new Set<string>()];
  const kept = targets.map((target) => [entryFor(target, exclude), keysFor(target, rules, times)] as const);
  const keys = new Set(kept.flatMap(([, each]) => each));
  const search = { paths, times, rules: { ...rules, isForgotten: (key: string) => keys.has(key) } };
  const forks = findForks(targets, search);
  const lines = new Map([...forks].filter(([, shared]) => shared.size > 0));
  const ids = new Set([...targets.map(({ id }) => id), ...lines.keys()]);
  const scope = { ...options, kept, directories: [options.cwd, ...directories] };
  const forgotten = { ...(await forgetAll({ ids, lines }, scope)), forks: [...forks.keys()] };
  if (!dryRun) {
    const [project] = exclude.projects;
    withdrawForgotten(
      paths,
      targets.map(({ id }) => ({ id, entry: project ?? id })),
    );
  }
  return forgotten;
}

/** Returns the entry of `exclude` that keeps a session out. */
function entryFor({ id, parentId = id }: Target, { sessions, projects: [project] }: ExcludeSettings): string {
  return [id, parentId].find((each) => sessions.includes(each)) ?? project ?? id;
}

/** Returns the keys of a session's rows, and adds their times; none when the host has deleted them. */
function keysFor({ file = "", agent = "" }: Target, rules: Rules, times: Set<string>): string[] {
  const kept: string[] = [];
  const onForgotten = (row: RawEntry) => {
    if (row.at !== undefined) times.add(row.at);
    const { id = [], time = [], words } = makeKeys(row, agent, rules) ?? {};
    kept.push(...[id, time, words?.() ?? []].flat());
  };
  const head = tryHead(file);
  // A prompt may be written twice: readers take one, and copies hold both.
  for (const each of head?.typedEvents ? [head, { ...head, typedEvents: false }] : [head])
    visitForgotten(file, { rules: { ...rules, isForgotten: () => true }, head: each, onForgotten });
  return kept;
}

/** Reads all of a transcript; nothing when the host has deleted it. */
function visitForgotten(file: string, options: Pick<ReadOptions, "rules" | "head" | "onForgotten">): void {
  try {
    for (const _ of readEntries(file, { ...options, results: true }));
  } catch {
    // gone since it was listed, or not ours to read
  }
}

interface ForkSearch {
  paths: PathsWithRules;
  /** The times of the rows. */
  times: ReadonlySet<string>;
  /** Rules that tell them. */
  rules: Rules;
}

/** Returns the lines on which other sessions hold forgotten rows; none for a fork whose host gave them other times. */
function findForks(
  targets: readonly Target[],
  { paths, times, rules }: ForkSearch,
): Map<string, ReadonlySet<number>> {
  const [ids, agents] = [new Set(targets.map(({ id }) => id)), new Set(targets.map(({ agent }) => agent))];
  const origins = new Set(targets.flatMap(({ id, file }) => [id, file]));
  const ordered = [...times].sort();
  const [from = "", to = ""] = [ordered[0], ordered.at(-1)];
  const forks = new Map<string, ReadonlySet<number>>();
  for (const session of listSessions(paths, { subagents: true, excluded: true })) {
    const { id, agent, file } = session;
    if (ids.has(id) || !agents.has(agent)) continue;
    const lines = new Set<number>();
    const isApart = (firstTime(file) ?? "") > to || (lastTime(session) ?? to) < from;
    if (!isApart) visitForgotten(file, { rules, onForgotten: ({ line }) => lines.add(line) });
    if (lines.size > 0 || origins.has(tryHead(file)?.forkedFrom)) forks.set(id, lines);
  }
  return forks;
}

/** Returns the time of the first entry of a transcript. */
function firstTime(file: string): string | undefined {
  try {
    return outermostEntries(file)[0]?.at;
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

/** Forgets everything that contains a matching text. */
export async function forgetText(
  forgetting: Extract<Forgetting, { hasText: unknown }>,
  options: ForgetOptions,
): Promise<Forgotten> {
  const directories = readHeld(options.paths).flatMap(({ session: { cwd } }) =>
    cwd === undefined ? [] : [cwd],
  );
  const found = await forgetAll(forgetting, { ...options, directories: [options.cwd, ...directories] });
  return { ...found, forks: [] };
}

/** Returns whether anything was removed. */
export function isAnything({ removed: { notes, reports, ...counts } }: Pick<Forgotten, "removed">): boolean {
  return notes.length + reports.length > 0 || Object.values(counts).some((count) => count > 0);
}

interface ForgetAll extends ForgetOptions, Pick<ForgetScope, "directories"> {
  /** The keys of what is forgotten, each list with the entry of `exclude` it is kept for. */
  kept?: Parameters<typeof keepForgotten>[1];
}

async function forgetAll(
  forgetting: Forgetting,
  { exclude, dryRun, kept, ...scope }: ForgetAll,
): Promise<Omit<Forgotten, "forks">> {
  const { config } = scope.paths;
  const { counts: removed, ...found } = await countAll(forgetting, scope);
  if (dryRun) return { removed, ...found, excluded: exclude, erased: true };
  // Excluded before it is removed, so that no process that starts now brings it back.
  const add = () => addExclusions(config, exclude);
  const excluded = await (kept ? keepForgotten(forgottenFile(config), kept, add) : add());
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
): Promise<ExcludeSettings> {
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
  if (entries.length === 0) return removed;
  await keepForgotten(forgottenFile(paths.config), [], () => undefined);
  // All is read again: any session may hold what comes back.
  removeCopies(paths);
  inIndexes(paths, (store) => forgetProgress(store, [...readAllProgress(store).keys()]));
  return removed;
}
