/** The stores that something is forgotten from, in the order in which it is removed; the index comes last, rewritten whole. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { remove, removeLeftovers } from "../base/files.ts";
import { withLock } from "../base/locks.ts";
import type { PathsWithRules } from "../config/config.ts";
import { applyExclude, countRows, forgetRows } from "../index/forget-rows.ts";
import { removeOtherIndexes, unreadFormerIndex } from "../index/former-index.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { metaFolders } from "../sessions/meta.ts";
import { forgetMetas } from "../sessions/record.ts";
import { PARTS, setAsideIn } from "../store/carry-over.ts";
import { forgetInLog } from "../store/forget-log.ts";
import { forgetPaid } from "../store/paid.ts";
import { forgetRepositories } from "../store/repositories.ts";
import {
  eraseFreedState,
  type ForgetIn,
  type ForgetScope,
  type Forgetting,
  type Found,
  forgetWritten,
} from "../store/state.ts";
import { allIndexes, openStore, type Store } from "../store/store.ts";

/** Forgets in one store, and returns the part of the report that it can fill. */
export type Forget = (forgetting: Forgetting, scope: ForgetScope) => Partial<Found> | Promise<Partial<Found>>;

/** Forgets in the stores that rooms share, once each room has: the record of a file that we wrote leads to it. */
const SHARED: readonly Forget[] = [
  forgetMetas,
  forgetRepositories,
  forgetInLog,
  forgetWritten,
  forgetUnnamed,
];

const NOTHING: Found = {
  chunks: 0,
  vectors: 0,
  ledgers: 0,
  observations: 0,
  rules: 0,
  copies: 0,
  cursors: 0,
  logLines: 0,
  sharedChunks: 0,
  metaFiles: 0,
  notes: [],
  reports: [],
  keptFiles: [],
  setAside: [],
  unerased: 0,
};

export interface ForgetEverywhere extends ForgetScope {
  /** Forgets in each room that holds something of a session. */
  rooms: readonly Forget[];
  /** Reads again what is left of sessions in the index. */
  refresh: () => Promise<void>;
}

/** Forgets in every store, or in a dry run counts there. */
export async function forgetEverywhere(
  forgetting: Forgetting,
  { refresh, rooms, ...scope }: ForgetEverywhere,
): Promise<Found> {
  let found = NOTHING;
  for (const forget of [...rooms, ...SHARED]) found = added(found, await forget(forgetting, scope));
  found = added(found, await forgetInIndexes(forgetting, { ...scope, refresh }));
  // What an index uses again of forks was paid for; an index is not needed.
  return added(found, forgetPaid(forgetting, scope));
}

function added(found: Found, more: Partial<Found>): Found {
  const sums = Object.entries<number | string[]>({ ...found }).map(([key, sum]) => {
    const further = more[key as keyof Found] ?? 0;
    if (typeof sum === "number") return [key, sum + Number(further)];
    return [key, typeof further === "number" ? sum : [...sum, ...further]];
  });
  return Object.fromEntries(sums);
}

/** Removes files that do not say whose they are (made again, left by a killed writer, or damaged), and freed bytes. */
function forgetUnnamed(_: Forgetting, { paths, dryRun }: ForgetIn): Partial<Found> {
  const unread = unreadFormerIndex(paths) ? [paths.former] : [];
  const setAside = [...setAsideIn(paths), ...unread];
  if (dryRun) return { setAside };
  for (const folder of [paths.home, ...metaFolders(paths)]) removeLeftovers(folder);
  for (const file of setAside) for (const part of PARTS) remove(file + part);
  eraseFreedState(paths);
  return { setAside };
}

async function forgetInIndexes(
  forgetting: Forgetting,
  { paths, dryRun, refresh }: Omit<ForgetEverywhere, "rooms">,
): Promise<Partial<Found>> {
  if (dryRun) {
    const rows = inIndexes(paths, (index) => countRows(forgetting, index));
    const total = (key: keyof (typeof rows)[0]) => rows.reduce((sum, each) => sum + each[key], 0);
    return { chunks: total("chunks"), vectors: total("vectors"), sharedChunks: total("sharedChunks") };
  }
  const { redact, exclude } = paths.rules;
  const rules = currentExclusion({ ...paths, rules: { redact, exclude } });
  inIndexes(paths, (index) => applyExclude(index, rules));
  // Before what nothing uses is removed: vectors were paid for.
  if ("ids" in forgetting && forgetting.lines?.size) await refresh();
  const forget = () =>
    inIndexes(paths, (index) => {
      removeOtherIndexes(index, { paths: rules.paths });
      return forgetRows(forgetting, index);
    });
  return { unerased: (await withIndexLock(paths, forget)).filter((isErased) => !isErased).length };
}

/** An indexing run may take long; running beside it is safe. */
const LOCK_WAIT_MS = 30_000;

/** Runs `work` under the index lock, or without it when an indexing run takes too long. */
async function withIndexLock<T>(paths: PathsWithRules, work: () => T): Promise<T> {
  try {
    return await withLock(join(paths.home, "index.lock"), LOCK_WAIT_MS, work);
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "BUSY") throw error;
    return work();
  }
}

/** Runs `work` in every index that is there. */
export function inIndexes<T>(paths: PathsWithRules, work: (index: Store) => T): T[] {
  return allIndexes(paths)
    .filter((file) => existsSync(file))
    .map((file) => {
      const index = openStore(file);
      try {
        return work(index);
      } finally {
        index.close();
      }
    });
}
