/**
 * Which session has each transcript row. Hosts write forks by copying rows, with their ids, into a new file, and a row
 * is indexed where it was seen first.
 */

import { shortHash } from "../base/text.ts";
import type { Store } from "../store/store.ts";
import type { Entry } from "../transcripts/session.ts";
import { entryKey } from "../transcripts/transcript.ts";

/** A session as the index numbers it. */
interface Claimant {
  number: number;
  id: string;
}

/** A transcript row to be taken: its key and its line. */
type RowClaim = [key: number, line: number];

/** Returns the entries whose rows no other session or line has; the others are copies. */
export type ClaimRows = (entries: readonly Entry[], session: Claimant) => Entry[];

/** Returns whether an entry is claimed by itself, as messages are; tool calls and results go with the message before. */
function isClaimed(entry: Entry, before: Entry | undefined): boolean {
  if (before === undefined) return true;
  return (
    entry.kind !== "tool" &&
    entry.kind !== "result" &&
    !(before.line === entry.line && before.id === entry.id)
  );
}

/** Prepares the statements that claim rows, once for a run. */
export function rowClaimer({ db }: Store): ClaimRows {
  const take = db.prepare(
    "INSERT INTO row_keys (key, session, line) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const holder = db.prepare("SELECT session, line FROM row_keys WHERE key = ?");
  const noteCopy = db.prepare(
    "INSERT OR IGNORE INTO copies (session_id, owner_id) SELECT ?, id FROM sessions WHERE number = ?",
  );
  function isOurs([key, line]: RowClaim, session: Claimant): boolean {
    if (take.run(key, session.number, line).changes === 1) return true;
    const row = holder.get(key);
    if (row?.session !== session.number) noteCopy.run(session.id, Number(row?.session));
    return row?.session === session.number && row.line === line;
  }
  return (entries, session) => {
    let isTaken = true;
    return entries.filter((entry, position) => {
      if (!isClaimed(entry, entries[position - 1])) return isTaken;
      const key = entryKey(entry);
      isTaken = key === undefined || isOurs([shortHash(key), entry.line], session);
      return isTaken;
    });
  };
}

/** Returns whether any session has a row; undefined when its host gives rows no id. */
export function isKnown({ db }: Store, entry: Entry): boolean | undefined {
  const key = entryKey(entry);
  if (key === undefined) return undefined;
  return db.prepare("SELECT 1 FROM row_keys WHERE key = ?").get(shortHash(key)) !== undefined;
}

/** Releases the transcript rows of sessions, so that sessions with copies of them may index them. */
export function releaseRows(store: Store, sessionIds: readonly string[]): void {
  const ids = JSON.stringify(sessionIds);
  store.db
    .prepare(
      `DELETE FROM row_keys
       WHERE session IN (SELECT number FROM sessions WHERE id IN (SELECT value FROM json_each(?)))`,
    )
    .run(ids);
  store.db.prepare("DELETE FROM copies WHERE session_id IN (SELECT value FROM json_each(?))").run(ids);
}

/** Returns the sessions whose copies of this session's rows were left out. */
export function sessionsWithCopies(store: Store, ownerId: string): string[] {
  return store.db
    .prepare("SELECT session_id FROM copies WHERE owner_id = ?")
    .all(ownerId)
    .map((row) => String(row.session_id));
}
