/**
 * Reads and writes whole files, and checks paths that may lead nowhere: a missing file reads as nothing, and a write is seen
 * whole or not at all. On the prompt hook's silent path.
 */

import {
  accessSync,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  type Stats,
  statfsSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describeError, hasCode, SessionMemoryError } from "./errors.ts";
import { shortDigest } from "./text.ts";

const DIRECTORY_MODE = 0o700; // promised: the user alone
export const FILE_MODE = 0o600; // promised: the user alone
/** File systems allow 255 bytes; suffixes and temporary names need some. */
const FILE_STEM_MAX = 200;
/** No file that is read whole and belongs to somebody else needs to be larger. */
const TEXT_MAX_BYTES = 1024 * 1024;

interface WriteOptions {
  /**
   * True if the bytes are forced to disk before they take the name, so that a power cut leaves no empty file.
   * Costs milliseconds: false for what is rebuilt by itself.
   * @default {true}
   */
  durable?: boolean;
}

/** Refuses anything but a file or folder: a pipe would wait for a writer, a device may never end or do something. */
export function refuseDevice(path: string, stat: Stats | undefined = statPath(path)): void {
  if (stat === undefined || stat.isFile() || stat.isDirectory()) return;
  throw new SessionMemoryError("STORAGE_ERROR", `Cannot read "${path}": it is a pipe or a device`, {
    hint: "put a file in its place, or remove it",
  });
}

/** Opens a file of at most `max` bytes for reading, and no pipe or device; `stat` is the file's, where it is known. */
export function openToRead(file: string, stat = statPath(file), max = Number.POSITIVE_INFINITY): number {
  refuseDevice(file, stat);
  if (stat && stat.size > max) throw tooLarge(file, max);
  return openSync(file, "r");
}

export function tooLarge(file: string, max: number): SessionMemoryError {
  const most = Math.floor(max / 2 ** 20);
  return new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}": too large (over ${most} MiB)`, {
    hint: "make it smaller, or move it away",
  });
}

export function readIfExists(path: string): string | undefined {
  // Checked first: an exception costs more than a call, and most of these files are optional.
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return undefined;
    refuseDevice(path, stat);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** Parses a JSON file; undefined when it is missing or not JSON, which are the same to readers of derived files. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readIfExists(path) ?? "");
  } catch {
    return undefined;
  }
}

/** Returns a file name for an id, which is the host's word: what could lead out of a folder is written as `%2F`. */
export function fileStem(id: string): string {
  return cutStem(encodeURIComponent(id.toWellFormed()).replace(/^\./, "%2E"));
}

/** Returns a file's stem that no file system refuses: of a longer one the start and a hash, so that two stay two. */
export function cutStem(stem: string): string {
  if (stem.length <= FILE_STEM_MAX) return stem;
  const hash = shortDigest(stem);
  return `${stem.slice(0, FILE_STEM_MAX - hash.length - 1)}-${hash}`;
}

export function ensureDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE });
}

/** Writes a whole file atomically: a reader, or a crash, sees the old content or the new, never a part. */
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
  const temporary = temporaryPath(path);
  const descriptor = openSync(temporary, "wx", FILE_MODE);
  try {
    writeFileSync(descriptor, content);
    if (durable) fsyncSync(descriptor);
    return temporary;
  } catch (error) {
    remove(temporary);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Returns a name beside a file for its new content; `removeLeftovers` knows it. */
export function temporaryPath(path: string): string {
  return `${path}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
}

/** Returns the entries of a folder; none when it is missing, no folder, or not ours to read. */
export function listEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Returns the sorted names in a folder; none when it is missing, no folder, or not ours to read. */
export function namesIn(folder: string): string[] {
  return unsortedNamesIn(folder).sort();
}

/** Returns the names in a folder, as the system gives them: sorting thousands takes longer than reading them. */
export function unsortedNamesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Returns a file's text; "" where `readBytes` returns nothing. */
export function readText(file: string, maxBytes = TEXT_MAX_BYTES): string {
  return readBytes(file, maxBytes)?.toString("utf8") ?? "";
}

/**
 * Returns a file's content; undefined when it is missing, unreadable, larger than `maxBytes`, or no regular file: a
 * pipe would wait for a writer, and a device may never end.
 */
export function readBytes(file: string, maxBytes = TEXT_MAX_BYTES): Buffer | undefined {
  let descriptor: number;
  if (!isFile(file)) return undefined;
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
export function statPath(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // below a file, or behind a folder that we may not enter
  }
}

export function isFile(path: string): boolean {
  return statPath(path)?.isFile() === true;
}

/** Returns whether a file holds anything: one that a full disk kept from being written is empty, and as good as none. */
export function hasContent(path: string): boolean {
  return (statPath(path)?.size ?? 0) > 0;
}

export function isDirectory(path: string): boolean {
  return statPath(path)?.isDirectory() === true;
}

/** About what a turn writes. */
const TURN_BYTES = 256 * 1024;
const OWNER_WRITES = 0o200; // the bit of stat.mode

/** Returns why nothing can be written into a folder, or into the nearest one above it that is there; writes nothing. */
export function whyUnwritable(folder: string): string | undefined {
  const stat = statPath(folder);
  if (stat === undefined && dirname(folder) !== folder) return whyUnwritable(dirname(folder));
  if (!stat?.isDirectory()) return `${folder} is no folder`;
  // The superuser may write where nobody else can, but hooks do not run as root.
  if ((stat.mode & OWNER_WRITES) === 0) return `${folder} is read-only`;
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    return `${folder} cannot be written (${describeError(error)})`;
  }
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < TURN_BYTES ? `no space is left for ${folder}` : undefined;
  } catch {
    return undefined; // a file system that does not say
  }
}

export function resolveRealPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

type FileTimes = Pick<Stats, "mtimeMs" | "ctimeMs">;

/** Returns when a file was last changed, in milliseconds. A program may set any time, but not when it did so. */
export function changedMs({ mtimeMs, ctimeMs }: FileTimes): number {
  return mtimeMs > ctimeMs && mtimeMs > Date.now() ? ctimeMs : mtimeMs;
}

/** Returns when a file was last changed, as ISO time in whole milliseconds: Deno cuts the rest off, Bun and Node have it. */
export function changedAt(stat: FileTimes): string {
  // `stat.mtime` alone takes a quarter of the time of the stat
  return new Date(Math.trunc(changedMs(stat))).toISOString();
}

/** The name of a file that a killed writer left behind: `<file>.<process>.<random>.tmp`. */
const LEFTOVER = /\.(\d+)\.[0-9a-f]{8}\.tmp$/;

/** Removes the temporary files, in a folder and those below it, of writers that are no longer running. */
export function removeLeftovers(folder: string): void {
  let names: string[] = [];
  try {
    names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    return; // nothing to remove yet
  }
  for (const name of names) {
    const writer = LEFTOVER.exec(name)?.[1];
    if (writer !== undefined && !isRunning(Number(writer))) remove(join(folder, name));
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM"); // another user's
  }
}

/** Blocks the thread for a while. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
