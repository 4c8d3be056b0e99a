/** The stores that something is forgotten from, in the order in which it is removed; the index comes last, rewritten whole. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { forgetMarks } from "../activity/marks.ts";
import { forgetTold } from "../activity/seen.ts";
import { forgetCopies } from "../archive/archive.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { remove, removeLeftovers } from "../base/files.ts";
import { withLock } from "../base/locks.ts";
import { type PathsWithRules, repositoriesFile } from "../config/config.ts";
import { countRows, forgetRows } from "../index/forget-rows.ts";
import { applyExclude } from "../index/freshness.ts";
import { forgetNotes } from "../naming/note.ts";
import { forgetLedgers } from "../observe/ledger.ts";
import { forgetStanding } from "../observe/standing-rules.ts";
import { forgetReports } from "../report/html.ts";
import { removeCopies } from "../sessions/copies.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { metaFolders } from "../sessions/meta.ts";
import { forgetMetas } from "../sessions/record.ts";
import { forgetShared } from "../share/replica.ts";
import { forgetPublished } from "../share/share-state.ts";
import { PARTS, setAsideIn } from "../store/carry-over.ts";
import { forgetRepositories } from "../store/repositories.ts";
import {
  eraseFreedState,
  type ForgetIn,
  type Forgetting,
  forgetInLog,
  forgetWritten,
} from "../store/state.ts";
import { allIndexes, openStore, type Store } from "../store/store.ts";

/** The places to search for what is forgotten. */
export interface ForgetScope {
  paths: PathsWithRules;
  /** Further places of notes: the current directory, and those of the sessions. */
  directories: readonly string[];
  /** Directories of a forgotten project, whose log lines are removed too. */
  places?: readonly string[] | undefined;
  /** Reads again what is left of sessions in the index. */
  refresh: () => Promise<void>;
}

/** The counts of the stores, in the order of the report. */
export interface Counts {
  chunks: number;
  vectors: number;
  ledgers: number;
  observations: number;
  /** Messages that laid something down beyond their task. */
  rules: number;
  /** Copies of sessions in the archive. */
  copies: number;
  /** Files with marks of and about the session, and the errors it was informed about. */
  cursors: number;
  logLines: number;
  /** Chunks in the replica that others share. */
  sharedChunks: number;
  metaFiles: number;
  notes: string[];
  /** Pages, and overviews that link them. */
  reports: string[];
}

const NO_COUNTS: Counts = {
  ...{
    chunks: 0,
    vectors: 0,
    ledgers: 0,
    observations: 0,
    rules: 0,
    copies: 0,
    cursors: 0,
    logLines: 0,
    sharedChunks: 0,
  },
  ...{ metaFiles: 0, notes: [], reports: [] },
};

export interface Matches {
  counts: Counts;
  /** Matching files outside the state folder that stay because they do not have the bytes we wrote. */
  keptFiles: string[];
  /** Damaged databases that were set aside: they may contain it, and are deleted. */
  setAside: string[];
}

/** The counts of one store: only the parts that it can hold. */
type Holding = Partial<Omit<Matches, "counts">> & { counts?: Partial<Counts> };

interface ForgettableStore {
  name: string;
  count(forgetting: Forgetting, scope: ForgetScope): Holding | Promise<Holding>;
  /** Removes it; false where another process keeps its bytes from being overwritten. */
  remove(forgetting: Forgetting, scope: ForgetScope): unknown;
}

/** Returns a store whose one function counts in a dry run and removes else. */
function store(
  name: string,
  forget: (forgetting: Forgetting, scope: ForgetScope & ForgetIn) => Holding | Promise<Holding>,
): ForgettableStore {
  return {
    name,
    count: (forgetting, scope) => forget(forgetting, { ...scope, dryRun: true }),
    remove: (forgetting, scope) => forget(forgetting, { ...scope, dryRun: false }),
  };
}

/** Returns a store that is emptied along with the others, and holds nothing that is counted. */
function uncounted(
  name: string,
  empty: (forgetting: Forgetting, scope: ForgetScope) => void,
): ForgettableStore {
  return {
    name,
    count: () => ({}),
    remove(forgetting, scope) {
      empty(forgetting, scope);
    },
  };
}

const STORES: readonly ForgettableStore[] = [
  store("notes", (forgetting, scope) => {
    const { ours, others } = forgetNotes(forgetting, scope);
    return { counts: { notes: ours }, keptFiles: others };
  }),
  store("reports", (forgetting, scope) => {
    const { ours, others } = forgetReports(forgetting, scope);
    return { counts: { reports: ours }, keptFiles: others };
  }),
  store("meta files", async (forgetting, scope) => {
    const { ours, others } = await forgetMetas(forgetting, scope);
    return { counts: { metaFiles: ours.length }, keptFiles: others };
  }),
  store("ledgers", async (forgetting, scope) => ({ counts: await forgetLedgers(forgetting, scope) })),
  store("projects", async (forgetting, { paths, dryRun }) => {
    await forgetRepositories(repositoriesFile(paths.home), { unwanted: forgetting, dryRun });
    return {};
  }),
  store("standing rules", (forgetting, scope) => ({
    counts: { rules: forgetStanding(forgetting, scope) },
  })),
  store("archive", async (forgetting, scope) => ({
    counts: { copies: await forgetCopies(forgetting, scope) },
  })),
  store("marks", (forgetting, scope) => ({ counts: { cursors: forgetMarks(forgetting, scope) } })),
  store("what was told", async (forgetting, scope) => ({
    counts: { cursors: await forgetTold(forgetting, scope) },
  })),
  store("log", (forgetting, { paths, places = [], dryRun }) => ({
    counts: { logLines: forgetInLog(paths.log, forgetting, { places, dryRun }) },
  })),
  store("replica", (forgetting, scope) => ({ counts: { sharedChunks: forgetShared(forgetting, scope) } })),
  uncounted("copies of databases", (_, { paths }) => removeCopies(paths)),
  uncounted("files written elsewhere", (forgetting, { paths }) =>
    forgetWritten(forgetting, { paths, dryRun: false }),
  ),
  uncounted("what was published", (forgetting, { paths }) =>
    forgetPublished(forgetting, { paths, dryRun: false }),
  ),
  uncounted("state", (_, { paths }) => eraseFreedState(paths)),
  uncounted("files of killed writers", (_, { paths }) => {
    for (const folder of [paths.home, ...metaFolders(paths)]) removeLeftovers(folder);
  }),
  {
    name: "damaged databases",
    count: (_, { paths }) => ({ setAside: setAsideIn(paths) }),
    remove(_, { paths }) {
      for (const file of setAsideIn(paths)) for (const part of PARTS) remove(file + part);
    },
  },
  {
    name: "indexes",
    count(forgetting, { paths }) {
      const rows = inIndexes(paths, (index) => countRows(forgetting, index));
      const total = (key: "chunks" | "vectors") => rows.reduce((sum, each) => sum + each[key], 0);
      return { counts: { chunks: total("chunks"), vectors: total("vectors") } };
    },
    async remove(forgetting, { paths, refresh }) {
      const { redact, exclude } = paths.rules;
      const rules = currentExclusion({ paths, settings: { redact, exclude } });
      inIndexes(paths, (index) => applyExclude(index, rules));
      // Before what nothing uses is removed: vectors were paid for.
      if ("ids" in forgetting && forgetting.lines?.size) await refresh();
      const forget = () => inIndexes(paths, (index) => forgetRows(forgetting, index));
      return (await withIndexLock(paths, forget)).every(Boolean);
    },
  },
];

/** Counts in all stores. */
export async function countAll(forgetting: Forgetting, scope: ForgetScope): Promise<Matches> {
  const found: Matches = { counts: { ...NO_COUNTS }, keptFiles: [], setAside: [] };
  for (const each of STORES) {
    const { counts = {}, keptFiles = [], setAside = [] } = await each.count(forgetting, scope);
    found.counts = added(found.counts, counts);
    found.keptFiles.push(...keptFiles);
    found.setAside.push(...setAside);
  }
  return found;
}

function added(counts: Counts, more: Partial<Counts>): Counts {
  const sums = Object.entries(counts).map(([key, count]) => {
    const further = more[key as keyof Counts];
    if (Array.isArray(count)) return [key, Array.isArray(further) ? [...count, ...further] : count];
    return [key, count + (typeof further === "number" ? further : 0)];
  });
  return Object.fromEntries(sums);
}

/** Removes it from all stores; returns whether its bytes were overwritten everywhere. */
export async function removeAll(forgetting: Forgetting, scope: ForgetScope): Promise<boolean> {
  let isErased = true;
  for (const each of STORES) isErased = (await each.remove(forgetting, scope)) !== false && isErased;
  return isErased;
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
