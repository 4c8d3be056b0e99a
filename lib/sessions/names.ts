/** What all sessions are called: host titles and meta files' names, kept so that few files are looked at again. */

import { basename, join } from "node:path";
import { namesIn, statOf } from "../base/probe.ts";
import type { Paths } from "../config/config.ts";
import { readHead } from "../transcripts/head.ts";
import { type Rules, rulesOf } from "../transcripts/rules.ts";
import type { Agent } from "../transcripts/session.ts";
import { claudeTitleFile, cleanName, hostTitle } from "./ends.ts";
import { metaDirectory } from "./meta.ts";
import {
  allIn,
  begunIn,
  idOf,
  type KeptFolder,
  type KeptMeta,
  type KeptTitle,
  type Lines,
  metaLines,
  type NameCache,
  namedIn,
  readNameCache,
  stateOf,
  writeNameCache,
} from "./name-cache.ts";
import { foldName } from "./name-match.ts";
import { piTranscript, type TranscriptFile } from "./places.ts";
import { projectKey } from "./project.ts";
import { readMetaName } from "./session-name.ts";

/** A meta file with the id and the name that stand in it. */
export interface NamedMeta {
  id: string;
  name: string;
  file: string;
}

export interface KnownNames {
  /** The transcripts with a title, by the title as names are compared; also such as are no longer there. */
  titled(folded: string): Set<string>;
  /** The meta files with a name, by it as names are compared. */
  metasNamed(folded: string): NamedMeta[];
  /** The meta files with a name, by the beginning of their session's id, in lower case. */
  metasBegun(prefix: string): NamedMeta[];
  /** All titles by their transcript's file. */
  titles(): Map<string, string>;
  /** All meta files with a name. */
  metas(): NamedMeta[];
}

/** So many titles read anew are worth writing the cache; those of a few running sessions always change. */
const WORTH_WRITING = 40;
/** A folder changed twice within a tick of its clock looks the same after both. */
const SETTLED_MS = 2000;
const META_SUFFIX = ".meta.json";

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
  const rules = () => rulesOf(paths);
  const titles = titlesOf(files, { old, thorough, rules });
  const folders: Record<string, KeptFolder> = {};
  // A listing of given files is not all there is.
  const gone = isAll(paths) ? old.active.length + old.idleCount - titles.looked.length - titles.idleCount : 0;
  let isNew = titles.read >= WORTH_WRITING || gone >= WORTH_WRITING;
  for (const folder of [paths.meta, metaDirectory(paths, "pi")]) {
    const before = old.folders[folder];
    const now = metasIn(folder, { before, thorough, rules });
    folders[folder] = now;
    isNew ||= now !== before && (before !== undefined || now.metas !== "");
  }
  if (isNew) writeNameCache(paths, { titles: toKeep(titles, { old, paths }), folders, config: old.config });
  return knownFrom(titles, folders);
}

function isAll(paths: Paths): boolean {
  return paths.transcripts.length === 0;
}

/** Titles that were looked at, and those that are taken for true. */
interface Titles {
  looked: KeptTitle[];
  idle: Lines;
  idleCount: number;
  /** How many were read anew. */
  read: number;
}

function titlesOf(
  files: readonly TranscriptFile[],
  { old, thorough, rules }: { old: NameCache; thorough: boolean; rules: () => Rules },
): Titles {
  const titles: Titles = { looked: [], idle: "", idleCount: 0, read: 0 };
  const look = (file: string, agent: Agent, kept?: KeptTitle) => {
    const now = readTitle({ file, agent }, { kept, rules });
    if (now && now !== kept) titles.read++;
    if (now) titles.looked.push(now);
  };
  const titled = files.filter(({ agent }) => agent === "claude" || agent === "pi");
  if (thorough) {
    const kept = [...old.active, ...allIn<KeptTitle>(old.idle)];
    const before = new Map(kept.map((each) => [each[0], each]));
    for (const { file, agent = "plain" } of titled) look(file, agent, before.get(file));
    return titles;
  }
  for (const each of old.active) look(each[0], each[1], each);
  titles.idle = old.idle;
  titles.idleCount = old.idleCount;
  // Looking up each file costs more than all else here, and is in vain while there are no more of them.
  if (titled.length <= titles.looked.length + titles.idleCount) return titles;
  const known = new Set([...titles.looked, ...allIn<KeptTitle>(old.idle)].map(([file]) => file));
  for (const { file, agent = "plain" } of titled) if (!known.has(file)) look(file, agent);
  return titles;
}

function toKeep({ looked, idle }: Titles, { old, paths }: { old: NameCache; paths: Paths }): KeptTitle[] {
  const now = [...looked, ...allIn<KeptTitle>(idle)];
  if (isAll(paths)) return now;
  const known = new Set(now.map(([file]) => file));
  const others = [...old.active, ...allIn<KeptTitle>(old.idle)].filter(([file]) => !known.has(file));
  return [...others, ...now];
}

/** What was kept where it still stands. */
function readTitle(
  { file, agent }: { file: string; agent: Agent },
  { kept, rules }: { kept: KeptTitle | undefined; rules: () => Rules },
): KeptTitle | undefined {
  const stat = statOf(file);
  if (!stat?.isFile()) return undefined;
  const own = agent === "claude" ? stateOf(claudeTitleFile(file)) : "";
  const state = `${stat.size} ${own}`;
  if (kept && kept[2] === stat.mtimeMs && kept[3] === state) return kept;
  const title = safeName(hostTitle({ file, agent, size: stat.size }), rules);
  const isShown = title !== undefined && !isExcluded({ file, agent }, { title, ...rules() });
  return [file, agent, stat.mtimeMs, state, isShown ? title : null];
}

/** Whether a title stays out: by itself, or with its session. */
function isExcluded(
  { file, agent }: { file: string; agent: Agent },
  { title, hasText, hasSession, needsProject }: Rules & { title: string },
): boolean {
  if (hasText(title)) return true;
  const id = (agent === "pi" ? piTranscript(file).id : undefined) ?? basename(file, ".jsonl");
  const cwd = needsProject ? readHead(file)?.cwd : undefined;
  return hasSession({ id, name: title, cwd, project: cwd && projectKey(cwd) });
}

/** Gives `before` itself back when nothing changed. */
function metasIn(
  folder: string,
  { before, thorough, rules }: { before: KeptFolder | undefined; thorough: boolean; rules: () => Rules },
): KeptFolder {
  const changed = statOf(folder)?.mtimeMs;
  const state = changed !== undefined && Date.now() - changed > SETTLED_MS ? String(changed) : "";
  if (before && !thorough && state !== "" && before.state === state) return before;
  const old = new Map(allIn<KeptMeta>(before?.metas ?? "").map((kept) => [kept[0], kept]));
  const names = namesIn(folder).filter((name) => name.endsWith(META_SUFFIX));
  const metas = names.map((name) => readKept(join(folder, name), { kept: old.get(name), rules }));
  const isSame = metas.length === old.size && metas.every((kept) => kept === old.get(kept[0]));
  return isSame && before?.state === state ? before : { state, metas: metaLines(metas) };
}

function readKept(
  file: string,
  { kept, rules }: { kept: KeptMeta | undefined; rules: () => Rules },
): KeptMeta {
  const base = basename(file);
  const state = stateOf(file);
  if (kept?.[1] === state) return kept;
  const meta = readMetaName(file);
  const name = safeName(meta?.name, rules);
  if (!meta || name === undefined) return [base, state, null];
  return base === `${meta.id}${META_SUFFIX}` ? [base, state, name] : [base, state, name, meta.id];
}

function knownFrom({ looked, idle }: Titles, folders: Record<string, KeptFolder>): KnownNames {
  const metasBy = (find: (lines: Lines) => KeptMeta[]) =>
    Object.entries(folders).flatMap(([folder, { metas }]) =>
      find(metas).flatMap((kept) => {
        const [base, , name] = kept;
        return typeof name === "string" ? [{ id: idOf(kept), name, file: join(folder, base) }] : [];
      }),
    );
  return {
    titled(folded) {
      const active = looked.filter(
        ([, , , , title]) => typeof title === "string" && foldName(title) === folded,
      );
      return new Set([...active, ...namedIn<KeptTitle>(idle, folded)].map(([file]) => file));
    },
    metasNamed: (folded) => metasBy((lines) => namedIn<KeptMeta>(lines, folded)),
    metasBegun: (prefix) =>
      metasBy((lines) => begunIn<KeptMeta>(lines, prefix)).filter(({ id }) =>
        id.toLowerCase().startsWith(prefix),
      ),
    titles() {
      const all = [...allIn<KeptTitle>(idle), ...looked];
      return new Map(
        all.flatMap(([file, , , , title]) => (typeof title === "string" ? [[file, title]] : [])),
      );
    },
    metas: () => metasBy((lines) => allIn<KeptMeta>(lines)),
  };
}

/** What is kept of a name. */
function safeName(name: unknown, rules: () => Rules): string | undefined {
  return typeof name === "string" ? cleanName(rules().clean(name)) : undefined;
}
