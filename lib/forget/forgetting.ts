/**
 * Forgets sessions, or whatever holds a text, everywhere we hold it: first it is kept out from now on, then each store
 * removes it, and at last the bytes are written over. A run that was cut short is ended by the next one.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { forgetMarks } from "../activity/forget-marks.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { withLock } from "../base/locks.ts";
import type { Paths, Settings } from "../config/config.ts";
import { addExclusions } from "../config/exclude-file.ts";
import { eraseFreed, findRows, forgetRows, type IndexCounts, isEraseDue } from "../index/forget-rows.ts";
import { type HeldSession, heldSessions } from "../index/held-sessions.ts";
import { forgetNotes } from "../naming/forget-notes.ts";
import { forgetLedgers } from "../observe/forget-ledgers.ts";
import { forgetMetas } from "../sessions/forget-metas.ts";
import { forgetShared, withdrawForgotten } from "../share/forget-shared.ts";
import type { Forgetting } from "../store/forgetting.ts";
import { allIndexes } from "../store/given-indexes.ts";
import { eraseFreedState } from "../store/state.ts";
import { openStore, type Store } from "../store/store.ts";
import { forgetWritten } from "../store/written-files.ts";
import { forgetInLog } from "./forget-log.ts";
import type { Target } from "./forget-target.ts";
import { removeLeftovers } from "./leftovers.ts";

type Exclude = Settings["exclude"];

export interface ForgetOptions {
  paths: Paths;
  /** The directory whose usual folder of notes is looked into too. */
  cwd: string;
  /** What config.json shall keep out from now on; undefined leaves it alone. */
  exclude: Exclude | undefined;
  /** The directory of a forgotten project: its log lines go too. */
  places?: readonly string[] | undefined;
  /** Only tells what would go. */
  dryRun: boolean;
}

/** What went, or would go. */
export interface Forgotten {
  removed: IndexCounts & {
    observations: number;
    ledgers: number;
    metaFiles: number;
    /** Marks of how far a session was told, and of how far it has looked. */
    cursors: number;
    notes: string[];
    logLines: number;
    /** What others share, here in the replica. */
    sharedChunks: number;
  };
  /** Files outside the state folder that are about it and stay: others wrote them, or changed what we wrote. */
  keptFiles: string[];
  /** What config.json has now that it had not. */
  excluded: Exclude;
  /** Sessions that began as copies of forgotten ones, and hold the same rows. */
  forks: string[];
  /** False when another process kept the index from being written anew. */
  erased: boolean;
}

const NOTHING: Exclude = { sessions: [], projects: [], patterns: [] };
/** An indexing run may be in the middle of years of transcripts; going on beside it is safe. */
const LOCK_WAIT_MS = 30_000;
/** Work that was under way may have written something behind us. */
const ROUNDS_MAX = 3;

/** What the indexes hold. */
export function readHeld(paths: Paths): HeldSession[] {
  return inIndexes(paths, (store) => heldSessions(store)).flat();
}

/** Ends what a run that was cut short has left in the files of an index. */
export function finishErasing(paths: Paths): void {
  inIndexes(paths, (store) => isEraseDue(store) && eraseFreed(store));
}

/** Forgets these sessions. */
export async function forgetTargets(targets: readonly Target[], options: ForgetOptions): Promise<Forgotten> {
  const ids = new Set(targets.map(({ id }) => id));
  const directories = targets.flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd]));
  const forgotten = await forgetAll({ ids }, { ...options, directories });
  const { exclude, dryRun, paths } = options;
  // Without an exclusion it is read and shared again.
  if (exclude && !dryRun) {
    const [project] = exclude.projects;
    withdrawForgotten(
      paths,
      targets.map(({ id }) => ({ id, entry: project ?? id })),
    );
  }
  return forgotten;
}

/** Forgets whatever holds a text. */
export async function forgetText(
  hasText: (text: string) => boolean,
  options: ForgetOptions,
): Promise<Forgotten> {
  const directories = readHeld(options.paths).flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd]));
  return await forgetAll({ hasText }, { ...options, directories });
}

/** Whether anything went. */
export function isAnything({
  removed: { notes, cached: _, ...counts },
}: Pick<Forgotten, "removed">): boolean {
  return notes.length > 0 || Object.values(counts).some((count) => count > 0);
}

interface Options extends ForgetOptions {
  /** Where the sessions worked. */
  directories: readonly string[];
}

async function forgetAll(forgetting: Forgetting, options: Options): Promise<Forgotten> {
  const found = await look(forgetting, options);
  if (options.dryRun) return { ...found, excluded: options.exclude ?? NOTHING, erased: true };
  // Kept out before it is removed, so that nobody who begins now brings it back.
  const excluded = options.exclude ? await addExclusions(options.paths.config, options.exclude) : NOTHING;
  let erased = true;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    erased = await removeOnce(forgetting, options);
    if (!isAnything(await look(forgetting, options))) break;
  }
  return { ...found, excluded, erased };
}

type Found = Pick<Forgotten, "removed" | "keptFiles" | "forks">;

/** What is held of it. */
async function look(forgetting: Forgetting, options: Options): Promise<Found> {
  const { notes, metas, ...counts } = await inFiles(forgetting, options, true);
  const rows = inIndexes(options.paths, (store) => findRows(forgetting, store));
  const total = (key: keyof IndexCounts) => rows.reduce((sum, each) => sum + each.counts[key], 0);
  return {
    removed: {
      chunks: total("chunks"),
      vectors: total("vectors"),
      cached: total("cached"),
      ...counts,
      metaFiles: metas.ours.length,
      notes: notes.ours,
    },
    keptFiles: [...notes.others, ...metas.others],
    forks: [...new Set(rows.flatMap(({ forks }) => forks))],
  };
}

/** Removes everything there is now; tells whether its bytes are gone too. */
async function removeOnce(forgetting: Forgetting, options: Options): Promise<boolean> {
  const { paths } = options;
  await inFiles(forgetting, options, false);
  forgetWritten(forgetting, { paths, dryRun: false });
  eraseFreedState(paths);
  removeLeftovers(paths);
  const erased = await alone(paths, () => inIndexes(paths, (store) => forgetRows(forgetting, store)));
  return erased.every(Boolean);
}

/** Counts, or removes, in all stores but the index. */
async function inFiles(forgetting: Forgetting, options: Options, dryRun: boolean) {
  const { paths, cwd, directories, places = [] } = options;
  return {
    notes: forgetNotes(forgetting, { paths, dryRun, directories: [cwd, ...directories] }),
    metas: await forgetMetas(forgetting, { paths, dryRun }),
    ...(await forgetLedgers(forgetting, { paths, dryRun })),
    cursors: await forgetMarks(forgetting, { paths, dryRun }),
    logLines: forgetInLog(paths.log, forgetting, { places, dryRun }),
    sharedChunks: forgetShared(forgetting, { paths, dryRun }),
  };
}

/** While no indexing run is at it, or beside one that takes long. */
async function alone<T>(paths: Paths, work: () => T): Promise<T> {
  try {
    return await withLock(join(paths.home, "index.lock"), LOCK_WAIT_MS, work);
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "BUSY") throw error;
    return work();
  }
}

/** The main index and those of given transcripts. */
function inIndexes<T>(paths: Paths, work: (store: Store) => T): T[] {
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
