/**
 * Finds copied rows: hosts write a fork by copying rows, with their ids and times, into a new file.
 */

import { readSync } from "node:fs";
import { hasCode } from "../base/errors.ts";
import type { Head } from "../transcripts/format.ts";
import { withFile } from "../transcripts/jsonl.ts";
import { ownRules } from "../transcripts/rules.ts";
import type { Entry } from "../transcripts/session.ts";
import { entryKey, readEntries } from "../transcripts/transcript.ts";
import { offsetSince } from "./since.ts";

/** The part of a transcript to check. */
interface Part {
  file: string;
  head: Head;
  offset: number;
  /** ISO time: older rows are ignored. */
  after: string | undefined;
}

const BLOCK_BYTES = 1024 * 1024;

/**
 * Returns a check for entries that one of the sources holds too. A fork begins with its copies, so a search for the
 * bytes of the first id decides whether a source needs to be compared at all.
 */
export function copiesIn(part: Part, sources: readonly string[]): (entry: Entry) => boolean {
  const { head, after } = part;
  // pi dates a fork's header and copies older entries below it.
  const born = head.forkedFrom === undefined ? undefined : head.startedAt;
  const id = firstId(part);
  const copied = new Set<string>();
  for (const source of id === undefined ? [] : sources) {
    try {
      if (!containsText(source, id ?? "", after)) continue;
      for (const key of keysOf(source, after)) copied.add(key);
    } catch (error) {
      // Hosts name a session's file before they create it, and delete old ones.
      if (!hasCode(error, "ENOENT")) throw error;
    }
  }
  return (entry) => {
    if (born !== undefined && entry.at !== undefined && entry.at < born) return true;
    const key = copied.size > 0 ? entryKey(entry) : undefined;
    return key !== undefined && copied.has(key);
  };
}

function firstId({ file, head, offset, after }: Part): string | undefined {
  for (const { id, at } of readEntries(file, { rules: ownRules(), head, from: { offset, line: 0 } })) {
    if (id !== undefined && (after === undefined || at === undefined || at >= after)) return id;
  }
  return undefined;
}

function* keysOf(file: string, after: string | undefined): Generator<string> {
  for (const entry of readEntries(file, {
    rules: ownRules(),
    from: { offset: offsetSince(file, after), line: 0 },
  })) {
    const key = entryKey(entry);
    if (key !== undefined) yield key;
  }
}

function containsText(file: string, text: string, after: string | undefined): boolean {
  const start = offsetSince(file, after);
  return withFile(file, (descriptor) => {
    const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
    for (let position = start; ; position += buffer.length - text.length) {
      const read = readSync(descriptor, buffer, 0, buffer.length, position);
      if (buffer.subarray(0, read).includes(text)) return true;
      if (read < buffer.length) return false;
    }
  });
}
