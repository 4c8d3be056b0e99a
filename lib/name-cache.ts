/**
 * Names of thousands of sessions in one file beside our other state, so that a reference in a prompt costs stats, not
 * reads. Only a cache: each name is kept with the state of the file that it was read from, and a damaged one is none.
 */

import { type Stats, statSync } from "node:fs";
import { join } from "node:path";
import type { Paths } from "./config.ts";
import { replaceFile } from "./files.ts";
import { isRecord, recordOf } from "./json.ts";
import { readJson } from "./read.ts";
import type { Agent } from "./session.ts";

/** A transcript and its agent, when it had last changed, its size and its title file's state, and the title found. */
export type KeptTitle = [file: string, agent: Agent, changed: number, state: string, title: string | null];
/** A meta file's name and state, the session's name, and its id where that is not the file's own name. */
export type KeptMeta = [base: string, state: string, name: string | null, id?: string];

export interface KeptFolder {
  /** Empty when the folder changed so recently that a later change might not show. */
  state: string;
  metas: KeptMeta[];
}

/** Lists, not records by file: they are parsed and walked in half the time, and seldom looked up. */
export interface NameCache {
  version: number;
  titles: KeptTitle[];
  folders: Record<string, KeptFolder>;
  /** The state of config.json: with another one other sessions may stay out. */
  config: string;
  /** Transcripts that had changed last before this time were idle among many others. */
  idleBefore: number;
}

const CACHE_VERSION = 3;
/** So many transcripts are looked at each time: those that changed last are the ones that will change. */
const ACTIVE_COUNT = 100;

/** The names as they were kept. Entries are not checked: walking thousands would cost as much as reading them. */
export function readNameCache(paths: Paths): NameCache {
  const { version, titles, folders, idleBefore, config } = recordOf(readJson(cacheFile(paths)));
  const now = stateOf(paths.config);
  const isOurs = version === CACHE_VERSION && config === now && Array.isArray(titles) && isRecord(folders);
  return {
    version: CACHE_VERSION,
    titles: isOurs ? titles : [],
    folders: isOurs ? (folders as NameCache["folders"]) : {},
    config: now,
    idleBefore: isOurs && typeof idleBefore === "number" ? idleBefore : 0,
  };
}

/** Keeps names for the next time. */
export function writeNameCache(
  paths: Paths,
  { titles, folders, config }: Omit<NameCache, "version" | "idleBefore">,
): void {
  const changes = titles.map(([, , changed]) => changed);
  const idleBefore = changes.sort((a, b) => b - a)[ACTIVE_COUNT] ?? 0;
  const cache: NameCache = { version: CACHE_VERSION, titles, folders, config, idleBefore };
  try {
    replaceFile(cacheFile(paths), JSON.stringify(cache), { durable: false });
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
