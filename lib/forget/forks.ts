/** Reads the keys of rows that are to be forgotten, and finds the other sessions that hold such rows. */

import type { PathsWithRules } from "../config/config.ts";
import { listSessions } from "../sessions/sessions.ts";
import { lastTime } from "../sessions/titles.ts";
import { outermostEntries } from "../transcripts/cursor.ts";
import { makeKeys } from "../transcripts/forgotten.ts";
import { tryHead } from "../transcripts/head.ts";
import type { Rules } from "../transcripts/rules.ts";
import { type RawEntry, type ReadOptions, readEntries } from "../transcripts/transcript.ts";
import type { Target } from "./targets.ts";

/** Returns the keys of a session's rows, and adds their times; none when the host has deleted them. */
export function keysFor({ file = "", agent = "" }: Target, rules: Rules, times: Set<string>): string[] {
  const kept: string[] = [];
  const onForgotten = (row: RawEntry) => {
    if (row.at !== undefined) times.add(row.at);
    const { id = [], time = [], words } = makeKeys(row, agent, rules) ?? {};
    kept.push(...[id, time, words?.() ?? []].flat());
  };
  const head = tryHead(file);
  // A prompt may be written twice: readers take one, and copies hold both.
  for (const each of head?.typedEvents ? [head, { ...head, typedEvents: false }] : [head])
    visitForgotten(file, { rules: { ...rules, isForgotten: () => true }, head: each, onForgotten });
  return kept;
}

/** Reads all of a transcript; nothing when the host has deleted it. */
function visitForgotten(file: string, options: ReadOptions): void {
  try {
    for (const _ of readEntries(file, { ...options, results: true }));
  } catch {
    // gone since it was listed, or not ours to read
  }
}

interface ForkSearch {
  paths: PathsWithRules;
  /** The times of the rows. */
  times: ReadonlySet<string>;
  /** Rules that tell them. */
  rules: Rules;
}

/** Returns the lines on which other sessions hold forgotten rows; none for a fork whose host gave them other times. */
export function findForks(
  targets: readonly Target[],
  { paths, times, rules }: ForkSearch,
): Map<string, ReadonlySet<number>> {
  const [ids, agents] = [new Set(targets.map(({ id }) => id)), new Set(targets.map(({ agent }) => agent))];
  const origins = new Set(targets.flatMap(({ id, file }) => [id, file]));
  const ordered = [...times].sort();
  const [from = "", to = ""] = [ordered[0], ordered.at(-1)];
  const forks = new Map<string, ReadonlySet<number>>();
  for (const session of listSessions(paths, { subagents: true, excluded: true })) {
    const { id, agent, file } = session;
    if (ids.has(id) || !agents.has(agent)) continue;
    const lines = new Set<number>();
    const isApart = (firstTime(file) ?? "") > to || (lastTime(session) ?? to) < from;
    if (!isApart) visitForgotten(file, { rules, onForgotten: ({ line }) => lines.add(line) });
    if (lines.size > 0 || origins.has(tryHead(file)?.forkedFrom)) forks.set(id, lines);
  }
  return forks;
}

/** Returns the time of the first entry of a transcript. */
function firstTime(file: string): string | undefined {
  try {
    return outermostEntries(file)[0]?.at;
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}
