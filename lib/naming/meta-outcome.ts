/** What came of making a session's meta: made, not due, or why not. */

import { describeError, type ErrorType, SessionMemoryError } from "../base/errors.ts";
import { isRecord } from "../base/json.ts";

/** What became of making a session's meta. */
export interface MetaOutcome {
  sessionId: string;
  status: "indexed" | "not-due" | "failed";
  name: string | undefined;
  /** Null where the price is unknown. */
  usd: number | null;
  /** The model asked, or `rules`. */
  model: string;
  usage?: { input: number; output: number } | undefined;
  /** `TYPE: message`. */
  error?: string | undefined;
  errorType?: ErrorType | undefined;
  /** The failure, where asking the model for another session would fail the same way. */
  lastingFailure?: SessionMemoryError | undefined;
  /** User messages since the meta was made. */
  newUsers?: number;
  /** What the user should know: a meta file that could not be read. */
  warning?: string | undefined;
}

/** Notes what kept a session from its meta, what was paid all the same, and whether the next one would fare alike. */
export function fail(outcome: MetaOutcome, error: unknown): void {
  const type = error instanceof SessionMemoryError ? error.type : "STORAGE_ERROR";
  outcome.status = "failed";
  outcome.error = `${type}: ${error instanceof SessionMemoryError ? error.message : describeError(error)}`;
  outcome.errorType = type;
  const { usd, usage } = error instanceof SessionMemoryError ? error.details : {};
  // Answers that could not be used were paid for too.
  if (isUsage(usage)) Object.assign(outcome, { usd: typeof usd === "number" ? usd : null, usage });
  const isLasting = type === "BUDGET_EXCEEDED" || (type === "MODEL_FAILED" && !isRecoverable(error));
  outcome.lastingFailure = isLasting && error instanceof SessionMemoryError ? error : undefined;
}

function isRecoverable(error: unknown): boolean {
  return error instanceof SessionMemoryError && error.recoverable;
}

function isUsage(value: unknown): value is MetaOutcome["usage"] {
  return isRecord(value) && typeof value.input === "number" && typeof value.output === "number";
}
