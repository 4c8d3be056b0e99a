/** Which rows each hit shows: those that answer, or whole exchanges, and what its session says of it later. */

import { type ChunkRow, keepMatching, readChunkRange } from "./candidates.ts";
import { chooseRows } from "./choose.ts";
import { type FoundHit, type HitLine, type HitOptions, isWithin, mergeRanges, type Passage } from "./hit.ts";
import { footLines, headOf, rowPrefix, wholeRow } from "./print.ts";
import type { Retrieved } from "./retrieval.ts";
import { deedRowsOf, exchangeOf, isNew, markRewound, messagesOf, type Row, toLine } from "./rows.ts";

/** Code points to choose from for a hit that is shown on one line: more than that has, so that its best row is among them. */
const LINE_CHARS = 1000;
/** The part of the characters that is spent on hits; the rest is for what is said later. */
const FILLED = 0.93;
/** A range grows by a few digits when its rows are known. */
const RANGE_SLACK = 4;
/** Rows so many lines before and behind a passage may be shown with it. */
const AROUND_LINES = 40;
/** Hits whose session is searched for what came later, and code points of it. */
const LATER_HITS = 2;
const LATER_CHARS = 150;

interface Filling {
  found: Retrieved;
  options: HitOptions;
  /** Strong passages that are not among the hits, best first. */
  others: readonly Passage[];
}

/** What rows are chosen by, and code points for them. */
interface Spending extends Pick<Filling, "found" | "options"> {
  budget: number;
}

/** Fills hits with their rows; returns those that have any to show. */
export function fillRows(hits: FoundHit[], { found, options, others }: Filling): FoundHit[] {
  if (options.isWhole) {
    fillWhole(hits, options);
    return hits;
  }
  const isTogether = ({ hit }: FoundHit) => hit.strength === "strong" && !options.isBrief;
  const together = hits.filter(isTogether);
  fillLines(together, { found, options, budget: FILLED * options.maxChars });
  for (const one of together.slice(0, LATER_HITS)) {
    const later = laterLine(one, { found, options, others });
    const isSame = (other: FoundHit) =>
      other.hit.session_id === one.hit.session_id && other.later?.line === later?.line;
    if (!together.some(isSame)) one.later = later;
  }
  for (const one of hits) {
    if (!isTogether(one)) fillLines([one], { found, options, budget: LINE_CHARS, isOneLine: true });
  }
  const shown = foldEmpty(hits);
  const printed = shown.filter(isTogether);
  for (const one of together.slice(0, LATER_HITS)) {
    const later = printed.findIndex((other) => isAfter(other, one)) + 1;
    if (!one.later && later > 0) one.laterHit = later;
  }
  const [first] = together;
  if (first) first.isLast = !first.later && !goesOn(first) && !shown.some((other) => isAfter(other, first));
  return shown;
}

/** Returns a row of the best later passage of a hit's session, the user's first: what was decided may be taken back. */
function laterLine({ hit, passage }: FoundHit, { found, options, others }: Filling): HitLine | undefined {
  const later = others.find(
    ({ first }) => first.sessionId === passage.first.sessionId && first.firstLine > hit.last_line,
  );
  if (!later) return undefined;
  const [answer] = answeringLines([later], { found, options, budget: LATER_CHARS });
  return answer?.lines.find(({ who }) => who === "user") ?? answer?.best;
}

/** Whether a weaker place of a hit's session is after it. */
function goesOn({ hit: { also, last_line } }: FoundHit): boolean {
  return also.some(([from]) => from > last_line);
}

/** Whether a hit is of the same session as another and after it. */
function isAfter({ hit }: FoundHit, first: FoundHit): boolean {
  return hit.session_id === first.hit.session_id && hit.first_line > first.hit.last_line;
}

/** Leaves out hits whose rows were all less worth than others', naming their place at the first hit of their session. */
function foldEmpty(hits: readonly FoundHit[]): FoundHit[] {
  const kept: FoundHit[] = [];
  for (const one of hits) {
    const { session_id, lines, first_line, last_line, also, before, after } = one.hit;
    const first = kept.find(({ hit }) => hit.session_id === session_id);
    if (first && lines.length + before.length + after.length === 0) {
      first.hit.also = mergeRanges([[first_line, last_line], ...first.hit.also, ...also]);
    } else kept.push(one);
  }
  return kept;
}

/** Chooses the rows of hits that are shown together, and widens each hit's range to them. */
function fillLines(
  hits: readonly FoundHit[],
  { found, options, budget, isOneLine = false }: Spending & { isOneLine?: boolean },
): void {
  const rest = hits.flatMap((one, i) => [headOf(hits, i), ...footLines(one)]);
  const left = budget - rest.reduce((sum, line) => sum + [...line].length + 1, RANGE_SLACK * hits.length);
  const passages = hits.map(({ passage }) => passage);
  const answers = answeringLines(passages, { found, options, budget: left });
  for (const [i, one] of hits.entries()) {
    const { hit } = one;
    hit.lines = answers[i]?.lines ?? [];
    one.best = answers[i]?.best;
    const shown = isOneLine && one.best ? [one.best] : hit.lines;
    hit.first_line = Math.min(hit.first_line, ...shown.map(({ line }) => line));
    hit.last_line = Math.max(hit.last_line, ...shown.map(({ line }) => line));
  }
}

/** Returns the rows of passages that answer, within code points for all. */
function answeringLines(
  passages: readonly Passage[],
  { found, options, budget }: Spending,
): { lines: HitLine[]; best: HitLine | undefined }[] {
  const taken = new Set<string>();
  const wanted = new Set([...found.deeds.values()].flat().map(({ session, line }) => `${session} ${line}`));
  const rows = passages.map((passage) =>
    rowsOf(passage, options, wanted).filter(isNew(passage.best.row.sessionId, taken)),
  );
  const chosen = chooseRows(rows, {
    worths: worthsOf(found),
    budget,
    rowCost: (row) => [...rowPrefix(toLine(row, ""))].length + 1,
  });
  return chosen.map((own) => {
    const lines = own.map(({ row, text }) => toLine(row, text));
    return { lines, best: lines[own.findIndex(({ isBest }) => isBest)] };
  });
}

/** Returns the rows of a passage and of the chunks around it, words and deeds. */
function rowsOf(passage: Passage, { clean, filter }: HitOptions, wanted: ReadonlySet<string>): Row[] {
  const { best, first, last } = passage;
  const near = chunksAround(passage, 1);
  const beside = near.filter((chunk) => !isWithin(chunk, passage)).map(({ id }) => id);
  const { caller, session, speaker } = filter;
  const kept = new Set(keepMatching(best.row.store, beside, { caller, session, subagents: true }));
  const chunks = near.filter((chunk) => isWithin(chunk, passage) || kept.has(chunk.id));
  const said = messagesOf(chunks, (chunk) => isWithin(chunk, passage)).map((row) => ({
    ...row,
    text: clean(row.text),
    isInside: row.isInside && (speaker === undefined || speaker === row.who),
  }));
  const lines = { from: first.firstLine - AROUND_LINES, to: last.lastLine + AROUND_LINES };
  const done = deedRowsOf(best.row.store, best.session, {
    ...lines,
    clean,
    isWanted: ({ session, line }) => wanted.has(`${session} ${line}`),
  }).map((row) => ({
    ...row,
    isInside: row.line >= first.firstLine && row.line <= last.lastLine,
  }));
  const rows: Row[] = [...said, ...done].filter(({ line }) => line >= lines.from && line <= lines.to);
  markRewound(rows, best.row.store, best.session.number);
  return rows.sort((a, b) => a.line - b.line);
}

/** Returns the chunks of a passage and so many before and after. */
export function chunksAround({ first, last }: Passage, reach: number): ChunkRow[] {
  return readChunkRange(first.store, first.sessionId, [first.index - reach, last.index + reach]);
}

/** Returns the worth of each stem of the phrasings; one that several use is worth more. */
function worthsOf({ phrasings, asked }: Retrieved): Map<string, number> {
  const worths = new Map<string, number>();
  const uses = new Map<string, number>();
  for (const { question } of phrasings) {
    const weighed = asked.weigh(question.terms);
    for (const [i, { stem }] of question.terms.entries()) {
      worths.set(stem, weighed[i]?.worth ?? 0);
      uses.set(stem, (uses.get(stem) ?? 0) + 1);
    }
  }
  for (const [stem, worth] of worths) worths.set(stem, worth * Math.sqrt(uses.get(stem) ?? 1));
  return worths;
}

/** Shows whole exchanges: of a long one its first row, and the rows around the passage as far as its share goes. */
function fillWhole(
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
    const rows = messagesOf(chunks, (chunk) => isWithin(chunk, passage))
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
