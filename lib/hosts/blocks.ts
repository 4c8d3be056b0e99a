/**
 * Gzip files written in blocks: `gunzip` unpacks them whole, and here any part of one is read without the rest, so that a
 * file of any size takes the memory of two blocks.
 *
 * Each block is a gzip member that says in its header's extra field (RFC 1952, 2.3.1.1) how long it is, and what it holds. The
 * first one holds nothing: its header has the size of all, and a note of whoever wrote it; the note's longer values stand in the
 * header of the block behind it.
 */

import {
  closeSync,
  fstatSync,
  fsyncSync,
  futimesSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { ensureDirectory, FILE_MODE, openToRead, remove, statPath, temporaryPath } from "../base/files.ts";
import { type JsonRecord, parseRecord } from "../base/json.ts";
import { BLOCKED } from "./names.ts";

const BLOCK_BYTES = 256 * 1024; // larger ones pack no better and take more memory
const NOTE_BYTES = 480; // known only when all else is written: its place is kept free
const VALUE_BYTES = 40; // of a note, with its quotes: a UUID
const MEMBER = 10; // bytes of a header up to its extra field
const FIELD = 4; // bytes of the field's name and length
const EXTRA_FLAG = 4;
const FIELD_NAME = Buffer.from("SM");
const VALUES_NAME = Buffer.from("SV"); // the field of the longer values
/** Bytes before a block's content: header, length of the extra field, name and length of ours, two numbers. */
const BLOCK_HEADER = MEMBER + 2 + FIELD + 8;
const SIZE_AT = MEMBER + 2 + FIELD;
const NOTE_AT = SIZE_AT + 8;
/** An empty content, its checksum and length. */
const EMPTY_TAIL = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const FIRST_BYTES = NOTE_AT + NOTE_BYTES + EMPTY_TAIL.length;

/** Writes a file in blocks; nothing takes its name before `end`. */
export interface BlockWriter {
  write(bytes: Uint8Array): void;
  /** Completes the file with a note, whose values are short: longer ones come in `about`. It gets the ISO time `at`. @default now */
  end(note: JsonRecord, at?: string): void;
  /** Removes what was written. */
  abandon(): void;
}

interface WriteOptions {
  /** True if it is on disk before it takes its name: without that a power cut can leave it empty. */
  durable: boolean;
  /** The part of its note that is known from the start, of any length. @default nothing */
  about?: JsonRecord | undefined;
  /** The bytes that it begins with as `from` does, whose whole blocks are taken as they are. @default none */
  keep?: number;
  /** @default the file as it was before */
  from?: string;
}

/** Begins the packed form of a file, which takes the place of an old one only when it is whole. */
export function writeBlocks(file: string, options: WriteOptions): BlockWriter {
  const { durable, about = {}, keep = 0, from = file } = options;
  const path = file + BLOCKED;
  ensureDirectory(dirname(path));
  const temporary = temporaryPath(path);
  const descriptor = openSync(temporary, "wx", FILE_MODE);
  const { short, long } = byLength(about);
  let [size, end] = [0, FIRST_BYTES];
  const add = (block: Uint8Array, bytes: number) => {
    put(descriptor, block, end);
    end += block.length;
    size += bytes;
  };
  const { write, flush } = inBlocks((bytes) =>
    add(packBlock(bytes, size === 0 ? long : undefined), bytes.length),
  );
  const writer: BlockWriter = {
    write,
    end(note, at) {
      flush();
      put(descriptor, firstMember(size, { ...short, ...note }), 0);
      if (durable) fsyncSync(descriptor);
      if (at !== undefined) futimesSync(descriptor, new Date(at), new Date(at));
      closeSync(descriptor);
      renameSync(temporary, path);
    },
    abandon() {
      closeSync(descriptor);
      remove(temporary);
    },
  };
  try {
    if (keep > 0) keepBlocks(from, keep, { add, write });
  } catch (error) {
    writer.abandon();
    throw error;
  }
  return writer;
}

/** Returns what gathers bytes into blocks, and hands on the last one as far as it is filled. */
function inBlocks(take: (block: Uint8Array) => void): { write: BlockWriter["write"]; flush: () => void } {
  const pending = Buffer.allocUnsafe(BLOCK_BYTES);
  let filled = 0;
  const flush = () => {
    if (filled > 0) take(pending.subarray(0, filled));
    filled = 0;
  };
  const write = (bytes: Uint8Array) => {
    for (let done = 0; done < bytes.length; ) {
      const part = bytes.subarray(done, done + BLOCK_BYTES - filled);
      pending.set(part, filled);
      filled += part.length;
      done += part.length;
      if (filled === BLOCK_BYTES) flush();
    }
  };
  return { write, flush };
}

/** Hands on the whole blocks within the first bytes of a file's content as they are, and the rest of these bytes. */
function keepBlocks(
  file: string,
  bytes: number,
  { add, write }: { add: (block: Uint8Array, bytes: number) => void; write: BlockWriter["write"] },
): void {
  withPacked(file, (source) => {
    let left = Math.min(bytes, sizeInBlocks(source, file));
    for (const block of blocksWithin(source, file, left)) {
      if (block.bytes <= left) add(readPacked(source, block), block.bytes);
      else write(unpackBlock(source, block, file).subarray(0, left));
      left -= block.bytes;
    }
  });
}

/** Reads a block as it is packed. */
function readPacked(descriptor: number, { at, length }: Block): Buffer {
  const packed = Buffer.allocUnsafe(length);
  return packed.subarray(0, readSync(descriptor, packed, 0, length, at));
}

interface Addition {
  /** Values of the note that change. */
  note?: JsonRecord;
  durable: boolean;
  /** @default its time as it was */
  at?: string | undefined;
  /** The file whose content and note it begins with. @default itself */
  from?: string;
}

/** Adds to the end of a file in blocks and changes values of its note; killed meanwhile, it is as it was. */
export function appendBlocks(
  file: string,
  content: Uint8Array,
  { note = {}, durable, from = file, at = statSync(from + BLOCKED).mtime.toISOString() }: Addition,
): void {
  const about = readNote(from);
  const writer = writeBlocks(file, { durable, about, keep: Number.POSITIVE_INFINITY, from });
  writer.write(content);
  writer.end(note, at);
}

function put(descriptor: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(descriptor, bytes, done, bytes.length - done, at + done);
}

function packBlock(content: Uint8Array, long: JsonRecord | undefined): Buffer {
  const packed: Buffer = process.getBuiltinModule("node:zlib").gzipSync(content);
  const body = packed.subarray(MEMBER);
  const more = long ? field(VALUES_NAME, Buffer.from(JSON.stringify(long))) : Buffer.alloc(0);
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(BLOCK_HEADER + more.length + body.length);
  lengths.writeUInt32LE(content.length, 4);
  return member(Buffer.concat([field(FIELD_NAME, lengths), more]), body);
}

/** Returns a gzip member with fields in its header, before its content, checksum and length. */
function member(fields: Buffer, body: Uint8Array): Buffer {
  const header = [0x1f, 0x8b, 8, EXTRA_FLAG, 0, 0, 0, 0, 0, 255];
  return Buffer.concat([Buffer.from(header), lengthOf(fields), fields, body]);
}

function field(name: Buffer, value: Buffer): Buffer {
  return Buffer.concat([name, lengthOf(value), value]);
}

function lengthOf(bytes: Buffer): Buffer {
  return Buffer.from([bytes.length & 0xff, bytes.length >> 8]);
}

/** Parts a note into what its header has room for, and the rest. */
function byLength(note: JsonRecord): { short: JsonRecord; long: JsonRecord | undefined } {
  const isShort = ([, value]: [string, unknown]) =>
    Buffer.byteLength(JSON.stringify(value) ?? "") <= VALUE_BYTES;
  const long = Object.entries(note).filter((entry) => !isShort(entry));
  const short = Object.fromEntries(Object.entries(note).filter(isShort));
  return { short, long: long.length > 0 ? Object.fromEntries(long) : undefined };
}

function firstMember(size: number, note: JsonRecord): Buffer {
  const text = Buffer.from(JSON.stringify(note));
  if (text.length > NOTE_BYTES) throw new Error(`The note is too long: ${text.length} bytes`);
  const value = Buffer.alloc(8 + NOTE_BYTES, " ");
  value.writeBigUInt64LE(BigInt(size));
  text.copy(value, 8);
  return member(field(FIELD_NAME, value), EMPTY_TAIL);
}

/** Returns the bytes that a file in blocks says it holds. */
export function sizeInBlocks(descriptor: number, file: string): number {
  const header = Buffer.alloc(SIZE_AT + 8);
  const read = readSync(descriptor, header, 0, header.length, 0);
  if (
    read === header.length &&
    header.readUInt32BE(0) === 0x1f8b0804 &&
    header.toString("latin1", 12, 14) === "SM"
  )
    return Number(header.readBigUInt64LE(SIZE_AT));
  throw unreadable(file, "it is no file of ours");
}

/** Opens the packed form of a file for `use`. */
function withPacked<T>(file: string, use: (descriptor: number) => T): T {
  const descriptor = openToRead(file + BLOCKED);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns why a file's packed form cannot be read, as far as its beginning tells. */
export function whyUnreadable(file: string): SessionMemoryError | undefined {
  try {
    withPacked(file, (descriptor) => sizeInBlocks(descriptor, file));
  } catch (error) {
    if (error instanceof SessionMemoryError) return error;
  }
  return undefined;
}

/** Returns the note in the first block of a file's packed form; undefined without one that was written here. */
export function readNote(file: string): JsonRecord | undefined {
  try {
    return withPacked(file, (descriptor) => {
      sizeInBlocks(descriptor, file);
      const note = ownNote(descriptor);
      return note && { ...note, ...longValues(descriptor) };
    });
  } catch {
    return undefined;
  }
}

/** Returns what is left of a session, by the file that it is read from: our copy, or its prompts alone; undefined where its host has it. */
export function leftOf(file: string): "copy" | "prompts" | undefined {
  const { from, place } = readNote(file) ?? { from: "store" };
  if (from === "prompts") return "prompts";
  return from === "store" && (typeof place !== "string" || statPath(place)) ? undefined : "copy";
}

/** Returns whether a file is a copy of a session's prompts, and nothing else is left of it. */
export function hasPromptsAlone(file: string): boolean {
  return leftOf(file) === "prompts";
}

/** Returns the note in the header of the first block. */
function ownNote(descriptor: number): JsonRecord | undefined {
  const note = Buffer.alloc(NOTE_BYTES);
  readSync(descriptor, note, 0, NOTE_BYTES, NOTE_AT);
  return parseRecord(note.toString("utf8").trimEnd());
}

/** Returns the values of the note that stand in the header of the block behind it. */
function longValues(descriptor: number): JsonRecord | undefined {
  const header = Buffer.alloc(BLOCK_HEADER + VALUES_NAME.length + 2);
  if (readSync(descriptor, header, 0, header.length, FIRST_BYTES) < header.length) return undefined;
  const isThere = header.subarray(BLOCK_HEADER, BLOCK_HEADER + VALUES_NAME.length).equals(VALUES_NAME);
  // the extra field of any other block ends before that
  if (!isThere || header.readUInt16LE(MEMBER) <= FIELD + 8) return undefined;
  const values = Buffer.alloc(header.readUInt16LE(BLOCK_HEADER + VALUES_NAME.length));
  readSync(descriptor, values, 0, values.length, FIRST_BYTES + header.length);
  return parseRecord(values.toString("utf8"));
}

/** An open file in blocks. */
export interface Blocks {
  /** The bytes of its content. */
  size: number;
  /** Copies content into a buffer, fewer bytes than asked for at a block's end; returns how many. */
  read(buffer: Buffer, place: { at: number; length: number; position: number }): number;
}

interface Block {
  /** Its first byte in the file, and its length there. */
  at: number;
  length: number;
  /** Its first byte in the content, and the bytes of it. */
  from: number;
  bytes: number;
}

/** Opens the blocks of a file for reading. */
export function readBlocks(descriptor: number, file: string): Blocks {
  const size = sizeInBlocks(descriptor, file);
  const { size: length } = fstatSync(descriptor);
  const blocks: Block[] = [];
  const further = blocksWithin(descriptor, file, size);
  let last: { block: Block; content: Buffer } | undefined;
  const find = (position: number): Block => {
    for (let end = blocks.at(-1); !end || end.from + end.bytes <= position; end = blocks.at(-1)) {
      const block = further.next().value;
      if (!block || block.at + block.length > length) throw damaged(file);
      blocks.push(block);
    }
    return blocks.findLast(({ from }) => from <= position) as Block;
  };
  return {
    size,
    read(buffer, { at, length, position }) {
      if (position >= size) return 0;
      const block = find(position);
      if (last?.block !== block) last = { block, content: unpackBlock(descriptor, block, file) };
      const start = position - block.from;
      return last.content.copy(buffer, at, start, Math.min(start + length, block.bytes));
    },
  };
}

/** Yields the blocks that hold the first bytes of a file's content. */
function* blocksWithin(descriptor: number, file: string, bytes: number): Generator<Block, undefined> {
  for (let [at, from] = [FIRST_BYTES, 0]; from < bytes; ) {
    const block = blockAt(descriptor, { at, from });
    if (!block) throw damaged(file);
    yield block;
    at += block.length;
    from += block.bytes;
  }
}

function blockAt(descriptor: number, { at, from }: { at: number; from: number }): Block | undefined {
  const header = Buffer.alloc(BLOCK_HEADER);
  if (readSync(descriptor, header, 0, BLOCK_HEADER, at) < BLOCK_HEADER) return undefined;
  if (!header.subarray(MEMBER + 2, MEMBER + 4).equals(FIELD_NAME)) return undefined;
  const length = header.readUInt32LE(MEMBER + 2 + FIELD);
  const bytes = header.readUInt32LE(MEMBER + 2 + FIELD + 4);
  return bytes === 0 || bytes > BLOCK_BYTES ? undefined : { at, length, from, bytes };
}

function unpackBlock(descriptor: number, block: Block, file: string): Buffer {
  const { bytes } = block;
  try {
    const content: Buffer = process
      .getBuiltinModule("node:zlib")
      .gunzipSync(readPacked(descriptor, block), { maxOutputLength: bytes });
    if (content.length === bytes) return content;
  } catch (cause) {
    throw damaged(file, cause);
  }
  throw damaged(file);
}

function damaged(file: string, cause?: unknown): SessionMemoryError {
  return unreadable(file, "it is damaged", cause);
}

function unreadable(file: string, why: string, cause?: unknown): SessionMemoryError {
  const name = file.endsWith(BLOCKED) ? file : file + BLOCKED;
  return new SessionMemoryError("PARSE_ERROR", `Cannot read "${name}": ${why}`, {
    hint: "restore it from a backup, or delete it: what was indexed of the session stays searchable",
    cause,
  });
}
