/**
 * Writes marks after a look: how far the others were seen, and where the viewer itself is. Two hooks at once keep what the
 * other has written.
 *
 * A mark points just past a complete line and fingerprints the bytes before it, which distinguishes a file that was
 * truncated, replaced or rotated from one that grew.
 */

import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  utimesSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { namesIn, readIfExists, readJson, remove, replaceFile } from "../base/files.ts";
import { isRecord, type JsonRecord, recordOf } from "../base/json.ts";
import { WRITER_WAIT_MS, waitForLock, withLock } from "../base/locks.ts";
import type { ForgetIn, Forgetting } from "../store/state.ts";
import {
  type CursorFile,
  isDue,
  type Look,
  type Mark,
  type Marks,
  OWN_MARKS,
  ownMarksFile,
  parseMark,
  readCursorFile,
  readOwnMarks,
} from "./look.ts";

/** A mark to write, and its transcript. */
export interface Advance {
  id: string;
  file: string;
  mark: Mark;
}

/** Bytes of a file's beginning, and before an offset, that go into a fingerprint: whole 32-bit words. */
const HEAD_BYTES = 1024;
const TAIL_BYTES = 2048; // a row or two, enough to tell two files apart
/** The last newline is searched for in blocks of this size. */
const PIECE_BYTES = 16 * 1024;
const STALE_MS = 30 * 86_400_000; // untouched for 30 days: its session is over
const LOCK_WAIT_MS = 500; // a prompt is waiting

/** Returns whether the bytes before a mark are unchanged. */
export function isMarkValid(file: string, { offset, fingerprint }: Mark): boolean {
  return withOpen(file, (descriptor) => {
    if (fstatSync(descriptor).size < offset) return false;
    const hash = fingerprint.split("@")[0];
    // A mark written by hand or by an older version may have no fingerprint.
    return !hash || hash === sampleHash(descriptor, offset);
  });
}

/** Returns the mark at an offset of a file as it is now. */
export function markAt(file: string, offset: number): Mark {
  return withOpen(file, (descriptor) => {
    const { mtimeMs } = fstatSync(descriptor);
    return { offset, fingerprint: `${sampleHash(descriptor, offset)}@${Math.trunc(mtimeMs)}` };
  });
}

/** Returns the mark just past a file's last complete line. */
export function markAtEnd(file: string): Mark {
  const end = withOpen(file, (descriptor) => {
    const piece = Buffer.alloc(PIECE_BYTES);
    for (let limit = fstatSync(descriptor).size; limit > 0; limit -= PIECE_BYTES) {
      const start = Math.max(0, limit - PIECE_BYTES);
      readInto(descriptor, piece.subarray(0, limit - start), start);
      const newline = piece.lastIndexOf(10, limit - start - 1);
      if (newline !== -1) return start + newline + 1;
    }
    return 0;
  });
  return markAt(file, end);
}

/**
 * Writes marks, keeping those another process wrote meanwhile: of two valid ones the farther wins.
 *
 * @returns false when the file stayed locked; the same news is then reported once more.
 */
export function setMarks(
  cursors: CursorFile,
  advances: readonly Advance[],
  seen: Marks | undefined,
): boolean {
  if (advances.length === 0 && seen) return true;
  if (seen && isOwnAlone(cursors, advances)) {
    for (const advance of advances) setOwnMark(cursors, advance, seen);
    return true;
  }
  const release = waitForLock(`${cursors.path}.lock`, LOCK_WAIT_MS);
  if (!release) return false;
  try {
    const all = readAllOrNothing(cursors.path);
    const stored = all[cursors.viewer];
    const marks: Record<string, unknown> = isRecord(stored) ? { ...stored } : {};
    for (const advance of advances) {
      if (advance.id === cursors.viewer) setOwnMark(cursors, advance, seen);
      else marks[advance.id] = merge(advance, parseMark(marks[advance.id]), seen);
    }
    // Derived data, written at every prompt: not worth waiting for the disk.
    replaceFile(cursors.path, JSON.stringify({ ...all, [cursors.viewer]: marks }), { durable: false });
  } finally {
    release();
  }
  if (!seen) removeStale(dirname(cursors.path));
  return true;
}

/**
 * Returns whether only the viewer's mark of itself changes, in a file that holds no other: the usual case of a silent prompt.
 * Replacing that file needs no lock.
 */
function isOwnAlone({ path, viewer }: CursorFile, advances: readonly Advance[]): boolean {
  return [...advances.map(({ id }) => id), ...Object.keys(readOwnMarks(path))].every((id) => id === viewer);
}

function setOwnMark({ path, viewer }: CursorFile, advance: Advance, seen: Marks | undefined): void {
  const own = readOwnMarks(path);
  const next = { ...own, [viewer]: merge(advance, parseMark(own[viewer]), seen) };
  replaceFile(ownMarksFile(path), JSON.stringify(next), { durable: false });
}

function merge({ id, file, mark }: Advance, stored: Mark | undefined, seen: Marks | undefined): Mark {
  const was = seen?.get(id);
  const isOurs = !stored || (stored.offset === was?.offset && stored.fingerprint === was.fingerprint);
  const since = stored?.since ?? mark.since;
  const winner = isOurs || isFarther(file, mark, stored) ? mark : stored;
  return since === undefined ? winner : { ...winner, since };
}

function isFarther(file: string, mark: Mark, stored: Mark): boolean {
  try {
    if (!isMarkValid(file, stored)) return true;
    return mark.offset > stored.offset && isMarkValid(file, mark);
  } catch {
    return false; // the transcript is gone
  }
}

function removeStale(folder: string): void {
  const limit = Date.now() - STALE_MS;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() && stat.mtimeMs < limit) remove(path);
  }
}

function readAllOrNothing(path: string): Record<string, unknown> {
  try {
    return readCursorFile(path);
  } catch (error) {
    if (error instanceof SessionMemoryError) return {}; // damaged since it was read
    throw error;
  }
}

/** FNV-1a over words in two lanes: nobody gains by forging it, and node:crypto is slow to load. */
function sampleHash(descriptor: number, offset: number): string {
  const head = Math.min(HEAD_BYTES, offset);
  const tail = Math.min(TAIL_BYTES, offset);
  const sample = new Uint8Array(HEAD_BYTES + TAIL_BYTES);
  readInto(descriptor, sample.subarray(0, head), 0);
  readInto(descriptor, sample.subarray(HEAD_BYTES, HEAD_BYTES + tail), offset - tail);
  const words = new Uint32Array(sample.buffer);
  let low = 0x811c9dc5 ^ offset;
  let high = 0xc9dc5118;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? 0;
    low = Math.imul(low ^ word, 0x01000193);
    high = Math.imul(high ^ word ^ (low >>> 15), 0x85ebca6b);
  }
  return (low >>> 0).toString(16).padStart(8, "0") + (high >>> 0).toString(16).padStart(8, "0");
}

function readInto(descriptor: number, buffer: Uint8Array, from: number): void {
  for (let filled = 0; filled < buffer.length; ) {
    const read = readSync(descriptor, buffer, filled, buffer.length - filled, from + filled);
    if (read === 0) break; // the file shrank meanwhile
    filled += read;
  }
}

function withOpen<T>(file: string, use: (descriptor: number) => T): T {
  const descriptor = openSync(file, "r");
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

type Looked = Pick<Look, "viewer" | "now" | "cursors" | "marks">;

/**
 * Saves the cursors of a look.
 *
 * @returns false when the cursor file stayed locked; the same news is then reported once more.
 */
export function saveCursors(look: Looked, seen: readonly Advance[] = []): boolean {
  return setMarks(look.cursors, [...seen, ...ownAdvance(look)], look.marks);
}

/** Returns the viewer's new mark of itself if its transcript moved: edits after it count as made since it looked. */
function ownAdvance(look: Looked): Advance[] {
  if (!isDue(look)) return [];
  const { id, file = "" } = look.viewer;
  const since = look.marks?.get(id)?.since ?? new Date(look.now).toISOString();
  // The transcript does not exist yet at the first prompt.
  const mark = existsSync(file) ? markAtEnd(file) : { offset: 0, fingerprint: "" };
  return [{ id, file, mark: { ...mark, since } }];
}

/** Removes a forgotten session's own file, and the marks about it in the others'. Returns how many marks. */
export async function forgetMarks(forgetting: Forgetting, { paths, dryRun }: ForgetIn): Promise<number> {
  if (!("ids" in forgetting)) return 0;
  const { ids } = forgetting;
  let count = 0;
  for (const name of namesIn(paths.cursors).filter((each) => /\.json(\.own|\.broken)?$/.test(each))) {
    const file = join(paths.cursors, name);
    const { kept, removed } = withoutMarks(file, ids);
    count += removed;
    if (dryRun || removed === 0) continue;
    await withLock(`${file}.lock`, WRITER_WAIT_MS, () =>
      rewriteMarks(file, withoutMarks(file, ids).kept ?? kept),
    );
  }
  return count;
}

function withoutMarks(
  file: string,
  ids: ReadonlySet<string>,
): { kept: JsonRecord | undefined; removed: number } {
  const value = readJson(file);
  if (!isRecord(value)) {
    const text = readIfExists(file) ?? "";
    return { kept: undefined, removed: [...ids].some((id) => text.includes(JSON.stringify(id))) ? 1 : 0 };
  }
  let removed = 0;
  const kept: JsonRecord = {};
  for (const [viewer, marks] of Object.entries(value)) {
    const about = Object.entries(recordOf(marks));
    const others = about.filter(([id]) => !ids.has(id));
    // What a session has of itself is one mark, not several.
    if (ids.has(viewer)) removed += file.endsWith(OWN_MARKS) ? 1 : about.length;
    else {
      removed += about.length - others.length;
      kept[viewer] = Object.fromEntries(others);
    }
  }
  return { kept, removed };
}

/** Keeps the file's time, which is that of its session's last look. */
function rewriteMarks(file: string, kept: JsonRecord | undefined): void {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return;
  if (!kept || Object.keys(kept).length === 0) {
    remove(file);
    return;
  }
  replaceFile(file, JSON.stringify(kept), { durable: false });
  utimesSync(file, stat.atime, stat.mtime);
}
