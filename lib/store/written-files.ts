/** Records the files we wrote outside the state folder: only one that still has the same sha256 may be removed. */

import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { bytesOf, remove } from "../base/files.ts";
import { sha256 } from "../base/hash.ts";
import type { Paths } from "../config/config.ts";
import { type ForgetIn, type Forgetting, isForgotten } from "./forgetting.ts";
import { withExistingState, withState } from "./state.ts";
import type { Store } from "./store.ts";

type StatePaths = Pick<Paths, "state">;

/** A recorded file. */
interface WrittenFile {
  path: string;
  sessionId: string;
}

/** Records a file that was just written. */
export function recordWritten(paths: StatePaths, file: WrittenFile & { content: string | Uint8Array }): void {
  withState(paths, (state) => keepWritten(state, file));
}

/** Records a file in an open state.db. */
export function keepWritten(
  { db }: Store,
  { path, content, sessionId }: WrittenFile & { content: string | Uint8Array },
): void {
  db.prepare("INSERT OR REPLACE INTO written_files VALUES ($path, $hash, $session, $at)").run({
    path: realFile(path),
    hash: hashOf(content),
    session: sessionId,
    at: new Date().toISOString(),
  });
}

/** Returns every recorded file. */
export function writtenFiles(paths: StatePaths): WrittenFile[] {
  const rows = withExistingState(paths, ({ db }) =>
    db.prepare("SELECT path, session_id FROM written_files ORDER BY path").all(),
  );
  return (rows ?? []).map(({ path, session_id }) => ({ path: String(path), sessionId: String(session_id) }));
}

/** Returns whether a file still has the bytes that we wrote. */
export function isAsWritten(paths: StatePaths, file: string): boolean {
  return withExistingState(paths, (state) => isRecorded(state, file)) ?? false;
}

/** Deletes those of the given files that still have the bytes we wrote. */
export function removeWritten(paths: StatePaths, files: readonly string[]): void {
  withExistingState(paths, (state) => {
    for (const file of files) if (isRecorded(state, file)) remove(file);
  });
}

/** Drops the records of files about forgotten sessions, or with a matching text in their path. */
export function forgetWritten(forgetting: Forgetting, { paths, dryRun }: ForgetIn): void {
  if (dryRun) return;
  const files = writtenFiles(paths).filter(({ sessionId, path }) =>
    isForgotten(forgetting, sessionId, [path]),
  );
  withExistingState(paths, ({ db }) => {
    for (const { path } of files) db.prepare("DELETE FROM written_files WHERE path = ?").run(path);
  });
}

function isRecorded({ db }: Store, file: string): boolean {
  const content = bytesOf(file);
  if (content === undefined) return false;
  const row = db.prepare("SELECT sha256 FROM written_files WHERE path = ?").get(realFile(file));
  return row?.sha256 === hashOf(content);
}

/** Resolves symlinks in the folder part: the same folder may be reached by several paths. */
function realFile(file: string): string {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file; // its folder is gone
  }
}

function hashOf(content: string | Uint8Array): string {
  return sha256().update(content).digest("hex");
}
