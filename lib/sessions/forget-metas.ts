/** Removes meta files, and the records that they are the export of. */

import { existsSync } from "node:fs";
import { readJson, remove } from "../base/files.ts";
import { scrub } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { Reading } from "../config/config.ts";
import {
  type ForgetIn,
  type Forgetting,
  isForgotten,
  isInState,
  WRITER_WAIT_MS,
} from "../store/forgetting.ts";
import { isAsWritten, removeWritten } from "../store/state.ts";
import { metaFile, metaFiles } from "./meta.ts";
import { dropRecords } from "./record.ts";

/** Removes the meta files that are ours, and returns them and the others that are about the same. */
export async function forgetMetas(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<{ ours: string[]; others: string[] }> {
  const files =
    "ids" in forgetting ? metasAbout(forgetting.ids, paths) : metasWith(forgetting.hasText, paths);
  // pi's lie in its own folder, where others may have written: only those that have the bytes we wrote are ours.
  const isOurs = (file: string) => isInState(file, paths) || isAsWritten(paths, file);
  const found = { ours: files.filter(isOurs), others: files.filter((file) => !isOurs(file)) };
  if (dryRun) return found;
  for (const file of found.ours) {
    await withLock(`${file}.lock`, WRITER_WAIT_MS, () =>
      isInState(file, paths) ? remove(file) : removeWritten(paths, [file]),
    );
  }
  dropRecords(paths, (record) => isForgotten(forgetting, record.id, textsIn(record)));
  return found;
}

/** Returns whether there is a meta file about a session. */
export function hasMeta(id: string, paths: Reading): boolean {
  return metasAbout(new Set([id]), paths).length > 0;
}

function metasAbout(ids: ReadonlySet<string>, paths: Reading): string[] {
  const agents = ["claude", "pi"] as const;
  const files = [...ids].flatMap((id) => agents.map((agent) => metaFile(paths, { id, agent })));
  return [...new Set(files)].filter((file) => existsSync(file));
}

function metasWith(hasText: (text: string) => boolean, paths: Reading): string[] {
  return metaFiles(paths).filter((file) => scrub(readJson(file), hasText).removed > 0);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
