/** Finishes an index whose rows were carried over from a damaged file: their full text, and what may be missing. */

import { existsSync } from "node:fs";
import { CARRIED_FACT, isCarriedOver, type Store, writeFact } from "../store/store.ts";
import { remakeChunkText } from "./chunk-rows.ts";
import { remakeDeedText } from "./deed-rows.ts";
import { forgetProgress } from "./index-state.ts";

/**
 * Makes the full text of all rows, and lets the sessions that still have their transcript be read again: the damage may
 * have taken some of their rows. What is there already is not paid for again. Returns whether there was anything to do.
 */
export function finishCarryOver(store: Store): boolean {
  if (!isCarriedOver(store)) return false;
  return store.db.transaction(() => {
    if (!isCarriedOver(store)) return false; // another process has just done it
    completeSessions(store);
    remakeChunkText(store);
    remakeDeedText(store);
    const files = store.db.prepare("SELECT id, file FROM sessions").all();
    const present = files.filter(({ file }) => existsSync(String(file))).map(({ id }) => String(id));
    forgetProgress(store, present);
    writeFact(store, CARRIED_FACT, undefined);
    return true;
  });
}

/** Adds the missing one of the two rows that identify a session, since either may be lost. */
function completeSessions({ db }: Store): void {
  const nameless =
    "SELECT session_id, file_path FROM index_state WHERE session_id NOT IN (SELECT id FROM sessions)";
  const drop = db.prepare("DELETE FROM index_state WHERE session_id = ?");
  for (const { session_id, file_path } of db.prepare(nameless).all()) {
    if (existsSync(String(file_path))) drop.run(String(session_id)); // it is read as a new one
  }
  // Before numbers are given anew.
  db.exec(`
    DELETE FROM deeds WHERE session NOT IN (SELECT number FROM sessions);
    DELETE FROM row_keys WHERE session NOT IN (SELECT number FROM sessions);
    INSERT OR IGNORE INTO sessions (id, agent, file, updated_at, source_gone)
      SELECT session_id, 'plain', file_path, last_indexed, 1 FROM index_state;
    INSERT OR IGNORE INTO index_state (session_id, file_path, file_hash, last_indexed, status, size, modified, recipe)
      SELECT id, file, '', updated_at, 'partial', -1, '', '' FROM sessions;`);
}
