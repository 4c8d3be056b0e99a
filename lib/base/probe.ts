/**
 * Asks the file system about paths that may lead nowhere, where we may not go, or to something that is no file: for
 * callers to whom these are answers, not failures. On the prompt hook's silent path: imports node:fs alone.
 */

import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";

/** No file that is read whole and belongs to somebody else needs to be larger. */
const TEXT_MAX_BYTES = 1024 * 1024;

/** Returns what a folder holds; nothing when it is not there, no folder, or not ours to read. */
export function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Returns the sorted names in a folder; none when it is not there, no folder, or not ours to read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** Returns a file's text; "" where `bytesOf` returns nothing. */
export function textOf(file: string, maxBytes = TEXT_MAX_BYTES): string {
  return bytesOf(file, maxBytes)?.toString("utf8") ?? "";
}

/**
 * Returns a file's content; undefined when it is missing, unreadable, larger than `maxBytes`, or no regular file: a
 * pipe would wait for a writer, and a device may never end.
 */
export function bytesOf(file: string, maxBytes = TEXT_MAX_BYTES): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile() || stat.size > maxBytes) return undefined;
    const buffer = Buffer.allocUnsafe(stat.size);
    return buffer.subarray(0, readSync(descriptor, buffer, 0, stat.size, 0));
  } catch {
    return undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** Returns a path's stat; undefined when there is nothing, or nothing that we may reach. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // below a file, or behind a folder that we may not enter
  }
}

/** Returns whether a path leads to a file. */
export function isFile(path: string): boolean {
  return statOf(path)?.isFile() === true;
}

/** Returns whether a path leads to a folder. */
export function isDirectory(path: string): boolean {
  return statOf(path)?.isDirectory() === true;
}

/** Returns whether a path is itself a file, not a link to one. */
export function isPlainFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}

/** Resolves all links of a path; undefined when it leads nowhere. */
export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Returns when a file was last changed, as ISO time. Rounded here, since Bun's and Node's `stat.mtime` round differently. */
export function changedAt({ mtimeMs }: { mtimeMs: number }): string {
  // `stat.mtime` alone takes a quarter of the time of the stat
  return new Date(Math.round(mtimeMs)).toISOString();
}
