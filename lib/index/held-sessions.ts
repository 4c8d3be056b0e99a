/**
 * Reads sessions from the index, for transcripts that the host has deleted: every message, and what the index keeps of each
 * tool call.
 */

import { statUnpacked } from "../base/files.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Held } from "../sessions/resolve.ts";
import { type Store, withExistingStore } from "../store/store.ts";
import { rowTexts } from "../transcripts/calls.ts";
import { hashBefore } from "../transcripts/jsonl.ts";
import { readRules } from "../transcripts/rules.ts";
import type { LineSpan, Row, Session } from "../transcripts/session.ts";
import { hostId, rewoundLines, SESSION_COLUMNS, type SessionRow, toSessionRow } from "./index-state.ts";
import { readRows } from "./stored-rows.ts";

/** A session in the index, by the host's id. */
export interface HeldSession extends SessionRow {
  updatedAt: string;
  /** The index's id for it, where two files share one. */
  storedId: string;
}

/** Returns every session in the index. */
export function heldSessions(store: Store): HeldSession[] {
  return store.db
    .prepare(`SELECT ${SESSION_COLUMNS}, updated_at FROM sessions`)
    .all()
    .map((row) => ({
      ...toSessionRow(row),
      id: hostId(String(row.id)),
      updatedAt: String(row.updated_at),
      storedId: String(row.id),
    }));
}

/** Returns the rows of a session, in their order. */
export function storedRows(store: Store, sessionId: string): Row[] {
  const number = store.db.prepare("SELECT number FROM sessions WHERE id = ?").get(sessionId)?.number;
  return number === undefined ? [] : readRows(store, Number(number));
}

/** Reads a session's indexed rows in the order of their lines; undefined when the index has none. */
export function readIndexedRows(id: string, paths: PathsWithRules): Row[] | undefined {
  const rows = withExistingStore(paths.database, (store) =>
    heldSessions(store)
      .filter((held) => held.id === id)
      .flatMap(({ storedId }) => storedRows(store, storedId)),
  );
  if (!rows || rows.length === 0) return undefined;
  const { hasText } = readRules(paths.rules);
  return rows.filter((row) => !rowTexts(row).some(hasText));
}

/** Returns the sessions of an index as references know them; only those without a transcript, where these alone are wanted. */
export function heldIn(store: Store, { gone }: { gone: boolean }): Held[] {
  const all = heldSessions(store);
  return (gone ? all.filter(({ file }) => !statUnpacked(file)) : all).map(asHeld);
}

/** Returns a session of an index as references know it. */
export function asHeld({ id, storedId, agent, file, name, cwd, parentId, updatedAt }: HeldSession): Held {
  const session = { id, agent, file, name, cwd, parentId, updatedAt, modifiedAt: updatedAt, size: 0 };
  return { session, storedId, ids: [id, storedId], file, names: name === undefined ? [] : [name] };
}

export interface KnownLines {
  /** A line near the end. */
  line: number;
  offset: number;
  rewound: LineSpan[];
}

/** Returns where a line near the end begins and which lines were rewound; undefined if the file is not the indexed one. */
export function knownLines(database: string, { file, size }: Session): KnownLines | undefined {
  try {
    return withExistingStore(database, (store) => {
      const row = store.db
        .prepare(
          `SELECT number, cursor_offset, cursor_line, file_hash FROM index_state LEFT JOIN sessions ON id = session_id
           WHERE file_path = ?`,
        )
        .get(file);
      const offset = Number(row?.cursor_offset ?? 0);
      if (offset === 0 || offset > size || hashBefore(file, offset) !== row?.file_hash) return undefined;
      const rewound = rewoundLines(store, Number(row.number));
      return { line: Number(row.cursor_line) + 1, offset, rewound };
    });
  } catch {
    return undefined; // counting from the start gives the same
  }
}
