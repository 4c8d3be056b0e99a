/** Takes sessions, or what holds a text, out of the meta files and the names that were kept. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { namesIn, readJson, remove } from "../base/files.ts";
import { scrub } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { Paths } from "../config/config.ts";
import { type ForgetIn, type Forgetting, isInState, WRITER_WAIT_MS } from "../store/forgetting.ts";
import { withExistingState } from "../store/state.ts";
import { isAsWritten, removeWritten } from "../store/written-files.ts";
import { metaDirectory, metaFile } from "./meta.ts";
import { forgetNames } from "./name-table.ts";

const AGENTS = ["claude", "pi"] as const;

/** Removes the meta files that are ours, and returns them and the others that are about the same. */
export async function forgetMetas(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<{ ours: string[]; others: string[] }> {
  const found = metasOf(forgetting, paths);
  if (dryRun) return found;
  await removeMetas(found.ours, paths);
  // Names are read again, without what is excluded by then.
  withExistingState(paths, forgetNames);
  return found;
}

/** Whether there is a meta file about a session. */
export function hasMeta(id: string, paths: Paths): boolean {
  return metasAbout(new Set([id]), paths).length > 0;
}

/** pi's lie in its own folder, where others may have written: only those that have the bytes we wrote are ours. */
function metasOf(forgetting: Forgetting, paths: Paths): { ours: string[]; others: string[] } {
  const files =
    "ids" in forgetting ? metasAbout(forgetting.ids, paths) : metasWith(forgetting.hasText, paths);
  const isOurs = (file: string) => isInState(file, paths) || isAsWritten(paths, file);
  return { ours: files.filter(isOurs), others: files.filter((file) => !isOurs(file)) };
}

async function removeMetas(files: readonly string[], paths: Paths): Promise<void> {
  for (const file of files) {
    await withLock(`${file}.lock`, WRITER_WAIT_MS, () =>
      isInState(file, paths) ? remove(file) : removeWritten(paths, [file]),
    );
  }
}

function metasAbout(ids: ReadonlySet<string>, paths: Paths): string[] {
  const files = [...ids].flatMap((id) => AGENTS.map((agent) => metaFile(paths, { id, agent })));
  return [...new Set(files)].filter((file) => existsSync(file));
}

function metasWith(hasText: (text: string) => boolean, paths: Paths): string[] {
  const folders = new Set(AGENTS.map((agent) => metaDirectory(paths, agent)));
  return [...folders].flatMap((folder) =>
    namesIn(folder)
      .filter((name) => name.endsWith(".meta.json"))
      .map((name) => join(folder, name))
      .filter((file) => scrub(readJson(file), hasText).removed > 0),
  );
}
