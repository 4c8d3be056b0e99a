/**
 * Writes output whose arrival matters, since news counts as delivered only once a reader has it, and the event log
 * `log.ndjson` (what hooks did, what was injected, what failed).
 */

import { appendFileSync, fstatSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { hasCode } from "./errors.ts";
import { ensureDirectory } from "./files.ts";

const STDOUT = 1;
const RETRY_MS = 2;

/**
 * Writes text to stdout, or to another descriptor.
 *
 * @returns false when the reader is gone.
 */
export function writeFully(text: string, descriptor = STDOUT): boolean {
  const bytes = Buffer.from(text);
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written, bytes.length - written);
    } catch (error) {
      if (hasCode(error, "EPIPE", "EBADF", "ECONNRESET")) return false;
      if (!hasCode(error, "EAGAIN")) throw error;
      Atomics.wait(cell, 0, 0, RETRY_MS); // the pipe is full: its reader is slow
    }
  }
  return true;
}

/** Returns whether a descriptor is a terminal. node:tty is asked only about a character device: it costs more than starting Bun. */
export function isTerminal(descriptor = STDOUT): boolean {
  try {
    return (
      fstatSync(descriptor).isCharacterDevice() && process.getBuiltinModule("node:tty").isatty(descriptor)
    );
  } catch {
    return false; // closed
  }
}

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
