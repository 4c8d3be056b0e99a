/** What sessions are called: the name Volute gives one, its meta file's, its host's title. */

import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Paths } from "./config.ts";
import { claudeTitleFile, cleanName, hostTitle } from "./ends.ts";
import { readJson } from "./files.ts";
import { isRecord, recordOf, stringOf } from "./json.ts";
import { metaDirectory, metaFile } from "./meta.ts";
import {
  type KeptFolder,
  type KeptMeta,
  type KeptTitle,
  type NameCache,
  readNameCache,
  stateOf,
  statOf,
  writeNameCache,
} from "./name-cache.ts";
import type { TranscriptFile } from "./places.ts";
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
  /** Names by session id, with the meta file that they stand in. */
  metas: Map<string, { name: string; file: string }>;
}

/** So many titles read anew are worth writing the cache; those of a few running sessions always change. */
const WORTH_WRITING = 40;
/** A folder changed twice within a tick of its clock looks the same after both. */
const SETTLED_MS = 2000;
/** A session not changed for so long is seldom taken up again. */
const IDLE_MS = 86_400_000;
const META_SUFFIX = ".meta.json";

/** The name of one session, by the rules for all; undefined when nobody gave it one. */
export function nameOf(session: Session, paths: Paths): string | undefined {
  return session.name ?? readMetaName(metaFile(paths, session))?.name ?? hostTitle(session);
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

/**
 * The host titles of these transcripts, and the names in all meta files.
 *
 * `thorough` looks at every file. Otherwise what is kept is taken for true of transcripts that had been idle for a day
 * and of meta files in a folder that did not change: a title given to an old session since, or a meta file edited in
 * place, is then missed.
 */
export function knownNames(
  files: readonly TranscriptFile[],
  { paths, thorough }: { paths: Paths; thorough: boolean },
): KnownNames {
  const old = readNameCache(paths);
  const { titles, read } = titlesOf(files, { old, thorough });
  const folders: Record<string, KeptFolder> = {};
  let isNew = read >= WORTH_WRITING;
  for (const folder of [paths.meta, metaDirectory(paths, "pi")]) {
    const before = isKeptFolder(old.folders[folder]) ? old.folders[folder] : undefined;
    const now = metasIn(folder, { before, thorough });
    folders[folder] = now;
    isNew ||= now !== before && (before !== undefined || Object.keys(now.metas).length > 0);
  }
  if (isNew) {
    // A listing of given files is not all there is.
    writeNameCache(paths, {
      titles: paths.transcripts.length > 0 ? { ...old.titles, ...titles } : titles,
      folders,
    });
  }
  return { titles: titleNames(titles), metas: metaNames(folders) };
}

function titlesOf(
  files: readonly TranscriptFile[],
  { old, thorough }: { old: NameCache; thorough: boolean },
): { titles: NameCache["titles"]; read: number } {
  const titles: NameCache["titles"] = {};
  const hasFolder = foldersBeside();
  const idleBefore = Date.now() - IDLE_MS;
  let read = 0;
  for (const { file, agent } of files) {
    if (agent !== "claude" && agent !== "pi") continue;
    const kept = old.titles[file];
    if (!thorough && Array.isArray(kept) && kept[2] < idleBefore) {
      titles[file] = kept;
      continue;
    }
    const now = readTitle({ file, agent, kept, hasOwnFolder: agent === "claude" && hasFolder(file) });
    if (now && now !== kept) read++;
    if (now) titles[file] = now;
  }
  return { titles, read };
}

interface TitleSource {
  file: string;
  agent: "claude" | "pi";
  kept: KeptTitle | undefined;
  hasOwnFolder: boolean;
}

/** What was kept where it still stands. */
function readTitle({ file, agent, kept, hasOwnFolder }: TitleSource): KeptTitle | undefined {
  const stat = statOf(file);
  if (!stat?.isFile()) return undefined;
  const state = `${stat.size} ${stat.mtimeMs} ${hasOwnFolder ? stateOf(claudeTitleFile(file)) : ""}`;
  if (Array.isArray(kept) && kept[0] === state) return kept;
  return [state, safeName(hostTitle({ file, agent, size: stat.size })) ?? null, stat.mtimeMs];
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
  { before, thorough }: { before: KeptFolder | undefined; thorough: boolean },
): KeptFolder {
  const changed = statOf(folder)?.mtimeMs;
  const state = changed !== undefined && Date.now() - changed > SETTLED_MS ? String(changed) : "";
  if (before && !thorough && state !== "" && before.state === state) return before;
  const metas: KeptFolder["metas"] = {};
  let read = 0;
  for (const name of namesIn(folder)) {
    if (!name.endsWith(META_SUFFIX)) continue;
    const kept = before?.metas[name];
    const now = readKept(join(folder, name), kept);
    if (now !== kept) read++;
    metas[name] = now;
  }
  const old = Object.keys(before?.metas ?? {}).length;
  return before?.state === state && read === 0 && Object.keys(metas).length === old
    ? before
    : { state, metas };
}

function readKept(file: string, kept: KeptMeta | undefined): KeptMeta {
  const state = stateOf(file);
  if (Array.isArray(kept) && kept[0] === state) return kept;
  const meta = readMetaName(file);
  return [state, meta?.id ?? null, meta?.name ?? null];
}

function isKeptFolder(value: unknown): value is KeptFolder {
  return isRecord(value) && typeof value.state === "string" && isRecord(value.metas);
}

function titleNames(titles: NameCache["titles"]): Map<string, string> {
  const names = new Map<string, string>();
  for (const file in titles) {
    const kept = titles[file];
    if (Array.isArray(kept) && typeof kept[1] === "string") names.set(file, kept[1]);
  }
  return names;
}

function metaNames(folders: Record<string, KeptFolder>): KnownNames["metas"] {
  const names: KnownNames["metas"] = new Map();
  for (const [folder, { metas }] of Object.entries(folders)) {
    for (const base in metas) {
      const kept = metas[base];
      const [, id, name] = Array.isArray(kept) ? kept : [];
      if (typeof id === "string" && typeof name === "string")
        names.set(id, { name, file: `${folder}/${base}` });
    }
  }
  return names;
}

/** What is shown and kept of a name. */
function safeName(name: unknown): string | undefined {
  return typeof name === "string" ? cleanName(redact(name)) : undefined;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // not there, or not ours to read
  }
}
