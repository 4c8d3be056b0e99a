/** The event log `log.ndjson`, which records the work of hooks, injections and failures. */

import { appendFileSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { ensureDirectory } from "../base/files.ts";
import { ownRules, type Rules } from "./rules.ts";

/** Two files of this size at most (the current one and the one before). */
const LOG_MAX_BYTES = 1024 * 1024;

interface LogEvent {
  /** The name of the event, dotted: `hook.user-prompt-submit`, `injected`, `embed`. */
  event: string;
  ok: boolean;
  [detail: string]: unknown;
}

/** Appends one event with its time, redacted. Logging must never affect what it reports on, so every failure is dropped. */
export function log(file: string, event: LogEvent, { clean }: Pick<Rules, "clean"> = ownRules()): void {
  try {
    ensureDirectory(dirname(file));
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LOG_MAX_BYTES) renameSync(file, `${file}.1`);
    const line = JSON.stringify({ at: new Date().toISOString(), ...clean(event) });
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
  } catch {
    // a full disk or a read-only home must not break the host's turn
  }
}
