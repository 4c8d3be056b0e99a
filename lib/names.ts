/**
 * What sessions are called: the name Volute gives one, its meta file's, its host's title.
 *
 * Names of thousands of sessions are kept in one file beside our other state, so that a reference in a prompt costs
 * stats, not reads. It is only a cache: each name is kept with the size and time of the file it was read from.
 */

import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Paths } from "./config.ts";
import { claudeTitleFile, cleanName, hostTitle } from "./ends.ts";
import { readJson, replaceFile } from "./files.ts";
import { isRecord, recordOf, stringOf } from "./json.ts";
import { metaDirectory, metaFile } from "./meta.ts";
import { redact } from "./redact.ts";
import type { Session } from "./session.ts";

/** What a meta file says of who a session is. */
export interface MetaName {
  id: string;
  name?: string | undefined;
  sessionFile?: string | undefined;
  cwd?: string | undefined;
  updatedAt?: string | undefined;
}

export interface KnownNames {
  /** Host titles by transcript. */
  titles: Map<string, string>;
  /** By meta file. */
  metas: Map<string, MetaName>;
}

/** A fact read from a file, after the state that the file was in. */
type Kept<T> = [state: string, value: T];

interface Folder {
  /** Empty when the folder changed so recently that a later change might not show. */
  state: string;
  metas: Record<string, Kept<MetaName | null>>;
}

interface NameCache {
  version: number;
  /** By transcript. */
  titles: Record<string, Kept<string | null>>;
  folders: Record<string, Folder>;
}

const CACHE_VERSION = 1;
/** So many titles read anew are worth writing the cache; those of a few running sessions always change. */
const WORTH_WRITING = 40;
/** A folder changed twice within a tick of its clock looks the same after both. */
const SETTLED_MS = 2000;
const META_SUFFIX = ".meta.json";

/** The name of one session, by the rules for all; undefined when nobody gave it one. */
export function nameOf(session: Session, paths: Paths): string | undefined {
  return session.name ?? readMetaName(metaFile(paths, session))?.name ?? hostTitle(session);
}

/**
 * The host titles of these sessions, and the names in all meta files.
 *
 * `thorough` looks at every meta file. Otherwise those in a folder that did not change are taken as they were, which
 * misses a file that was edited in place.
 */
export function knownNames(
  sessions: readonly Session[],
  { paths, thorough }: { paths: Paths; thorough: boolean },
): KnownNames {
  const file = join(paths.home, "names.json");
  const old = readCache(file);
  const titles = titlesOf(sessions, old.titles);
  const folders: Record<string, Folder> = {};
  for (const folder of [paths.meta, metaDirectory(paths, "pi")]) {
    folders[folder] = metasIn(folder, { before: old.folders[folder], thorough });
  }
  const isNew = Object.entries(folders).some(([folder, now]) => {
    const before = old.folders[folder];
    return now !== before && (before !== undefined || Object.keys(now.metas).length > 0);
  });
  if (isNew || titles.read >= WORTH_WRITING) {
    // A listing of given files is not all there is.
    const kept = paths.transcripts.length > 0 ? { ...old.titles, ...titles.kept } : titles.kept;
    writeCache(file, { version: CACHE_VERSION, titles: kept, folders });
  }
  return { titles: titles.names, metas: metaNames(folders) };
}

/** What a meta file says; undefined when it is missing or corrupt. */
export function readMetaName(file: string): MetaName | undefined {
  const record = recordOf(readJson(file));
  const id = stringOf(record.sessionId);
  if (id === undefined) return undefined;
  return {
    id,
    name: safeName(record.name),
    sessionFile: stringOf(record.sessionFile),
    cwd: stringOf(record.cwd),
    updatedAt: stringOf(record.updatedAt),
  };
}

function titlesOf(sessions: readonly Session[], old: NameCache["titles"]) {
  const kept: NameCache["titles"] = {};
  const names = new Map<string, string>();
  const hasFolder = foldersBeside();
  let read = 0;
  for (const { file, agent, size, updatedAt } of sessions) {
    if (agent !== "claude" && agent !== "pi") continue;
    const given = agent === "claude" && hasFolder(file) ? stateOf(claudeTitleFile(file)) : "";
    const state = `${size} ${updatedAt} ${given}`;
    let entry = old[file];
    if (entry?.[0] !== state) {
      entry = [state, safeName(hostTitle({ file, agent, size })) ?? null];
      read++;
    }
    kept[file] = entry;
    if (typeof entry[1] === "string") names.set(file, entry[1]);
  }
  return { kept, names, read };
}

/** Whether Claude Code made a folder for a session, found by one listing for all sessions that lie together. */
function foldersBeside(): (file: string) => boolean {
  const listed = new Map<string, Set<string>>();
  return (file) => {
    const folder = dirname(file);
    let names = listed.get(folder);
    if (!names) {
      names = new Set(namesIn(folder).filter((name) => !name.endsWith(".jsonl")));
      listed.set(folder, names);
    }
    return names.has(basename(file, ".jsonl"));
  };
}

/** Gives `before` itself back when nothing changed. */
function metasIn(
  folder: string,
  { before, thorough }: { before: Folder | undefined; thorough: boolean },
): Folder {
  const changed = statOf(folder)?.mtimeMs;
  const state = changed !== undefined && Date.now() - changed > SETTLED_MS ? String(changed) : "";
  const isKnown = isRecord(before) && isRecord(before.metas) && before.state === state;
  if (!thorough && isKnown && state !== "") return before;
  const old = isRecord(before) && isRecord(before.metas) ? before.metas : {};
  const metas: Folder["metas"] = {};
  let read = 0;
  for (const name of namesIn(folder)) {
    if (!name.endsWith(META_SUFFIX)) continue;
    const file = join(folder, name);
    const fileState = stateOf(file);
    const entry = old[name];
    if (entry?.[0] !== fileState) read++;
    metas[name] = entry?.[0] === fileState ? entry : [fileState, readMetaName(file) ?? null];
  }
  const isSame = isKnown && read === 0 && Object.keys(metas).length === Object.keys(old).length;
  return isSame ? before : { state, metas };
}

function metaNames(folders: Record<string, Folder>): Map<string, MetaName> {
  const names = new Map<string, MetaName>();
  for (const [folder, { metas }] of Object.entries(folders)) {
    for (const [name, [, value]] of Object.entries(metas)) {
      if (isRecord(value) && typeof value.id === "string") names.set(join(folder, name), value);
    }
  }
  return names;
}

/** What is shown and kept of a name. */
function safeName(name: unknown): string | undefined {
  return typeof name === "string" ? cleanName(redact(name)) : undefined;
}

/** Changes when the file does; empty when there is none. */
function stateOf(file: string): string {
  const stat = statOf(file);
  return stat ? `${stat.size} ${stat.mtimeMs} ${stat.ino}` : "";
}

function readCache(file: string): NameCache {
  const record = recordOf(readJson(file));
  if (record.version !== CACHE_VERSION) return { version: CACHE_VERSION, titles: {}, folders: {} };
  // Each entry is checked where it is used: walking thousands here would cost as much as reading them.
  return {
    version: CACHE_VERSION,
    titles: recordOf(record.titles) as NameCache["titles"],
    folders: recordOf(record.folders) as NameCache["folders"],
  };
}

function writeCache(file: string, cache: NameCache): void {
  try {
    replaceFile(file, JSON.stringify(cache), { durable: false });
  } catch {
    // a full disk or a read-only home: the next time costs as much as this one
  }
}

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // behind a folder that we may not enter
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // not there, or not ours to read
  }
}
