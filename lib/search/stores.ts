/** The indexes that a search reads: the own one, and the replica of what others share. */

import type { Config } from "../config/config.ts";
import { sharedBy } from "../store/replica.ts";
import type { Store } from "../store/store.ts";
import { readExclusion } from "../transcripts/exclusion.ts";
import { readSessionRows, type SessionRow, uniquePrefix } from "./corpus.ts";

/** The own index and what others share, where that is searched too. */
export interface Stores {
  store: Store;
  shared: Store | undefined;
}

export function listOf({ store, shared }: Stores): Store[] {
  return shared ? [store, shared] : [store];
}

/** The beginning of an id that names one session of its store. */
export function shortIdIn({ store, shared }: Stores, session: { id: string; file: string }): string {
  const from = sharedBy(session);
  if (!from || !shared) return uniquePrefix(store, session.id);
  return uniquePrefix(shared, session.id, session.id.length - from.id.length);
}

/** What the index has itself counts once, and what was excluded since the last pull does not count. */
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
