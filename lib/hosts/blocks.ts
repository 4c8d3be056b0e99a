/**
 * Gzip files written in blocks: `gunzip` unpacks them whole, and here any part of one is read without the rest, so that a
 * file of any size takes the memory of two blocks.
 *
 * Each block is a gzip member that says in its header's extra field (RFC 1952, 2.3.1.1) how long it is, and what it holds. The
 * first one holds nothing: its header has the size of all, and a note of whoever wrote it.
 */

import { closeSync, fstatSync, fsyncSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { ensureDirectory, FILE_MODE, openToRead, remove, temporaryPath } from "../base/files.ts";
import { type JsonRecord, parseRecord } from "../base/json.ts";
import { BLOCKED } from "./names.ts";

const BLOCK_BYTES = 256 * 1024; // larger ones pack no better and take more memory
const NOTE_BYTES = 480; // with the header less than a sector, which no crash tears
const MEMBER = 10; // bytes of a header up to its extra field
const FIELD = 4; // bytes of the field's name and length
const EXTRA_FLAG = 4;
const FIELD_NAME = Buffer.from("SM");
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
  /** Completes the file with a note of at most a few hundred characters. */
  end(note: JsonRecord): void;
  /** Removes what was written. */
  abandon(): void;
}

/**
 * Begins the packed form of a file, which takes the place of an old one only when it is whole; where `durable`, when it is on
 * disk too, without which a power cut can leave it empty.
 */
export function writeBlocks(file: string, { durable }: { durable: boolean }): BlockWriter {
  const path = file + BLOCKED;
  ensureDirectory(dirname(path));
  const temporary = temporaryPath(path);
  const descriptor = openSync(temporary, "wx", FILE_MODE);
  const pending = Buffer.allocUnsafe(BLOCK_BYTES);
  let filled = 0;
  let size = 0;
  let position = FIRST_BYTES;
  const put = (bytes: Uint8Array, at: number) => {
    for (let done = 0; done < bytes.length; )
      done += writeSync(descriptor, bytes, done, bytes.length - done, at + done);
  };
  const flush = () => {
    if (filled === 0) return;
    const block = packBlock(pending.subarray(0, filled));
    put(block, position);
    position += block.length;
    size += filled;
    filled = 0;
  };
  return {
    write(bytes) {
      for (let done = 0; done < bytes.length; ) {
        const part = bytes.subarray(done, done + BLOCK_BYTES - filled);
        pending.set(part, filled);
        filled += part.length;
        done += part.length;
        if (filled === BLOCK_BYTES) flush();
      }
    },
    end(note) {
      flush();
      put(firstMember(size, note), 0);
      if (durable) fsyncSync(descriptor);
      closeSync(descriptor);
      renameSync(temporary, path);
    },
    abandon() {
      closeSync(descriptor);
      remove(temporary);
    },
  };
}

function packBlock(content: Uint8Array): Buffer {
  const packed: Buffer = process.getBuiltinModule("node:zlib").gzipSync(content);
  const header = Buffer.alloc(BLOCK_HEADER);
  packed.copy(header, 0, 0, MEMBER);
  header.writeUInt8(EXTRA_FLAG, 3);
  header.writeUInt16LE(FIELD + 8, MEMBER);
  FIELD_NAME.copy(header, MEMBER + 2);
  header.writeUInt16LE(8, MEMBER + 4);
  header.writeUInt32LE(packed.length - MEMBER + BLOCK_HEADER, MEMBER + 2 + FIELD);
  header.writeUInt32LE(content.length, MEMBER + 2 + FIELD + 4);
  return Buffer.concat([header, packed.subarray(MEMBER)]);
}

function firstMember(size: number, note: JsonRecord): Buffer {
  const header = Buffer.alloc(NOTE_AT + NOTE_BYTES, " ");
  Buffer.from([0x1f, 0x8b, 8, EXTRA_FLAG, 0, 0, 0, 0, 0, 255]).copy(header);
  header.writeUInt16LE(FIELD + 8 + NOTE_BYTES, MEMBER);
  FIELD_NAME.copy(header, MEMBER + 2);
  header.writeUInt16LE(8 + NOTE_BYTES, MEMBER + 4);
  header.writeBigUInt64LE(BigInt(size), SIZE_AT);
  const text = Buffer.from(JSON.stringify(note));
  if (text.length > NOTE_BYTES) throw new Error(`The note is too long: ${text.length} bytes`);
  text.copy(header, NOTE_AT);
  return Buffer.concat([header, EMPTY_TAIL]);
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
  throw new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}${BLOCKED}": it is no file of ours`);
}

/** Returns the note in the first block of a file's packed form; undefined without one that was written here. */
export function readNote(file: string): JsonRecord | undefined {
  let descriptor: number;
  try {
    descriptor = openToRead(file + BLOCKED);
  } catch {
    return undefined;
  }
  try {
    sizeInBlocks(descriptor, file);
    const note = Buffer.alloc(NOTE_BYTES);
    readSync(descriptor, note, 0, NOTE_BYTES, NOTE_AT);
    return parseRecord(note.toString("utf8").trimEnd());
  } catch {
    return undefined;
  } finally {
    closeSync(descriptor);
  }
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
  let last: { block: Block; content: Buffer } | undefined;
  const find = (position: number): Block => {
    for (let end = blocks.at(-1); !end || end.from + end.bytes <= position; end = blocks.at(-1)) {
      const at = end ? end.at + end.length : FIRST_BYTES;
      const block = blockAt(descriptor, { at, from: end ? end.from + end.bytes : 0 });
      if (!block || block.at + block.length > length) throw damaged(file);
      blocks.push(block);
    }
    let [low, high] = [0, blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((blocks[middle] as Block).from <= position) low = middle;
      else high = middle - 1;
    }
    return blocks[low] as Block;
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

function blockAt(descriptor: number, { at, from }: { at: number; from: number }): Block | undefined {
  const header = Buffer.alloc(BLOCK_HEADER);
  if (readSync(descriptor, header, 0, BLOCK_HEADER, at) < BLOCK_HEADER) return undefined;
  if (!header.subarray(MEMBER + 2, MEMBER + 4).equals(FIELD_NAME)) return undefined;
  const length = header.readUInt32LE(MEMBER + 2 + FIELD);
  const bytes = header.readUInt32LE(MEMBER + 2 + FIELD + 4);
  return bytes === 0 || bytes > BLOCK_BYTES ? undefined : { at, length, from, bytes };
}

function unpackBlock(descriptor: number, { at, length, bytes }: Block, file: string): Buffer {
  const packed = Buffer.allocUnsafe(length);
  const read = readSync(descriptor, packed, 0, length, at);
  try {
    const content: Buffer = process
      .getBuiltinModule("node:zlib")
      .gunzipSync(packed.subarray(0, read), { maxOutputLength: bytes });
    if (content.length === bytes) return content;
  } catch (cause) {
    throw damaged(file, cause);
  }
  throw damaged(file);
}

function damaged(file: string, cause?: unknown): SessionMemoryError {
  const name = file.endsWith(BLOCKED) ? file : file + BLOCKED;
  return new SessionMemoryError("PARSE_ERROR", `Cannot read "${name}": it is damaged`, { cause });
}
