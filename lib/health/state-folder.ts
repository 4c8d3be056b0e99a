/** Checks that the state folder is writable and private, and holds no lock whose owner cannot be verified. */

import { rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeError, hasCode } from "../base/errors.ts";
import { isDirectory, namesIn, statOf } from "../base/files.ts";
import { lockHolder } from "../base/locks.ts";
import type { Paths } from "../config/config.ts";
import type { Finding } from "./finding.ts";

/** About what a turn writes. */
const PROBE_BYTES = 256 * 1024;
const LOCK_AGE_MS = 3_600_000;
const WRITABLE = 0o200;

/** Checks the state folder; a file is written into it and removed. */
export function checkStateFolder(paths: Paths, now: Date): Finding[] {
  const { home } = paths;
  if (statOf(home) === undefined) return checkParent(home);
  if (!isDirectory(home)) return [noFolder(home)];
  return [...checkWriting(home), ...checkPrivacy(home), ...checkLocks(paths, now)];
}

/** Checks the nearest existing parent: the first run that writes creates the folder. */
function checkParent(home: string): Finding[] {
  let parent = dirname(home);
  while (statOf(parent) === undefined && dirname(parent) !== parent) parent = dirname(parent);
  return isDirectory(parent) ? checkWriting(parent) : [noFolder(parent)];
}

function noFolder(path: string): Finding {
  return { level: "error", what: `${path} is no folder`, remedy: "move it, or set SESSION_MEMORY_HOME" };
}

function checkWriting(folder: string): Finding[] {
  // The superuser may write where nobody else can, but hooks do not run as root.
  if (process.platform !== "win32" && (statSync(folder).mode & WRITABLE) === 0) return [readOnly(folder)];
  const file = join(folder, `.session-memory-${process.pid}.tmp`);
  try {
    writeFileSync(file, Buffer.alloc(PROBE_BYTES), { flag: "wx", mode: 0o600 });
    return [];
  } catch (error) {
    if (hasCode(error, "ENOSPC", "EDQUOT")) {
      return [{ level: "error", what: `no space is left for ${folder}`, remedy: "free some space" }];
    }
    return [readOnly(folder, error)];
  } finally {
    rmSync(file, { force: true });
  }
}

function readOnly(folder: string, error?: unknown): Finding {
  const why = error === undefined ? "it is read-only" : describeError(error);
  const remedy = `chmod u+w ${folder}, or set SESSION_MEMORY_HOME to a folder that can be written`;
  return { level: "error", what: `cannot write to ${folder}: ${why}`, remedy };
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
