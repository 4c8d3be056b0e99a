/** The sessions in the index, with the facts that identify them, and those among them that are excluded. */

import type { Settings } from "../config/config.ts";
import type { Row } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { readExclusion } from "../transcripts/rules.ts";
import type { Agent } from "../transcripts/session.ts";
import { removeSession } from "./chunk-rows.ts";

/** A session as the index knows it. */
export interface HeldSession {
  /** The index's own number of it. */
  number: number;
  /** The host's id. */
  id: string;
  agent: Agent;
  file: string;
  name: string | undefined;
  cwd: string | undefined;
  project: string | undefined;
  parentId: string | undefined;
  updatedAt: string;
  /** The index's id for it, where two files share one. */
  storedId: string;
}

/** Returns every session in the index. */
export function heldSessions(store: Store): HeldSession[] {
  const text = (value: Row[string] | undefined) => (typeof value === "string" ? value : undefined);
  return store.db
    .prepare("SELECT number, id, agent, file, name, cwd, project, parent_id, updated_at FROM sessions")
    .all()
    .map((row) => ({
      number: Number(row.number),
      id: String(row.id).replace(/~[0-9a-f]{6}$/, ""),
      agent: row.agent as Agent,
      file: String(row.file),
      name: text(row.name),
      cwd: text(row.cwd),
      project: text(row.project),
      parentId: text(row.parent_id),
      updatedAt: String(row.updated_at),
      storedId: String(row.id),
    }));
}

/** Removes indexed sessions that are excluded now, whether or not their transcripts changed. Returns their ids. */
export function removeExcluded(store: Store, exclude: Settings["exclude"]): string[] {
  if (exclude.sessions.length + exclude.projects.length === 0) return [];
  const { hasSession } = readExclusion(exclude);
  const out = heldSessions(store).filter((session) => hasSession(session));
  for (const { number, storedId } of out) removeSession(store, { number, id: storedId });
  return out.map(({ storedId }) => storedId);
}
