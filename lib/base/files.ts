/**
 * Reads and writes whole files, and checks paths that may lead nowhere: what is missing reads as nothing, and a write is seen
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
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describeError, hasCode, SessionMemoryError } from "./errors.ts";
import { sha256 } from "./text.ts";

const DIRECTORY_MODE = 0o700; // promised: the user alone
export const FILE_MODE = 0o600; // promised: the user alone
/** File systems allow 255 bytes; suffixes and temporary names need some. */
const FILE_STEM_MAX = 200;
/** No file that is read whole and belongs to somebody else needs to be larger. */
const TEXT_MAX_BYTES = 1024 * 1024;

interface WriteOptions {
  /**
   * Whether the bytes are forced to disk before they take the name, so that a power cut leaves no empty file.
   * Costs milliseconds: false for what is rebuilt by itself.
   * @default {true}
   */
  durable?: boolean;
}

/** Refuses what is no file or folder: a pipe would wait for a writer, a device may never end or do something. */
export function refuseDevice(path: string, stat: Stats | undefined = statPath(path)): void {
  if (stat === undefined || stat.isFile() || stat.isDirectory()) return;
  throw new SessionMemoryError("STORAGE_ERROR", `Cannot read "${path}": it is a pipe or a device`);
}

/** Opens a file of at most `max` bytes for reading, and no pipe or device; `stat` is the file's, where it is known. */
export function openToRead(file: string, stat = statPath(file), max = Number.POSITIVE_INFINITY): number {
  refuseDevice(file, stat);
  if (stat && stat.size > max) throw tooLarge(file, max);
  return openSync(file, "r");
}

function tooLarge(file: string, max: number): SessionMemoryError {
  const most = Math.floor(max / 2 ** 20);
  return new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}": too large (over ${most} MiB)`);
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
  const hash = sha256().update(stem).digest("hex").slice(0, 16);
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
  try {
    return readdirSync(folder).sort();
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
  if (process.platform !== "win32" && (stat.mode & OWNER_WRITES) === 0) return `${folder} is read-only`;
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

/** What killed writers leave behind: `<file>.<process>.<random>.tmp`. */
const LEFTOVER = /\.(\d+)\.[0-9a-f]{8}\.tmp$/;

/** Removes the temporary files, in a folder and those below it, of writers that are no longer running. */
export function removeLeftovers(folder: string): void {
  let names: string[] = [];
  try {
    names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    return; // there is none yet
  }
  for (const name of names) {
    const writer = LEFTOVER.exec(name)?.[1];
    if (writer !== undefined && !isRunning(Number(writer))) remove(join(folder, name));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // another user's process could not have written here
  }
}

/**
 * The name of a copy that a sync tool left where two machines changed one file, or of an old version that it keeps: behind an
 * id, which ends an own name, a mark, a number or a machine's name; or a tool's own mark.
 */
const CONFLICT_COPY = new RegExp(
  [
    "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[ ._(~-].*\\.jsonl$",
    "\\.sync-conflict-\\d{8}-|~\\d{8}-\\d{6}\\.jsonl$|^~|^\\.syncthing\\.", // Syncthing
    "\\([^()]*(?:conflicted copy|SFConflict)[^()]*\\)", // Dropbox, Nextcloud, Seafile
    "_conflict-\\d{8}-\\d{6}|\\d_Conflict\\.jsonl$", // ownCloud, Synology
    "\\.conflict\\d*\\.jsonl$| \\(\\d+\\)\\.jsonl$", // Resilio, rclone, Google Drive
  ].join("|"),
  "i",
);

/** Returns whether a file's name is that of a sync tool's copy, which is no file of its own. */
export function isConflictCopy(name: string): boolean {
  return CONFLICT_COPY.test(name);
}

/** The end of a compressed file's name. */
export const PACKED = ".zst";
/** The end of the name of a file that we wrote in compressed blocks (blocks.ts). */
export const BLOCKED = ".gz";
/** The most that a compressed file may hold: it is in memory as a whole while it is read. */
const UNPACKED_MAX_BYTES = 512 * 1024 * 1024;
/** A larger one holds at most so many times its own bytes: conversations pack to a tenth, blanks to nothing. */
const UNPACKED_BYTES = 64 * 1024 * 1024;
const PACKED_TIMES_MAX = 100;
const CHUNK_BYTES = 128 * 1024; // a block of a zstd frame
const CHUNK_MIN_BYTES = 64; // zlib's own least
const FRAME_HEADER_BYTES = 18; // the longest one
const FRAME_MAGIC = 0xfd2fb528;

/** Returns where a file is: at its own path, or at that of a compressed one in its place. */
export function placeOnDisk(file: string): string {
  const ends = statPath(file) ? [] : [PACKED, BLOCKED];
  return ends.map((end) => file + end).find(isFile) ?? file;
}

/** Returns a file's stat, or that of a compressed one in its place with the size of what it holds; undefined without either. */
export function statUnpacked(file: string): Stats | undefined {
  const stat = statPath(file);
  if (stat) return stat;
  const place = placeOnDisk(file);
  const packed = statPath(place);
  if (!packed) return undefined;
  try {
    const descriptor = openToRead(place);
    try {
      packed.size = place.endsWith(PACKED) ? unpackedBytes(descriptor, file) : sizeInBlocks(descriptor, file);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // not ours to read, or damaged: reading it says so
  }
  return packed;
}

/** Ends the name of a copy that has no more of a session than its prompts. */
export const PROMPTS_ALONE = ".prompts-alone.jsonl";

/** Returns whether a file is a copy of a session's prompts, of which nothing else is left. */
export function hasPromptsAlone(file: string): boolean {
  return file.endsWith(PROMPTS_ALONE);
}

const BLOCKS_SIZE_AT = 16; // behind the header, the length of its extra field, and that field's name

/** Returns the bytes that a file in blocks says it holds. */
export function sizeInBlocks(descriptor: number, file: string): number {
  const header = Buffer.alloc(BLOCKS_SIZE_AT + 8);
  const read = readSync(descriptor, header, 0, header.length, 0);
  if (
    read === header.length &&
    header.readUInt32BE(0) === 0x1f8b0804 &&
    header.toString("latin1", 12, 14) === "SM"
  )
    return Number(header.readBigUInt64LE(BLOCKS_SIZE_AT));
  throw new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}${BLOCKED}": it is no file of ours`);
}

/** Returns the bytes that a zstd frame says it holds (RFC 8878, 3.1.1.1), else unpacks and counts them. */
export function unpackedBytes(descriptor: number, file: string): number {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  const read = readSync(descriptor, header, 0, header.length, 0);
  if (read < 5 || header.readUInt32LE(0) !== FRAME_MAGIC) throw cannotUnpack(file, "it is no zstd file");
  const flags = header.readUInt8(4);
  const isSingle = (flags & 0x20) !== 0;
  const at = 5 + (isSingle ? 0 : 1) + ([0, 1, 2, 4][flags & 3] ?? 0);
  switch (flags >> 6) {
    case 1:
      return header.readUInt16LE(at) + 256;
    case 2:
      return header.readUInt32LE(at);
    case 3:
      return Number(header.readBigUInt64LE(at));
    default:
      return isSingle ? header.readUInt8(at) : unpack(descriptor, file).length;
  }
}

/** The files that held too much, with their sizes and times: none is unpacked again to learn it. */
const refused = new Set<string>();

/**
 * Unpacks what a compressed file holds, of `size` bytes, or the beginning that its first `bytes` give.
 *
 * @throws {SessionMemoryError} `PARSE_ERROR`
 */
export function unpack(
  descriptor: number,
  file: string,
  { bytes = Number.POSITIVE_INFINITY, size }: { bytes?: number; size?: number } = {},
): Buffer {
  if (!canUnpack())
    throw cannotUnpack(file, "this runtime has no zstd", { hint: UNPACKING, recoverable: true });
  const { size: length, mtimeMs } = fstatSync(descriptor);
  const max = Math.min(UNPACKED_MAX_BYTES, Math.max(UNPACKED_BYTES, length * PACKED_TIMES_MAX));
  const version = `${file} ${length} ${mtimeMs}`;
  if ((size ?? 0) > max || refused.has(version)) throw tooLarge(file + PACKED, max);
  const packed = Buffer.allocUnsafe(Math.min(bytes, length));
  const read = readSync(descriptor, packed, 0, packed.length, 0);
  try {
    const content = unpackBytes(packed.subarray(0, read), size, max);
    // A damaged file unpacks to fewer bytes than it says, without an error.
    if (size === undefined || content.length === size) return content;
  } catch (cause) {
    if (size !== undefined || !hasCode(cause, "ERR_BUFFER_TOO_LARGE"))
      throw cannotUnpack(file, "it is damaged", { cause });
    refused.add(version);
    throw tooLarge(file + PACKED, max);
  }
  throw cannotUnpack(file, "it is damaged");
}

/** Unpacks bytes, of a known size in one piece: of many pieces a second copy would be made. */
export function unpackBytes(packed: Uint8Array, size?: number, max = UNPACKED_MAX_BYTES): Buffer {
  const chunkSize = Math.max(CHUNK_MIN_BYTES, size ?? CHUNK_BYTES);
  const maxOutputLength = Math.max(1, size ?? max);
  return process.getBuiltinModule("node:zlib").zstdDecompressSync(packed, { chunkSize, maxOutputLength });
}

/** The runtimes that unpack zstd. */
export const UNPACKING = "use Bun 1.4, Node 22.18, Deno 2.9, or a newer one";

/** Returns whether this runtime unpacks zstd. */
export function canUnpack(): boolean {
  return typeof process.getBuiltinModule("node:zlib").zstdDecompressSync === "function";
}

function cannotUnpack(
  file: string,
  why: string,
  more: { hint?: string; cause?: unknown; recoverable?: boolean } = {},
): SessionMemoryError {
  return new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}${PACKED}": ${why}`, more);
}
