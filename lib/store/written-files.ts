/** The record of files that we wrote outside the state folder, by which they are known as ours as long as nobody changes them. */

import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { bytesOf, isFile, realPathOf, remove } from "../base/files.ts";
import { sha256 } from "../base/hash.ts";
import { type ForgetIn, type Forgetting, isForgotten, isInState } from "./forgetting.ts";
import { type StatePaths, withExistingState, withState } from "./state.ts";
import type { Store } from "./store.ts";

/** A recorded file. */
interface WrittenFile {
  path: string;
  sessionId: string;
}

/** Records a file that was just written. */
export function recordWritten(
  paths: StatePaths,
  { path, content, sessionId }: WrittenFile & { content: string | Uint8Array },
): void {
  withState(paths, ({ db }) => {
    db.prepare(
      "INSERT OR REPLACE INTO written_files (path, sha256, session_id, written_at, home) VALUES (?, ?, ?, ?, ?)",
    ).run(realFile(path), hashContent(content), sessionId, new Date().toISOString(), stateFolder(paths));
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
  return withExistingState(paths, (state) => isRecorded(state, file, paths)) ?? false;
}

/** Deletes those of the given files that still have the bytes we wrote. */
export function removeWritten(paths: StatePaths, files: readonly string[]): void {
  withExistingState(paths, (state) => {
    for (const file of files) if (isRecorded(state, file, paths)) remove(file);
  });
}

/** Sorts files about something forgotten into ours and others', and removes ours unless this is a dry run. */
export function forgetFiles(
  files: readonly string[],
  { paths, dryRun }: ForgetIn,
): { ours: string[]; others: string[] } {
  const isOurs = (file: string) => isInState(file, paths) || isAsWritten(paths, file);
  const ours = files.filter(isOurs);
  if (!dryRun) {
    for (const file of ours) if (isInState(file, paths)) remove(file);
    removeWritten(paths, ours);
  }
  return { ours, others: files.filter((file) => !ours.includes(file)) };
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

function isRecorded({ db }: Store, file: string, paths: StatePaths): boolean {
  const content = bytesOf(file);
  if (content === undefined) return false;
  const row = db.prepare("SELECT sha256, home FROM written_files WHERE path = ?").get(realFile(file));
  return row?.sha256 === hashContent(content) && isWrittenHere(String(row.home), paths);
}

/** A copied state folder knows the original's files, which are not its own while the original is there; a moved one's are. */
function isWrittenHere(home: string, paths: StatePaths): boolean {
  return home === "" || home === stateFolder(paths) || !isFile(join(home, basename(paths.state)));
}

function stateFolder({ state }: StatePaths): string {
  const folder = dirname(state);
  return realPathOf(folder) ?? folder;
}

/** Resolves symlinks in the folder part: the same folder may be reached by several paths. */
function realFile(file: string): string {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file; // its folder is gone
  }
}

function hashContent(content: string | Uint8Array): string {
  return sha256().update(content).digest("hex");
}
