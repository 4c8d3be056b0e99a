/**
 * Decides whether the followers of a transcript are current (the index, the session's name, its observations), and
 * where those that are not continue.
 *
 * The index has its own cursor. Names and observations each leave a mark here after reading, so that the next reading
 * begins where the last one ended.
 */

import { isRecord, type JsonRecord, numberOf } from "../base/json.ts";
import type { Store } from "../store/store.ts";
import { formatOf } from "../transcripts/head.ts";
import { linesForward, parseLine, withFile } from "../transcripts/jsonl.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Cursor, Entry, Session } from "../transcripts/session.ts";
import { type ReadProgress, readEntries } from "../transcripts/transcript.ts";
import { hashBefore, isCurrent } from "./freshness.ts";
import { readIndexedSession } from "./index-state.ts";

type Follower = "names" | "observations";

/** The position up to which a follower has read a transcript. */
export interface Mark {
  /** The file's size and time at that moment. */
  size: number;
  modified: string;
  /** After the last complete line. */
  cursor: Cursor;
  /** sha256 of the first and last bytes before the cursor. */
  hash: string;
  /** Ids of the rows that the conversation may go on from. */
  ends: string[];
  /** The follower's own state beside it: numbers only, since nothing here may hold a text. */
  note: JsonRecord;
}

/** Rows appended since a mark. */
interface Appended {
  entries: Entry[];
  cursor: Cursor;
  ends: string[];
}

/** Rows since the last prompt are many in a long turn; the conversation goes on from one of the last. */
const ENDS_MAX = 50;
const TAIL_BYTES = 64 * 1024;

/** Returns which followers of a session are not current: `index`, `names`, `observations`. */
export function pending(store: Store, session: Session): Record<"index" | Follower, boolean> {
  const known = readIndexedSession(store, session.id);
  const isBehind = (follower: Follower) => {
    const mark = readMark(store, session, follower);
    return !mark || mark.size !== session.size || mark.modified !== session.modifiedAt;
  };
  return {
    index: !known || !isCurrent(known, session),
    names: isBehind("names"),
    observations: isBehind("observations"),
  };
}

/** Returns the byte from which on a session's followers will read; 0 where one of them starts over. */
export function firstPendingByte(store: Store, session: Session): number {
  const index = readIndexedSession(store, session.id)?.cursor.offset ?? 0;
  const marks = (["names", "observations"] as const).map(
    (follower) => readMark(store, session, follower)?.cursor.offset ?? 0,
  );
  return Math.min(index, ...marks);
}

/** Returns a follower's mark. */
export function readMark(store: Store, { id, file }: Session, follower: Follower): Mark | undefined {
  const row = store.db
    .prepare(
      `SELECT size, modified, cursor_offset, cursor_line, hash, ends, note FROM read_marks
       WHERE session_id = ? AND follower = ? AND file = ?`,
    )
    .get(id, follower, file);
  if (!row) return undefined;
  const note: unknown = JSON.parse(String(row.note));
  return {
    size: Number(row.size),
    modified: String(row.modified),
    cursor: { offset: Number(row.cursor_offset), line: Number(row.cursor_line) },
    hash: String(row.hash),
    ends: String(row.ends).split(" ").filter(Boolean),
    note: isRecord(note) ? note : {},
  };
}

/** Sets a follower's mark. */
export function saveMark(
  store: Store,
  { id, file, size, modifiedAt }: Session,
  { follower, cursor, ends, note }: Pick<Mark, "cursor" | "ends" | "note"> & { follower: Follower },
): void {
  store.db
    .prepare(
      `INSERT OR REPLACE INTO read_marks
         (session_id, follower, file, size, modified, cursor_offset, cursor_line, hash, ends, note)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      ...[id, follower, file, size, modifiedAt, cursor.offset, cursor.line],
      hashBefore(file, cursor.offset),
      ends.join(" "),
      JSON.stringify(note),
    );
}

/**
 * The rows appended since a mark, tool results included; undefined where the whole transcript must be read: the file
 * was replaced, or its conversation goes on from an earlier row.
 */
export function readAppended(
  { file, agent, size }: Session,
  { cursor, hash, ends }: Mark,
  rules: Rules,
): Appended | undefined {
  // An excluded prompt before the cursor takes its answer with it.
  if (rules.hasPatterns) return undefined;
  if (size < cursor.offset || hashBefore(file, cursor.offset) !== hash) return undefined;
  const branch = followBranch(file, { agent, from: cursor.offset, ends });
  if (!branch) return undefined;
  const progress: ReadProgress = { ...cursor, skipped: 0 };
  const entries = [...readEntries(file, { rules, from: cursor, results: true, progress })];
  return { entries, cursor: { offset: progress.offset, line: progress.line }, ends: branch };
}

/** Returns the rows that the conversation may go on from, as the end of its file has them. */
export function branchEnds({ file, agent, size }: Session): string[] {
  const from = Math.max(0, size - TAIL_BYTES);
  return followBranch(file, { agent, from, ends: undefined }) ?? [];
}

/** Returns the rows that the conversation may go on from after all rows from a byte on; undefined when it branched off before. */
function followBranch(
  file: string,
  { agent, from, ends }: { agent: Session["agent"]; from: number; ends: readonly string[] | undefined },
): string[] | undefined {
  const format = formatOf(agent);
  let last = [...(ends ?? [])];
  const seen = new Set(ends);
  const isLinear = withFile(file, (descriptor) => {
    for (const { bytes, terminated } of linesForward(descriptor, { from })) {
      if (!terminated) return true;
      for (const record of bytes ? parseLine(bytes).records : []) {
        const node = format.tree?.node(record);
        if (!node) continue;
        const { id, parentId, isPrompt } = node;
        const goesOn = parentId === undefined || (isPrompt ? last.includes(parentId) : seen.has(parentId));
        if (ends && !goesOn && (isPrompt || agent === "pi")) return false;
        seen.add(id);
        last = isPrompt || agent === "pi" ? [id] : [...last.slice(1 - ENDS_MAX), id];
      }
    }
    return true;
  });
  return isLinear ? last : undefined;
}

/** Returns a number of a mark's note. */
export function noted(mark: Mark | undefined, key: string): number {
  return numberOf(mark?.note[key]) ?? 0;
}
