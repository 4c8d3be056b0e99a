/** Finds where a time begins in a transcript, from its end, without reading older rows. */

import { statSync } from "node:fs";
import type { Head } from "../transcripts/format.ts";
import { linesForward, withFile } from "../transcripts/jsonl.ts";
import { ownRules } from "../transcripts/rules.ts";
import { readEntries } from "../transcripts/transcript.ts";

/** Each probe reaches back four times as far as the one before. */
const PROBE_BYTES = 256 * 1024;

/** Returns the start of a line before everything newer than an ISO time, assuming rows in order of time. */
export function offsetSince(file: string, since: string | undefined, head?: Head): number {
  if (since === undefined) return 0;
  const { size } = statSync(file);
  for (let reach = PROBE_BYTES; reach < size; reach *= 4) {
    const offset = nextLineStart(file, size - reach);
    const at = firstTime(file, offset, head);
    if (at !== undefined && at < since) return offset;
  }
  return 0;
}

function nextLineStart(file: string, position: number): number {
  return withFile(file, (descriptor) => {
    for (const { end } of linesForward(descriptor, position)) return end;
    return position;
  });
}

function firstTime(file: string, offset: number, head: Head | undefined): string | undefined {
  for (const { at } of readEntries(file, { rules: ownRules(), head, from: { offset, line: 0 } }))
    if (at !== undefined) return at;
  return undefined;
}
