/** What sessions are called: the name Volute gives one, its meta file's, its host's title. */

import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { defaultSettings, type Paths, readHookSettings } from "./config.ts";
import { claudeTitleFile, cleanName, hostTitle } from "./ends.ts";
import { type Exclusion, readExclusion } from "./exclusion.ts";
import { readHead } from "./head.ts";
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
import { piTranscript, type TranscriptFile } from "./places.ts";
import { projectKey } from "./project.ts";
import { readJson } from "./read.ts";
import { redact } from "./redact.ts";
import type { Agent, Session } from "./session.ts";

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
  /** The transcripts whose titles pass a test, with the titles; also such as are no longer there. */
  titledWhere(test: (title: string) => boolean): Map<string, string>;
  /** The meta files whose id and name pass a test. */
  metasWhere(test: MetaTest): NamedMeta[];
}

interface MetaTest {
  id?: (id: string) => boolean;
  name?: (name: string) => boolean;
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
  const { titles, read } = titlesOf(files, { old, thorough, hides: titleFilter(paths) });
  const folders: Record<string, KeptFolder> = {};
  // A listing of given files is not all there is.
  const gone = isAll(paths) ? old.titles.length - titles.length : 0;
  let isNew = read >= WORTH_WRITING || gone >= WORTH_WRITING;
  for (const folder of [paths.meta, metaDirectory(paths, "pi")]) {
    const before = isKeptFolder(old.folders[folder]) ? old.folders[folder] : undefined;
    const now = metasIn(folder, { before, thorough });
    folders[folder] = now;
    isNew ||= now !== before && (before !== undefined || now.metas.length > 0);
  }
  if (isNew) {
    const all = isAll(paths) ? titles : merged(old.titles, titles);
    writeNameCache(paths, { titles: all, folders, config: old.config });
  }
  return {
    titledWhere: (test) => titledWhere(titles, test),
    metasWhere: (test) => metasWhere(folders, test),
  };
}

function isAll(paths: Paths): boolean {
  return paths.transcripts.length === 0;
}

function merged(old: readonly KeptTitle[], now: readonly KeptTitle[]): KeptTitle[] {
  const known = new Set(now.map(([file]) => file));
  return [...old.filter((kept) => Array.isArray(kept) && !known.has(kept[0])), ...now];
}

function titlesOf(
  files: readonly TranscriptFile[],
  { old, thorough, hides }: { old: NameCache; thorough: boolean; hides: HidesTitle },
): { titles: KeptTitle[]; read: number } {
  const titles: KeptTitle[] = [];
  let read = 0;
  const look = (file: string, agent: Agent, kept?: KeptTitle) => {
    const now = readTitle({ file, agent }, { kept, hides });
    if (now && now !== kept) read++;
    if (now) titles.push(now);
  };
  const kept = old.titles.filter((each) => Array.isArray(each));
  const titled = files.filter(({ agent }) => agent === "claude" || agent === "pi");
  if (!thorough) {
    for (const each of kept) {
      if (each[2] < old.idleBefore) titles.push(each);
      else look(each[0], each[1], each);
    }
    // Looking up each file costs more than all else here, and is in vain while there are no more of them.
    if (titled.length <= titles.length) return { titles, read };
  }
  const looked = new Set(titles.map(([file]) => file));
  const before = new Map(thorough ? kept.map((each) => [each[0], each]) : []);
  for (const { file, agent = "plain" } of titled) if (!looked.has(file)) look(file, agent, before.get(file));
  return { titles, read };
}

/** What was kept where it still stands. */
function readTitle(
  { file, agent }: { file: string; agent: Agent },
  { kept, hides }: { kept: KeptTitle | undefined; hides: HidesTitle },
): KeptTitle | undefined {
  const stat = statOf(file);
  if (!stat?.isFile()) return undefined;
  const own = agent === "claude" ? stateOf(claudeTitleFile(file)) : "";
  const state = `${stat.size} ${own}`;
  if (kept && kept[2] === stat.mtimeMs && kept[3] === state) return kept;
  const title = safeName(hostTitle({ file, agent, size: stat.size }));
  const isShown = title !== undefined && !hides({ file, agent }, title);
  return [file, agent, stat.mtimeMs, state, isShown ? title : null];
}

type HidesTitle = (transcript: { file: string; agent: Agent }, title: string) => boolean;

/** What stays out is not kept by name either. Asked only where a title is read anew. */
function titleFilter(paths: Paths): HidesTitle {
  let exclusion: Exclusion | undefined;
  return ({ file, agent }, title) => {
    exclusion ??= readExclusion((readHookSettings(paths) ?? defaultSettings()).exclude);
    const id = (agent === "pi" ? piTranscript(file).id : undefined) ?? basename(file, ".jsonl");
    const cwd = exclusion.needsProject ? readHead(file)?.cwd : undefined;
    const project = cwd && projectKey(cwd);
    return exclusion.hasText(title) || exclusion.hasSession({ id, name: title, cwd, project });
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
  const old = new Map(before?.metas.filter((kept) => Array.isArray(kept)).map((kept) => [kept[0], kept]));
  const names = namesIn(folder).filter((name) => name.endsWith(META_SUFFIX));
  const metas = names.map((name) => readKept(folder, name, old.get(name)));
  const isSame = metas.length === old.size && metas.every((kept) => kept === old.get(kept[0]));
  return isSame && before?.state === state ? before : { state, metas };
}

function readKept(folder: string, base: string, kept: KeptMeta | undefined): KeptMeta {
  const file = join(folder, base);
  const state = stateOf(file);
  if (kept?.[1] === state) return kept;
  const meta = readMetaName(file);
  const name = safeName(meta?.name);
  if (!meta || name === undefined) return [base, state, null];
  return base === `${meta.id}${META_SUFFIX}` ? [base, state, name] : [base, state, name, meta.id];
}

function isKeptFolder(value: unknown): value is KeptFolder {
  return isRecord(value) && typeof value.state === "string" && Array.isArray(value.metas);
}

function titledWhere(titles: readonly KeptTitle[], test: (title: string) => boolean): Map<string, string> {
  const found = new Map<string, string>();
  // By index: taking thousands of lists apart by patterns costs as much as reading them.
  for (const kept of titles) {
    const title = kept[4];
    if (typeof title === "string" && test(title)) found.set(kept[0], title);
  }
  return found;
}

function metasWhere(folders: Record<string, KeptFolder>, { id: isId, name: isName }: MetaTest): NamedMeta[] {
  const found: NamedMeta[] = [];
  for (const [folder, { metas }] of Object.entries(folders)) {
    for (const kept of metas) {
      if (!Array.isArray(kept) || typeof kept[2] !== "string" || typeof kept[0] !== "string") continue;
      const base = kept[0];
      const name = kept[2];
      if (isName && !isName(name)) continue;
      const id = typeof kept[3] === "string" ? kept[3] : base.slice(0, -META_SUFFIX.length);
      if (!isId || isId(id)) found.push({ id, name, file: join(folder, base) });
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
