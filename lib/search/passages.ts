/** Joins ranked chunks into passages, reads their rows, and measures how likely each answers. */

import { countPoints } from "../base/output.ts";
import { headerText } from "../index/chunk-text.ts";
import {
  type ChunkFilter,
  type IndexedChunk,
  keepMatching,
  readChunkRange,
  readExchangeChunks,
  rowTest,
  saidIn,
} from "./candidates.ts";
import { STRONG } from "./hit.ts";
import type { Measured, Occurrence } from "./measure.ts";
import { wholeRow } from "./print.ts";
import type { Question, Term } from "./query.ts";
import type { RankedChunk, Retrieved } from "./retrieval.ts";
import {
  deedText,
  markRewound,
  type PassageRow,
  readMessageRows,
  type ShownRow,
  toDeedRows,
  withHolding,
} from "./rows.ts";

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
  const bySession = new Map<string, Passage[]>();
  for (const chunk of ranked) {
    const own = bySession.get(chunk.chunk.sessionId) ?? [];
    const joined = own.find((passage) => joins(chunk, passage));
    if (joined) extend(joined, chunk);
    else {
      const passage = { best: chunk, found: [chunk], first: chunk.chunk, last: chunk.chunk };
      passages.push(passage);
      bySession.set(chunk.chunk.sessionId, [...own, passage]);
    }
  }
  return passages;
}

/** Returns whether a chunk is one of a passage's. */
export function isWithin({ sessionId, index }: IndexedChunk, { first, last }: Passage): boolean {
  return first.sessionId === sessionId && index >= first.index && index <= last.index;
}

function joins({ chunk, score }: RankedChunk, passage: Passage): boolean {
  const { best, first, last } = passage;
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

/** Rows within this many lines before and after a passage may be shown with it. */
const AROUND_LINES = 40;

/** Returns the rows of a passage and of the chunks around it: words, and the deeds that were found. */
export function rowsAround(
  passage: Passage,
  { filter, deeds }: Pick<Retrieved, "deeds"> & { filter: ChunkFilter },
): PassageRow[] {
  const { best, first, last } = passage;
  const near = chunksAround(passage, 1);
  const { caller, session, after, before } = filter;
  const limits = { caller, session, after, before, subagents: true };
  const ids = near.map(({ id }) => id);
  const kept = new Set(keepMatching(best.chunk.store, ids, limits));
  const chunks = near.filter(({ id }) => kept.has(id));
  const said = readMessageRows(chunks, (chunk) => isWithin(chunk, passage), rowTest(filter));
  const lines = { from: first.firstLine - AROUND_LINES, to: last.lastLine + AROUND_LINES };
  // one that was found by the chunk of another passage may stand here
  const own = [...deeds]
    .flatMap(([{ sessionId }, found]) => (sessionId === first.sessionId ? found : []))
    .filter(({ line }) => line >= lines.from && line <= lines.to)
    .sort((a, b) => a.line - b.line || a.nth - b.nth);
  const done = toDeedRows(own, best.session.cwd).map((row) => ({
    ...row,
    isInside: row.line >= first.firstLine && row.line <= last.lastLine,
  }));
  const rows: PassageRow[] = [...said, ...done].filter(({ line }) => line >= lines.from && line <= lines.to);
  return markRewound(rows, best.chunk.store, best.session.number).sort((a, b) => a.line - b.line);
}

/** Returns the chunks of a passage with a number of chunks before and after it. */
export function chunksAround({ first, last }: Passage, reach: number): IndexedChunk[] {
  return readChunkRange(first.store, first.sessionId, [first.index - reach, last.index + reach]);
}

/** Returns the rows of the passage's whole exchanges: as far as the code points go, its own and those nearest to them. */
export function exchangeRows(
  passage: Passage,
  { isWanted, maxChars }: { isWanted: (row: ShownRow) => boolean; maxChars: number },
): { rows: ShownRow[]; length: number } {
  const { store, sessionId } = passage.first;
  const lines = [passage.first.exchangeLine, passage.last.exchangeLine] as const;
  const chunks = readExchangeChunks(store, sessionId, lines);
  const rows = readMessageRows(chunks, (chunk) => isWithin(chunk, passage)).filter(isWanted);
  const kept = rowsWithin(markRewound(rows, store, passage.best.session.number), maxChars);
  const own = kept.map(({ isInside, ...row }) => row);
  return {
    rows: withHolding(own, { store, session: passage.best.session }),
    length: measureLength(kept),
  };
}

/** Returns the rows of the passage, then those nearest to it, as far as the characters go; in their order. */
function rowsWithin(rows: readonly PassageRow[], maxChars: number): PassageRow[] {
  const inside = rows.map((row, i) => (row.isInside ? i : -1)).filter((i) => i >= 0);
  const distance = (i: number) => Math.min(...inside.map((at) => Math.abs(at - i)), rows.length);
  const nearest = rows.map((_, i) => i).sort((a, b) => distance(a) - distance(b) || a - b);
  const kept = new Set<ShownRow>();
  let left = maxChars;
  for (const i of nearest) {
    const row = rows[i] as PassageRow;
    const cost = measureLength([row]);
    if (cost > left && kept.size > 0) break;
    kept.add(row);
    left -= cost;
  }
  return rows.filter((row) => kept.has(row));
}

/** Returns the code points of rows as they are printed whole. */
function measureLength(rows: readonly ShownRow[]): number {
  return countPoints(rows.map((row) => wholeRow(row)));
}

/** The worth for each phrasing that makes a passage strong. real2 and codebench with and without their repositories. */
const ENOUGH = 0.6;
/** More phrasings than this ask for no more. */
const PHRASINGS_COUNTED = 4;
/** Words further apart than this are not said together. real2, codebench: 30 … 130 the same within 2 questions. */
const WINDOW_WORDS = 50;
/** Words of tool calls count half: they are code, and many. real2, codebench: 0.3 … 0.7 the same. */
const DONE = 0.5;
/** The factor for a passage without a rare word. real2: fewer of the questions that nothing answers are strong. */
const WITHOUT_A_WORD = 0.5;

/** The highest score of a passage without a rare word: it does not hold the subject of the question. */
const MOST_WITHOUT = STRONG - 0.01;

/** A passage with how likely it answers. */
export interface Judged {
  passage: Passage;
  /** 0 to 1, on the same scale in every index. */
  score: number;
  /** The stems that it holds anywhere, its header included; undefined where it was not measured. */
  held: ReadonlySet<string> | undefined;
  /** The stems that it holds close together, by which it was judged. */
  together: readonly string[];
}

/** The facts by which passages are judged. */
interface Scale {
  terms: ReadonlyMap<string, Term>;
  /** The worth of each stem, all together 1, for each phrasing. */
  worths: readonly ReadonlyMap<string, number>[];
}

/**
 * Judges how likely passages answer, best ranked first, on the same scale in every index. One is worth the share that it
 * holds of the phrasing that it fits best, by the rarity of the words, times the number of asked words that it holds close
 * together; one that holds all of them is worth most. Without one of the `rare` words that most phrasings keep it is worth
 * half and never strong, and none is worth more than the best ranked one, if that lacked nothing. Speakers'
 * names do not count as words, nor do the words by which a question asks for what was said.
 */
export function judge(
  passages: readonly Passage[],
  { phrasings, asked, deeds, measure }: Retrieved,
  { rare, isTelling }: { rare: readonly Term[]; isTelling: (term: Term) => boolean },
): Judged[] {
  const questions = phrasings.map(({ question }) => {
    return { ...question, terms: question.terms.filter(isTelling) };
  });
  const terms = new Map(questions.flatMap((question) => question.terms.map((term) => [term.stem, term])));
  const scale: Scale = { terms, worths: questions.map((question) => weighWithin(question, asked)) };
  const said = saidIn(passages.flatMap(({ found }) => found.map(({ chunk }) => chunk)));
  const enough = ENOUGH * Math.min(PHRASINGS_COUNTED, questions.length);
  let most = 1;
  const all = passages.map((passage) => ({ passage, texts: collectTexts(passage, { deeds, said }) }));
  // all at once, since stemming a few words takes as long as stemming many
  measure(all.flatMap(({ texts }) => texts.flatMap(({ parts }) => parts)));
  return all.map(({ passage, texts }, i) => {
    const measured = texts.map(({ kind, parts }) => ({ kind, parts: measure(parts) }));
    const held = new Set(measured.flatMap(({ parts }) => parts.flatMap(listStems)));
    const windows = measured.flatMap(({ kind, parts }) => {
      const best = kind === "head" ? undefined : mostTogether(joinMeasured(parts), scale);
      return best ? [{ ...best, worth: kind === "done" ? DONE * best.worth : best.worth }] : [];
    });
    const best = windows.reduce((one, other) => (other.worth > one.worth ? other : one), NOTHING);
    const lacks = rare.some(({ stem }) => !held.has(stem));
    const full = scoreFor(best.worth * (lacks ? WITHOUT_A_WORD : 1), enough);
    const score = lacks ? Math.min(full, MOST_WITHOUT) : full;
    if (i === 0) most = scoreFor(best.worth, enough);
    return {
      passage,
      score: Math.min(most, score),
      held,
      together: best.stems,
    };
  });
}

/** Maps a worth to a scale from 0 to 1, where .5 is enough. */
function scoreFor(worth: number, enough: number): number {
  return worth === Number.POSITIVE_INFINITY ? 1 : worth / (worth + enough);
}

/** A text of a passage, in the parts that are measured. */
interface Text {
  kind: "said" | "done" | "head";
  parts: string[];
}

function collectTexts(
  { found }: Passage,
  { deeds, said }: { deeds: Retrieved["deeds"]; said: ReturnType<typeof saidIn> },
): Text[] {
  return found.flatMap(({ chunk }): Text[] => [
    { kind: "said", parts: [...said(chunk).map(({ text }) => text), chunk.tools] },
    { kind: "done", parts: (deeds.get(chunk) ?? []).map(deedText) },
    { kind: "head", parts: [headerText(chunk.header)] },
  ]);
}

function listStems({ found }: Measured): string[] {
  return found.map(({ stem }) => stem);
}

/** Returns the words of the question in texts that follow each other, by their positions in all of them. */
function joinMeasured(texts: readonly Measured[]): Occurrence[] {
  const joined: Occurrence[] = [];
  let before = 0;
  for (const { words, found } of texts) {
    for (const one of found) joined.push({ ...one, at: before + one.at });
    before += words;
  }
  return joined;
}

/** Returns the worth of each stem of a phrasing, all together 1. */
function weighWithin({ terms }: Question, asked: Retrieved["asked"]): Map<string, number> {
  const weighed = asked.weigh(terms);
  const total = weighed.reduce((sum, { worth }) => sum + worth, 0) || 1;
  return new Map(terms.map(({ stem }, i) => [stem, (weighed[i]?.worth ?? 0) / total]));
}

/** Stems that stand close together, and what they are worth. */
interface Together {
  stems: readonly string[];
  worth: number;
}

const NOTHING: Together = { stems: [], worth: 0 };

/** Returns the window of words that is worth most; parts of names count wherever they are. */
function mostTogether(occurrences: readonly Occurrence[], scale: Scale): Together {
  const asked = occurrences.filter(({ stem }) => scale.terms.has(stem));
  const everywhere = asked.filter(({ isPart }) => isPart).map(({ stem }) => stem);
  const placed = asked.filter(({ isPart }) => !isPart);
  let most = worthTogether(everywhere, scale);
  let start = 0;
  for (const [end, { at }] of placed.entries()) {
    while (at - (placed[start] as Occurrence).at > WINDOW_WORDS) start++;
    const together = placed.slice(start, end + 1).map(({ stem }) => stem);
    const found = worthTogether([...together, ...everywhere], scale);
    if (found.worth > most.worth) most = found;
  }
  return most;
}

/** Returns the number of asked words among stems, times the share of the phrasing that they make most of; infinite for all. */
function worthTogether(all: readonly string[], { terms, worths }: Scale): Together {
  const stems = [...new Set(all)];
  if (stems.length === terms.size) return { stems, worth: Number.POSITIVE_INFINITY };
  const shares = worths.map((worth) => stems.reduce((sum, stem) => sum + (worth.get(stem) ?? 0), 0));
  return { stems, worth: stems.length * Math.max(0, ...shares) };
}
