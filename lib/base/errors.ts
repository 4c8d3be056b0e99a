/**
 * The only error class, with what could not be done, the next step, and an exit code derived from its type; and file system
 * errors as instances of it.
 */

import { resolve } from "node:path";
import { unbroken } from "./text.ts";

export type ErrorType =
  | "USAGE"
  | "CONFIG_INVALID"
  | "NOT_FOUND"
  | "AMBIGUOUS"
  | "PARSE_ERROR"
  | "VALIDATION_ERROR"
  | "STORAGE_ERROR"
  | "EMBEDDING_FAILED"
  | "MODEL_FAILED"
  | "NO_MODEL"
  | "BUDGET_EXCEEDED"
  | "HUB_ERROR"
  | "BUSY"
  | "NOT_CONFIRMED";

interface ErrorOptions {
  details?: Record<string, unknown>;
  /** True if the caller can go on with other work. */
  recoverable?: boolean;
  /** The next step, imperative. */
  hint?: string;
  cause?: unknown;
}

/** A failure of the user's or of the environment, not a bug; everything else uses the built-in errors. */
export class SessionMemoryError extends Error {
  readonly type: ErrorType;
  readonly details: Record<string, unknown>;
  readonly recoverable: boolean;
  readonly hint: string | undefined;

  constructor(type: ErrorType, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "SessionMemoryError";
    this.type = type;
    this.details = options.details ?? {};
    this.recoverable = options.recoverable ?? false;
    this.hint = options.hint;
  }

  /** 2 for wrong usage, else 1. */
  get exitCode(): 1 | 2 {
    return this.type === "USAGE" ? 2 : 1;
  }

  /** Returns the `error:` line and, when there is a next step, the `hint:` line. */
  format(): string {
    const what = this.type === "USAGE" ? this.message : `${this.type}: ${this.message}`;
    return `error: ${unbroken(what)}\n${this.hint ? `hint: ${unbroken(this.hint)}\n` : ""}`;
  }
}

/**
 * Joins the messages along an error's cause chain into one line (fetch says only "fetch failed"). Our own errors are
 * complete, and redacted where they quote another: their cause is for the debugger.
 */
export function describeError(error: unknown): string {
  const messages: string[] = [];
  for (let e: unknown = error, depth = 0; e !== undefined && e !== null && depth < 6; depth++) {
    messages.push(e instanceof Error ? e.message : String(e));
    e = e instanceof Error && !(e instanceof SessionMemoryError) ? e.cause : undefined;
  }
  return messages.join(": ");
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && codes.includes((error as NodeJS.ErrnoException).code ?? "");
}

/** Errors of the file system by code: the reason, and what can be done. */
const REFUSALS: Record<string, [reason: string, hint: string]> = {
  EACCES: ["permission denied", "check its owner and permissions"],
  EPERM: ["not permitted", "check its owner and permissions"],
  EROFS: ["the file system is read-only", "set SESSION_MEMORY_HOME to a folder that can be written to"],
  ENOSPC: ["no space left on the device", "free some space and try again"],
  EDQUOT: ["the disk quota is used up", "free some space and try again"],
  ENOTDIR: ["a part of the path is not a folder", "correct the path"],
  EEXIST: ["a file of that name is in the way", "move it away, or correct the path"],
  EISDIR: ["it is a folder", "name a file"],
  ENOENT: ["no such file or folder", "correct the path"],
  ELOOP: ["its symlinks form a loop", "correct the path"],
  ENAMETOOLONG: ["the name is too long", "correct the path"],
  EMFILE: ["too many open files", "raise the limit (ulimit -n)"],
};

/**
 * Returns the failure behind an error of the file system, which is not a bug, or of a clone without its packages;
 * undefined for any other error.
 */
export function findRefusal(error: unknown): SessionMemoryError | undefined {
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
      hint: "change to an existing folder",
      cause: error,
    });
  }
  const refusal = REFUSALS[code];
  if (!refusal) return undefined;
  const [reason, hint] = refusal;
  const what = path === undefined ? syscall : `${syscall} "${path}"`;
  return new SessionMemoryError("STORAGE_ERROR", `Cannot ${what}: ${reason}`, { hint, cause: error });
}
