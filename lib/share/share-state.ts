/**
 * This machine's sharing state: its name, the projects it shares with whom, and in state.db its origin, what it has
 * published, and its pending withdrawals.
 */

import { hostname } from "node:os";
import type { Progress } from "../base/output.ts";
import { wildcardSource } from "../base/text.ts";
import type { Config, Paths, ShareConfig } from "../config/config.ts";
import type { SessionKey } from "../hosts/session.ts";
import type { Exclusion } from "../sessions/gate.ts";
import { AGENTS } from "../sessions/hosts.ts";
import { sessionKey } from "../sessions/record.ts";
import { type ForgetIn, type Forgetting, type Found, withExistingState } from "../store/state.ts";
import type { Store } from "../store/store.ts";
import type { Hub } from "./hub.ts";

/** A run of sharing. */
export interface Sharing {
  hub: Hub;
  /** The index. */
  store: Store;
  /** state.db */
  state: Store;
  config: Config;
  exclusion: Exclusion;
  /** Our own origin: what it published is in the index already. */
  origin: string;
  machine: string;
  signal: AbortSignal | undefined;
  onProgress: Progress["update"];
}

/** The record of a published session, by the id that it has at the hub. */
interface PublishedNote extends SessionKey {
  signature: string;
  project: string;
  name: string | undefined;
  cwd: string | undefined;
}

type FactName =
  | "origin"
  | "hub"
  | "label"
  | "seq"
  | "rules"
  | "pull_rules"
  | "pulled_at"
  | "last_publish"
  | "last_pull"
  | "failures"
  | "next_try"
  | "error"
  | "refused"
  | "feeds"
  | "unread"
  | "left";

/** Returns this machine's name among several: the one in config.json, else its host name. */
export function ownMachine({ machine }: Pick<ShareConfig, "machine">): string {
  if (machine !== undefined) return machine;
  const name = hostname()
    .replace(/\..*$/, "")
    .replace(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[._-]+/, "");
  return name.slice(0, 64) || "unnamed";
}

/** Returns the random id of this state folder, made at its first use. */
export function ownOrigin(state: Store): string {
  const known = readShareFact(state, "origin");
  if (known !== undefined) return known;
  writeShareFact(state, "origin", crypto.randomUUID());
  return readShareFact(state, "origin") ?? "";
}

export function readShareFact(state: Store, name: FactName): string | undefined {
  const row = state.get("SELECT value FROM share_facts WHERE name = ?", name);
  return row && String(row.value);
}

/** Sets a fact, or removes it when the value is undefined. */
export function writeShareFact(state: Store, name: FactName, value: string | undefined): void {
  if (value === undefined) state.run("DELETE FROM share_facts WHERE name = ?", name);
  else state.run("INSERT OR REPLACE INTO share_facts (name, value) VALUES (?, ?)", name, value);
}

/** Returns every note of what was published, by `<agent> <id>`. */
export function readPublished(db: Store): Map<string, PublishedNote> {
  const rows = db.all("SELECT agent, id, signature, project, name, cwd FROM share_published");
  const notes = rows.map(({ name, cwd, ...row }) => {
    return { ...row, name: name ?? undefined, cwd: cwd ?? undefined } as PublishedNote;
  });
  return new Map(notes.map((note) => [sessionKey(note), note]));
}

/** Notes the sessions that the hub did not take at the last run, each with its reason. */
export function noteRefused(state: Store, refused: readonly string[]): void {
  writeShareFact(state, "refused", refused.length === 0 ? undefined : JSON.stringify(refused));
}

/** Returns the sessions that the hub did not take at the last run, each with its reason. */
export function readRefused(paths: Paths): string[] {
  const text = withExistingState(paths, (state) => readShareFact(state, "refused"));
  return text === undefined ? [] : (JSON.parse(text) as string[]);
}

/** Takes names and directories with a forgotten text out of the notes of what was published. */
export function forgetPublished(forgetting: Forgetting, { paths, dryRun }: ForgetIn): Partial<Found> {
  if (dryRun || "ids" in forgetting) return {};
  const kept = (text: string | undefined) => (text === undefined || forgetting.hasText(text) ? null : text);
  withExistingState(paths, (state) => {
    for (const { agent, id, name, cwd } of readPublished(state).values()) {
      if (kept(name) !== (name ?? null) || kept(cwd) !== (cwd ?? null))
        state.run(
          "UPDATE share_published SET name = ?, cwd = ? WHERE agent = ? AND id = ?",
          kept(name),
          kept(cwd),
          agent,
          id,
        );
    }
  });
  return {};
}

/**
 * Notes that sessions were forgotten, each with the entry of `exclude` that keeps it out: the next `share` takes them
 * from the hub, and no copy on another machine brings them back.
 */
export function withdrawForgotten(paths: Paths, sessions: readonly { id: string; entry: string }[]): void {
  withExistingState(paths, (state) => {
    if (readShareFact(state, "origin") === undefined) return;
    const published = [...readPublished(state).values()];
    const insert = state.prepare(
      "INSERT OR REPLACE INTO share_withdrawals (agent, id, entry) VALUES (?, ?, ?)",
    );
    state.transaction(() => {
      for (const { id, entry } of sessions) {
        for (const agent of AGENTS) insert.run(agent, id, entry);
        // a subagent is published under its parent's id
        const subagents = published.filter((note) => note.id.endsWith(`/${id}`));
        for (const note of subagents) insert.run(note.agent, note.id, entry);
      }
    });
  });
}

/** Records that these entries of `exclude` no longer keep anything out. */
export function readmitForgotten(paths: Paths, entries: readonly string[]): void {
  withExistingState(paths, (db) => {
    for (const entry of entries)
      db.run("UPDATE share_withdrawals SET undone = 1, sent = 0 WHERE entry = ?", entry);
  });
}

/** Returns the hub of own published sessions, for a user who removes everything here; undefined without any. */
export function publishedAt(paths: Paths): string | undefined {
  return withExistingState(paths, (state) =>
    readPublished(state).size === 0 ? undefined : readShareFact(state, "label"),
  );
}

/** Returns the id of a session at the hub: a subagent's own is too short to be alone. */
export function hubId({ id, parentId }: { id: string; parentId?: string | undefined }): string {
  return parentId === undefined ? id : `${parentId}/${id}`;
}

/** Returns the host's ids of a session by its id at the hub. */
export function ofHub(id: string): { id: string; parentId?: string | undefined } {
  const [parent = id, subagent] = id.split("/");
  return subagent === undefined ? { id: parent } : { id: subagent, parentId: parent };
}

type SharedProjects = Readonly<Record<string, string>>;

/** Finds the longest pattern that matches a project's origin URL, and the role that may read it; undefined for none. */
export function sharedProject(
  project: string,
  projects: SharedProjects,
): { pattern: string; audience: string } | undefined {
  const matching = Object.keys(projects).filter((pattern) => matches(pattern, project));
  const pattern = matching.sort((a, b) => b.length - a.length)[0];
  return pattern === undefined ? undefined : { pattern, audience: projects[pattern] ?? "" };
}

/** Returns the patterns as PostgreSQL's ILIKE has them. */
export function likePatterns(projects: SharedProjects): string[] {
  return Object.keys(projects).map((pattern) =>
    pattern.replace(/[\\%_]/g, (character) => `\\${character}`).replaceAll("*", "%"),
  );
}

function matches(pattern: string, project: string): boolean {
  return new RegExp(`^${wildcardSource(pattern)}$`, "i").test(project);
}
