/**
 * The names of thousands of sessions as rows of state.db, so that a reference in a prompt costs reading few files.
 *
 * Derived: each name is kept with the state of the file that it was read from. Forgetting takes sessions, or what holds a
 * text, out of it and out of the meta files.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { namesIn, readJson, remove, statOf } from "../base/files.ts";
import { scrub } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { Paths } from "../config/config.ts";
import { type ForgetIn, type Forgetting, isInState, WRITER_WAIT_MS } from "../store/forgetting.ts";
import type { Row } from "../store/sqlite.ts";
import { openState, withExistingState } from "../store/state.ts";
import type { Store } from "../store/store.ts";
import { isAsWritten, removeWritten } from "../store/written-files.ts";
import type { Agent } from "../transcripts/session.ts";
import { metaDirectory, metaFile } from "./meta.ts";
import { foldName } from "./references.ts";

/** A transcript's title as it was read; undefined where it has none that may be shown. */
export interface KeptTitle {
  file: string;
  agent: Agent;
  /** When the transcript had last changed, in milliseconds, and the rest that its title depends on. */
  changed: number;
  state: string;
  title: string | undefined;
}

/** A meta file with its id and name. */
export interface NamedMeta {
  id: string;
  name: string;
  file: string;
}

/** A meta file as it was read; without an id and a name where it has none that may be shown. */
export interface KeptMeta extends Partial<NamedMeta> {
  file: string;
  state: string;
}

const SOURCES_CHANGED = "DELETE FROM titles; DELETE FROM meta_names; DELETE FROM name_sources";

/** Opens the table; names that were kept under another config.json are dropped, since others may be excluded now. */
export function openNameTable(paths: Pick<Paths, "state" | "config">): Store {
  const store = openState(paths);
  const config = stateOf(paths.config);
  if (sourceState(store, paths.config) !== config) {
    store.db.transaction(() => {
      store.db.exec(SOURCES_CHANGED);
      keepSource(store, paths.config, config);
    });
  }
  return store;
}

/** Forgets every name: they are read again, without those that are excluded by then. */
function forgetNames({ db }: Store): void {
  db.exec(SOURCES_CHANGED);
}

/** Returns the state of a source when names were last read from it. */
export function sourceState({ db }: Store, path: string): string | undefined {
  const row = db.prepare("SELECT state FROM name_sources WHERE path = ?").get(path);
  return row && String(row.state);
}

export function keepSource({ db }: Store, path: string, state: string): void {
  db.prepare("INSERT OR REPLACE INTO name_sources (path, state) VALUES (?, ?)").run(path, state);
}

/** Returns the titles of the transcripts that had changed last, or of all. */
export function keptTitles({ db }: Store, limit = -1): KeptTitle[] {
  return db.prepare("SELECT * FROM titles ORDER BY changed DESC LIMIT ?").all(limit).map(toTitle);
}

export function countTitles({ db }: Store): number {
  return Number(db.prepare("SELECT count(*) AS n FROM titles").get()?.n);
}

export function keepTitle({ db }: Store, { file, agent, changed, state, title }: KeptTitle): void {
  db.prepare("INSERT OR REPLACE INTO titles VALUES ($file, $agent, $changed, $state, $title, $folded)").run({
    file,
    agent,
    changed,
    state,
    title: title ?? null,
    folded: title === undefined ? null : foldName(title),
  });
}

export function dropTitle({ db }: Store, file: string): void {
  db.prepare("DELETE FROM titles WHERE file = ?").run(file);
}

/** Returns the meta files of a folder with the state they were read in. */
export function metasIn({ db }: Store, folder: string): Map<string, string> {
  const rows = db.prepare("SELECT file, state FROM meta_names WHERE folder = ?").all(folder);
  return new Map(rows.map(({ file, state }) => [String(file), String(state)]));
}

export function keepMeta({ db }: Store, folder: string, { file, state, id, name }: KeptMeta): void {
  db.prepare(
    "INSERT OR REPLACE INTO meta_names VALUES ($file, $folder, $state, $id, $lowerId, $name, $folded)",
  ).run({
    file,
    folder,
    state,
    id: id ?? null,
    lowerId: id?.toLowerCase() ?? null,
    name: name ?? null,
    folded: name === undefined ? null : foldName(name),
  });
}

export function dropMeta({ db }: Store, file: string): void {
  db.prepare("DELETE FROM meta_names WHERE file = ?").run(file);
}

/** Looks up what was kept, by names as they are compared. */
export interface NameLookup {
  /** The transcripts with a title; also such as are no longer there. */
  titled(folded: string): Set<string>;
  /** The meta files with a name. */
  metasNamed(folded: string): NamedMeta[];
  /** The meta files with a name, by the beginning of their session's id, in lower case. */
  metasBegun(prefix: string): NamedMeta[];
  /** All titles by their transcript's file. */
  titles(): Map<string, string>;
  /** All meta files with a name. */
  metas(): NamedMeta[];
}

export function nameLookup({ db }: Store): NameLookup {
  const metas = (condition: string, values: Record<string, string> = {}) =>
    db
      .prepare(`SELECT id, name, file FROM meta_names WHERE name IS NOT NULL${condition}`)
      .all(values)
      .map(toMeta);
  return {
    titled(folded) {
      const rows = db.prepare("SELECT file FROM titles WHERE folded = ?").all(folded);
      return new Set(rows.map(({ file }) => String(file)));
    },
    metasNamed: (folded) => metas(" AND folded = $folded", { folded }),
    metasBegun: (prefix) =>
      metas(" AND lower_id >= $prefix AND lower_id < $prefix || char(1114111)", { prefix }),
    titles() {
      const rows = db.prepare("SELECT file, title FROM titles WHERE title IS NOT NULL").all();
      return new Map(rows.map(({ file, title }) => [String(file), String(title)]));
    },
    metas: () => metas(""),
  };
}

function toTitle({ file, agent, changed, state, title }: Row): KeptTitle {
  return {
    file: String(file),
    agent: agent as Agent,
    changed: Number(changed),
    state: String(state),
    title: title === null ? undefined : String(title),
  };
}

function toMeta({ id, name, file }: Row): NamedMeta {
  return { id: String(id), name: String(name), file: String(file) };
}

/** Returns a text that changes when the file does; empty when there is none. */
export function stateOf(file: string): string {
  const stat = statOf(file);
  return stat ? `${stat.size} ${stat.mtimeMs} ${stat.ino}` : "";
}

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

/** Returns whether there is a meta file about a session. */
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
