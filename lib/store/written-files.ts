/** The files that we wrote outside the state folder, by path and sha256: only one with the same bytes is ours to remove. */

import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { remove } from "../base/files.ts";
import { sha256 } from "../base/hash.ts";
import { bytesOf } from "../base/probe.ts";
import type { Paths } from "../config/config.ts";
import { type ForgetIn, type Forgetting, isForgotten } from "./forgetting.ts";
import { withExistingState, withState } from "./state.ts";
import type { Store } from "./store.ts";

type StatePaths = Pick<Paths, "state">;

/** A file as it was recorded. */
interface WrittenFile {
  path: string;
  sessionId: string;
}

/** Records a file that was just written with this content. */
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

/** Every file recorded. */
export function writtenFiles(paths: StatePaths): WrittenFile[] {
  const rows = withExistingState(paths, ({ db }) =>
    db.prepare("SELECT path, session_id FROM written_files ORDER BY path").all(),
  );
  return (rows ?? []).map(({ path, session_id }) => ({ path: String(path), sessionId: String(session_id) }));
}

/** Whether a file has the bytes that we wrote into it. */
export function isAsWritten(paths: StatePaths, file: string): boolean {
  return withExistingState(paths, (state) => isRecorded(state, file)) ?? false;
}

/** Deletes those of these files that still have the bytes we wrote. */
export function removeWritten(paths: StatePaths, files: readonly string[]): void {
  withExistingState(paths, (state) => {
    for (const file of files) if (isRecorded(state, file)) remove(file);
  });
}

/** Forgets which files were written about sessions, or with a text in their path. */
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

/** The path with its folder's links resolved: a folder may be reached by several paths. */
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
