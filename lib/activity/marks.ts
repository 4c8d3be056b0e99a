/**
 * How far a session has seen the others: one small file of marks per looking session.
 *
 * Reading and comparing only, for the prompt hook's silent path; lib/activity/cursors.ts sets marks.
 */

import { join } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { readIfExists, readJson } from "../base/files.ts";
import { isRecord } from "../base/json.ts";

/** A place in another session's transcript up to which it was told. */
export interface Mark {
  /** First byte that was not told; a line begins there. */
  offset: number;
  /** Hash of bytes before the offset, and the file's modification time when it was taken. */
  fingerprint: string;
  /** On a session's mark of itself: when it looked at the others for the first time. */
  since?: string | undefined;
}

const FILE_NAME_MAX = 200;
/** What the file of a session's mark of itself ends in. */
export const OWN_MARKS = ".own";

/** Marks by the id of the session they are about. */
export type Marks = ReadonlyMap<string, Mark>;

/** Which session's marks, and the file they are in. */
export interface CursorFile {
  path: string;
  looker: string;
}

/** The cursor file of a session. Its id never leads out of the folder. */
export function cursorFileOf(folder: string, looker: string): CursorFile {
  const name = encodeURIComponent(looker.toWellFormed()).slice(0, FILE_NAME_MAX);
  return { path: join(folder, `${name}.json`), looker };
}

/**
 * The marks of a session; undefined when it never looked.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when the file is damaged.
 */
export function readMarks({ path, looker }: CursorFile): Marks | undefined {
  const own = readCursorFile(path)[looker];
  if (own === undefined) return undefined;
  const marks = new Map<string, Mark>();
  const self = markOf(readOwnMarks(path)[looker]);
  if (self) marks.set(looker, self);
  for (const [id, value] of Object.entries(isRecord(own) ? own : broken(path, "an entry is no object"))) {
    marks.set(id, markOf(value) ?? broken(path, `the mark of "${id}" has no offset`));
  }
  return marks;
}

/** The sessions' marks of themselves, which lie beside the cursor file; none where that file is missing or damaged. */
export function readOwnMarks(path: string): Record<string, unknown> {
  const own = readJson(ownMarksFile(path));
  return isRecord(own) ? own : {};
}

/** The file of the marks that sessions have of themselves. */
export function ownMarksFile(path: string): string {
  return `${path}${OWN_MARKS}`;
}

/** Whether a file of this size and time may hold something after the mark. Opens nothing. */
export function hasMoved(
  { offset, fingerprint }: Mark,
  { size, modifiedAt }: { size: number; modifiedAt: number },
): boolean {
  return size !== offset || !fingerprint.endsWith(`@${Math.trunc(modifiedAt)}`);
}

/** The marks of all looking sessions in a file, unread. */
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

/** A mark as it stands in a file; undefined when it is none. */
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
    hint: "delete that file; what is newer than an hour is then told again",
  });
}
