/**
 * Ranks chunks for a question in one or several phrasings: finds candidates in each store by full text, and once more within
 * the times the question names, reads each once with its neighbours, ranks them for each phrasing, and fuses the lists.
 */

import type { Done } from "../hosts/session.ts";
import type { IndexedSession } from "../index/index-state.ts";
import type { Stored } from "../index/stored-rows.ts";
import { cueSpans, readTimeCues, type TimeCues, timeFit } from "../language/times.ts";
import type { Store } from "../store/store.ts";
import {
  type ChunkFilter,
  type FoundDeed,
  type IndexedChunk,
  matchingChunks,
  matchingDeeds,
  readWithNeighbours,
  rowTest,
  saidIn,
} from "./candidates.ts";
import { type Corpus, readCorpus, readCoveredTime, readIndexedSessions, readOccurrences } from "./corpus.ts";
import { type Measure, makeMeasure, type Occurrence } from "./measure.ts";
import { type AskedTerms, matchExpression, type Question, readQuestions, weighTerms } from "./query.ts";
import { bestFirst, fuse, type RankedDocument, type Ranking, rankDocuments } from "./rank.ts";
import { deedText } from "./rows.ts";

export interface RetrievalOptions {
  filter: ChunkFilter;
  /** Results that are wanted. */
  limit: number;
  now: Date;
  /** IANA name: times in questions are meant there. @default the system's */
  timezone?: string | undefined;
  /** Returns whether a session is of the project that leads among equals. @default of none */
  isOwn?: ((session: IndexedSession) => boolean) | undefined;
  /** Returns whether a session is left out: a shared one may also be in the index itself. */
  isHidden?: ((session: IndexedSession) => boolean) | undefined;
}

/** A chunk as it was ranked. */
export interface RankedChunk {
  chunk: IndexedChunk;
  session: IndexedSession;
  /** Comparable within one search only. */
  score: number;
  /** True if it is of the time that was asked for. */
  isTimely: boolean;
}

export interface Retrieved {
  /** Best first. */
  ranked: RankedChunk[];
  /** All chunks at hand, for what lies around a result. */
  chunks: IndexedChunk[];
  sessions: ReadonlyMap<string, IndexedSession>;
  phrasings: Phrasing[];
  corpus: Corpus;
  asked: AskedTerms;
  /** Measures texts for all phrasings. */
  measure: Measure;
  /** The deeds that were found, by their chunk. */
  deeds: ReadonlyMap<IndexedChunk, Stored<Done>[]>;
}

interface Phrasing {
  question: Question;
  ranking: Ranking;
  cues: TimeCues | undefined;
}

/** Candidates a phrasing gives at least. real2, codebench, deeds: 20 … 75 within 1 of 258. */
const CANDIDATES = 25;
/** Candidates for each result wanted, in addition. */
const CANDIDATES_PER_RESULT = 3;
/** Deeds that a phrasing finds at most. */
const DEEDS = 30;
/** The addition for a fitting time, in parts of the best score. */
const TIME_PREFERENCE = 0.5;
/** From this fit on, a chunk is of the time that was asked for. */
const TIMELY = 0.5;
/** Among equals the project of the working directory leads. */
const OWN_PROJECT = 1.1;

interface Search {
  options: RetrievalOptions;
  questions: readonly Question[];
  asked: AskedTerms;
  cues: readonly (TimeCues | undefined)[];
  /** The time that the index covers, where a phrasing names one. */
  covered: { from: string; to: string };
}

/** Ranks the chunks of the index that may answer a question, given in one or several phrasings. */
export function retrieve(store: Store, texts: readonly string[], options: RetrievalOptions): Retrieved {
  const questions = readQuestions(texts);
  const corpus = readCorpus(store, options.filter);
  const asked = weighTerms(corpus, questions);
  const cues = questions.map(({ text }) => readTimeCues(text, options));
  const covered = cues.some(Boolean) ? readCoveredTime(store) : { from: "", to: "" };
  const search: Search = { options, questions, asked, cues, covered };
  const { chunks, candidates, deeds } = gather(store, search);
  chunks.sort(byPlace);
  const known = readIndexedSessions(store, new Set(chunks.map(({ sessionId }) => sessionId)));
  const sessions = new Map([...known].filter(([, session]) => !options.isHidden?.(session)));
  const isWanted = rowTest(options.filter);
  const measure = makeMeasure(asked.numbers.keys());
  const { numbers } = asked;
  const documents = toDocuments(chunks, { numbers, measure, candidates, isWanted, deeds });
  const averageWords = averageLength(corpus);
  const phrasings = questions.map((question, i) => {
    const cue = cues[i];
    const times = chunks.map(({ timestamp }) => (cue ? TIME_PREFERENCE * timeFit(cue, timestamp) : 0));
    const ranking = rankDocuments(documents, asked.weigh(question.terms), { averageWords, times });
    return { question, cues: cue, ranking };
  });
  const ranked = fuseChunks(chunks, { sessions, phrasings }, options.isOwn);
  return { ranked, chunks, sessions, phrasings, corpus, asked, measure, deeds };
}

/** The chunks that may answer, with those around them, and the deeds that match. */
interface Gathered {
  chunks: IndexedChunk[];
  candidates: Set<IndexedChunk>;
  deeds: Map<IndexedChunk, Stored<Done>[]>;
}

function gather(store: Store, search: Search): Gathered {
  const { questions, options } = search;
  const candidates = new Set<number>();
  const deeds = new Map<number, FoundDeed>();
  for (const [i, question] of questions.entries()) {
    const match = matchExpression(question.terms);
    if (match === undefined) continue;
    for (const id of findCandidates(store, search, { match, cues: search.cues[i] })) candidates.add(id);
    // deeds are nobody's words: a search for what somebody said has none
    if (options.filter.speaker !== undefined) continue;
    for (const one of matchingDeeds(store, match, { filter: options.filter, limit: DEEDS }))
      deeds.set(one.deed.id, one);
  }
  for (const { chunk } of deeds.values()) candidates.add(chunk);
  const found = readWithNeighbours(store, candidates);
  const byId = Map.groupBy(deeds.values(), ({ chunk }) => chunk);
  const done = found.chunks.flatMap((chunk): [IndexedChunk, Stored<Done>[]][] => {
    const own = byId.get(chunk.id)?.map(({ deed }) => deed);
    return own ? [[chunk, own]] : [];
  });
  return { ...found, deeds: new Map(done) };
}

function byPlace(a: IndexedChunk, b: IndexedChunk): number {
  return a.sessionId === b.sessionId ? a.index - b.index : a.sessionId < b.sessionId ? -1 : 1;
}

function averageLength({ averageWords: [content = 0, header = 0, tools = 0, extra = 0] }: Corpus): number {
  return Math.max(1, content + header + COLUMN_WEIGHTS.tools * (tools + extra));
}

function findCandidates(
  store: Store,
  { options: { filter, limit: wanted }, covered }: Search,
  { match, cues }: { match: string; cues: TimeCues | undefined },
): number[] {
  const limit = Math.max(CANDIDATES, CANDIDATES_PER_RESULT * wanted);
  const found = matchingChunks(store, match, { filter, limit });
  for (const { from, to } of cues ? cueSpans(cues, covered) : []) {
    const after = filter.after !== undefined && filter.after > from ? filter.after : from;
    const before = filter.before !== undefined && filter.before < to ? filter.before : to;
    found.push(...matchingChunks(store, match, { filter: { ...filter, after, before }, limit }));
  }
  return [...new Set(found)];
}

function fuseChunks(
  chunks: readonly IndexedChunk[],
  { sessions, phrasings }: Pick<Retrieved, "sessions" | "phrasings">,
  isOwn: RetrievalOptions["isOwn"] = () => false,
): RankedChunk[] {
  const lists = phrasings.map(({ ranking }) => ranking.scores);
  const [only] = lists;
  const fused = only && lists.length === 1 ? only.slice() : fuse(lists);
  const own = new Set(
    sessions
      .values()
      .filter(isOwn)
      .map(({ id }) => id),
  );
  for (const [i, chunk] of chunks.entries())
    if (own.has(chunk.sessionId)) fused[i] = (fused[i] as number) * OWN_PROJECT;
  const ranked: RankedChunk[] = [];
  for (const i of bestFirst(fused)) {
    const chunk = chunks[i] as IndexedChunk;
    const session = sessions.get(chunk.sessionId);
    if (session === undefined) continue;
    const isTimely = phrasings.some(({ cues }) => cues && timeFit(cues, chunk.timestamp) >= TIMELY);
    ranked.push({ chunk, session, score: fused[i] as number, isTimely });
  }
  return ranked;
}

interface DocumentOptions {
  /** The number of each asked stem. */
  numbers: ReadonlyMap<string, number>;
  measure: Measure;
  /** The chunks that may be results. */
  candidates: ReadonlySet<IndexedChunk>;
  /** The deeds that were found, by their chunk. */
  deeds: ReadonlyMap<IndexedChunk, readonly Stored<Done>[]>;
  /** The choice of rows whose words count. @default all */
  isWanted: ReturnType<typeof rowTest>;
}

/** The weight of an occurrence, by column of the full-text index. */
const COLUMN_WEIGHTS = { content: 1, header: 0.7, tools: 0.5, extra: 0.5 };
/** Parts of names count half. */
const PART_WEIGHT = COLUMN_WEIGHTS.extra;
/** The weight of a word of the deeds beside a chunk. codebench, real2, one phrasing: 0.5 answers 3 fewer. */
const DEED_WEIGHT = 0.3;
/** Length need not be exact, and counting words costs more than all else. */
const WORD_CHARACTERS = 5.7;

/** Counts chunks, given by session and position. */
function toDocuments(chunks: readonly IndexedChunk[], options: DocumentOptions): RankedDocument[] {
  const { numbers, measure, isWanted, candidates, deeds } = options;
  const documents = chunks.map((chunk, i) => ({
    counts: new Float64Array(numbers.size),
    words: (chunk.length + COLUMN_WEIGHTS.tools * chunk.tools.length) / WORD_CHARACTERS,
    before: isNext(chunks[i - 1], chunk) ? i - 1 : -1,
    after: isNext(chunk, chunks[i + 1]) ? i + 1 : -1,
    isCandidate: candidates.has(chunk),
  }));
  const add = (document: RankedDocument | undefined, stem: string, count: number) => {
    const number = numbers.get(stem) as number;
    if (document) document.counts[number] = (document.counts[number] as number) + count;
  };
  countDeeds(chunks, { measure, deeds }, (i, stem) => add(documents[i], stem, DEED_WEIGHT));
  if (!isWanted) countIndexed(chunks, numbers.keys(), (i, stem, count) => add(documents[i], stem, count));
  else {
    const said = saidIn(chunks);
    const own = (chunk: IndexedChunk) => said(chunk).filter(isWanted);
    const texts = chunks.map((chunk) =>
      own(chunk)
        .map(({ text }) => text)
        .join("\n"),
    );
    for (const [i, { found }] of measure(texts).entries()) {
      for (const { stem, isPart } of oncePerPart(found)) add(documents[i], stem, isPart ? PART_WEIGHT : 1);
    }
    // other rows' words may have made it a candidate
    for (const document of documents) document.isCandidate &&= document.counts.some((count) => count > 0);
  }
  return documents;
}

/** Counts stems in the deeds of chunks, each once: code that repeats a word says no more than a sentence. */
function countDeeds(
  chunks: readonly IndexedChunk[],
  { measure, deeds }: Pick<DocumentOptions, "measure" | "deeds">,
  add: (row: number, stem: string) => void,
): void {
  measure(chunks.flatMap((chunk) => (deeds.get(chunk) ?? []).map(deedText)));
  for (const [i, chunk] of chunks.entries()) {
    const done = measure((deeds.get(chunk) ?? []).map(deedText));
    const stems = new Set(done.flatMap(({ found }) => found.map(({ stem }) => stem)));
    for (const stem of stems) add(i, stem);
  }
}

/** Returns occurrences, those of one part of names once: its repetition says no more. */
function oncePerPart(found: readonly Occurrence[]): Occurrence[] {
  const parts = new Set<string>();
  return found.filter(({ stem, isPart }) => !isPart || (!parts.has(stem) && parts.add(stem)));
}

/** Counts stems in chunks as the full-text index has them. */
function countIndexed(
  chunks: readonly IndexedChunk[],
  stems: Iterable<string>,
  add: (row: number, stem: string, count: number) => void,
): void {
  const [first] = chunks;
  if (!first) return;
  const places = new Map(chunks.map(({ id }, i) => [id, i]));
  const ids = JSON.stringify([...places.keys()]);
  for (const stem of stems) {
    for (const { id, column } of readOccurrences(first.store, stem, ids)) {
      const place = places.get(id);
      if (place !== undefined) add(place, stem, COLUMN_WEIGHTS[column]);
    }
  }
}

function isNext(a: IndexedChunk | undefined, b: IndexedChunk | undefined): boolean {
  return a !== undefined && b !== undefined && a.sessionId === b.sessionId && a.index + 1 === b.index;
}
