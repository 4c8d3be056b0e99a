/** Hits that show whole exchanges. */

import { type ChunkRow, readChunkRange } from "./candidates.ts";
import { exchangeOf } from "./exchanges.ts";
import type { FoundHit } from "./hit.ts";
import { headOf, wholeRow } from "./print.ts";
import { isNew, markRewound, messagesOf, type Row, toLine } from "./rows.ts";

/** Shows whole exchanges: of a long one its first row, and the rows around the passage as far as its share goes. */
export function fillWhole(
  hits: readonly FoundHit[],
  { clean, maxChars }: { clean: (text: string) => string; maxChars: number },
): void {
  const taken = new Set<string>();
  let left = maxChars;
  for (const [i, { hit, passage }] of hits.entries()) {
    const [from, to] = [exchangeOf(passage.first), exchangeOf(passage.last)];
    const chunks = readChunkRange(passage.best.row.store, hit.session_id, [
      (from[0] as ChunkRow).index,
      (to.at(-1) as ChunkRow).index,
    ]);
    const rows = messagesOf(chunks, ({ index }) => index >= passage.from && index <= passage.to)
      .map((row) => ({ ...row, text: clean(row.text) }))
      .filter(isNew(hit.session_id, taken));
    markRewound(rows, passage.best.row.store, passage.best.session.number);
    const share = Math.floor(left / (hits.length - i)) - [...headOf(hits, i)].length;
    const kept = rowsWithin(rows, share);
    hit.lines = kept.map((row) => toLine(row, row.text));
    hit.first_line = Math.min(hit.first_line, ...kept.map(({ line }) => line));
    hit.last_line = Math.max(hit.last_line, ...kept.map(({ line }) => line));
    left -= lengthOf(kept) + [...headOf(hits, i)].length;
  }
}

/** Returns the rows of the passage, then those nearest to it, as far as the characters go; in their order. */
function rowsWithin(rows: readonly Row[], maxChars: number): Row[] {
  const inside = rows.map((row, i) => (row.isInside ? i : -1)).filter((i) => i >= 0);
  const distance = (i: number) => Math.min(...inside.map((at) => Math.abs(at - i)), rows.length);
  const nearest = rows.map((_, i) => i).sort((a, b) => distance(a) - distance(b) || a - b);
  const kept = new Set<Row>();
  let left = maxChars;
  for (const i of nearest) {
    const row = rows[i] as Row;
    const cost = lengthOf([row]);
    if (cost > left && kept.size > 0) break;
    kept.add(row);
    left -= cost;
  }
  return rows.filter((row) => kept.has(row));
}

/** Returns the code points of rows as they are printed whole. */
function lengthOf(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + [...wholeRow(toLine(row, row.text))].length + 1, 0);
}
