/** What all sessions are called: host titles and meta files' names, kept so that few files are looked at again. */

import { basename, join } from "node:path";
import { namesIn, statOf } from "../base/files.ts";
import { shortHash } from "../base/hash.ts";
import type { Paths } from "../config/config.ts";
import { REDACTION_VERSION } from "../redact/redact.ts";
import { isStorageError } from "../store/storage-errors.ts";
import type { Store } from "../store/store.ts";
import { readHead } from "../transcripts/head.ts";
import { rulesOf } from "../transcripts/rules.ts";
import { claudeTitleFile, cleanName, hostTitle } from "./discovery.ts";
import { metaDirectory, readMetaName } from "./meta.ts";
import {
  countTitles,
  dropMeta,
  dropTitle,
  type KeptMeta,
  type KeptTitle,
  keepMeta,
  keepSource,
  keepTitle,
  keptTitles,
  metasIn,
  type NameLookup,
  nameLookup,
  openNameTable,
  sourceState,
  stateOf,
} from "./name-table.ts";
import { piTranscript, type TranscriptFile } from "./places.ts";
import { projectKey } from "./project.ts";
import { isExclusionCurrent } from "./unlisted.ts";

export interface KnownNames extends NameLookup {
  /**
   * Reads names that may have changed. `thorough` looks at every file; otherwise what was kept is taken for true,
   * except for the transcripts that had changed last and for meta files in a folder that changed: a title given to an
   * idle session since, or a meta file edited in place, is then missed.
   */
  update(files: readonly TranscriptFile[], options: { thorough: boolean }): void;
}

/** So many transcripts are looked at each time: those that had changed last, since they will change again. */
const ACTIVE_COUNT = 100;
/** A folder changed twice within a tick of its clock looks the same after both. */
const SETTLED_MS = 2000;
/** The source whose state is the key of the rules that names were read by. */
const RULES = "rules";
const META_SUFFIX = ".meta.json";

/** Runs `work` on the host titles of transcripts and the names in meta files. */
export function withNames<T>(paths: Paths, work: (names: KnownNames) => T): T {
  const passing = { ...paths, state: ":memory:" };
  try {
    return runWith(openNameTable(paths.seesExcluded ? passing : paths), { paths, work });
  } catch (error) {
    if (!isStorageError(error)) throw error;
    // A full disk, a read-only home, a damaged file: names are read again, which takes its time.
    return runWith(openNameTable(passing), { paths, work });
  }
}

function runWith<T>(store: Store, { paths, work }: { paths: Paths; work: (names: KnownNames) => T }): T {
  try {
    return work(knownIn(store, paths));
  } finally {
    store.close();
  }
}

function knownIn(store: Store, paths: Paths): KnownNames {
  const isPassing = store.db.path === ":memory:";
  const rules: NameRules = {
    key: String(shortHash(JSON.stringify([REDACTION_VERSION, paths.rules]))),
    keepsName: nameFilter(paths),
    isCurrent: () => isPassing || isExclusionCurrent(paths),
  };
  return {
    ...nameLookup(store),
    update(files, options) {
      const isNewRules = sourceState(store, RULES) !== rules.key;
      const thorough = options.thorough || isNewRules;
      updateTitles(store, files, { thorough, rules, isAll: paths.transcripts.length === 0 });
      for (const folder of [paths.meta, metaDirectory(paths, "pi")]) {
        updateMetas(store, folder, { thorough, rules });
      }
      if (isNewRules) writeAll(store, [() => keepSource(store, RULES, rules.key)], rules);
    },
  };
}

/** Which names may be kept; under another key every name is read again. */
interface NameRules {
  key: string;
  keepsName: KeepsName;
  /** Whether config.json excludes nothing more by now: what was read before may be just that. */
  isCurrent: () => boolean;
}

interface UpdateOptions {
  thorough: boolean;
  rules: NameRules;
}

function updateTitles(
  store: Store,
  files: readonly TranscriptFile[],
  { thorough, rules, isAll }: UpdateOptions & { isAll: boolean },
): void {
  const titled = files.filter(({ agent }) => agent === "claude" || agent === "pi");
  const kept = keptTitles(store, thorough ? -1 : ACTIVE_COUNT);
  const known = new Map(kept.map((title) => [title.file, title]));
  // Looking up each file costs more than all else here, and is in vain while there are no more of them.
  const hasNew = thorough || titled.length > countTitles(store);
  if (hasNew && !thorough) for (const title of keptTitles(store)) known.set(title.file, title);
  const looked = thorough
    ? titled
    : [...kept, ...(hasNew ? titled.filter(({ file }) => !known.has(file)) : [])];
  const changed = looked.map(({ file, agent = "plain" }) => {
    const before = known.get(file);
    const now = readTitle({ file, agent }, { kept: before, rules });
    return now === before ? undefined : { file, now };
  });
  // A listing of given files is not all there is.
  const present = new Set(thorough && isAll ? titled.map(({ file }) => file) : known.keys());
  const gone = [...known.keys()].filter((file) => !present.has(file));
  writeAll(
    store,
    [
      ...changed.flatMap((each) =>
        each ? [() => (each.now ? keepTitle(store, each.now) : dropTitle(store, each.file))] : [],
      ),
      ...gone.map((file) => () => dropTitle(store, file)),
    ],
    rules,
  );
}

/** Writes in one transaction, and in none where there is nothing to write: a prompt waits for it. */
function writeAll({ db }: Store, writes: readonly (() => void)[], { isCurrent }: NameRules): void {
  if (writes.length === 0) return;
  db.transaction(() => {
    // asked under the lock: whoever excludes something writes config.json first, then takes names out of here
    if (isCurrent()) for (const write of writes) write();
  });
}

/** Returns a transcript's title: the kept one while it is current. */
function readTitle(
  { file, agent }: Pick<KeptTitle, "file" | "agent">,
  { kept, rules }: { kept: KeptTitle | undefined; rules: NameRules },
): KeptTitle | undefined {
  const stat = statOf(file);
  if (!stat?.isFile()) return undefined;
  const own = agent === "claude" ? stateOf(claudeTitleFile(file)) : "";
  const state = `${stat.size} ${own} ${rules.key}`;
  if (kept?.changed === stat.mtimeMs && kept.state === state) return kept;
  const name = hostTitle({ file, agent, size: stat.size });
  const id = (agent === "pi" ? piTranscript(file).id : undefined) ?? basename(file, ".jsonl");
  const title = rules.keepsName({ id, name }, () => readHead(file)?.cwd);
  return { file, agent, changed: stat.mtimeMs, state, title };
}

/** A name as it may be kept; undefined when it is empty, or excluded by itself or with its session. */
type KeepsName = (
  session: { id: string; name: unknown },
  cwdOf: () => string | undefined,
) => string | undefined;

/** Reads config.json only where a name is read anew. */
function nameFilter(paths: Paths): KeepsName {
  return ({ id, name: said }, cwdOf) => {
    if (typeof said !== "string") return undefined;
    const rules = rulesOf(paths);
    const name = cleanName(rules.clean(said));
    if (name === undefined || rules.hasText(name)) return undefined;
    const cwd = rules.needsProject ? cwdOf() : undefined;
    return rules.hasSession({ id, name, cwd, project: cwd && projectKey(cwd) }) ? undefined : name;
  };
}

function updateMetas(store: Store, folder: string, { thorough, rules }: UpdateOptions): void {
  const time = statOf(folder)?.mtimeMs;
  const state = time !== undefined && Date.now() - time > SETTLED_MS ? `${time} ${rules.key}` : "";
  const before = sourceState(store, folder);
  if (!thorough && state !== "" && before === state) return;
  const old = metasIn(store, folder);
  const files = namesIn(folder)
    .filter((name) => name.endsWith(META_SUFFIX))
    .map((name) => join(folder, name));
  const changed = files.filter((file) => old.get(file) !== metaState(file, rules));
  const present = new Set(files);
  writeAll(
    store,
    [
      ...changed.map((file) => readKept(file, rules)).map((kept) => () => keepMeta(store, folder, kept)),
      ...[...old.keys()].filter((file) => !present.has(file)).map((file) => () => dropMeta(store, file)),
      ...(before === state ? [] : [() => keepSource(store, folder, state)]),
    ],
    rules,
  );
}

function metaState(file: string, { key }: NameRules): string {
  return `${stateOf(file)} ${key}`;
}

function readKept(file: string, rules: NameRules): KeptMeta {
  const state = metaState(file, rules);
  const meta = readMetaName(file);
  const name = meta && rules.keepsName({ id: meta.id, name: meta.name }, () => meta.cwd);
  return !meta || name === undefined ? { file, state } : { file, state, id: meta.id, name };
}
