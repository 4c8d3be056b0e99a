/** Derives from an exchange's rows what the index ranks, wherever they come from: a transcript, or another's machine. */

import type { Entry, Row } from "../hosts/session.ts";
import { rowTexts } from "../transcripts/calls.ts";
import { isBefore } from "../transcripts/rows.ts";
import type { Rules } from "../transcripts/rules.ts";
import { type Chunk, type ChunkContext, chunkExchange, searchableRows } from "./chunk.ts";
import { placeKey } from "./stored-rows.ts";

/** An exchange as it is indexed. */
interface Derived {
  /** Nothing of them is excluded; the index still cuts the calls, after chunks were made of whole ones. */
  rows: readonly Row[];
  chunks: readonly Chunk[];
  /** The number of chunks that were cut, including those with an excluded text: the next exchange's chunks are numbered from there. */
  cut: number;
}

/** Cuts an exchange's rows into chunks, and leaves out the ones that hold an excluded text, with their rows. */
export function deriveExchange(
  rows: readonly Row[],
  {
    rules,
    topics,
    ...context
  }: ChunkContext & { rules: Pick<Rules, "hasPatterns" | "hasText"> } & Pick<Entry, "topics">,
): Derived {
  const searchable = searchableRows(rows);
  const cut = chunkExchange(searchable, context);
  // topics of another machine's model fit if it cut as many chunks
  const given = topics?.length === cut.length ? topics : [];
  const chunks = cut.map((chunk, i) => {
    const own = given[i];
    return own ? { ...chunk, header: { ...chunk.header, topics: own } } : chunk;
  });
  return { ...withoutExcluded(searchable, chunks, rules), cut: chunks.length };
}

/** Leaves out rows that hold an excluded text; one in a prompt excludes the answer, up to the next prompt. */
export function withoutTexts(rows: readonly Row[], hasText: (text: string) => boolean): Row[] {
  let isAnswerOut = false;
  return rows.filter((row) => {
    const isOut = rowTexts(row).some(hasText);
    if (row.who === "user") isAnswerOut = isOut;
    return !isOut && !isAnswerOut;
  });
}

/** Leaves out chunks that hold an excluded text, with what they are made of: a pattern may reach over several rows. */
function withoutExcluded(
  rows: readonly Row[],
  chunks: readonly Chunk[],
  { hasPatterns, hasText }: Pick<Rules, "hasPatterns" | "hasText">,
): Omit<Derived, "cut"> {
  if (!hasPatterns) return { rows, chunks };
  const out = new Set<string>();
  for (const [i, chunk] of chunks.entries()) {
    const isCalled = hasText(chunk.tools);
    if (!isCalled && !hasText(chunk.content)) continue;
    for (const row of chunk.rows) out.add(placeKey(row));
    const [from, to] = [i === 0 ? undefined : chunk.rows[0], chunks[i + 1]?.rows[0]];
    const isOfChunk = (row: Row) => !(from && isBefore(row, from)) && (to === undefined || isBefore(row, to));
    if (isCalled) for (const row of rows.filter(isOfChunk)) out.add(placeKey(row));
  }
  // of a long message no piece stays
  const kept = chunks.filter((chunk) => !chunk.rows.some((row) => out.has(placeKey(row))));
  return { rows: rows.filter((row) => !out.has(placeKey(row))), chunks: kept };
}
