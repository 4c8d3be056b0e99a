/** Writes output whose arrival matters: news is marked as delivered only once a reader has it. */

import { fstatSync, writeSync } from "node:fs";
import { hasCode } from "./errors.ts";

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

/** Whether a descriptor is a terminal. Only a character device is asked: the module costs more than starting Bun. */
export function isTerminal(descriptor = STDOUT): boolean {
  try {
    return (
      fstatSync(descriptor).isCharacterDevice() && process.getBuiltinModule("node:tty").isatty(descriptor)
    );
  } catch {
    return false; // closed
  }
}
