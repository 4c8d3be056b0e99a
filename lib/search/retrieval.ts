/**
 * From phrasings to ranked chunks: candidates of each store by full text and by the times a question names,
 * each read once with its neighbours, counted once for all phrasings, ranked for each, fused.
 */

import type { StoredDeed } from "../index/deed-rows.ts";
import type { SessionRow } from "../index/index-state.ts";
import { cueSpans, readTimeCues, type TimeCues, timeFit } from "../language/time-cues.ts";
import type { Store } from "../store/store.ts";
import { type ChunkFilter, type ChunkRow, chunksBetween, matchingChunks } from "./candidates.ts";
import { type Corpus, readCorpus, readCoveredTime, readLastIndexes, readSessionRows } from "./corpus.ts";
import { COLUMN_WEIGHTS, countLiterals, readWithNeighbours, toDocuments } from "./documents.ts";
import { type AskedTerms, matchExpression, type Question, readQuestions, weighTerms } from "./query.ts";
import { bestFirst, fuse, type RankedDocument, type Ranking, rankDocuments } from "./rank.ts";
import { type FoundDeed, matchingDeeds } from "./rows.ts";

export interface RetrievalOptions {
  filter: ChunkFilter;
  /** Results that are wanted. */
  limit: number;
  now: Date;
  /** IANA name: times in questions are meant there. @default the system's */
  timezone?: string | undefined;
  /** The project that leads among equals, by its directory and by its origin. */
  project?: readonly (string | undefined)[] | undefined;
  /** Returns whether a session is left out: a shared one may also be in the index itself. */
  isHidden?: ((session: SessionRow) => boolean) | undefined;
}

/** A chunk as it was ranked. */
export interface RankedChunk {
  row: ChunkRow;
  session: SessionRow;
  /** Comparable within one search only. */
  score: number;
  /** True if it is of the time that was asked for. */
  isTimely: boolean;
}

export interface Retrieved {
  /** Best first. */
  chunks: RankedChunk[];
  /** All chunks at hand, for what lies around a result. */
  rows: ChunkRow[];
  sessions: ReadonlyMap<string, SessionRow>;
  phrasings: Phrasing[];
  asked: AskedTerms;
  /** The deeds that were found, by their chunk. */
  deeds: ReadonlyMap<ChunkRow, StoredDeed[]>;
}

interface Phrasing {
  question: Question;
  ranking: Ranking;
  cues: TimeCues | undefined;
}

/** Candidates a phrasing gives at least; twice as many find no more. */
const CANDIDATES = 50;
const CANDIDATES_OF_MANY = 20;
/** And so many times the results that are wanted. */
const CANDIDATES_PER_RESULT = 3;
/** Deeds that a phrasing finds at most. */
const DEEDS = 30;
/** The neighbours of so many of them are candidates too. */
const WITH_NEIGHBOURS = 30;
/** Only the first and last tenths of a session are its ends. */
const END_SHARPNESS = 4;
/** From this fit on, a chunk is of the time that was asked for. */
const TIMELY = 0.5;
/** Among equals the project of the working directory leads. */
const OWN_PROJECT = 1.1;

interface Search {
  options: RetrievalOptions;
  questions: readonly Question[];
  asked: AskedTerms;
  cues: readonly (TimeCues | undefined)[];
  /** True if neighbours lend their words: one phrasing needs this, several find the same by themselves. */
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
  const asked = weighTerms(stores, questions, corpus.chunks);
  const cues = questions.map(({ text }) => readTimeCues(text, options));
  const covered = cues.some(Boolean) ? readCoveredTime(stores) : { from: "", to: "" };
  const isLending = questions.length === 1;
  const search: Search = { options, questions, asked, cues, isLending, covered };
  const found = stores.map((store) => gather(store, search));
  const rows = found.flatMap((one) => one.rows).sort(byPlace);
  const candidates = new Set(found.flatMap((one) => [...one.candidates]));
  const sessions = new Map<string, SessionRow>();
  for (const { store, rows: own } of found) {
    const ids = new Set(own.map(({ sessionId }) => sessionId));
    for (const [id, session] of readSessionRows(store, ids)) {
      if (!options.isHidden?.(session)) sessions.set(id, session);
    }
  }
  const deeds = deedsByChunk(rows, found);
  const { speaker } = options.filter;
  const documents = toDocuments(rows, { numbers: asked.numbers, sessions, candidates, speaker, deeds });
  const averageWords = averageOf(corpus);
  const lastIndexes = questions.some(({ end }) => end) ? readLastIndexes(stores, sessions.keys()) : new Map();
  const phrasings = questions.map((question, i) => {
    for (const [k, row] of rows.entries()) {
      const document = documents[k] as RankedDocument;
      document.time = cues[i] ? timeFit(cues[i], row.timestamp) : 0;
      document.literals = countLiterals(row, question.literals);
      document.atEnd = nearness(row, question.end, lastIndexes);
    }
    const guesses = asked.weigh(question.guesses).map((term) => ({ ...term, isGuess: true }));
    const terms = [...asked.weigh(question.terms), ...guesses];
    return {
      question,
      cues: cues[i],
      ranking: rankDocuments(documents, terms, { averageWords, isLending }),
    };
  });
  const chunks = fuseChunks(rows, { sessions, phrasings, project: options.project });
  return { chunks, rows, sessions, phrasings, asked, deeds };
}

/** Returns how near a chunk is to one end of its session, 0 to 1; only what is really there counts. */
function nearness(
  { sessionId, index }: ChunkRow,
  end: Question["end"],
  lastIndexes: ReadonlyMap<string, number>,
): number {
  if (end === undefined) return 0;
  const position = index / Math.max(1, lastIndexes.get(sessionId) ?? 1);
  return (end === "last" ? position : 1 - position) ** END_SHARPNESS;
}

/** The results of one store: the chunks that may answer, those around them, and the deeds that match. */
interface Gathered {
  store: Store;
  rows: ChunkRow[];
  candidates: Set<ChunkRow>;
  deeds: FoundDeed[];
}

function gather(store: Store, search: Search): Gathered {
  const { questions, options } = search;
  const candidates = new Set<number>();
  const adjoining = new Set<number>();
  const deeds = new Map<number, FoundDeed>();
  for (const [i, question] of questions.entries()) {
    const found = findCandidates(store, search, { question, cues: search.cues[i] });
    for (const id of found) candidates.add(id);
    for (const id of found.slice(0, WITH_NEIGHBOURS / (questions.length > 2 ? 2 : 1))) adjoining.add(id);
    for (const one of findDeeds(store, search, question)) deeds.set(one.deed.id, one);
  }
  for (const { chunk } of deeds.values()) candidates.add(chunk);
  const { filter } = options;
  const { isLending } = search;
  const read = readWithNeighbours(store, { candidates, adjoining, filter, isLending });
  return { store, ...read, deeds: [...deeds.values()] };
}

/** Deeds are nobody's words: a search for what somebody said has none. */
function findDeeds(
  store: Store,
  { options: { filter }, asked }: Search,
  { terms, guesses, literals }: Question,
): FoundDeed[] {
  if (filter.speaker !== undefined) return [];
  const rare = terms.filter((term) => !asked.isCommon(term));
  const guessed = guesses.filter((term) => !asked.isCommon(term));
  const match = matchExpression([...(rare.length > 0 ? rare : terms), ...guessed], literals);
  return match === undefined ? [] : matchingDeeds(store, match, { filter, limit: DEEDS });
}

function deedsByChunk(rows: readonly ChunkRow[], found: readonly Gathered[]): Map<ChunkRow, StoredDeed[]> {
  const byChunk = new Map<ChunkRow, StoredDeed[]>();
  for (const { store, deeds } of found) {
    const own = new Map(rows.filter((row) => row.store === store).map((row) => [row.id, row]));
    for (const { chunk, deed } of deeds) {
      const row = own.get(chunk);
      if (row) byChunk.set(row, [...(byChunk.get(row) ?? []), deed]);
    }
  }
  return byChunk;
}

function byPlace(a: ChunkRow, b: ChunkRow): number {
  return a.sessionId === b.sessionId ? a.index - b.index : a.sessionId < b.sessionId ? -1 : 1;
}

function averageOf({ averageWords: [content = 0, header = 0, tools = 0, extra = 0] }: Corpus): number {
  return Math.max(1, content + header + COLUMN_WEIGHTS.tools * (tools + extra));
}

function findCandidates(
  store: Store,
  { options: { filter, limit: wanted }, questions, asked, covered }: Search,
  { question, cues }: { question: Question; cues: TimeCues | undefined },
): number[] {
  const least = questions.length > 2 ? CANDIDATES_OF_MANY : CANDIDATES;
  const limit = Math.max(least, CANDIDATES_PER_RESULT * wanted);
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
    project,
  }: {
    sessions: ReadonlyMap<string, SessionRow>;
    phrasings: Phrasing[];
    project: readonly (string | undefined)[] | undefined;
  },
): RankedChunk[] {
  const weights = phrasings.map(({ ranking }) => ranking.strength * Math.sqrt(ranking.coverage));
  const lists = phrasings.map(({ ranking }, i) => ({ scores: ranking.scores, weight: weights[i] as number }));
  const fused = lists.length === 1 ? (lists[0]?.scores ?? new Float64Array()).slice() : fuse(lists);
  if (project !== undefined) {
    for (const [i, row] of rows.entries()) {
      const own = sessions.get(row.sessionId)?.project;
      if (own !== undefined && project.includes(own)) fused[i] = (fused[i] as number) * OWN_PROJECT;
    }
  }
  const chunks: RankedChunk[] = [];
  for (const i of bestFirst(fused)) {
    const row = rows[i] as ChunkRow;
    const session = sessions.get(row.sessionId);
    if (session === undefined) continue;
    const isTimely = phrasings.some(({ cues }) => cues && timeFit(cues, row.timestamp) >= TIMELY);
    chunks.push({ row, session, score: fused[i] as number, isTimely });
  }
  return chunks;
}
