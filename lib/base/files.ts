/** Whole-file effects: atomic replace and exclusive create. */

import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { hasCode } from "./errors.ts";

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

export interface WriteOptions {
  /**
   * Whether the bytes are forced to disk before they take the name, so that a power cut leaves no empty file.
   * Costs milliseconds: false for what is rebuilt by itself.
   * @default {true}
   */
  durable?: boolean;
}

/** Creates a directory (mode 0700) with its parents. */
export function ensureDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE });
}

/** Writes a whole file such that a reader or a crash sees the old content or the new, never a part. */
export function replaceFile(path: string, content: string | Uint8Array, options: WriteOptions = {}): void {
  const temporary = writeTemporary(path, content, options);
  try {
    renameSync(temporary, path);
  } catch (error) {
    remove(temporary);
    throw error;
  }
}

/** Writes a whole new file, or returns false when one is already there. */
export function createFile(path: string, content: string | Uint8Array, options: WriteOptions = {}): boolean {
  const temporary = writeTemporary(path, content, options);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    remove(temporary);
  }
}

/** Deletes a file if it is there. */
export function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

/** From the global: importing node:crypto would double a hook's start. */
function shortId(): string {
  return crypto.randomUUID().slice(0, 8);
}

function writeTemporary(
  path: string,
  content: string | Uint8Array,
  { durable = true }: WriteOptions,
): string {
  ensureDirectory(dirname(path));
  const temporary = `${path}.${process.pid}.${shortId()}.tmp`;
  const descriptor = openSync(temporary, "wx", FILE_MODE);
  try {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(descriptor, bytes, written, bytes.length - written);
    }
    if (durable) fsyncSync(descriptor);
  } catch (error) {
    closeSync(descriptor);
    remove(temporary);
    throw error;
  }
  closeSync(descriptor);
  return temporary;
}
