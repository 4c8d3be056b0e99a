/** Joins ranked chunks into passages, and reads what they hold: their rows, cut into units. */

import { headerText } from "../index/chunk-text.ts";
import { joinParts, readSaid } from "../index/stored-rows.ts";
import type { Store } from "../store/store.ts";
import { type ChunkFilter, type IndexedChunk, keepMatching, rowTest } from "./candidates.ts";
import type { RankedChunk, Retrieved } from "./retrieval.ts";
import { markRewound, oncePerRow, type PassageRow, toDeedRows } from "./rows.ts";
import { type AskedWorth, toUnits, type Unit } from "./units.ts";

/** A part of a session that may answer. */
export interface Passage {
  /** The chunk that was found first. */
  best: RankedChunk;
  /** The chunks that were found in it, best first. */
  found: RankedChunk[];
  first: IndexedChunk;
  last: IndexedChunk;
}

/** The most lines of the transcript that a passage spans. */
const PASSAGE_LINES = 60;
/** The share of the best chunk's score that a neighbouring chunk needs to join its passage. */
const JOINING_SHARE = 0.5;

/** Gathers ranked chunks into passages, best first; every chunk is in one of them. */
export function toPassages(ranked: readonly RankedChunk[]): Passage[] {
  const passages: Passage[] = [];
  for (const one of ranked) {
    const joined = passages.find((passage) => joins(one, passage));
    if (joined) extend(joined, one);
    else passages.push({ best: one, found: [one], first: one.chunk, last: one.chunk });
  }
  return passages;
}

/** Returns whether a chunk is one of a passage's. */
export function isWithin({ sessionId, index }: IndexedChunk, { first, last }: Passage): boolean {
  return first.sessionId === sessionId && index >= first.index && index <= last.index;
}

function joins({ chunk, score }: RankedChunk, passage: Passage): boolean {
  const { best, first, last } = passage;
  if (chunk.sessionId !== first.sessionId) return false;
  const isBeside = chunk.index === first.index - 1 || chunk.index === last.index + 1;
  if (!isWithin(chunk, passage) && !(isBeside && score >= JOINING_SHARE * best.score)) return false;
  const lines = Math.max(chunk.lastLine, last.lastLine) - Math.min(chunk.firstLine, first.firstLine);
  return lines < PASSAGE_LINES;
}

function extend(passage: Passage, ranked: RankedChunk): void {
  const { chunk } = ranked;
  passage.found.push(ranked);
  if (chunk.index < passage.first.index) passage.first = chunk;
  if (chunk.index > passage.last.index) passage.last = chunk;
}

/** A passage with what may be shown of it. */
export interface Candidate {
  passage: Passage;
  /** Its rows and those around it. */
  rows: PassageRow[];
  /** The units of the rows that no better ranked passage has. */
  units: Unit[];
  /** The asked stems that it holds anywhere, its header included. */
  held: ReadonlySet<string>;
}

/** Rows within this many lines before and after a passage may be shown with it. */
const AROUND_LINES = 40;

/** Reads the rows of passages, best ranked first, and cuts them into units; a row is one passage's. */
export function toCandidates(
  store: Store,
  passages: readonly Passage[],
  { asked, found, filter }: { asked: AskedWorth; found: Retrieved; filter: ChunkFilter },
): Candidate[] {
  const rowsOf = rowReader(store, passages, { found, filter });
  const { measure } = found;
  const sessions = new Map<string, number>();
  for (const { session, score } of found.ranked)
    sessions.set(session.id, (sessions.get(session.id) ?? 0) + score);
  const most = Math.max(...sessions.values()) || 1;
  const top = found.ranked[0]?.score || 1;
  const all = passages.map(rowsOf);
  // all at once, since stemming a few words takes as long as stemming many
  measure(all.flatMap((rows) => rows.flatMap(({ tool = "", text }) => [tool, text])));
  const taken = new Set<string>();
  return passages.map((passage, i) => {
    const { first, found: chunks } = passage;
    const rows = all[i] as PassageRow[];
    const units = toUnits(rows, {
      asked,
      measure,
      rank: i,
      session: (sessions.get(first.sessionId) ?? 0) / most,
      // what was done stands behind the words of its chunk
      chunk: ({ line, who }) => {
        const over = chunks.filter(
          ({ chunk }) => chunk.firstLine <= line && (line <= chunk.lastLine || who === "tool"),
        );
        return Math.max(0, ...over.map(({ score }) => score)) / top;
      },
      isTimely: chunks.some(({ isTimely }) => isTimely),
    });
    const isOwn = new Set(rows.filter(oncePerRow(first.sessionId, taken)));
    const heads = measure(chunks.map(({ chunk }) => headerText(chunk.header))).flat();
    const held = new Set([...heads.map(({ stem }) => stem), ...stemsOf(units, asked)]);
    return { passage, rows, held, units: units.filter(({ row }) => isOwn.has(row)) };
  });
}

/** Returns the stems that some units hold. */
export function stemsOf(units: readonly Pick<Unit, "held">[], { numbers }: AskedWorth): string[] {
  const stems = [...numbers.keys()];
  return stems.filter((_, number) => units.some(({ held }) => (held[number] as number) > 0));
}

/** Makes a function that returns the rows of a passage and of the chunks around it: words, and the deeds that were found. */
function rowReader(
  store: Store,
  passages: readonly Passage[],
  { found: { chunks, deeds }, filter }: { found: Retrieved; filter: ChunkFilter },
): (passage: Passage) => PassageRow[] {
  const near = new Map(passages.map((passage) => [passage, chunksAround(chunks, passage, 1)]));
  const { caller, session, after, before } = filter;
  const ids = new Set([...near.values()].flat().map(({ id }) => id));
  const said = readSaid(
    store,
    keepMatching(store, [...ids], { caller, session, after, before, subagents: true }),
  );
  const isWanted = rowTest(filter) ?? (() => true);
  return (passage) => {
    const { first, last, best } = passage;
    const isNear = ({ line }: { line: number }) =>
      line >= first.firstLine - AROUND_LINES && line <= last.lastLine + AROUND_LINES;
    const messages = joinParts((near.get(passage) ?? []).flatMap(({ id }) => said.get(id) ?? [])).filter(
      isWanted,
    );
    // one that was found by the chunk of another passage may stand here
    const done = deeds
      .map(({ deed }) => deed)
      .filter((deed) => deed.session === best.session.number && isNear(deed))
      .sort((a, b) => a.line - b.line || a.nth - b.nth);
    const rows = [
      ...messages.map(({ line, who, text }): PassageRow => ({ line, who, text })),
      ...toDeedRows(done, best.session.cwd),
    ];
    return markRewound(rows.filter(isNear), store, best.session.number).sort((a, b) => a.line - b.line);
  };
}

/** Returns the chunks of a passage, with a number of chunks before and after it. */
export function chunksAround(
  chunks: readonly IndexedChunk[],
  { first, last }: Passage,
  reach: number,
): IndexedChunk[] {
  return chunks.filter(
    ({ sessionId, index }) =>
      sessionId === first.sessionId && index >= first.index - reach && index <= last.index + reach,
  );
}
