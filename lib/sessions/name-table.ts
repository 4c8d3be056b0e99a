/**
 * The names of thousands of sessions as rows of state.db, so that a reference in a prompt costs reading few files.
 *
 * Derived: each name is kept with the state of the file that it was read from.
 */

import { statOf } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import type { Row } from "../store/sqlite.ts";
import { openState } from "../store/state.ts";
import type { Store } from "../store/store.ts";
import type { Agent } from "../transcripts/session.ts";
import { foldName } from "./name-match.ts";

/** A transcript's title as it was read; undefined where it has none that may be shown. */
export interface KeptTitle {
  file: string;
  agent: Agent;
  /** When the transcript had last changed, in milliseconds, and the rest that its title depends on. */
  changed: number;
  state: string;
  title: string | undefined;
}

/** A meta file's name as it was read; undefined where it has none that may be shown. */
export interface KeptMeta {
  file: string;
  folder: string;
  state: string;
  id: string | undefined;
  name: string | undefined;
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
export function forgetNames({ db }: Store): void {
  db.exec(SOURCES_CHANGED);
}

/** The state of a source when names were last read from it. */
export function sourceState({ db }: Store, path: string): string | undefined {
  const row = db.prepare("SELECT state FROM name_sources WHERE path = ?").get(path);
  return row && String(row.state);
}

export function keepSource({ db }: Store, path: string, state: string): void {
  db.prepare("INSERT OR REPLACE INTO name_sources (path, state) VALUES (?, ?)").run(path, state);
}

/** The titles of the transcripts that had changed last, or of all. */
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

/** The transcripts with a title that folds to this. */
export function titledBy({ db }: Store, folded: string): string[] {
  return db
    .prepare("SELECT file FROM titles WHERE folded = ?")
    .all(folded)
    .map(({ file }) => String(file));
}

export function metasIn({ db }: Store, folder: string): KeptMeta[] {
  return db.prepare("SELECT * FROM meta_names WHERE folder = ?").all(folder).map(toMeta);
}

export function keepMeta({ db }: Store, { file, folder, state, id, name }: KeptMeta): void {
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

/** The meta files whose name folds to this. */
export function metasNamed({ db }: Store, folded: string): KeptMeta[] {
  return db.prepare("SELECT * FROM meta_names WHERE folded = ?").all(folded).map(toMeta);
}

/** The meta files with a name whose session's id begins with this, in lower case. */
export function metasBegun({ db }: Store, prefix: string): KeptMeta[] {
  return db
    .prepare(
      "SELECT * FROM meta_names WHERE name IS NOT NULL AND lower_id >= $prefix AND lower_id < $prefix || char(1114111)",
    )
    .all({ prefix })
    .map(toMeta);
}

/** Every meta file with a name. */
export function allMetas({ db }: Store): KeptMeta[] {
  return db.prepare("SELECT * FROM meta_names WHERE name IS NOT NULL").all().map(toMeta);
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

function toMeta({ file, folder, state, id, name }: Row): KeptMeta {
  const text = (value: unknown) => (value === null ? undefined : String(value));
  return { file: String(file), folder: String(folder), state: String(state), id: text(id), name: text(name) };
}

/** Changes when the file does; empty when there is none. */
export function stateOf(file: string): string {
  const stat = statOf(file);
  return stat ? `${stat.size} ${stat.mtimeMs} ${stat.ino}` : "";
}
