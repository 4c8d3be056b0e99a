/**
 * A transcript's entries as indexing takes them: with what must be known of the lines between them, and each row once.
 * Hosts write forks by copying rows, with their ids, into a new file, and a row is indexed where it was seen first.
 */

import { shortHash } from "../base/hash.ts";
import type { Store } from "../store/store.ts";
import type { Head } from "../transcripts/format.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Agent, Cursor, Entry } from "../transcripts/session.ts";
import {
  type BranchWatch,
  branchWatch,
  entryKey,
  type ReadProgress,
  readEntries,
} from "../transcripts/transcript.ts";

/** Filled in while entries are read. */
export interface Watch {
  progress: ReadProgress;
  /** Skipped lines before each user message that was read and not yet taken. */
  skippedBefore: Map<Entry, number>;
  compactedLine: number | undefined;
  messages: number;
  /** True if some text was not UTF-8. */
  isTorn: boolean;
  /** True if reading ended before the file did. */
  isCut: boolean;
  branches: BranchWatch;
}

export function newWatch(agent: Agent): Watch {
  return {
    progress: { offset: 0, line: 0, skipped: 0 },
    skippedBefore: new Map(),
    compactedLine: undefined,
    messages: 0,
    isTorn: false,
    isCut: false,
    branches: branchWatch(agent),
  };
}

interface WatchOptions {
  rules: Rules;
  head: Head | undefined;
  from?: Cursor | undefined;
  watch: Watch;
  /** Returns whether to stop. */
  isOver?: (() => boolean) | undefined;
}

/** Yields the entries after the cursor. */
export function* watchedEntries(
  file: string,
  { rules, head, from, watch, isOver }: WatchOptions,
): Generator<Entry> {
  if (!head) return;
  const { progress, branches } = watch;
  for (const entry of readEntries(file, {
    rules,
    from,
    head,
    progress,
    results: "ends",
    onNode: branches.see,
  })) {
    if (isOver?.()) {
      watch.isCut = true;
      return;
    }
    if (entry.kind === "user") watch.skippedBefore.set(entry, watch.progress.skipped);
    if (entry.kind === "summary") watch.compactedLine = entry.line;
    if (entry.kind === "user" || entry.kind === "assistant") {
      watch.messages++;
      if (entry.text.includes("\ufffd")) watch.isTorn = true;
    }
    yield entry;
  }
}

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
