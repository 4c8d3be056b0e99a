/**
 * Converts SQLite's failures to errors that callers and users understand, and marks damaged databases: the statement that hits
 * the damage marks the file, and the next process that opens it sets it aside, since others may still have it open.
 */

import { existsSync, writeFileSync } from "node:fs";
import { describeError, SessionMemoryError } from "../base/errors.ts";

/** Returns whether an error comes from SQLite itself, on either driver. */
export function isSqliteError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  return error.name === "SQLiteError" || code === "ERR_SQLITE_ERROR";
}

/** Returns whether a database operation failed: a SQLite error, or the STORAGE_ERROR made from one. */
export function isStorageError(error: unknown): boolean {
  return isSqliteError(error) || (error instanceof SessionMemoryError && error.type === "STORAGE_ERROR");
}

/** Returns whether another process is writing. */
export function isBusy(error: unknown): boolean {
  return /locked|busy/i.test(describeError(error));
}

/** Returns whether the disk refused a write: it is read-only, full or failing. */
export function isDiskError(error: unknown): boolean {
  return isSqliteError(error) && /readonly|is full|disk I\/O|unable to open/i.test(describeError(error));
}

/** Converts a SQLite failure into the error that callers and users see. */
export function storageError(action: string, path: string, cause: unknown): SessionMemoryError {
  if (cause instanceof SessionMemoryError) return cause;
  const reason = describeError(cause);
  return new SessionMemoryError("STORAGE_ERROR", `Cannot ${action} "${path}": ${reason}`, {
    cause,
    recoverable: isBusy(cause),
    hint: hintFor(reason),
  });
}

function hintFor(reason: string): string {
  if (/locked|busy/i.test(reason)) return "wait for the other run to end, then run again";
  if (/\bfull\b|ENOSPC/i.test(reason)) return "free some disk space, then run again";
  if (/file already exists/i.test(reason))
    return "move that file away, or set SESSION_MEMORY_HOME to another folder";
  if (REFUSED.test(reason)) return "check that the folder exists and may be written";
  return "this is probably a bug in session-memory: please report this message with session-memory --version";
}

/** The messages of SQLite and the system about a file that cannot be opened or written. */
const REFUSED =
  /read-?only|unable to open|disk I\/O|authorization|permission denied|no such file|not a directory|E(?:ACCES|PERM|ROFS|IO|NOENT|NOTDIR|ISDIR)\b/i;

/** Node reports only these texts; "malformed JSON" is about a value, not about the file. */
const MESSAGES =
  /database disk image is malformed|file is not a database|malformed database schema|database corruption|unsupported file format/i;

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
    writeFileSync(damageMark(path), "", { mode: 0o600 });
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
  return existsSync(damageMark(path));
}

/** Returns the path of the file that marks a database as damaged. */
export function damageMark(path: string): string {
  return `${path}.damaged`;
}
