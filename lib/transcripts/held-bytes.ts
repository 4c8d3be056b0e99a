/** Bytes of transcripts as they are read: counted, and held in memory while several readers go over the same ones. */

import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** What this process has read of transcripts so far. */
export const reads = { bytes: 0 };

/** Stretches of a file that stay in memory while several readers go over them. */
interface Held {
  from: number;
  bytes: Buffer;
}

const held = new Map<string, Held[]>();

/**
 * Holds the head of a file and all from the byte `from` on in memory while `work` runs, so that its readers share one
 * read. What is appended meanwhile is read from the file.
 */
export async function holdingTail<T>(
  file: string,
  { head, from }: { head: number; from: number },
  work: () => Promise<T>,
): Promise<T> {
  const descriptor = openSync(file, "r");
  const key = fileKey(descriptor);
  const before = held.get(key);
  try {
    const { size } = fstatSync(descriptor);
    const start = from <= head ? 0 : Math.min(from, size);
    const parts = [stretch(descriptor, start, size - start)];
    if (start > 0) parts.push(stretch(descriptor, 0, Math.min(head, size)));
    held.set(key, [...parts, ...(before ?? [])]);
  } finally {
    closeSync(descriptor);
  }
  try {
    return await work();
  } finally {
    if (before) held.set(key, before);
    else held.delete(key);
  }
}

function stretch(descriptor: number, from: number, length: number): Held {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const read = readAt(descriptor, bytes, { at: filled, length: length - filled, position: from + filled });
    if (read === 0) break; // it shrank while we read
    filled += read;
  }
  return { from, bytes: bytes.subarray(0, filled) };
}

function fileKey(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor);
  return `${dev}:${ino}`;
}

/** `readSync` from what is held, else from the file. */
export function readAt(
  descriptor: number,
  buffer: Buffer,
  { at, length, position }: { at: number; length: number; position: number },
): number {
  const parts = held.size > 0 ? (held.get(fileKey(descriptor)) ?? []) : [];
  for (const { from, bytes } of parts) {
    if (position >= from && position < from + bytes.length)
      return bytes.copy(buffer, at, position - from, Math.min(bytes.length, position - from + length));
  }
  // Up to what is held and no further.
  const wanted = parts.reduce(
    (least, { from }) => (from > position ? Math.min(least, from - position) : least),
    length,
  );
  const read = readSync(descriptor, buffer, at, wanted, position);
  reads.bytes += read;
  return read;
}
