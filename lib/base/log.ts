/** Writes the event log `log.ndjson`: what hooks did, what was injected, what failed. Size-capped; never throws. */

import { appendFileSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { ensureDirectory } from "./files.ts";

/** Two files of this size at most (the current one and the one before). */
const LOG_MAX_BYTES = 1024 * 1024;

interface LogEvent {
  /** What happened, dotted: `hook.user-prompt-submit`, `injected`, `embed`. */
  event: string;
  ok: boolean;
  [detail: string]: unknown;
}

/** Appends one event with its time. Logging must never affect what it reports on, so every failure is dropped. */
export function logEvent(file: string, event: LogEvent): void {
  try {
    ensureDirectory(dirname(file));
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LOG_MAX_BYTES) renameSync(file, `${file}.1`);
    appendFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), ...event })}\n`, { mode: 0o600 });
  } catch {
    // a full disk or a read-only home must not break the host's turn
  }
}
