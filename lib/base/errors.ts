/** The only error class: what could not be done, the next step, and an exit code derived from its type. */

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
  /** Whether the caller can go on with other work. */
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
    return `error: ${what}\n${this.hint ? `hint: ${this.hint}\n` : ""}`;
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

/** Returns whether an error comes from the file system with one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && codes.includes((error as NodeJS.ErrnoException).code ?? "");
}
