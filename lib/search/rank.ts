/**
 * Ranks chunks by how well they answer: bm25 with the neighbours' words, and several phrasings fused into one list. Pure:
 * numbers in, numbers out.
 */

/** A chunk as far as ranking goes. */
export interface RankedDocument {
  /** The number of times each term occurs in it, header and tool calls included. */
  counts: Float64Array;
  length: number;
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

// real2, codebench and deeds: half and one and a half of each of these answer within 3 of 251 questions the same
const K1 = 0.9;
const B = 0.4;
/** The parts of their own counts that the chunks before and after lend. */
const FROM_BEFORE = 0.4;
const FROM_AFTER = 0.2;
/** The addition for a fitting time, in parts of the best score. */
const TIME_PREFERENCE = 0.5;
/** Only the best ranks of a phrasing count: with 60, as usual, a second weak list outvotes a strong one. */
const FUSION_CONSTANT = 10;

/** Returns the rarity of a term that `having` of `total` documents contain. */
export function inverseFrequency(total: number, having: number): number {
  return Math.log(1 + (total - having + 0.5) / (having + 0.5));
}

/** Returns the scores of documents for one phrasing, 0 for no result; `times` says how well the time of each fits, 0 to 1. */
export function rankDocuments(
  documents: readonly RankedDocument[],
  terms: readonly WeightedTerm[],
  times: readonly number[],
): Float64Array {
  const average = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length);
  const lexical = documents.map(({ isCandidate, counts, length, ...beside }) => {
    // words that only its neighbours hold are shown with them
    if (!isCandidate || !terms.some(({ number }) => (counts[number] as number) > 0)) return 0;
    const [before, after] = [documents[beside.before]?.counts, documents[beside.after]?.counts];
    return terms.reduce((sum, { number, worth }) => {
      const lent = FROM_BEFORE * (before?.[number] ?? 0) + FROM_AFTER * (after?.[number] ?? 0);
      return sum + worth * saturate((counts[number] as number) + lent, length / Math.max(1, average));
    }, 0);
  });
  // a question that is all time ("what did we do last Tuesday") has no words to be measured by
  const unit = TIME_PREFERENCE * (Math.max(0, ...lexical) || 1);
  return Float64Array.from(documents, ({ isCandidate }, i) =>
    isCandidate ? (lexical[i] as number) + unit * (times[i] as number) : 0,
  );
}

/** Returns bm25's share of a term's worth: more of it helps less and less, and less in a long text. */
function saturate(count: number, relativeLength: number): number {
  return count === 0 ? 0 : (count * (K1 + 1)) / (count + K1 * (1 - B + B * relativeLength));
}

/** Fuses lists of scores by reciprocal rank; of one list the scores stay. */
export function fuse(lists: readonly Float64Array[]): Float64Array {
  const [first = new Float64Array(0), ...others] = lists;
  if (others.length === 0) return first;
  const fused = new Float64Array(first.length);
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
