/** The replica of what others share: an index like our own, which only `share` writes. */

import { existsSync } from "node:fs";
import type { Paths } from "../config/config.ts";
import { openStore, readFact, type Store } from "./store.ts";

const DAY_MS = 86_400_000;
/** A replica not pulled for longer may hold what its reader may no longer read. */
const LEASE_DAYS = 30;

/** The fact that holds when the replica was last pulled. */
export const PULLED_FACT = "pulled_at";
/** What the replica has in place of a transcript's path. */
export const SHARED_FILE = "shared:";

export function hasReplica({ shared }: Pick<Paths, "shared">): boolean {
  return existsSync(shared);
}

/** What is carried over of a replica that is to be replaced: nothing, since it is pulled again as a whole. */
export const pulledAgain = () => true;

/** Opens the replica; undefined where there is none, or none that may still be used. */
export function openShared(paths: Pick<Paths, "shared">, now: Date = new Date()): Store | undefined {
  if (!hasReplica(paths)) return undefined;
  const replica = openStore(paths.shared, { create: false, carry: pulledAgain });
  const pulledAt = Date.parse(readFact(replica, PULLED_FACT) ?? "");
  if (now.getTime() - pulledAt < LEASE_DAYS * DAY_MS) return replica;
  replica.close();
  return undefined;
}

/** Runs `work` on the replica, where there is one that may be used. */
export function withShared<T>(paths: Pick<Paths, "shared">, work: (replica: Store) => T): T | undefined {
  const replica = openShared(paths);
  if (!replica) return undefined;
  try {
    return work(replica);
  } finally {
    replica.close();
  }
}

/** Returns who shares a session, by its id in the replica (`alice@desk:<id>`) and its file. */
export function sharedBy({
  id,
  file,
}: {
  id: string;
  file: string;
}): { owner: string; machine: string; id: string } | undefined {
  if (!file.startsWith(SHARED_FILE)) return undefined;
  const [, owner = "", machine = "", host = id] = /^([^@]+)@([^:]+):(.+)$/.exec(id) ?? [];
  return { owner, machine, id: host };
}

/** The most recent shared session of a project. */
interface NewestShared {
  /** `alice@desk:<id>` */
  id: string;
  name: string | undefined;
  updatedAt: string;
  description: string;
}

/** Finds the newest shared session of a project, by its origin. */
export function newestShared(paths: Pick<Paths, "shared">, project: string): NewestShared | undefined {
  return withShared(paths, ({ db }) => {
    const row = db
      .prepare(
        `SELECT s.id, s.name, s.updated_at, h.meta ->> 'description' AS description
         FROM sessions s JOIN shared_sessions h ON h.stored_id = s.id
         WHERE s.project = ? AND s.parent_id IS NULL ORDER BY s.updated_at DESC LIMIT 1`,
      )
      .get(project);
    if (!row) return undefined;
    const name = row.name === null ? undefined : String(row.name);
    const description = row.description === null ? "" : String(row.description);
    return { id: String(row.id), name, updatedAt: String(row.updated_at), description };
  });
}
