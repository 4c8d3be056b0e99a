/** Reads what was appended to a transcript since a place in it, where that is the rest of the same conversation. */

import { formatOf } from "../transcripts/head.ts";
import { rowsForward, withFile } from "../transcripts/jsonl.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Cursor, Entry, Session } from "../transcripts/session.ts";
import { type ReadProgress, readEntries } from "../transcripts/transcript.ts";
import { hashBefore } from "./freshness.ts";

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
