/** Refusals of the file system as failures with a reason and a remedy. */

import { resolve } from "node:path";
import { SessionMemoryError } from "./errors.ts";

/** Refusals of the file system by error code: the reason, and what can be done. */
const REFUSALS: Record<string, [reason: string, hint: string]> = {
  EACCES: ["permission denied", "see who owns it and who may use it"],
  EPERM: ["not permitted", "see who owns it and who may use it"],
  EROFS: ["the file system is read-only", "set SESSION_MEMORY_HOME to a folder that can be written to"],
  ENOSPC: ["no space left on the device", "free some space and try again"],
  EDQUOT: ["the disk quota is used up", "free some space and try again"],
  ENOTDIR: ["a part of the path is no folder", "correct the path"],
  EISDIR: ["it is a folder", "name a file"],
  ENOENT: ["no such file or folder", "correct the path"],
  ELOOP: ["its symlinks go round in a circle", "correct the path"],
  ENAMETOOLONG: ["the name is too long", "correct the path"],
  EMFILE: ["too many open files", "raise the limit (ulimit -n)"],
};

/**
 * Returns the failure behind an error of the file system, which is no bug, or of a clone without its packages;
 * undefined for any other error.
 */
export function refusalOf(error: unknown): SessionMemoryError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = "", syscall, path } = error as NodeJS.ErrnoException;
  if (code === "ERR_MODULE_NOT_FOUND") {
    const missing = /package '([^']+)'/.exec(error.message)?.[1];
    if (missing === undefined) return undefined;
    return new SessionMemoryError("NOT_FOUND", `Cannot load "${missing}": the packages are not installed`, {
      hint: `run bun install in ${resolve(import.meta.dirname, "..", "..")}`,
      cause: error,
    });
  }
  if (syscall === undefined) return undefined;
  if (syscall === "uv_cwd") {
    return new SessionMemoryError("NOT_FOUND", "Cannot work here: the current folder has been removed", {
      hint: "change to a folder that is there",
      cause: error,
    });
  }
  const refusal = REFUSALS[code];
  if (!refusal) return undefined;
  const [reason, hint] = refusal;
  const what = path === undefined ? syscall : `${syscall} "${path}"`;
  return new SessionMemoryError("STORAGE_ERROR", `Cannot ${what}: ${reason}`, { hint, cause: error });
}
