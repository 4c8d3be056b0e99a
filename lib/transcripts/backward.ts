/** A transcript read from its end, so that a huge one takes no longer than a small one. */

import { closeSync, fstatSync, openSync } from "node:fs";
import { callCheck } from "./calls.ts";
import type { Head, RawEntry, Results } from "./format.ts";
import { formatOf, readHead } from "./head.ts";
import { linesBackward, parseLine, withFile } from "./jsonl.ts";
import { entryFilter, type Rules } from "./rules.ts";
import type { Entry } from "./session.ts";

/**
 * The last `count` entries of a transcript, oldest first, read from its end. `line` is 0 in them: counting lines
 * means reading the file (`numberLines`).
 */
export function readLastEntries(
  file: string,
  options: ReadLastOptions,
): { entries: Entry[]; skipped: number } {
  const { count } = options;
  if (count <= 0) return { entries: [], skipped: 0 };
  const entries: Entry[] = [];
  let skipped = 0;
  for (const part of readBackward(file, options)) {
    entries.push(...part.entries.reverse());
    skipped = part.skipped;
    if (entries.length >= count) break;
  }
  return { entries: entries.slice(0, count).reverse(), skipped };
}

/**
 * Yields a transcript's entries in parts from its end to its start, each in file order and whole in itself: results
 * with their calls. `line` is 0 in them. `skipped` counts the damaged lines so far.
 */
export function* readBackward(
  file: string,
  { rules, head = readHead(file), results = false, before }: ReadBackwardOptions,
): Generator<{ entries: Entry[]; skipped: number }> {
  if (!head) return;
  const format = formatOf(head.agent);
  const descriptor = openSync(file, "r");
  try {
    let pending: RawEntry[] = [];
    let skipped = 0;
    const calls = openCalls();
    // Whether an answer is excluded is known at its prompt, whether a result counts at its call.
    const take = () => {
      const check = callCheck({ cwd: head.cwd, results });
      const checked = pending.reverse().flatMap((raw) => check(raw) ?? []);
      pending = [];
      return { entries: checked.flatMap(entryFilter(rules)), skipped };
    };
    const { size } = fstatSync(descriptor);
    for (const line of linesBackward(descriptor, Math.min(before ?? size, size))) {
      const { records, damaged } = line.bytes ? parseLine(line.bytes) : { records: [], damaged: true };
      if (damaged && line.terminated) skipped++;
      if (damaged && !line.terminated) continue;
      const place = { line: 0, offset: line.offset, end: line.end };
      const found = records.flatMap((record) =>
        format.entries(record, place, { head, results: results !== false }),
      );
      pending.push(...found.reverse());
      if (calls.areOpen(found)) continue;
      if (rules.hasPatterns && !found.some(({ kind }) => kind === "user")) continue;
      yield take();
    }
    yield take();
  } finally {
    closeSync(descriptor); // also when the taker stops early
  }
}

/** Returns the tool calls on the lines shortly before a byte offset. */
export function callsBefore(file: string, { head, offset }: { head: Head; offset: number }): RawEntry[] {
  const format = formatOf(head.agent);
  return withFile(file, (descriptor) => {
    const calls: RawEntry[] = [];
    let lines = 0;
    for (const { offset: start, end, bytes } of linesBackward(descriptor, offset)) {
      if (++lines > CALL_LINES_MAX) break;
      const place = { line: 0, offset: start, end };
      for (const record of bytes ? parseLine(bytes).records : []) {
        calls.push(...format.entries(record, place, { head, results: false }).filter(({ tool }) => tool));
      }
    }
    return calls;
  });
}

/** How far back a result's call is looked for: calls of one message come back in any order, but soon. */
const CALL_LINES_MAX = 300;

/** Tells, of lines from the last to the first, whether results were met whose calls were not. */
function openCalls(): { areOpen(found: readonly RawEntry[]): boolean } {
  const open = new Map<string, number>();
  let line = 0;
  return {
    areOpen(found) {
      line++;
      for (const { callId, tool, kind, settle } of found) {
        if (callId === undefined) continue;
        if (tool) open.delete(callId);
        else if (kind === "result" || settle) open.set(callId, line);
      }
      for (const [callId, since] of open) if (line - since > CALL_LINES_MAX) open.delete(callId);
      return open.size > 0;
    },
  };
}

export interface ReadBackwardOptions {
  /** What is redacted in the entries, and which are left out. */
  rules: Rules;
  /** Byte offset of a line's start to read back from. @default the file's end */
  before?: number;
  head?: Head | undefined;
  /** Whether tool results are wanted too, and of long ones all or their ends. @default {false} */
  results?: Results;
}

export interface ReadLastOptions extends ReadBackwardOptions {
  count: number;
}
