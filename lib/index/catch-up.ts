/** The full-text index brought up to date beside other work: one run at a time, within a time, and what is left then. */

import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { tryLock, withLock } from "../base/locks.ts";
import type { Settings } from "../config/config.ts";
import { currentExclude, isExcluded } from "../sessions/unlisted.ts";
import { isCarriedOver, type Store } from "../store/store.ts";
import type { Session } from "../transcripts/session.ts";
import { type Behind, indexRecipe, measureBehind } from "./freshness.ts";
import { readIndexedSessions } from "./index-state.ts";
import { type IndexOptions, type IndexReport, indexSessions } from "./indexing.ts";

/** Another run may be in the middle of years of transcripts; going on beside it is safe, only wasteful. */
const LOCK_WAIT_MS = 60_000;

interface CatchUpOptions {
  store: Store;
  /** The state folder. */
  home: string;
  /** In the order in which they are wanted. */
  sessions: readonly Session[];
  settings: Pick<Settings, "participants" | "timezone" | "redact" | "exclude">;
  deadlineMs: number;
  signal?: AbortSignal | undefined;
}

/** Indexes what it can before the deadline; nothing while another run is at it. Returns what is still behind. */
export async function catchUp(options: CatchUpOptions): Promise<Behind> {
  const { home } = options;
  const behind = readBehind(options);
  if (behind.sessions === 0 && !isCarriedOver(options.store)) return behind;
  const release = tryLock(lockFile(home));
  if (!release) return behind;
  try {
    await indexSessions(withCurrentExclusions(options));
  } finally {
    release();
  }
  return readBehind(options);
}

/** Returns what is missing from the index for these sessions. */
export function readBehind({
  store,
  sessions,
  settings,
}: Pick<CatchUpOptions, "store" | "sessions" | "settings">): Behind {
  const known = readIndexedSessions(store);
  const { exclude } = settings;
  const wanted = sessions.filter((session) => known.has(session.id) || !isExcluded(session, { exclude }));
  return measureBehind(wanted, known, indexRecipe(settings));
}

/** Indexes after any other run has ended, or beside it when that takes long. */
export async function indexInTurn(options: IndexOptions & { home: string }): Promise<IndexReport> {
  const asked = withCurrentExclusions(options);
  try {
    return await withLock(lockFile(options.home), LOCK_WAIT_MS, () => indexSessions(asked));
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "BUSY") throw error;
    return await indexSessions(asked);
  }
}

/** Adds a fresh read of the exclusions: the wait may have been for a process that was forgetting a session. */
function withCurrentExclusions<T extends IndexOptions & { home: string }>(options: T): T {
  const config = join(options.home, "config.json");
  return { ...options, excludeNow: () => currentExclude({ config }, options.settings.exclude) };
}

function lockFile(home: string): string {
  return join(home, "index.lock");
}
