/** The transcript reader for tests that are not about config.json: with our own rules unless told otherwise. */

import * as backward from "../../lib/transcripts/backward.ts";
import { ownRules } from "../../lib/transcripts/rules.ts";
import type { Entry } from "../../lib/transcripts/session.ts";
import * as transcript from "../../lib/transcripts/transcript.ts";

type Without<T extends { rules: unknown }> = Omit<T, "rules"> & Partial<Pick<T, "rules">>;

export function readEntries(
  file: string,
  options: Without<transcript.ReadOptions> = {},
): Generator<Entry, void> {
  return transcript.readEntries(file, { rules: ownRules(), ...options });
}

export function readLastEntries(file: string, options: Without<backward.ReadLastOptions>) {
  return backward.readLastEntries(file, { rules: ownRules(), ...options });
}

export function readActiveBranch(
  file: string,
  options: Without<Parameters<typeof transcript.readActiveBranch>[1]> = {},
) {
  return transcript.readActiveBranch(file, { rules: ownRules(), ...options });
}
