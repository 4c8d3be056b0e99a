/** Opens files that are packed, by their host (zstd) or by us (gzip in blocks), and says where they are and what they hold. */

import { closeSync, fstatSync, readSync, type Stats } from "node:fs";
import { hasCode, SessionMemoryError } from "../base/errors.ts";
import { isFile, openToRead, statPath, tooLarge } from "../base/files.ts";
import { type Blocks, readBlocks, sizeInBlocks } from "./blocks.ts";
import { BLOCKED, PACKED } from "./names.ts";

/** A way in which the lines of a file are packed. */
interface Packing {
  /** The end of its name, behind that of the file. */
  end: string;
  /** Opens it as if it were not packed. */
  open(descriptor: number, file: string): Blocks;
  /** Returns the bytes that it says it holds. */
  size(descriptor: number, file: string): number;
}

const PACKINGS: readonly Packing[] = [
  { end: PACKED, open: openPacked, size: unpackedBytes },
  { end: BLOCKED, open: readBlocks, size: sizeInBlocks },
];

/** A transcript whose lines are read from elsewhere, since no copy of it can be written. */
interface Unwritten {
  /** The file in which its host keeps it. */
  place: string;
  /** Milliseconds. */
  changed: number;
  read(): Buffer;
}

const unwritten = new Map<string, Unwritten>();

/** Lets a transcript be read under a path at which no file can be written; `read` is called once. */
export function readInstead(file: string, { read, ...source }: Unwritten): void {
  let lines: Buffer | undefined;
  unwritten.set(file, { ...source, read: () => (lines ??= read()) });
}

/** Returns how a file is packed that is not at its own path, and where it is. */
export function findPacked(file: string): (Packing & { place: string; changed?: number }) | undefined {
  const instead = unwritten.get(file);
  if (instead) {
    const open = () => readFrom(instead.read());
    return { end: "", open, size: () => open().size, place: instead.place, changed: instead.changed };
  }
  const packing = PACKINGS.find(({ end }) => isFile(file + end));
  return packing && { ...packing, place: file + packing.end };
}

function readFrom(lines: Buffer): Blocks {
  return {
    size: lines.length,
    read: (buffer, { at, length, position }) => lines.copy(buffer, at, position, position + length),
  };
}

/** Returns where a file is: at its own path, or at that of a packed one in its place. */
export function placeOnDisk(file: string): string {
  return (statPath(file) ? undefined : findPacked(file)?.place) ?? file;
}

/** Returns whether a file is there as our copy alone. */
export function isCopyOnDisk(file: string): boolean {
  return placeOnDisk(file).endsWith(BLOCKED);
}

/** Returns a file's stat, or that of a packed one in its place with the size of what it holds; undefined without either. */
export function statUnpacked(file: string): Stats | undefined {
  const stat = statPath(file);
  const found = stat ? undefined : findPacked(file);
  const packed = found && statPath(found.place);
  if (!packed) return stat;
  packed.mtimeMs = found.changed ?? packed.mtimeMs;
  try {
    const descriptor = openToRead(found.place);
    try {
      packed.size = found.size(descriptor, file);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // not ours to read, or damaged: reading it says so
  }
  return packed;
}

/** The last one that was unpacked whole: what reads a transcript opens it several times. */
let unpacked: { key: string; rows: Buffer } | undefined;

/** Holds the first rows of most: heads are read without the rest. */
const PACKED_HEAD_BYTES = 64 * 1024;

/** Opens a transcript that its host compressed, whose rows are unpacked from the beginning as far as they are needed. */
function openPacked(descriptor: number, file: string): Blocks {
  const { size: bytes, mtimeMs } = fstatSync(descriptor);
  const key = `${file} ${bytes} ${mtimeMs}`;
  const size = unpackedBytes(descriptor, file);
  let rows: Buffer = unpacked?.key === key ? unpacked.rows : Buffer.alloc(0);
  return {
    size,
    read(buffer, { at, length, position }) {
      const isThere = () => position < rows.length || position >= size;
      if (!isThere() && rows.length === 0 && position < PACKED_HEAD_BYTES)
        rows = unpack(descriptor, file, { bytes: PACKED_HEAD_BYTES });
      if (!isThere()) {
        rows = unpack(descriptor, file, { size });
        unpacked = { key, rows };
      }
      return rows.copy(buffer, at, position, Math.min(position + length, rows.length));
    },
  };
}

/** The most that a compressed file may hold: it is in memory as a whole while it is read. */
const UNPACKED_MAX_BYTES = 512 * 1024 * 1024;
/** The most bytes of a larger one, as a multiple of its own: conversations pack to a tenth, blanks to nothing. */
const UNPACKED_BYTES = 64 * 1024 * 1024;
const PACKED_TIMES_MAX = 100;
const CHUNK_BYTES = 128 * 1024; // a block of a zstd frame
const CHUNK_MIN_BYTES = 64; // zlib's own least
const FRAME_HEADER_BYTES = 18; // the longest one
const FRAME_MAGIC = 0xfd2fb528;

/** Returns the bytes that a zstd frame says it holds (RFC 8878, 3.1.1.1), else unpacks and counts them. */
function unpackedBytes(descriptor: number, file: string): number {
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
function unpack(
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
  return new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}${PACKED}": ${why}`, {
    hint: "restore it from a backup: its host packed it",
    ...more,
  });
}
