/**
 * Goes on with a transcript where it was read to: known by its place, and by a hash of what lies before that. A search
 * loads none of this.
 */

import { sha256 } from "../base/text.ts";
import { withExistingStore } from "../store/store.ts";
import { formatOf } from "../transcripts/head.ts";
import { readFully, rowsForward, withFile } from "../transcripts/jsonl.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Cursor, Entry, LineSpan, Session } from "../transcripts/session.ts";
import { type ReadProgress, readEntries } from "../transcripts/transcript.ts";
import { rewoundLines } from "./index-state.ts";

/** A page of most file systems; enough rows that another file begins or ends otherwise. */
const EDGE_BYTES = 4096;

/** Returns the sha256 of the offset, the file's first 4 KiB and the last 4 KiB before the offset. */
export function hashBefore(file: string, offset: number): string {
  const edge = Math.min(EDGE_BYTES, offset);
  return withFile(file, (descriptor) =>
    sha256()
      .update(`${offset}\n`)
      .update(readFully(descriptor, 0, edge))
      .update(readFully(descriptor, offset - edge, edge))
      .digest("hex"),
  );
}

/** A place in a transcript, just past a complete line, and the hash of what lies before it. */
interface Place extends Cursor {
  hash: string;
}

/** Rows before the place are searched this far back for those that the conversation may go on from. */
const BACK_BYTES = 32 * 1024;
/** Rows since the last prompt are many in a long turn; the conversation goes on from one of the last. */
const ENDS_MAX = 50;

export function placeAt(file: string, { offset, line }: Cursor): Place {
  return { offset, line, hash: hashBefore(file, offset) };
}

/**
 * Returns the entries after a place, tool results included, and where they end; undefined where the whole transcript must be
 * read: the file was replaced, or its conversation goes on from an earlier row.
 */
export function readAppended(
  session: Session,
  { hash, ...from }: Place,
  rules: Rules,
): { entries: Entry[]; end: Cursor } | undefined {
  const { file, size } = session;
  // An excluded prompt before the place takes its answer with it.
  if (rules.hasPatterns || size < from.offset) return undefined;
  if (hashBefore(file, from.offset) !== hash || !goesOn(session, from.offset)) return undefined;
  const progress: ReadProgress = { ...from, skipped: 0 };
  const entries = [...readEntries(file, { rules, from, results: true, progress })];
  return { entries, end: { offset: progress.offset, line: progress.line } };
}

/** Returns whether the rows after an offset go on with the last ones before it. */
function goesOn({ file, agent }: Session, offset: number): boolean {
  const format = formatOf(agent);
  const { tree } = format;
  if (!tree) return true;
  let last: string[] = [];
  const seen = new Set<string>();
  return withFile(file, (descriptor) => {
    for (const row of rowsForward(descriptor, format, Math.max(0, offset - BACK_BYTES))) {
      if (!row.terminated) return true;
      for (const record of row.records) {
        const node = tree.node(record);
        if (!node) continue;
        const { id, parentId } = node;
        const isTurn = node.isPrompt || agent === "pi";
        const follows =
          parentId === undefined || (node.isPrompt ? last.includes(parentId) : seen.has(parentId));
        if (row.offset >= offset && isTurn && !follows) return false;
        seen.add(id);
        last = isTurn ? [id] : [...last.slice(1 - ENDS_MAX), id];
      }
    }
    return true;
  });
}

export interface KnownLines {
  /** A line near the end. */
  line: number;
  offset: number;
  rewound: LineSpan[];
}

/** Returns where a line near the end begins and what was taken back; undefined when the index has read another file. */
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
