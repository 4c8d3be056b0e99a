/**
 * Detects damaged databases. A statement that hits the damage marks the file; the next process that opens it sets it
 * aside, since others may still have it open.
 */

import { existsSync, writeFileSync } from "node:fs";
import { describeError, SessionMemoryError } from "../base/errors.ts";

/** Node reports only these texts; "malformed JSON" is about a value, not about the file. */
const MESSAGES =
  /database disk image is malformed|file is not a database|malformed database schema|database corruption/i;

/** Returns whether an error means that the database file itself is damaged. On Node the extended code is a number. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof SessionMemoryError) return false;
  const { code = "" } = error as NodeJS.ErrnoException;
  if (/^SQLITE_(?:CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(String(code))) return true;
  return MESSAGES.test(error.message);
}

/** Marks a database as damaged and returns the error that says so. */
export function damaged(path: string, cause: unknown): SessionMemoryError {
  try {
    writeFileSync(markOf(path), "", { mode: 0o600 });
  } catch {
    // read-only folder: the next process will hit the damage itself
  }
  const reason = describeError(cause);
  return new SessionMemoryError("STORAGE_ERROR", `Cannot read "${path}": it is damaged (${reason})`, {
    cause,
    recoverable: true,
    hint: "run the same command again: the file is set aside and its readable rows are carried over",
  });
}

/** Returns whether a database is marked as damaged and not yet set aside. */
export function isMarkedDamaged(path: string): boolean {
  return existsSync(markOf(path));
}

/** Returns the path of the file that marks a database as damaged. */
export function markOf(path: string): string {
  return `${path}.damaged`;
}
