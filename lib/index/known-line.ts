/** A line of a transcript whose place the index knows, so that counting lines need not begin at the first. */

import { existsSync } from "node:fs";
import { openStore } from "../store/store.ts";
import type { Session } from "../transcripts/session.ts";
import { hashBefore } from "./file-hash.ts";

/** Where a line near the end begins; undefined when the index does not know, or the file has become another. */
export function knownLine(
  database: string,
  { file, size }: Session,
): { line: number; offset: number } | undefined {
  if (!existsSync(database)) return undefined;
  try {
    const store = openStore(database, { create: false });
    try {
      const row = store.db
        .prepare("SELECT cursor_offset, cursor_line, file_hash FROM index_state WHERE file_path = ?")
        .get(file);
      const offset = Number(row?.cursor_offset ?? 0);
      if (offset === 0 || offset > size || hashBefore(file, offset) !== row?.file_hash) return undefined;
      return { line: Number(row.cursor_line) + 1, offset };
    } finally {
      store.close();
    }
  } catch {
    return undefined; // counting from the start gives the same
  }
}
