/** The steps of a transcript that are asked for: its last ones, or those at some lines. */

import { readBackward } from "./backward.ts";
import { offsetOfLine, withFile } from "./jsonl.ts";
import type { Rules } from "./rules.ts";
import type { Cursor, Entry } from "./session.ts";
import { isWanted, type Step, type StepFilter, stepsOf } from "./steps.ts";
import { type Head, numberLines, type ReadProgress, readEntries } from "./transcript.ts";

interface StepOptions {
  rules: Rules;
  filter: StepFilter;
  head?: Head | undefined;
  /** A line whose place is known, to count from. @default the first */
  known?: { line: number; offset: number } | undefined;
}

/** Steps older than what is asked for, one after the other, before no newer one is expected: rows are not always in order. */
const OLDER_MAX = 500;
/** How far behind its call a result is waited for. */
const RESULT_LINES_MAX = 300;

/** Reads the last `count` steps that pass the filter, oldest first. */
export function readLastSteps(
  file: string,
  { rules, filter, head, known, count }: StepOptions & { count: number },
): { steps: Step[]; skipped: number } {
  const parts: Step[][] = [];
  let [found, skipped, older] = [0, 0, 0];
  for (const part of readBackward(file, { rules, head, results: true })) {
    const steps = stepsOf(part.entries);
    const wanted = steps.filter((step) => isWanted(step, filter));
    skipped = part.skipped;
    found += wanted.length;
    if (wanted.length > 0) parts.push(wanted);
    older = steps.some(({ entry: { at } }) => isRecent(at, filter)) ? 0 : older + steps.length;
    if (found >= count || older > OLDER_MAX) break;
  }
  const steps = parts.reverse().flat().slice(-count);
  number(file, steps, known);
  return { steps, skipped };
}

function isRecent(at: string | undefined, { since }: StepFilter): boolean {
  return since === undefined || at === undefined || at >= since;
}

/**
 * The steps on some lines, `around` steps before and after them, as far as the filter lets them through; undefined
 * when the file has fewer lines.
 */
export function readStepsAt(
  file: string,
  { from, to, around, rules, filter }: StepOptions & { from: number; to: number; around: number },
): Step[] | undefined {
  const offset = withFile(file, (descriptor, size) => offsetOfLine(descriptor, from, size));
  if (offset === undefined) return undefined;
  const start = { offset, line: from - 1 };
  const end = endOf(file, { start, to, around, rules, filter });
  const parts: Step[][] = [];
  let before = 0;
  for (const { entries } of readBackward(file, { rules, results: true, before: end })) {
    const steps = stepsOf(entries).filter((step) => isWanted(step, filter));
    if (steps.length > 0) parts.push(steps);
    before += steps.filter(({ entry }) => entry.offset < offset).length;
    if (before >= around && (entries[0]?.offset ?? end) < offset) break;
  }
  const steps = parts.reverse().flat();
  number(file, steps, { line: from, offset });
  const [first, behind] = [
    steps.filter(({ entry }) => entry.line < from),
    steps.filter(({ entry }) => entry.line > to),
  ];
  const within = steps.filter(({ entry }) => entry.line >= from && entry.line <= to);
  return [...(around > 0 ? first.slice(-around) : []), ...within, ...behind.slice(0, around)];
}

/** Finds where reading may end: after the wanted steps and the results of their calls. */
function endOf(
  file: string,
  { start, to, around, rules, filter }: StepOptions & { start: Cursor; to: number; around: number },
): number {
  const progress: ReadProgress = { ...start, skipped: 0 };
  const open = new Set<string>();
  let after = 0;
  let last = to;
  for (const entry of readEntries(file, {
    rules,
    from: start,
    results: true,
    unterminated: "accept",
    progress,
  })) {
    const { line, kind, callId } = entry;
    if (after >= around && line > last && (open.size === 0 || line > last + RESULT_LINES_MAX))
      return entry.offset;
    if (kind === "result") open.delete(callId ?? "");
    else if (line <= to || after < around) {
      if (entry.tool && callId !== undefined) open.add(callId);
      if (line > to && isWanted({ entry }, { ...filter, insideTools: false, words: [] })) after++;
      last = Math.max(last, line);
    }
  }
  return Number.MAX_SAFE_INTEGER;
}

/** Fills in the lines of steps that were read from the end. */
function number(file: string, steps: readonly Step[], known?: { line: number; offset: number }): void {
  numberLines(
    file,
    steps.map(({ entry }): Entry => entry),
    known,
  );
}
