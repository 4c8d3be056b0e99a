/**
 * Damaged databases: noticed wherever a statement meets the damage, and set aside by the next one who opens the file.
 * In between the file is marked, since other processes may still be at it.
 */

import { existsSync, writeFileSync } from "node:fs";
import { describeError, SessionMemoryError } from "../base/errors.ts";

/** Whether SQLite says that the file itself is damaged; on Node the extended code is a number. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof SessionMemoryError) return false;
  const { code = "" } = error as NodeJS.ErrnoException;
  if (/^SQLITE_(?:CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(String(code))) return true;
  return /malformed|not a database|corrupt/i.test(error.message);
}

/** Marks a database as damaged and returns the error that says so. */
export function damaged(path: string, cause: unknown): SessionMemoryError {
  try {
    writeFileSync(markOf(path), "", { mode: 0o600 });
  } catch {
    // a read-only folder: the next one meets the damage itself
  }
  const reason = describeError(cause);
  return new SessionMemoryError("STORAGE_ERROR", `Cannot read "${path}": it is damaged (${reason})`, {
    cause,
    recoverable: true,
    hint: "run the same command again: the file is set aside, and what can be read of it is carried over",
  });
}

/** Whether a database was found to be damaged and is not set aside yet. */
export function isMarkedDamaged(path: string): boolean {
  return existsSync(markOf(path));
}

/** The file that marks a database as damaged. */
export function markOf(path: string): string {
  return `${path}.damaged`;
}
