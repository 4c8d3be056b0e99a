/** Reads from an index which sessions it holds, and what a reader of a transcript asks of it. */

import type { LineSpan, Session } from "../hosts/session.ts";
import type { Held } from "../sessions/resolve.ts";
import { type Store, withExistingStore } from "../store/store.ts";
import { hashBefore, statUnpacked } from "../transcripts/files.ts";
import { hostId, rewoundLines, SESSION_COLUMNS, toIndexedSession } from "./index-state.ts";

/** Returns every session in the index as references know it: by the host's id, and by the index's own. */
export function heldSessions(store: Store): (Held & { number: number; storedId: string })[] {
  return store.all(`SELECT ${SESSION_COLUMNS}, updated_at FROM sessions`).map((row) => {
    const { number, id: storedId, sourceGone: _, ...facts } = toIndexedSession(row);
    const [id, updatedAt] = [hostId(storedId), String(row.updated_at)];
    const { file, name } = facts;
    const session = { ...facts, id, updatedAt, modifiedAt: updatedAt, size: 0 };
    return {
      number,
      session,
      storedId,
      ids: [id, storedId],
      file,
      names: name === undefined ? [] : [name],
    };
  });
}

/** Returns the own sessions that only an index has, as references know them. */
export function heldAlone(store: Store): Held[] {
  return heldSessions(store).filter(
    ({ session: { owner, file } }) => owner === undefined && !statUnpacked(file),
  );
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
      const row = store.get(
        `SELECT number, cursor_offset, cursor_line, file_hash FROM index_state LEFT JOIN sessions ON id = session_id
           WHERE file_path = ?`,
        file,
      );
      const offset = Number(row?.cursor_offset ?? 0);
      if (offset === 0 || offset > size || hashBefore(file, offset) !== row?.file_hash) return undefined;
      const rewound = rewoundLines(store, Number(row.number));
      return { line: Number(row.cursor_line) + 1, offset, rewound };
    });
  } catch {
    return undefined; // counting from the start gives the same
  }
}
