/** The transcript reader for tests that are not about config.json: with our own rules unless told otherwise. */

import type { Entry } from "../../lib/hosts/session.ts";
import { ownRules } from "../../lib/transcripts/rules.ts";
import * as transcript from "../../lib/transcripts/transcript.ts";
import * as tree from "../../lib/transcripts/tree.ts";

type Without<T extends { rules: unknown }> = Omit<T, "rules"> & Partial<Pick<T, "rules">>;

export function readEntries(
  file: string,
  options: Without<transcript.ReadOptions> = {},
): Generator<Entry, void> {
  return transcript.readEntries(file, { rules: ownRules(), ...options });
}

/** Returns the last `count` entries, oldest first, with the lines that are damaged in what was read for them. */
export function readLastEntries(
  file: string,
  { count, ...options }: Without<transcript.ReadLastOptions>,
): { entries: Entry[]; skipped: number } {
  const { entries, skipped } = transcript.readLast(file, { rules: ownRules(), count, ...options });
  return { entries: entries.slice(-count), skipped };
}

export function readActiveBranch(
  file: string,
  options: Without<Parameters<typeof tree.readActiveBranch>[1]> = {},
) {
  return tree.readActiveBranch(file, { rules: ownRules(), ...options });
}
