/** The result of a check, with its remedy. */

import type { SessionMemoryError } from "../base/errors.ts";

export interface Finding {
  /** `info` is no reason for concern. */
  level: "error" | "warning" | "info";
  what: string;
  remedy: string;
}

/** Turns an error into a finding. */
export function fromError(error: SessionMemoryError): Finding {
  return { level: "error", what: `${error.type}: ${error.message}`, remedy: error.hint ?? "see --help" };
}
