/** Lines that follow each other. */

/** The first and last line of rows that follow each other. */
export type LineSpan = [from: number, to: number];

/** Returns whether a line is within one of the spans. */
export function isWithin(spans: readonly LineSpan[], line: number): boolean {
  return spans.some(([from, to]) => line >= from && line <= to);
}
