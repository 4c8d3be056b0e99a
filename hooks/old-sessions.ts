/** Indexes and names sessions that no hook has followed: newest first, a slice at a time, by rule. */

import { join } from "node:path";
import { tryLock } from "../lib/base/locks.ts";
import type { Config } from "../lib/config/config.ts";
import { openIndex } from "../lib/index/freshness.ts";
import { catchUp } from "../lib/index/indexing.ts";
import { indexMeta, isKnownNotDue } from "../lib/naming/session-meta.ts";
import { findTranscripts } from "../lib/sessions/places.ts";
import { namedSessions, readRecords, recordKey } from "../lib/sessions/record.ts";
import { isExcluded, listSessions } from "../lib/sessions/sessions.ts";
import { updateCopies } from "../lib/transcripts/hosts.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { logFailure } from "./hook.ts";

/** Alternates work and rest, since the user works on the same machine. */
const SLICE_MS = 1000;
const PAUSE_MS = 500; // leaves the disk to the host
/** Whatever is left is done when the next session starts. */
const TOTAL_MS = 10 * 60_000;

interface Limits {
  sliceMs?: number;
  pauseMs?: number;
  totalMs?: number;
}

/** Works until everything is current or time is up. Returns false when another process is already doing this. */
export async function followOldSessions(config: Config, limits: Limits = {}): Promise<boolean> {
  const { paths, settings } = config;
  const { sliceMs = SLICE_MS, pauseMs = PAUSE_MS, totalMs = TOTAL_MS } = limits;
  const release = tryLock(join(paths.home, "old-sessions.lock"));
  if (!release) return false;
  const store = await openIndex(paths.database, settings);
  try {
    await updateCopies(paths).catch((error: unknown) => logFailure(paths, "background.copies", error));
    // Read while nobody waits: the first prompt with a reference would read every title.
    namedSessions(paths, findTranscripts(paths));
    const { exclude } = settings;
    const sessions = listSessions(paths).filter((session) => !isExcluded(session, { paths, exclude }));
    const nameless = namesToMake(sessions, config);
    const end = Date.now() + totalMs;
    for (let behind = Number.POSITIVE_INFINITY; Date.now() < end; ) {
      const until = Date.now() + sliceMs;
      while (nameless.length > 0 && Date.now() < until) await makeName(nameless.shift(), config);
      const { home } = paths;
      const left = await catchUp({ store, home, sessions, settings, deadlineMs: sliceMs });
      // A transcript that cannot be indexed never catches up.
      const isDone = left.sessions === 0 || left.sessions + left.bytes >= behind;
      if (isDone && nameless.length === 0) break;
      behind = left.sessions + left.bytes;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  } finally {
    store.close();
    release();
  }
  return true;
}

/** Returns the sessions whose meta does not know all of them, newest first. */
function namesToMake(sessions: readonly Session[], config: Config): Session[] {
  const records = readRecords(config.paths);
  return sessions.filter((session) => !isKnownNotDue(session, records.get(recordKey(session)), config));
}

/** Names a session by rule: asking a model about years of sessions is left to `index-meta`. */
async function makeName(session: Session | undefined, { paths, settings }: Config): Promise<void> {
  if (session) await indexMeta(session, { paths, settings, lockWaitMs: 0 });
}
