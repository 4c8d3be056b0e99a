/** Whole files: what is missing reads as nothing, and a write is seen whole or not at all. */

import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { hasCode, SessionMemoryError } from "./errors.ts";

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
/** File systems allow 255 bytes; suffixes and temporary names need some. */
const FILE_STEM_MAX = 200;

interface WriteOptions {
  /**
   * Whether the bytes are forced to disk before they take the name, so that a power cut leaves no empty file.
   * Costs milliseconds: false for what is rebuilt by itself.
   * @default {true}
   */
  durable?: boolean;
}

/** Returns a file's text, or undefined when there is none. */
export function readIfExists(path: string): string | undefined {
  // Asked first: an exception costs more than a call, and most of these files are optional.
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return undefined;
    // a pipe or a device may never end
    if (stat.isFIFO() || stat.isCharacterDevice()) {
      throw new SessionMemoryError("STORAGE_ERROR", `Cannot read "${path}": it is a pipe or a device`);
    }
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** Parses a JSON file; undefined when it is missing or not JSON, which are the same to readers of derived files. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** Returns a file name for an id, which is the host's word: what could lead out of a folder is written as `%2F`. */
export function fileStem(id: string): string {
  const stem = encodeURIComponent(id.toWellFormed()).slice(0, FILE_STEM_MAX);
  return stem.startsWith(".") ? `%2E${stem.slice(1)}` : stem;
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

function writeTemporary(
  path: string,
  content: string | Uint8Array,
  { durable = true }: WriteOptions,
): string {
  ensureDirectory(dirname(path));
  const temporary = `${path}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
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
