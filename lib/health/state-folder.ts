/** Checks that the state folder is writable and private, and holds no lock whose owner cannot be verified. */

import { statSync } from "node:fs";
import { join } from "node:path";
import { isDirectory, namesIn, statOf, whyUnwritable } from "../base/files.ts";
import { lockHolder } from "../base/locks.ts";
import type { Paths } from "../config/config.ts";
import type { Finding } from "./finding.ts";

const LOCK_AGE_MS = 3_600_000;
const REMEDY = "make it writable, free some space, or set SESSION_MEMORY_HOME to another folder";

/** Checks the state folder, and writes nothing. */
export function checkStateFolder(paths: Paths, now: Date): Finding[] {
  const { home } = paths;
  const why = whyUnwritable(home);
  if (why !== undefined) return [{ level: "error", what: why, remedy: REMEDY }];
  return isDirectory(home) ? [...checkPrivacy(home), ...checkLocks(paths, now)] : [];
}

function checkPrivacy(home: string): Finding[] {
  if (process.platform === "win32" || (statSync(home).mode & 0o077) === 0) return [];
  return [{ level: "warning", what: `others may read ${home}`, remedy: `chmod 700 ${home}` }];
}

/** Locks of processes on another host or in another container, old enough that their run should have ended. */
function checkLocks(paths: Paths, now: Date): Finding[] {
  const folders = [paths.home, paths.cursors, paths.observations, paths.meta];
  const locks = folders.flatMap((folder) =>
    namesIn(folder).flatMap((name) => (name.endsWith(".lock") ? [join(folder, name)] : [])),
  );
  return locks.flatMap((lock) => {
    const age = now.getTime() - (statOf(lock)?.mtimeMs ?? now.getTime());
    const holder = age > LOCK_AGE_MS ? lockHolder(lock) : undefined;
    if (!holder || holder.isKnown) return [];
    const what = `${holder.who} has held ${lock} for more than an hour`;
    return [{ level: "warning", what, remedy: "delete it if that process is gone" }];
  });
}
