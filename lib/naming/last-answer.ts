/** Reads the last answer of a session. */

import { readLastEntries } from "../transcripts/backward.ts";
import type { Rules } from "../transcripts/rules.ts";

/** How many entries from the end are searched. */
const LAST_ENTRIES = 20;

/** Returns the assistant's last text, redacted; undefined when the last entries have none. */
export function readLastAnswer(file: string, rules: Rules): string | undefined {
  const { entries } = readLastEntries(file, { rules, count: LAST_ENTRIES });
  return entries.findLast(({ kind, text }) => kind === "assistant" && text.trim() !== "")?.text;
}
