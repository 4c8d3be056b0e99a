/** Removes sessions from the index for good. */

import type { Store } from "../store/store.ts";
import { removeSession } from "./chunk-rows.ts";
import { mergeDeedText } from "./deed-rows.ts";
import { forgetProgress, readIndexedSession } from "./index-state.ts";
import { sessionsWithCopies } from "./row-claims.ts";

/** Removes sessions; forks that had copied rows of theirs are read again by the next run. */
export function pruneSessions(store: Store, ids: readonly string[]): void {
  for (const id of ids) {
    store.db.transaction(() => {
      const session = readIndexedSession(store, id);
      if (!session) return;
      forgetProgress(store, sessionsWithCopies(store, id));
      removeSession(store, session);
    });
  }
  // the removed rows leave the full-text index's bytes too
  if (ids.length === 0) return;
  store.db.exec("INSERT INTO chunks_fts(chunks_fts) VALUES ('optimize')");
  mergeDeedText(store);
}
