/**
 * Ranks chunks by how well they answer: bm25 with the neighbours' words, and several phrasings fused into one list. Pure:
 * numbers in, numbers out.
 */

/** A chunk as far as ranking goes. */
export interface RankedDocument {
  /** The number of times each term occurs in it, header and tool calls included. */
  counts: Float64Array;
  words: number;
  /** Positions of the chunks before and after it in the same transcript; -1 if not at hand. */
  before: number;
  after: number;
  /** True if it may be a result; the others only lend their words to their neighbours. */
  isCandidate: boolean;
}

/** A question's terms with what they are worth. */
export interface WeightedTerm {
  /** Its number in the documents' counts. */
  number: number;
  /** Its inverse document frequency times its own weight. */
  worth: number;
}

export interface Ranking {
  /** By document; 0: no result. */
  scores: Float64Array;
  /** The worth of the terms in the document itself, without neighbours. */
  own: Float64Array;
  /** The worth of the whole question. */
  total: number;
}

// real2, codebench and deeds: half and one and a half of each of these answer within 3 of 251 questions the same
const K1 = 0.9;
const B = 0.4;
/** The parts of their own counts that the chunks before and after lend. */
const FROM_BEFORE = 0.4;
const FROM_AFTER = 0.2;
/** Only the best ranks of a phrasing count: with 60, as usual, a second weak list outvotes a strong one. */
const FUSION_CONSTANT = 10;

/** Returns the rarity of a term that `having` of `total` documents contain. */
export function inverseFrequency(total: number, having: number): number {
  return Math.log(1 + (total - having + 0.5) / (having + 0.5));
}

interface Signs {
  averageWords: number;
  /** The addition for the time of each document, in parts of the best score. */
  times: readonly number[];
}

/** Ranks documents for one phrasing. */
export function rankDocuments(
  documents: readonly RankedDocument[],
  terms: readonly WeightedTerm[],
  { averageWords, times }: Signs,
): Ranking {
  const size = documents.length;
  const lexical = new Float64Array(size);
  const own = new Float64Array(size);
  const total = terms.reduce((sum, { worth }) => sum + worth, 0);
  for (let i = 0; i < size; i++) {
    const document = documents[i] as RankedDocument;
    if (!document.isCandidate) continue;
    const { counts } = document;
    const before = documents[document.before]?.counts;
    const after = documents[document.after]?.counts;
    const length = document.words / averageWords;
    let held = 0;
    let sum = 0;
    for (const { number, worth } of terms) {
      const count = counts[number] as number;
      if (count > 0) held += worth;
      const lent = FROM_BEFORE * (before?.[number] ?? 0) + FROM_AFTER * (after?.[number] ?? 0);
      sum += worth * saturate(count + lent, length);
    }
    own[i] = held;
    lexical[i] = sum;
  }
  // A question that is all time ("what did we do last Tuesday") has no words to be measured by.
  const unit = maximum(lexical) || 1;
  const scores = Float64Array.from(documents, ({ isCandidate }, i) => {
    if (!isCandidate) return 0;
    const timely = unit * (times[i] as number);
    // words that only its neighbours hold are shown with them
    return own[i] === 0 ? timely : (lexical[i] as number) + timely;
  });
  return { scores, own, total };
}

/** Returns bm25's share of a term's worth: more of it helps less and less, and less in a long text. */
function saturate(count: number, relativeLength: number): number {
  return count === 0 ? 0 : (count * (K1 + 1)) / (count + K1 * (1 - B + B * relativeLength));
}

function maximum(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}

/** Fuses lists of scores by reciprocal rank. */
export function fuse(lists: readonly Float64Array[]): Float64Array {
  const fused = new Float64Array(lists[0]?.length ?? 0);
  for (const scores of lists) {
    for (const [rank, document] of bestFirst(scores).entries())
      fused[document] = (fused[document] as number) + 1 / (FUSION_CONSTANT + rank + 1);
  }
  return fused;
}

/** Positions of the documents with a score, best first. */
export function bestFirst(scores: Float64Array): number[] {
  const found = [...scores.keys()].filter((position) => (scores[position] as number) > 0);
  return found.sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
}
