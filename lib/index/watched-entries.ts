/** A transcript's entries as indexing takes them: with what must be known of the lines between them. */

import type { Head } from "../transcripts/format.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Agent, Cursor, Entry } from "../transcripts/session.ts";
import { type BranchWatch, branchWatch, type ReadProgress, readEntries } from "../transcripts/transcript.ts";

/** Filled in while entries are taken. */
export interface Watch {
  progress: ReadProgress;
  /** Skipped lines before each user message that was read and not yet taken. */
  skippedBefore: Map<Entry, number>;
  compactedLine: number | undefined;
  messages: number;
  /** True if some text was not UTF-8. */
  isTorn: boolean;
  /** True if reading ended before the file did. */
  isCut: boolean;
  branches: BranchWatch;
}

export function newWatch(agent: Agent): Watch {
  return {
    progress: { offset: 0, line: 0, skipped: 0 },
    skippedBefore: new Map(),
    compactedLine: undefined,
    messages: 0,
    isTorn: false,
    isCut: false,
    branches: branchWatch(agent),
  };
}

interface WatchOptions {
  rules: Rules;
  head: Head | undefined;
  from?: Cursor | undefined;
  watch: Watch;
  /** Returns whether to stop. */
  isOver?: (() => boolean) | undefined;
}

/** Yields the entries behind the cursor. */
export function* watchedEntries(
  file: string,
  { rules, head, from, watch, isOver }: WatchOptions,
): Generator<Entry> {
  if (!head) return;
  const { progress, branches } = watch;
  for (const entry of readEntries(file, {
    rules,
    from,
    head,
    progress,
    results: "ends",
    onNode: branches.see,
  })) {
    if (isOver?.()) {
      watch.isCut = true;
      return;
    }
    if (entry.kind === "user") watch.skippedBefore.set(entry, watch.progress.skipped);
    if (entry.kind === "summary") watch.compactedLine = entry.line;
    if (entry.kind === "user" || entry.kind === "assistant") {
      watch.messages++;
      if (entry.text.includes("\ufffd")) watch.isTorn = true;
    }
    yield entry;
  }
}
