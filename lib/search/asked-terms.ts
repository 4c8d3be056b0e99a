/** The terms of a search's phrasings as numbers: what each is worth in this index, and which sessions are named by it. */

import type { Store } from "../store/store.ts";
import { documentFrequencies, readPlaces, sessionsAt } from "./corpus.ts";
import type { Question, Term } from "./query.ts";
import { inverseFrequency, type WeightedTerm } from "./rank.ts";
import { countTerms, makeVocabulary, type Vocabulary } from "./term-counts.ts";

/** The terms of all phrasings, each once, by number. */
export interface AskedTerms {
  vocabulary: Vocabulary;
  /** Term counts of the name and folder of each session that has any. */
  sessionCounts: ReadonlyMap<string, Float64Array>;
  /** A phrasing's terms with what they are worth. */
  weigh(question: Question): WeightedTerm[];
  /** Whether a term stands in so many chunks that it finds nothing by itself. */
  isCommon(term: Term): boolean;
  /** Ids of the sessions whose name or folder has a term of the phrasing. */
  sessionsNamedBy(question: Question): string[];
}

/** A word that stands in more than this share of the chunks finds nothing by itself, and costs time where they are many. */
const COMMON_SHARE = 0.2;
const MANY_CHUNKS = 2000;

/** Weighs the terms of phrasings by how rare they are. */
export function askTerms(store: Store, questions: readonly Question[], chunks: number): AskedTerms {
  const terms = mergeTerms(questions);
  const vocabulary = makeVocabulary(terms);
  const { sessionCounts, inSessions } = countSessions(store, vocabulary);
  const frequencies = documentFrequencies(
    store,
    terms.flatMap(({ stems }) => stems),
  );
  const having = terms.map(({ stems }, number) => {
    const inText = stems.reduce((sum, word) => sum + (frequencies.get(word) ?? 0), 0);
    return Math.min(chunks, Math.max(inText, inSessions[number] as number));
  });
  const numbers = new Map(terms.map((term, number) => [keyOf(term), number]));
  const numbersOf = (question: Question) => [
    ...new Set(question.terms.map((term) => numbers.get(keyOf(term)) as number)),
  ];
  return {
    vocabulary,
    sessionCounts,
    weigh: (question) =>
      numbersOf(question).map((number) => ({
        number,
        worth: (terms[number]?.weight ?? 0) * inverseFrequency(chunks, having[number] as number),
      })),
    isCommon: (term) =>
      (having[numbers.get(keyOf(term)) as number] as number) > Math.max(MANY_CHUNKS, chunks * COMMON_SHARE),
    sessionsNamedBy(question) {
      const asked = numbersOf(question);
      const isNamed = (counts: Float64Array) => asked.some((number) => (counts[number] as number) > 0);
      return [...sessionCounts].filter(([, counts]) => isNamed(counts)).map(([id]) => id);
    },
  };
}

/** The terms of all phrasings, each once. */
function mergeTerms(questions: readonly Question[]): Term[] {
  const merged = new Map<string, Term>();
  for (const term of questions.flatMap(({ terms }) => terms)) {
    const key = keyOf(term);
    const known = merged.get(key);
    if (known) known.weight = Math.max(known.weight, term.weight);
    else merged.set(key, { ...term });
  }
  return [...merged.values()];
}

/** How often the terms stand in the names and folders of sessions, and in how many chunks by way of these. */
function countSessions(
  store: Store,
  vocabulary: Vocabulary,
): { sessionCounts: Map<string, Float64Array>; inSessions: Float64Array } {
  const sessionCounts = new Map<string, Float64Array>();
  const inSessions = new Float64Array(vocabulary.size);
  for (const place of readPlaces(store)) {
    const folders = (place.cwd ?? "").split(/[/\\]/).slice(-2);
    const counts = countTerms([place.name ?? "", ...folders].join(" "), vocabulary);
    if (counts.every((count) => count === 0)) continue;
    for (const { id, chunks } of sessionsAt(store, place)) {
      sessionCounts.set(id, counts);
      for (const [number, count] of counts.entries()) {
        if (count > 0) inSessions[number] = (inSessions[number] as number) + chunks;
      }
    }
  }
  return { sessionCounts, inSessions };
}

function keyOf({ stems }: Term): string {
  return stems.join(" ");
}
