/**
 * Forgets sessions, or anything that contains a text: first excludes it, then removes it from every store, then overwrites
 * the freed bytes. The next run completes one that was interrupted.
 */

import { updateCopies } from "../archive/copies.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { hasContent } from "../base/files.ts";
import { oneLine } from "../base/text.ts";
import {
  defaultSettings,
  EXCLUDE_KEYS,
  type ExcludeKey,
  type ExcludeSettings,
  type PathsWithRules,
  readHookSettings,
  type Settings,
} from "../config/config.ts";
import { eraseFreed, isEraseDue } from "../index/forget-rows.ts";
import { takeFormerIndex } from "../index/former-index.ts";
import { ensureIndex, withIndex } from "../index/freshness.ts";
import { heldSessions } from "../index/held-sessions.ts";
import { forgetProgress, readAllProgress } from "../index/index-state.ts";
import { forgetMetas } from "../sessions/record.ts";
import { isBeginning } from "../sessions/references.ts";
import type { Held } from "../sessions/resolve.ts";
import type { Forgetting, Found } from "../store/state.ts";
import { allIndexes } from "../store/store.ts";
import { keepForgotten } from "../transcripts/forgotten.ts";
import { readRules } from "../transcripts/rules.ts";
import { addExclusions, removeExclusions } from "./exclude-block.ts";
import { findForks, keysFor } from "./forks.ts";
import { type ForgetEverywhere, forgetEverywhere, inIndexes } from "./stores.ts";
import type { Target } from "./targets.ts";

export interface ForgetOptions extends Omit<ForgetEverywhere, "directories"> {
  /** The current directory, whose `memory` folder is searched for notes too. */
  cwd: string;
  /** Exclusions to add to config.json. */
  exclude: ExcludeSettings;
  /** Takes forgotten sessions, each with the entry of `exclude` that keeps it out, back from others. */
  withdraw: (sessions: readonly { id: string; entry: string }[]) => void;
}

type Files = Pick<Found, "keptFiles" | "setAside">;

/** The result, or in a dry run what it would be. */
export interface Forgotten extends Files {
  removed: Omit<Found, keyof Files | "unerased">;
  /** Exclusions that were added to config.json. */
  excluded: ExcludeSettings;
  /** The sessions that hold rows of forgotten ones. */
  forks: string[];
  /** False when another process prevented the index from being compacted. */
  erased: boolean;
}

/** Work that was already running may have written again. */
const ROUNDS_MAX = 3;

/** Makes copies of what only an earlier index holds, so that it can be found; completes what an interrupted run left undone. */
export async function prepareIndexes(
  paths: PathsWithRules,
  { settings, dryRun }: { settings: Settings; dryRun: boolean },
): Promise<void> {
  for (const index of allIndexes(paths)) ensureIndex(index, settings);
  if (!dryRun && hasContent(paths.former))
    await withIndex({ paths, settings }, async (store) =>
      takeFormerIndex(store, { paths: { ...paths, rules: settings } }),
    );
  if (!dryRun) inIndexes(paths, (store) => isEraseDue(store) && eraseFreed(store));
}

/** Returns the own sessions in all indexes. */
export function readHeld(paths: PathsWithRules): Held[] {
  const held = inIndexes(paths, (store) => heldSessions(store)).flat();
  return held.filter(({ session }) => session.owner === undefined);
}

/** Forgets the given sessions. */
export async function forgetTargets(targets: readonly Target[], options: ForgetOptions): Promise<Forgotten> {
  const directories = targets.flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd]));
  const { exclude, dryRun, paths } = options;
  const [rules, times] = [readRules(paths), new Set<string>()];
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
    options.withdraw(targets.map(({ id }) => ({ id, entry: project ?? id })));
  }
  return forgotten;
}

/** Returns the entry of `exclude` that keeps a session out. */
function entryFor({ id, parentId = id }: Target, { sessions, projects: [project] }: ExcludeSettings): string {
  return [id, parentId].find((each) => sessions.includes(each)) ?? project ?? id;
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

interface ForgetAll extends ForgetEverywhere, Pick<ForgetOptions, "exclude"> {
  /** The keys of what is forgotten, each list with the entry of `exclude` it is kept for. */
  kept?: Parameters<typeof keepForgotten>[1];
}

async function forgetAll(
  forgetting: Forgetting,
  { exclude, dryRun, kept, ...scope }: ForgetAll,
): Promise<Omit<Forgotten, "forks">> {
  const { config, forgotten } = scope.paths;
  const look = async () => {
    const looked = await forgetEverywhere(forgetting, { ...scope, dryRun: true });
    const { keptFiles, setAside, unerased: _, ...removed } = looked;
    return { removed, keptFiles, setAside };
  };
  const found = await look();
  if (dryRun) return { ...found, excluded: exclude, erased: true };
  // First of all, since no row's key hides a name that was made of it.
  await forgetMetas(forgetting, { ...scope, dryRun });
  // Excluded before it is removed, so that no process that starts now brings it back.
  const add = () => addExclusions(config, exclude);
  const excluded = await (kept ? keepForgotten(forgotten, kept, add) : add());
  let unerased = 0;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    ({ unerased } = await forgetEverywhere(forgetting, { ...scope, dryRun }));
    if (!isAnything(await look())) break;
  }
  return { ...found, excluded, erased: unerased === 0 };
}

interface UndoOptions {
  paths: PathsWithRules;
  /** The argument as a project directory. */
  project: string;
  dryRun: boolean;
  /** Lets others have again what these entries of `exclude` kept out. */
  readmit: (entries: readonly string[]) => void;
}

/**
 * Removes the exclusions that match and returns them.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` when nothing is excluded under it.
 */
export async function undoExclusion(
  what: string,
  { paths, project, dryRun, readmit }: UndoOptions,
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
    const message = `Cannot undo "${oneLine(what, 200)}": config.json does not exclude it`;
    throw new SessionMemoryError("NOT_FOUND", message, { hint: "see exclude in config.json" });
  }
  if (dryRun) return found;
  const removed = await removeExclusions(paths.config, found);
  const entries = [...removed.sessions, ...removed.projects];
  readmit(entries);
  if (entries.length === 0) return removed;
  await keepForgotten(paths.forgotten, [], () => undefined);
  // All is read again: any session may hold what comes back.
  await updateCopies(paths, { ms: Number.POSITIVE_INFINITY, isAnew: true });
  inIndexes(paths, (store) => forgetProgress(store, [...readAllProgress(store).keys()]));
  return removed;
}
