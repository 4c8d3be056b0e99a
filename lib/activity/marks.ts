/**
 * Writes marks after a look: how far the others were seen, and where the viewer itself is. Two hooks at once keep what the
 * other has written.
 *
 * A mark points just past a complete line and fingerprints the bytes before it, which distinguishes a file that was
 * truncated, replaced or rotated from one that grew.
 */

import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { namesIn, readIfExists, remove, replaceFile } from "../base/files.ts";
import { recordOf } from "../base/json.ts";
import { waitForLock } from "../base/locks.ts";
import { shortHash } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { PartlyKnown, Session } from "../hosts/session.ts";
import type { ForgetIn, Forgetting, Found } from "../store/state.ts";
import { NEWLINE, readAt, readFully, statUnpacked, withFile } from "../transcripts/files.ts";
import {
  type Glance,
  hasViewerMoved,
  type Mark,
  type Marks,
  type MarksFile,
  markKey,
  ownMarksFile,
  parseMark,
  readMarksFile,
  readOwnMarks,
  type Sighting,
} from "./look.ts";

/** A mark to write, and its transcript; of a copy none is asked for. */
export interface Advance {
  session: Pick<Session, "id"> & PartlyKnown<"file">;
  mark: Mark;
}

/** Bytes of a file's beginning, and before an offset, that go into a fingerprint. */
const HEAD_BYTES = 1024;
const TAIL_BYTES = 2048; // a row or two, enough to tell two files apart
/** The last newline is looked for in these: a last line that is still being written may be of any length. */
const BLOCK_BYTES = 16 * 1024; // holds most rows
const STALE_MS = 30 * DAY_MS; // untouched for 30 days: its session is over
const LOCK_WAIT_MS = 500; // a prompt is waiting

/** Returns whether the bytes before a mark are unchanged. */
export function isMarkValid(file: string, { offset, fingerprint }: Mark): boolean {
  const hash = fingerprint.split("@")[0];
  return withFile(file, (descriptor, size) => {
    // A mark written by hand may have no fingerprint.
    return size >= offset && (!hash || hash === hashBytes(descriptor, offset));
  });
}

/** Returns the mark at an offset of a file as it is now. */
export function markAt(file: string, offset: number): Mark {
  const mtimeMs = statUnpacked(file)?.mtimeMs ?? 0;
  const hash = withFile(file, (descriptor) => hashBytes(descriptor, offset));
  return { offset, fingerprint: `${hash}@${Math.trunc(mtimeMs)}` };
}

/**
 * Returns the mark to write of a file that was looked at and holds nothing to tell: it is looked at again when it has
 * changed. Rows seen before stay seen.
 */
export function passing(
  { found, stat }: Pick<Sighting, "found" | "stat">,
  marks: Marks | undefined,
): Advance {
  const id = markKey(found);
  const { offset = 0, fingerprint = "" } = marks?.get(id) ?? {};
  const seen = `${fingerprint.split("@")[0]}@${Math.trunc(stat.mtimeMs)}`;
  return {
    session: { id, file: found.file },
    mark: { offset, fingerprint: seen, passed: stat.size },
  };
}

/** Says that a mark counts the bytes of a copy, which no file is asked for. */
const COUNTED = "copy";

/** Returns what to write of a session that is not a file here, seen up to a count. */
export function passingCounted(id: string, count: number): Advance {
  return { session: { id }, mark: { offset: count, fingerprint: COUNTED } };
}

/** Returns the count up to which such a session was seen; 0 where it was not looked at as one. */
export function countSeenOf(id: string, marks: Marks | undefined): number {
  const mark = marks?.get(id);
  return mark?.fingerprint === COUNTED ? mark.offset : 0;
}

/** Returns whether a mark says what was seen of a session, not only that it was looked at. */
export function hasSeenRows({ offset, passed }: Mark): boolean {
  return offset > 0 || passed === undefined;
}

/** Returns the mark just past a file's last complete line. */
export function markAtEnd(file: string): Mark {
  const end = withFile(file, (descriptor, size) => {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    for (let limit = size; limit > 0; limit -= BLOCK_BYTES) {
      const position = Math.max(0, limit - BLOCK_BYTES);
      const read = readAt(descriptor, block, { at: 0, length: limit - position, position });
      const newline = block.subarray(0, read).lastIndexOf(NEWLINE);
      if (newline !== -1) return position + newline + 1;
    }
    return 0;
  });
  return markAt(file, end);
}

/** Nobody gains by forging it, and node:crypto is slow to load. */
function hashBytes(descriptor: number, offset: number): string {
  const head = readFully(descriptor, 0, Math.min(HEAD_BYTES, offset));
  const tail = Math.min(TAIL_BYTES, offset);
  const end = readFully(descriptor, offset - tail, tail);
  return shortHash(`${offset} ${head.toString("latin1")}${end.toString("latin1")}`).toString(16);
}

/**
 * Writes marks, keeping those another process wrote meanwhile: of two valid ones the farther wins.
 *
 * @returns false when the file stayed locked; the same news is then reported once more.
 */
function setMarks(marksFile: MarksFile, advances: readonly Advance[], seen: Marks | undefined): boolean {
  if (advances.length === 0 && seen) return true;
  const { path, viewerId } = marksFile;
  const release = waitForLock(`${path}.lock`, LOCK_WAIT_MS);
  if (!release) return false;
  try {
    const all = readMarksFile(path);
    const marks = { ...recordOf(all[viewerId]) };
    const own = readOwnMarks(path);
    for (const advance of advances) {
      const { id } = advance.session;
      const place = id === viewerId ? own : marks;
      place[id] = merge(advance, parseMark(place[id]), seen);
    }
    // Derived data, written at every prompt: not worth waiting for the disk.
    const write = (file: string, value: object) =>
      replaceFile(file, JSON.stringify(value), { durable: false });
    if (advances.some(({ session }) => session.id === viewerId)) write(ownMarksFile(path), own);
    if (!seen || advances.some(({ session }) => session.id !== viewerId))
      write(path, { ...all, [viewerId]: marks });
  } finally {
    release();
  }
  if (!seen) removeStale(dirname(path));
  return true;
}

function merge(
  { session: { id, file }, mark }: Advance,
  stored: Mark | undefined,
  seen: Marks | undefined,
): Mark {
  const was = seen?.get(id);
  const isOurs = !stored || (stored.offset === was?.offset && stored.fingerprint === was.fingerprint);
  const since = stored?.since ?? mark.since;
  const winner = isOurs || isFarther(file, mark, stored) ? mark : stored;
  return since === undefined ? winner : { ...winner, since };
}

function isFarther(file: string | undefined, mark: Mark, stored: Mark): boolean {
  if (file === undefined) return false;
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

/**
 * Saves the marks of a look.
 *
 * @returns false when the file stayed locked; the same news is then reported once more.
 */
export function saveMarks(look: Glance, seen: readonly Advance[] = [], own = ownAdvance(look)): boolean {
  return setMarks(look.marksFile, [...seen, ...own], look.marks);
}

/** Returns the viewer's new mark of itself if its transcript moved: edits after it count as made since it looked. */
function ownAdvance(look: Glance): Advance[] {
  if (!hasViewerMoved(look)) return [];
  const { id, file } = look.viewer;
  const since = look.marks?.get(id)?.since ?? new Date(look.now).toISOString();
  // The transcript does not exist yet at the first prompt.
  const mark =
    file !== undefined && statUnpacked(file)?.isFile() ? markAtEnd(file) : { offset: 0, fingerprint: "" };
  return [{ session: { id, file }, mark: { ...mark, since } }];
}

/** The most bytes in which rows are looked for while a prompt waits. */
const ROWS_BYTES = 16 * 1024 * 1024;

/** Returns whether a viewer's transcript has gained such rows since the viewer last looked. */
export function hasGained({ viewer: { id, file }, marks }: Glance, rows: RegExp): boolean {
  const seen = marks?.get(id)?.offset;
  if (file === undefined || seen === undefined) return false;
  return withFile(file, (descriptor, size) => {
    const from = Math.max(seen, size - ROWS_BYTES);
    return rows.test(readFully(descriptor, from, Math.max(0, size - from)).toString("latin1"));
  });
}

/** Removes the files with a mark of or about a forgotten session, and counts them: who looks next looks for the first time. */
export function forgetMarks(forgetting: Forgetting, { paths, dryRun }: ForgetIn): Partial<Found> {
  if (!("ids" in forgetting)) return {};
  const keys = [...forgetting.ids].map((id) => JSON.stringify(id));
  const files = namesIn(paths.cursors).map((name) => join(paths.cursors, name));
  const holding = files.filter((file) => {
    const text = readIfExists(file) ?? "";
    return keys.some((key) => text.includes(key));
  });
  if (!dryRun) for (const file of holding) remove(file);
  return { cursors: holding.length };
}
