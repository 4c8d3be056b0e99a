/** The indexes that a search reads: the user's own, and the replica of what others share. */

import type { Config } from "../config/config.ts";
import type { SessionRow } from "../index/index-state.ts";
import { sharedBy } from "../store/replica.ts";
import type { Store } from "../store/store.ts";
import { readExclusion } from "../transcripts/rules.ts";
import { readSessionRows, uniquePrefix } from "./corpus.ts";

/** The user's own index and the replica of what others share, where that is searched too. */
export interface Stores {
  store: Store;
  shared: Store | undefined;
}

export function listOf({ store, shared }: Stores): Store[] {
  return shared ? [store, shared] : [store];
}

/** Returns the shortest start of an id that is unique in its store. */
export function shortIdIn({ store, shared }: Stores, session: { id: string; file: string }): string {
  const from = sharedBy(session);
  if (!from || !shared) return uniquePrefix(store, session.id);
  return uniquePrefix(shared, session.id, session.id.length - from.id.length);
}

/** Returns a test for shared sessions to hide: those in the index itself, or excluded since the last pull. */
export function hiddenShared(
  store: Store,
  { settings }: Pick<Config, "settings">,
): (session: Pick<SessionRow, "id" | "file" | "name" | "project">) => boolean {
  const { hasSession } = readExclusion(settings.exclude);
  return (session) => {
    const from = sharedBy(session);
    if (!from) return false;
    const { id, name, project } = session;
    if (hasSession({ id: from.id, name, project }) || hasSession({ id })) return true;
    return readSessionRows(store, [from.id]).size > 0;
  };
}
