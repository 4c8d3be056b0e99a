/** Results of checks, as `health` prints them. */

import type { SessionMemoryError } from "./errors.ts";

/** A result of a check, with its remedy. */
export interface Finding {
  /** `info` needs no action. */
  level: "error" | "warning" | "info";
  what: string;
  remedy: string;
}

export function warning(what: string, remedy: string): Finding {
  return { level: "warning", what, remedy };
}

export function info(what: string, remedy: string): Finding {
  return { level: "info", what, remedy };
}

export function failed({ type, message, hint }: SessionMemoryError): Finding {
  return { level: "error", what: `${type}: ${message}`, remedy: hint ?? "see --help" };
}
