/** What sessions are called: the name Volute gives one, its meta file's, its host's title. */

import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
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

/** A meta file with the id and the name that stand in it. */
export interface NamedMeta {
  id: string;
  name: string;
  file: string;
}

export interface KnownNames {
  /** The host's title of a transcript. */
  titleOf(file: string): string | undefined;
  /** The transcripts whose titles pass a test; also such as are no longer there. */
  titledWhere(test: (title: string) => boolean): Set<string>;
  /** The meta files whose id and name pass a test. */
  metasWhere(test: (id: string, name: string) => boolean): NamedMeta[];
}

/** So many titles read anew are worth writing the cache; those of a few running sessions always change. */
const WORTH_WRITING = 40;
/** A folder changed twice within a tick of its clock looks the same after both. */
const SETTLED_MS = 2000;
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
    name: cleanName(record.name),
    sessionFile: stringOf(record.sessionFile),
    cwd: stringOf(record.cwd),
    updatedAt: stringOf(record.updatedAt),
  };
}

/**
 * The host titles of these transcripts, and the names in all meta files.
 *
 * `thorough` looks at every file. Otherwise what was kept is taken for true, but of the transcripts that had changed
 * last and of meta files in a folder that changed: a title given to an idle session since, or a meta file edited in
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
    const all = paths.transcripts.length > 0 ? { ...old.titles, ...titles } : titles;
    writeNameCache(paths, { titles: all, folders });
  }
  return {
    titleOf: (file) => titleIn(titles[file]),
    titledWhere: (test) => titledWhere(titles, test),
    metasWhere: (test) => metasWhere(folders, test),
  };
}

function titlesOf(
  files: readonly TranscriptFile[],
  { old, thorough }: { old: NameCache; thorough: boolean },
): { titles: NameCache["titles"]; read: number } {
  // Filled anew only where all are looked at: keeping what has since been deleted costs less than copying the rest.
  const titles: NameCache["titles"] = thorough ? {} : old.titles;
  let read = 0;
  for (const { file, agent } of thorough ? files : doubtful(files, old)) {
    if (agent !== "claude" && agent !== "pi") continue;
    const kept = Array.isArray(old.titles[file]) ? old.titles[file] : undefined;
    const now = readTitle({ file, agent }, kept);
    if (now && now !== kept) read++;
    if (now) titles[file] = now;
  }
  return { titles, read };
}

/** The transcripts that had changed last, and those of which nothing is kept. */
function doubtful(files: readonly TranscriptFile[], { titles, idleBefore }: NameCache): TranscriptFile[] {
  const active = new Set<string>();
  let kept = 0;
  for (const file in titles) {
    kept++;
    if (!(Number(titles[file]?.[0]) < idleBefore)) active.add(file);
  }
  // Looking each file up costs more than all else here, and is in vain while there are no more of them.
  const isGrown = files.length > kept;
  return files.filter(({ file }) => active.has(file) || (isGrown && titles[file] === undefined));
}

/** What was kept where it still stands. */
function readTitle(
  { file, agent }: Pick<Session, "file" | "agent">,
  kept: KeptTitle | undefined,
): KeptTitle | undefined {
  const stat = statOf(file);
  if (!stat?.isFile()) return undefined;
  const own = agent === "claude" ? stateOf(claudeTitleFile(file)) : "";
  const state = own === "" ? String(stat.size) : `${stat.size} ${own}`;
  if (kept && kept[0] === stat.mtimeMs && kept[1] === state) return kept;
  return [stat.mtimeMs, state, safeName(hostTitle({ file, agent, size: stat.size })) ?? null];
}

function titleIn(kept: KeptTitle | undefined): string | undefined {
  return Array.isArray(kept) && typeof kept[2] === "string" ? kept[2] : undefined;
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
  const name = safeName(meta?.name);
  if (!meta || name === undefined) return [state, null];
  return basename(file) === `${meta.id}${META_SUFFIX}` ? [state, name] : [state, name, meta.id];
}

function isKeptFolder(value: unknown): value is KeptFolder {
  return isRecord(value) && typeof value.state === "string" && isRecord(value.metas);
}

function titledWhere(titles: NameCache["titles"], test: (title: string) => boolean): Set<string> {
  const files = new Set<string>();
  for (const file in titles) {
    const title = titleIn(titles[file]);
    if (title !== undefined && test(title)) files.add(file);
  }
  return files;
}

function metasWhere(
  folders: Record<string, KeptFolder>,
  test: (id: string, name: string) => boolean,
): NamedMeta[] {
  const found: NamedMeta[] = [];
  for (const [folder, { metas }] of Object.entries(folders)) {
    for (const base in metas) {
      const kept = metas[base];
      if (!Array.isArray(kept) || typeof kept[1] !== "string") continue;
      const id = typeof kept[2] === "string" ? kept[2] : base.slice(0, -META_SUFFIX.length);
      if (test(id, kept[1])) found.push({ id, name: kept[1], file: join(folder, base) });
    }
  }
  return found;
}

/** What is kept of a name. */
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
