/**
 * A conversation too large to hold: what is covered already without its text, tool results cut to their ends, and no
 * more at a time than fits in memory. Abandoned branches are not told apart here.
 */

import type { Rules } from "../transcripts/rules.ts";
import type { Entry } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";

/** Characters of text held at a time, and of one tool result. */
const HELD_CHARS = 16_000_000;
const RESULT_ENDS_CHARS = 4000;

export interface LeanConversation {
  entries: Entry[];
  /** False when there is more than could be held: it comes once this much is covered. */
  isWhole: boolean;
}

/** Reads a transcript in file order. */
export function readLean(
  file: string,
  {
    rules,
    covered,
    heldChars = HELD_CHARS,
  }: { rules: Rules; covered: ReadonlySet<number>; heldChars?: number },
): LeanConversation {
  const entries: Entry[] = [];
  let held = 0;
  for (const entry of readEntries(file, { rules, results: true, unterminated: "accept" })) {
    const text = covered.has(entry.line) ? "" : shortened(entry);
    held += text.length;
    if (held > heldChars && entry.line !== entries.at(-1)?.line) return { entries, isWhole: false };
    entries.push({ ...entry, text });
  }
  return { entries, isWhole: true };
}

function shortened({ kind, text }: Entry): string {
  if (kind !== "result" || text.length <= RESULT_ENDS_CHARS * 2) return text;
  const ends = `${text.slice(0, RESULT_ENDS_CHARS)}\n${text.slice(-RESULT_ENDS_CHARS)}`;
  // A slice keeps the whole string alive; a copy does not.
  return Buffer.from(ends).toString();
}
