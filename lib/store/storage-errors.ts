/** Failures of SQLite as errors that callers and users see. */

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

/** Converts a SQLite failure into the error that callers and users see. */
export function storageError(action: string, path: string, cause: unknown): SessionMemoryError {
  if (cause instanceof SessionMemoryError) return cause;
  const reason = describeError(cause);
  return new SessionMemoryError("STORAGE_ERROR", `Cannot ${action} "${path}": ${reason}`, {
    cause,
    recoverable: /locked|busy/i.test(reason),
    hint: hintFor(reason),
  });
}

function hintFor(reason: string): string {
  if (/locked|busy/i.test(reason)) return "wait for the other run to end, then run again";
  if (/full|ENOSPC/i.test(reason)) return "free some disk space, then run again";
  return "check that the folder exists and may be written";
}
