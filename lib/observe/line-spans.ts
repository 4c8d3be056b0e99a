/** Ranges of transcript lines as text. */

/** Ascending lines as ranges: `12-14,17`. */
export function lineSpans(lines: Iterable<number>): string {
  const spans: string[] = [];
  let from: number | undefined;
  let to = 0;
  for (const line of [...new Set(lines)].toSorted((a, b) => a - b)) {
    if (from !== undefined && line === to + 1) to = line;
    else {
      if (from !== undefined) spans.push(from === to ? `${from}` : `${from}-${to}`);
      from = to = line;
    }
  }
  if (from !== undefined) spans.push(from === to ? `${from}` : `${from}-${to}`);
  return spans.join();
}

/** Parses what `lineSpans` wrote. */
export function lineRanges(spans: string): [from: number, to: number][] {
  return spans.split(",").flatMap((span): [number, number][] => {
    const [from, to = from] = span.split("-").map(Number);
    return from !== undefined && to !== undefined && span !== "" && to - from < 10_000_000
      ? [[from, to]]
      : [];
  });
}
