/**
 * Ranks chunks for a question in one or several phrasings: finds candidates by full text, and once more within the times the
 * question names, reads each once with its neighbours, ranks them for each phrasing, and fuses the lists.
 */

import type { Said } from "../hosts/session.ts";
import type { IndexedSession } from "../index/index-state.ts";
import { readSaid } from "../index/stored-rows.ts";
import { cueSpans, readTimeCues, type TimeCues, timeFit } from "../language/times.ts";
import type { Store } from "../store/store.ts";
import {
  type ChunkFilter,
  type FoundDeed,
  type IndexedChunk,
  matchingChunks,
  matchingDeeds,
  readChunks,
  rowTest,
} from "./candidates.ts";
import { type Corpus, readCorpus, readCoveredTime, readIndexedSessions, readOccurrences } from "./corpus.ts";
import { type Measure, makeMeasure } from "./measure.ts";
import { type AskedTerms, matchExpression, type Question, readQuestions, weighTerms } from "./query.ts";
import { bestFirst, fuse, type RankedDocument, rankDocuments } from "./rank.ts";
import { deedText } from "./rows.ts";

export interface RetrievalOptions {
  filter: ChunkFilter;
  /** Results that are wanted. */
  limit: number;
  now: Date;
  /** IANA name: times in questions are meant there. @default the system's */
  timezone?: string | undefined;
  /** Ids of chunks that are read beside those found. @default none */
  beside?: readonly number[] | undefined;
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
  /** All chunks at hand by session and position, for what lies around a result. */
  chunks: IndexedChunk[];
  questions: Question[];
  /** The scores of the chunks for each phrasing. */
  lists: Float64Array[];
  corpus: Corpus;
  asked: AskedTerms;
  /** Measures texts for all phrasings. */
  measure: Measure;
  deeds: FoundDeed[];
}

/** Candidates a phrasing gives at least. real2, codebench, deeds: 20 … 75 within 1 of 258. */
const CANDIDATES = 25;
/** Candidates for each result wanted, in addition. */
const CANDIDATES_PER_RESULT = 3;
/** Deeds that a phrasing finds at most. */
const DEEDS = 30;
/** From this fit on, a chunk is of the time that was asked for. */
const TIMELY = 0.5;
/** Among equals the project of the working directory leads. */
const OWN_PROJECT = 1.1;

/** Ranks the chunks of the index that may answer a question, given in one or several phrasings. */
export function retrieve(store: Store, texts: readonly string[], options: RetrievalOptions): Retrieved {
  const questions = readQuestions(texts);
  const corpus = readCorpus(store, options.filter);
  const asked = weighTerms(corpus, questions);
  const cues = questions.map(({ text }) => readTimeCues(text, options));
  const { candidates, deeds } = findCandidates(store, { questions, cues, options });
  const chunks = readChunks(store, [...candidates, ...(options.beside ?? [])]);
  const measure = makeMeasure(asked.numbers.keys());
  const { filter } = options;
  const documents = toDocuments(store, { chunks, asked, measure, candidates, deeds, filter });
  const lists = questions.map(({ terms }, i) => {
    const cue = cues[i];
    const times = chunks.map(({ timestamp }) => (cue ? timeFit(cue, timestamp) : 0));
    return rankDocuments(documents, asked.weigh(terms), times);
  });
  const sessions = readIndexedSessions(store, new Set(chunks.map(({ sessionId }) => sessionId)));
  const shown = [...sessions.values()].filter((session) => !options.isHidden?.(session));
  const known = new Map(shown.map((session) => [session.id, { session, isOwn: options.isOwn?.(session) }]));
  const scores = fuse(lists).map((score, i) =>
    known.get((chunks[i] as IndexedChunk).sessionId)?.isOwn ? score * OWN_PROJECT : score,
  );
  const ranked = bestFirst(scores).flatMap((i): RankedChunk[] => {
    const chunk = chunks[i] as IndexedChunk;
    const session = known.get(chunk.sessionId)?.session;
    const isTimely = cues.some((cue) => cue && timeFit(cue, chunk.timestamp) >= TIMELY);
    return session ? [{ chunk, session, score: scores[i] as number, isTimely }] : [];
  });
  return { ranked, chunks, questions, lists, corpus, asked, measure, deeds };
}

/** Finds the chunks that may answer, by their own words or by what was done in them. */
function findCandidates(
  store: Store,
  {
    questions,
    cues,
    options: { filter, limit: wanted },
  }: { questions: readonly Question[]; cues: readonly (TimeCues | undefined)[]; options: RetrievalOptions },
): { candidates: Set<number>; deeds: FoundDeed[] } {
  const candidates = new Set<number>();
  const deeds = new Map<number, FoundDeed>();
  const limit = Math.max(CANDIDATES, CANDIDATES_PER_RESULT * wanted);
  const covered = cues.some(Boolean) ? readCoveredTime(store) : { from: "", to: "" };
  for (const [i, { terms }] of questions.entries()) {
    const match = matchExpression(terms);
    if (match === undefined) continue;
    const cue = cues[i];
    const within = (cue ? cueSpans(cue, covered) : []).map(({ from, to }) => ({
      after: filter.after !== undefined && filter.after > from ? filter.after : from,
      before: filter.before !== undefined && filter.before < to ? filter.before : to,
    }));
    for (const time of [{}, ...within]) {
      for (const id of matchingChunks(store, match, { filter: { ...filter, ...time }, limit }))
        candidates.add(id);
    }
    // deeds are nobody's words: a search for what somebody said has none
    if (filter.speaker !== undefined) continue;
    for (const one of matchingDeeds(store, match, { filter, limit: DEEDS })) deeds.set(one.deed.id, one);
  }
  for (const { chunk } of deeds.values()) candidates.add(chunk);
  return { candidates, deeds: [...deeds.values()] };
}

/** The weight of an occurrence, by column of the full-text index; `extra` holds parts of names. */
const COLUMN_WEIGHTS = { content: 1, header: 0.7, tools: 0.5, extra: 0.5 };
/** The weight of a word of the deeds beside a chunk. codebench, real2, one phrasing: 0.5 answers 3 fewer. */
const DEED_WEIGHT = 0.3;

type Count = (chunk: number, stem: string, count: number) => void;

/** Makes documents of chunks, given by session and position, with the counts of the asked words. */
function toDocuments(
  store: Store,
  { chunks, candidates, ...found }: Counted & { candidates: ReadonlySet<number> },
): RankedDocument[] {
  const { numbers } = found.asked;
  const isNext = (a: IndexedChunk | undefined, b: IndexedChunk | undefined) =>
    a !== undefined && a.sessionId === b?.sessionId && a.index + 1 === b.index;
  const documents = chunks.map((chunk, i) => ({
    counts: new Float64Array(numbers.size),
    length: chunk.length,
    before: isNext(chunks[i - 1], chunk) ? i - 1 : -1,
    after: isNext(chunk, chunks[i + 1]) ? i + 1 : -1,
    isCandidate: candidates.has(chunk.id),
  }));
  const places = new Map(chunks.map(({ id }, i) => [id, i]));
  const count: Count = (chunk, stem, more) => {
    const counts = documents[places.get(chunk) ?? -1]?.counts;
    const number = numbers.get(stem) as number;
    if (counts) counts[number] = (counts[number] as number) + more;
  };
  countDone(found, count);
  const isWanted = rowTest(found.filter);
  if (!isWanted) countIndexed(store, { chunks, ...found }, count);
  else countSaid(store, { chunks, ...found }, { isWanted, count });
  // other rows' words may have made it a candidate
  const isHeld = ({ counts }: RankedDocument) => !isWanted || counts.some((one) => one > 0);
  return documents.map((one) => ({ ...one, isCandidate: one.isCandidate && isHeld(one) }));
}

interface Counted extends Pick<Retrieved, "chunks" | "asked" | "measure" | "deeds"> {
  filter: ChunkFilter;
}

/** Counts words in what was done, each once for a chunk: code that repeats it says no more than a sentence. */
function countDone({ deeds, measure }: Pick<Counted, "deeds" | "measure">, count: Count): void {
  const done = measure(deeds.map(({ deed }) => deedText(deed)));
  for (const [chunk, own] of Map.groupBy(deeds.keys(), (i) => (deeds[i] as FoundDeed).chunk)) {
    const stems = new Set(own.flatMap((i) => (done[i] ?? []).map(({ stem }) => stem)));
    for (const stem of stems) count(chunk, stem, DEED_WEIGHT);
  }
}

/** Counts words in the rows that are asked for. */
function countSaid(
  store: Store,
  { chunks, measure }: Counted,
  { isWanted, count }: { isWanted: (row: Said) => boolean; count: Count },
): void {
  for (const [chunk, rows] of readSaid(store, idsOf(chunks))) {
    for (const { stem } of measure(rows.filter(isWanted).map(({ text }) => text)).flat())
      count(chunk, stem, 1);
  }
}

/** Counts words as the full-text index has them. */
function countIndexed(store: Store, { chunks, asked: { numbers } }: Counted, count: Count): void {
  const ids = JSON.stringify(idsOf(chunks));
  for (const stem of numbers.keys()) {
    for (const { id, column } of readOccurrences(store, stem, ids)) count(id, stem, COLUMN_WEIGHTS[column]);
  }
}

function idsOf(chunks: readonly IndexedChunk[]): number[] {
  return chunks.map(({ id }) => id);
}
