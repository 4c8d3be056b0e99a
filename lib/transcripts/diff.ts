/** What an edit changed, as the lines of a unified diff. */

import { arrayOf, isRecord, numberOf } from "../base/json.ts";

/** Larger changes are shown as all removed, then all added: the table below grows with both sides. */
const CELLS_MAX = 250_000;

/** Compares two texts: returns the removed and added lines, and the kept ones between two changes. */
export function diffLines(before: string, after: string): string[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  return changedLines(old.slice(start, old.length - end), now.slice(start, now.length - end));
}

/** Writes a host's structured patch as text; undefined when it is none. */
export function patchText(hunks: unknown): string | undefined {
  const parts = arrayOf(hunks).filter(isRecord);
  if (parts.length === 0) return undefined;
  return parts
    .map(({ oldStart, oldLines, newStart, newLines, lines }) => {
      const [from, removed, to, added] = [oldStart, oldLines, newStart, newLines].map(
        (n) => numberOf(n) ?? 0,
      );
      const text = arrayOf(lines).filter((line) => typeof line === "string");
      return [`@@ -${from},${removed} +${to},${added} @@`, ...text].join("\n");
    })
    .join("\n");
}

/** Counts the lines that a diff adds and removes. */
export function countChanges(diff: string): { added: number; removed: number } {
  const count = (sign: RegExp) => diff.match(sign)?.length ?? 0;
  return { added: count(/^\+(?!\+\+ )/gm), removed: count(/^-(?!-- )/gm) };
}

/** Returns only the added and removed lines of a diff. */
export function onlyChanges(diff: string): string {
  return diff
    .split("\n")
    .filter((line) => /^(?:[+-](?!(?:\+\+|--) )|\*\*\* (?:Update|Add|Delete|Move))/.test(line))
    .join("\n");
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** By the longest common subsequence. */
function changedLines(old: readonly string[], now: readonly string[]): string[] {
  const width = now.length + 1;
  if (old.length * now.length > CELLS_MAX)
    return [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)];
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i * width + j] =
        old[i] === now[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(` ${old[i++]}`);
      j++;
    } else if (
      i < old.length &&
      (j === now.length || (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push(`-${old[i++]}`);
    } else lines.push(`+${now[j++]}`);
  }
  return lines;
}
