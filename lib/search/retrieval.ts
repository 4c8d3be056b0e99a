/**
 * From phrasings to ranked chunks: candidates by full text, by the times a question names and by the sessions it names,
 * each read once with its neighbours, counted once for all phrasings, ranked for each, fused.
 */

import { cueSpans, readTimeCues, type TimeCues, timeFit } from "../language/time-cues.ts";
import type { Store } from "../store/store.ts";
import { type AskedTerms, askTerms } from "./asked-terms.ts";
import { type ChunkFilter, type ChunkRow, chunksBetween, matchingChunks } from "./candidates.ts";
import { readCorpus, readCoveredTime, readSessions, type SessionRow } from "./corpus.ts";
import { countLiterals, TOOL_WEIGHT, toDocuments } from "./documents.ts";
import type { Nearest } from "./nearest.ts";
import { readWithNeighbours } from "./neighbours.ts";
import { matchExpression, type Question, readQuestion } from "./query.ts";
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
/** A word in the names or folders of more sessions than this names none. */
const NAMED_MAX = 500;
/** From this fit on, a chunk is of the time that was asked for. */
export const TIMELY = 0.5;
/** Cosine between the nearest and the fiftieth: models differ in height, less in this. */
const STANDS_OUT = 0.15;

interface Search {
  store: Store;
  options: RetrievalOptions;
  asked: AskedTerms;
}

/** Ranks the chunks that may answer a question, given in one or several phrasings. */
export function retrieve(store: Store, texts: readonly string[], options: RetrievalOptions): Retrieved {
  const questions = texts.map(readQuestion);
  const corpus = readCorpus(store);
  const asked = askTerms(store, questions, corpus.chunks);
  const search: Search = { store, options, asked };
  const cues = questions.map(({ text }) => readTimeCues(text, options));
  const covered = cues.some(Boolean) ? readCoveredTime(store) : { from: "", to: "" };
  const candidates = new Set<number>();
  const adjoining = new Set<number>();
  for (const [i, question] of questions.entries()) {
    const found = findCandidates(search, question, {
      cues: cues[i],
      covered,
      phrasings: questions.length,
    });
    for (const id of found) candidates.add(id);
    for (const id of found.slice(0, WITH_NEIGHBOURS / (questions.length > 2 ? 2 : 1))) adjoining.add(id);
  }
  for (const { id } of options.nearest?.flat() ?? []) candidates.add(id);
  const rows = readWithNeighbours(store, { candidates, adjoining, filter: options.filter });
  const sessions = readSessions(store, new Set(rows.map(({ sessionId }) => sessionId)));
  const { speaker } = options.filter;
  const documents = toDocuments(rows, { asked, sessions, candidates, speaker });
  const [content = 0, header = 0, tools = 0, extra = 0] = corpus.averageWords;
  const averageWords = Math.max(1, content + header + TOOL_WEIGHT * (tools + extra));
  const phrasings = questions.map((question, i) => {
    for (const [k, row] of rows.entries()) {
      const document = documents[k] as RankedDocument;
      document.time = cues[i] ? timeFit(cues[i], row.timestamp) : 0;
      document.literals = countLiterals(row, question.literals);
    }
    return {
      question,
      cues: cues[i],
      ranking: rankDocuments(documents, asked.weigh(question), averageWords),
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

/** Whether the nearest in meaning is clearly nearer than those that only happen to be near. */
function standsOut(nearest: readonly Nearest[]): boolean {
  const [first, last] = [nearest[0], nearest.at(-1)];
  return first !== undefined && last !== undefined && first.similarity - last.similarity >= STANDS_OUT;
}

function findCandidates(
  { store, options, asked }: Search,
  question: Question,
  {
    cues,
    covered,
    phrasings,
  }: { cues: TimeCues | undefined; covered: { from: string; to: string }; phrasings: number },
): number[] {
  const { filter } = options;
  const limit = Math.max(
    phrasings > 2 ? CANDIDATES_OF_MANY : CANDIDATES,
    CANDIDATES_PER_RESULT * options.limit,
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
  // A question that names a project or a session is asked there too: elsewhere its other words may be more frequent.
  const among = asked.sessionsNamedBy(question).filter((id) => filter.among?.includes(id) ?? true);
  if (match !== undefined && among.length > 0 && among.length <= NAMED_MAX) {
    found.push(...matchingChunks(store, match, { filter: { ...filter, among }, limit }));
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
    lists.push({
      scores: listScores(
        rows,
        near.map(({ id }) => id),
      ),
      weight: NEAREST_WEIGHT * heaviest,
    });
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

/** A list of ids, best first, as scores by row. */
function listScores(rows: readonly ChunkRow[], ids: readonly number[]): Float64Array {
  const position = new Map(rows.map(({ id }, i) => [id, i]));
  const scores = new Float64Array(rows.length);
  for (const [rank, id] of ids.entries()) {
    const i = position.get(id);
    if (i !== undefined) scores[i] = 1 / (rank + 1);
  }
  return scores;
}
