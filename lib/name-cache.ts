/**
 * Names of thousands of sessions in one file beside our other state, so that a reference in a prompt costs stats, not
 * reads. Only a cache: each name is kept with the state of the file that it was read from, and a damaged one is none.
 */

import { type Stats, statSync } from "node:fs";
import { join } from "node:path";
import type { Paths } from "./config.ts";
import { readJson, replaceFile } from "./files.ts";
import { isRecord, recordOf } from "./json.ts";

/** A transcript's state, the title found in it, and when it had last changed. */
export type KeptTitle = [state: string, title: string | null, changed: number];
/** A meta file's state, the session's id and name; no id where the file is no meta. */
export type KeptMeta = [state: string, id: string | null, name: string | null];

export interface KeptFolder {
  /** Empty when the folder changed so recently that a later change might not show. */
  state: string;
  /** By file name. */
  metas: Record<string, KeptMeta>;
}

export interface NameCache {
  version: number;
  /** By transcript. */
  titles: Record<string, KeptTitle>;
  folders: Record<string, KeptFolder>;
}

const CACHE_VERSION = 1;

/** The names as they were kept. Entries are not checked: walking thousands would cost as much as reading them. */
export function readNameCache(paths: Paths): NameCache {
  const { version, titles, folders } = recordOf(readJson(cacheFile(paths)));
  const isOurs = version === CACHE_VERSION && isRecord(titles) && isRecord(folders);
  return {
    version: CACHE_VERSION,
    titles: isOurs ? (titles as NameCache["titles"]) : {},
    folders: isOurs ? (folders as NameCache["folders"]) : {},
  };
}

/** Keeps names for the next time. */
export function writeNameCache(paths: Paths, cache: Omit<NameCache, "version">): void {
  try {
    replaceFile(cacheFile(paths), JSON.stringify({ version: CACHE_VERSION, ...cache }), { durable: false });
  } catch {
    // a full disk or a read-only home: the next time costs as much as this one
  }
}

/** Changes when the file does; empty when there is none. */
export function stateOf(file: string): string {
  const stat = statOf(file);
  return stat ? `${stat.size} ${stat.mtimeMs} ${stat.ino}` : "";
}

/** A file's stat; undefined when there is none or it cannot be reached. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // behind a folder that we may not enter
  }
}

function cacheFile(paths: Paths): string {
  return join(paths.home, "names.json");
}
