/**
 * From phrasings to ranked chunks: candidates of each store by full text, by meaning and by the times a question names,
 * each read once with its neighbours, counted once for all phrasings, ranked for each, fused.
 */

import { cueSpans, readTimeCues, type TimeCues, timeFit } from "../language/time-cues.ts";
import type { Store } from "../store/store.ts";
import { type AskedTerms, askTerms } from "./asked-terms.ts";
import { type ChunkFilter, type ChunkRow, chunksBetween, matchingChunks } from "./candidates.ts";
import { type Corpus, readCorpus, readCoveredTime, readSessionRows, type SessionRow } from "./corpus.ts";
import { COLUMN_WEIGHTS, countLiterals, toDocuments } from "./documents.ts";
import type { Nearest } from "./nearest.ts";
import { readWithNeighbours } from "./neighbours.ts";
import { matchExpression, type Question, readQuestions } from "./query.ts";
import { bestFirst, fuse, isGoodEnough, type RankedDocument, type Ranking, rankDocuments } from "./rank.ts";

export interface RetrievalOptions {
  filter: ChunkFilter;
  /** Results that are wanted. */
  limit: number;
  now: Date;
  /** IANA name: times in questions are meant there. @default the system's */
  timezone?: string | undefined;
  /** Chunks by meaning, for each phrasing best first. */
  nearest?: readonly (readonly Nearest[])[] | undefined;
}

/** A chunk as it was ranked. */
export interface RankedChunk {
  row: ChunkRow;
  session: SessionRow;
  /** Comparable within one search only. */
  score: number;
  /** Its position in each phrasing's list and then in each by meaning, from 1; undefined beyond the first hundred. */
  ranks: (number | undefined)[];
  /** By phrasing: the part of it that stands in the chunk itself, 0 to 1. */
  coverage: number[];
  /** By phrasing: how well its time fits, 0 to 1. */
  fits: number[];
}

export interface Retrieved {
  /** Best first. */
  chunks: RankedChunk[];
  /** All chunks at hand, for what lies around a result. */
  rows: ChunkRow[];
  sessions: ReadonlyMap<string, SessionRow>;
  phrasings: Phrasing[];
  /** Whether the best is worth showing. */
  isAnswered: boolean;
}

export interface Phrasing {
  question: Question;
  ranking: Ranking;
  cues: TimeCues | undefined;
}

/** Candidates a phrasing gives at least; twice as many find no more. */
const CANDIDATES = 50;
const CANDIDATES_OF_MANY = 20;
/** And so many times the results that are wanted. */
const CANDIDATES_PER_RESULT = 3;
/** The neighbours of so many of them are candidates too. */
const WITH_NEIGHBOURS = 30;
/** Beside words, meaning is heard but does not outvote them: its first is worth what their twelfth is. */
const NEAREST_WEIGHT = 0.5;
const RANKS_TOLD = 100;
/** From this fit on, a chunk is of the time that was asked for. */
export const TIMELY = 0.5;
/** Cosine between the nearest and the fiftieth: models differ in height, less in this. */
const STANDS_OUT = 0.15;

interface Search {
  options: RetrievalOptions;
  questions: readonly Question[];
  asked: AskedTerms;
  cues: readonly (TimeCues | undefined)[];
  /** Whether neighbours lend their words: several phrasings find by themselves what one needs lent. */
  isLending: boolean;
  /** The time that the stores cover, where a phrasing names one. */
  covered: { from: string; to: string };
}

/** Ranks the chunks of the stores that may answer a question, given in one or several phrasings. */
export function retrieve(
  stores: readonly Store[],
  texts: readonly string[],
  options: RetrievalOptions,
): Retrieved {
  const questions = readQuestions(texts);
  const corpus = readCorpus(stores);
  const asked = askTerms(stores, questions, corpus.chunks);
  const cues = questions.map(({ text }) => readTimeCues(text, options));
  const covered = cues.some(Boolean) ? readCoveredTime(stores) : { from: "", to: "" };
  const isLending = questions.length === 1;
  const search: Search = { options, questions, asked, cues, isLending, covered };
  const found = stores.map((store) => ({ store, ...gather(store, search) }));
  const rows = found.flatMap((one) => one.rows).sort(byPlace);
  const candidates = new Set(found.flatMap((one) => [...one.candidates]));
  const sessions = new Map<string, SessionRow>();
  for (const { store, rows: own } of found) {
    const ids = new Set(own.map(({ sessionId }) => sessionId));
    for (const [id, session] of readSessionRows(store, ids)) sessions.set(id, session);
  }
  const { speaker } = options.filter;
  const documents = toDocuments(rows, { numbers: asked.numbers, sessions, candidates, speaker });
  const averageWords = averageOf(corpus);
  const phrasings = questions.map((question, i) => {
    for (const [k, row] of rows.entries()) {
      const document = documents[k] as RankedDocument;
      document.time = cues[i] ? timeFit(cues[i], row.timestamp) : 0;
      document.literals = countLiterals(row, question.literals);
    }
    return {
      question,
      cues: cues[i],
      ranking: rankDocuments(documents, asked.weigh(question), { averageWords, isLending }),
    };
  });
  const nearest = options.nearest ?? [];
  const chunks = fuseChunks(rows, { sessions, phrasings, nearest });
  const isTimely = chunks[0]?.fits.some((fit) => fit >= TIMELY) ?? false;
  const rankings = phrasings.map(({ ranking }) => ranking);
  return {
    chunks,
    rows,
    sessions,
    phrasings,
    isAnswered: isTimely || isGoodEnough(rankings, corpus.chunks) || nearest.some(standsOut),
  };
}

/** The chunks of one store that may answer, with those around them. */
function gather(store: Store, search: Search): { rows: ChunkRow[]; candidates: Set<ChunkRow> } {
  const { questions, options } = search;
  const candidates = new Set<number>();
  const adjoining = new Set<number>();
  for (const [i, question] of questions.entries()) {
    const found = findCandidates(store, search, { question, cues: search.cues[i] });
    for (const id of found) candidates.add(id);
    for (const id of found.slice(0, WITH_NEIGHBOURS / (questions.length > 2 ? 2 : 1))) adjoining.add(id);
  }
  for (const near of options.nearest?.flat() ?? []) if (near.store === store) candidates.add(near.id);
  return readWithNeighbours(store, {
    candidates,
    adjoining,
    filter: options.filter,
    isLending: search.isLending,
  });
}

function byPlace(a: ChunkRow, b: ChunkRow): number {
  return a.sessionId === b.sessionId ? a.index - b.index : a.sessionId < b.sessionId ? -1 : 1;
}

function averageOf({ averageWords: [content = 0, header = 0, tools = 0, extra = 0] }: Corpus): number {
  return Math.max(1, content + header + COLUMN_WEIGHTS.tools * (tools + extra));
}

/** Whether the nearest in meaning is clearly nearer than those that only happen to be near. */
function standsOut(nearest: readonly Nearest[]): boolean {
  const [first, last] = [nearest[0], nearest.at(-1)];
  return first !== undefined && last !== undefined && first.similarity - last.similarity >= STANDS_OUT;
}

function findCandidates(
  store: Store,
  { options: { filter, limit: wanted }, questions, asked, covered }: Search,
  { question, cues }: { question: Question; cues: TimeCues | undefined },
): number[] {
  const limit = Math.max(
    questions.length > 2 ? CANDIDATES_OF_MANY : CANDIDATES,
    CANDIDATES_PER_RESULT * wanted,
  );
  const rare = question.terms.filter((term) => !asked.isCommon(term));
  const match = matchExpression(rare.length > 0 ? rare : question.terms, question.literals);
  const found = match === undefined ? [] : matchingChunks(store, match, { filter, limit });
  for (const { from, to } of cues ? cueSpans(cues, covered) : []) {
    const after = filter.after !== undefined && filter.after > from ? filter.after : from;
    const before = filter.before !== undefined && filter.before < to ? filter.before : to;
    const timely = { filter: { ...filter, after, before }, limit };
    if (match !== undefined) found.push(...matchingChunks(store, match, timely));
    found.push(...chunksBetween(store, { from, to }, timely));
  }
  return [...new Set(found)];
}

function fuseChunks(
  rows: readonly ChunkRow[],
  {
    sessions,
    phrasings,
    nearest,
  }: {
    sessions: ReadonlyMap<string, SessionRow>;
    phrasings: Phrasing[];
    nearest: readonly (readonly Nearest[])[];
  },
): RankedChunk[] {
  const weights = phrasings.map(({ ranking }) => ranking.strength * Math.sqrt(ranking.coverage));
  const heaviest = Math.max(...weights) || 1;
  const lists = phrasings.map(({ ranking }, i) => ({ scores: ranking.scores, weight: weights[i] as number }));
  for (const near of nearest)
    lists.push({ scores: listScores(rows, near), weight: NEAREST_WEIGHT * heaviest });
  const fused = lists.length === 1 ? (lists[0]?.scores ?? new Float64Array()) : fuse(lists);
  const ranks = lists.map(
    ({ scores }) =>
      new Map(
        bestFirst(scores)
          .slice(0, RANKS_TOLD)
          .map((i, rank) => [i, rank + 1]),
      ),
  );
  const chunks: RankedChunk[] = [];
  for (const i of bestFirst(fused)) {
    const row = rows[i] as ChunkRow;
    const session = sessions.get(row.sessionId);
    if (session === undefined) continue;
    chunks.push({
      row,
      session,
      score: fused[i] as number,
      ranks: ranks.map((list) => list.get(i)),
      coverage: phrasings.map(({ ranking }) =>
        ranking.total > 0 ? (ranking.own[i] as number) / ranking.total : 0,
      ),
      fits: phrasings.map(({ cues }) => (cues ? timeFit(cues, row.timestamp) : 0)),
    });
  }
  return chunks;
}

/** A list of chunks, best first, as scores by row. */
function listScores(rows: readonly ChunkRow[], near: readonly Nearest[]): Float64Array {
  const scores = new Float64Array(rows.length);
  for (const [rank, { store, id }] of near.entries()) {
    const i = rows.findIndex((row) => row.store === store && row.id === id);
    if (i >= 0) scores[i] = 1 / (rank + 1);
  }
  return scores;
}
