/** Takes others' sessions, or what of them holds a text, out of the replica, and notes what the hub is to hear of. */

import type { Paths } from "../config/config.ts";
import { eraseFreed, findRows, forgetRows } from "../index/forget-rows.ts";
import { type HeldSession, heldSessions } from "../index/held-sessions.ts";
import type { ForgetIn, Forgetting } from "../store/forgetting.ts";
import { hasReplica } from "../store/replica.ts";
import { withExistingState } from "../store/state.ts";
import type { Store } from "../store/store.ts";
import { openReplica, readShared, removeShared } from "./replica.ts";
import { noteWithdrawals, readPublished, readShareFact, undoWithdrawals } from "./share-state.ts";

const AGENTS = ["claude", "pi", "codex"];

/** Returns the sessions that others share, as the replica holds them; nothing where there is none. */
export function heldShared(paths: Paths): HeldSession[] {
  if (!hasReplica(paths)) return [];
  const replica = openReplica(paths);
  try {
    return heldSessions(replica);
  } finally {
    replica.close();
  }
}

/** Forgets in the replica, and returns how many chunks it was found in. */
export function forgetShared(forgetting: Forgetting, { paths, dryRun }: ForgetIn): number {
  if (!hasReplica(paths)) return 0;
  const replica = openReplica(paths);
  try {
    return "ids" in forgetting
      ? forgetSessions(replica, forgetting.ids, dryRun)
      : forgetText(replica, forgetting, dryRun);
  } finally {
    replica.close();
  }
}

function forgetSessions(replica: Store, ids: ReadonlySet<string>, dryRun: boolean): number {
  const found = readShared(replica).filter(
    ({ id, storedId }) => ids.has(storedId) || id.split("/").some((part) => ids.has(part)),
  );
  const count = replica.db.prepare("SELECT count(*) AS n FROM session_chunks WHERE session_id = ?");
  const chunks = found.reduce((sum, { storedId }) => sum + Number(count.get(storedId)?.n), 0);
  if (dryRun || found.length === 0) return chunks;
  replica.db.exec("PRAGMA secure_delete = ON");
  replica.db.transaction(() => {
    for (const { storedId } of found) removeShared(replica, storedId);
    // the next pull compares all: it would take them for read
    replica.db.exec("DELETE FROM shared_feeds");
  });
  eraseFreed(replica);
  return chunks;
}

function forgetText(
  replica: Store,
  forgetting: Exclude<Forgetting, { ids: unknown }>,
  dryRun: boolean,
): number {
  const { chunks } = findRows(forgetting, replica).counts;
  if (dryRun) return chunks;
  const { hasText } = forgetting;
  const rows = replica.db.prepare("SELECT stored_id, meta, observations FROM shared_sessions").all();
  for (const { stored_id, meta, observations } of rows) {
    const kept = [meta, observations].map((text) =>
      text !== null && hasText(String(text)) ? null : (text ?? null),
    );
    replica.db
      .prepare("UPDATE shared_sessions SET meta = ?, observations = ? WHERE stored_id = ?")
      .run(...kept, String(stored_id));
  }
  forgetRows(forgetting, replica);
  return chunks;
}

/**
 * Notes that sessions were forgotten, each with the entry of `exclude` that keeps it out: the next `share` takes them
 * from the hub, and no copy on another machine brings them back.
 */
export function withdrawForgotten(
  paths: Pick<Paths, "state">,
  sessions: readonly { id: string; entry: string }[],
): void {
  withExistingState(paths, (state) => {
    if (readShareFact(state, "origin") === undefined) return;
    const published = [...readPublished(state).values()];
    const keys = sessions.flatMap(({ id, entry }) => [
      ...AGENTS.map((agent) => ({ agent, id, entry })),
      // a subagent is published under its parent's id
      ...published
        .filter((note) => note.id.endsWith(`/${id}`))
        .map((note) => ({ agent: note.agent, id: note.id, entry })),
    ]);
    state.db.transaction(() => noteWithdrawals(state, keys));
  });
}

/** Notes that what these entries of `exclude` kept out is wanted back. */
export function readmitForgotten(paths: Pick<Paths, "state">, entries: readonly string[]): void {
  withExistingState(paths, (state) => undoWithdrawals(state, entries));
}

/** Returns the hub of own published sessions, for a user who removes everything here; undefined where there are none. */
export function publishedAt(paths: Pick<Paths, "state">): string | undefined {
  return withExistingState(paths, (state) => {
    if (readPublished(state).size === 0) return undefined;
    return readShareFact(state, "label");
  });
}
