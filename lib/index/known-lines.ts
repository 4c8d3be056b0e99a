/** Finds lines of a transcript by the index, so that a large file need not be read whole. */

import { existsSync } from "node:fs";
import { openStore } from "../store/store.ts";
import type { LineSpan, Session } from "../transcripts/session.ts";
import { hashBefore } from "./file-hash.ts";
import { rewoundLines } from "./rewound-rows.ts";

export interface KnownLines {
  /** A line near the end. */
  line: number;
  offset: number;
  rewound: LineSpan[];
}

/** Returns where a line near the end begins and what was taken back; undefined when the index has read another file. */
export function knownLines(database: string, { file, size }: Session): KnownLines | undefined {
  if (!existsSync(database)) return undefined;
  try {
    const store = openStore(database, { create: false });
    try {
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
    } finally {
      store.close();
    }
  } catch {
    return undefined; // counting from the start gives the same
  }
}
