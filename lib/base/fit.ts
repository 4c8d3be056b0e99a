/** Fits blocks of lines into a budget of code points. */

import { countPoints, type Line } from "./output.ts";

/** A piece of a page. */
export interface Block<T extends Line | string = string> {
  /** The block of the lowest rank is taken first, and grows first; equal ones in their order. */
  rank: number;
  /** Its lines: the whole, then forms in less and less room. A block without a form is only counted. */
  forms: readonly (readonly T[])[];
}

interface Budget<T extends Line | string> {
  /** The most code points, line ends included. */
  maxChars: number;
  /** Measures lines. @default by code points */
  size?: (lines: readonly T[]) => number;
  /** Returns the lines that stand for `count` neighbours that are left out. */
  gap: (count: number) => readonly T[];
}

/**
 * Returns all lines where they fit, else the ones of as many blocks as do, by rank and in their shortest form. These grow as
 * far as there is room, and blocks left out are counted where they stood.
 */
export function fit<T extends Line | string>(
  blocks: readonly Block<T>[],
  { maxChars, size = countPoints, gap }: Budget<T>,
): T[] {
  const whole = blocks.flatMap(({ forms }) => forms[0] ?? []);
  if (blocks.every(({ forms }) => forms.length > 0) && size(whole) <= maxChars) return whole;
  const chosen: (readonly T[] | undefined)[] = blocks.map(() => undefined);
  const gapCost = (count: number) => (count === 0 ? 0 : size(gap(count)));
  let left = maxChars - gapCost(blocks.length);
  const ranked = [...blocks.entries()].sort(([, a], [, b]) => a.rank - b.rank);
  for (const [i, { forms }] of ranked) {
    const form = forms.at(-1);
    if (form === undefined) continue;
    const before = i - 1 - chosen.findLastIndex((shown, at) => at < i && shown !== undefined);
    const next = chosen.findIndex((shown, at) => at > i && shown !== undefined);
    const after = (next === -1 ? blocks.length : next) - i - 1;
    const gaps = gapCost(before) + gapCost(after) - gapCost(before + 1 + after);
    const cost = size(form) + gaps;
    if (cost > left) break;
    left -= cost;
    chosen[i] = form;
  }
  const most = Math.max(0, ...blocks.map(({ forms }) => forms.length));
  for (let shorter = most - 1; shorter > 0; shorter--) {
    for (const [i, { forms }] of ranked) {
      const [form, now] = [forms[shorter - 1], chosen[i]];
      if (form === undefined || now === undefined || now !== forms[shorter]) continue;
      const cost = size(form) - size(now);
      if (cost > left) continue;
      left -= cost;
      chosen[i] = form;
    }
  }
  return withGaps(chosen, gap);
}

function withGaps<T>(
  chosen: readonly (readonly T[] | undefined)[],
  gap: (count: number) => readonly T[],
): T[] {
  const lines: T[] = [];
  let hidden = 0;
  for (const form of [...chosen, []]) {
    if (form === undefined) hidden++;
    else {
      if (hidden > 0) lines.push(...gap(hidden));
      hidden = 0;
      lines.push(...form);
    }
  }
  return lines;
}
