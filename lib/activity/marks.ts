/**
 * Reads and compares marks, which say how far a session has seen the others: one small file per viewer.
 *
 * Runs on the prompt hook's silent path; lib/activity/cursors.ts writes marks.
 */

import { join } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { readIfExists, readJson } from "../base/files.ts";
import { isRecord } from "../base/json.ts";

/** The place in a transcript up to which a viewer has seen it. */
export interface Mark {
  /** The first unseen byte, where a line begins. */
  offset: number;
  /** A hash of bytes before the offset, and the file's modification time at that moment. */
  fingerprint: string;
  /** On a viewer's mark of itself: the time of its first look. */
  since?: string | undefined;
}

const FILE_NAME_MAX = 200;
/** The suffix of the file with a viewer's mark of itself. */
export const OWN_MARKS = ".own";

/** Marks by session id. */
export type Marks = ReadonlyMap<string, Mark>;

/** A viewer, and the file with its marks. */
export interface CursorFile {
  path: string;
  viewer: string;
}

/** Returns a viewer's cursor file. No id leads out of the folder. */
export function cursorFileOf(folder: string, viewer: string): CursorFile {
  const name = encodeURIComponent(viewer.toWellFormed()).slice(0, FILE_NAME_MAX);
  return { path: join(folder, `${name}.json`), viewer };
}

/**
 * Reads a viewer's marks; undefined before its first look.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when the file is damaged.
 */
export function readMarks({ path, viewer }: CursorFile): Marks | undefined {
  const own = readCursorFile(path)[viewer];
  if (own === undefined) return undefined;
  const marks = new Map<string, Mark>();
  const self = markOf(readOwnMarks(path)[viewer]);
  if (self) marks.set(viewer, self);
  for (const [id, value] of Object.entries(isRecord(own) ? own : broken(path, "an entry is no object"))) {
    marks.set(id, markOf(value) ?? broken(path, `the mark of "${id}" has no offset`));
  }
  return marks;
}

/** Reads the viewers' marks of themselves from beside the cursor file; none when that file is missing or damaged. */
export function readOwnMarks(path: string): Record<string, unknown> {
  const own = readJson(ownMarksFile(path));
  return isRecord(own) ? own : {};
}

/** Returns the file with the viewers' marks of themselves. */
export function ownMarksFile(path: string): string {
  return `${path}${OWN_MARKS}`;
}

/** Whether a file of this size and time may have rows behind the mark. Opens nothing. */
export function hasMoved(
  { offset, fingerprint }: Mark,
  { size, modifiedAt }: { size: number; modifiedAt: number },
): boolean {
  return size !== offset || !fingerprint.endsWith(`@${Math.trunc(modifiedAt)}`);
}

/** Reads the unparsed marks of all viewers in a file. */
export function readCursorFile(path: string): Record<string, unknown> {
  const text = readIfExists(path);
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return broken(path, describeError(error));
  }
  return isRecord(value) ? value : broken(path, "it is no object");
}

/** Parses a mark; undefined when it is not one. */
export function markOf(value: unknown): Mark | undefined {
  if (!isRecord(value)) return undefined;
  const { offset, fingerprint = "", since } = value;
  if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0) return undefined;
  if (typeof fingerprint !== "string") return undefined;
  return { offset, fingerprint, ...(typeof since === "string" ? { since } : {}) };
}

function broken(path: string, reason: string): never {
  throw new SessionMemoryError("STORAGE_ERROR", `Cannot read cursors "${path}": ${reason}`, {
    details: { cursorFile: path },
    recoverable: true,
    hint: "delete that file; activity of the last hour is then reported again",
  });
}
