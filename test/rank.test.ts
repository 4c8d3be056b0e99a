import { expect, test } from "bun:test";
import { bestFirst, fuse, type RankedDocument, rankDocuments } from "../lib/search/rank.ts";

function document(counts: number[], more: Partial<RankedDocument> = {}): RankedDocument {
  return {
    counts: Float64Array.from(counts),
    words: 100,
    session: "one",
    before: -1,
    after: -1,
    isCandidate: true,
    time: 0,
    literals: 0,
    atEnd: 0,
    ...more,
  };
}

const TERMS = [
  { number: 0, worth: 5 },
  { number: 1, worth: 1 },
];
const LENDING = { averageWords: 100, isLending: true };
const order = (documents: RankedDocument[]) => bestFirst(rankDocuments(documents, TERMS, LENDING).scores);

test("rankDocuments() puts the rare word before the common one, and both before either", () => {
  expect(order([document([0, 3]), document([1, 1]), document([1, 0]), document([0, 0])])).toEqual([1, 2, 0]);
});

test("rankDocuments() lets a chunk have a part of its neighbours' words, but no result that is not a candidate", () => {
  const documents = [
    document([3, 0], { isCandidate: false, after: 1 }),
    document([0, 1], { before: 0, after: 2 }),
    document([0, 1], { before: 1 }),
    document([0, 0], { before: 2 }),
  ];
  const { scores, own } = rankDocuments(documents, TERMS, LENDING);
  expect(scores[0]).toBe(0);
  expect(scores[1]).toBeGreaterThan(2 * (scores[2] ?? 0));
  expect(scores[3]).toBe(0);
  expect([...own]).toEqual([0, 1, 1, 0]);
});

test("rankDocuments() prefers the session with more of the question and the time that is named", () => {
  const other = document([0, 1], { session: "two" });
  expect(
    order([
      document([1, 0], { session: "two" }),
      document([1, 0]),
      document([1, 0], { session: "two" }),
      other,
    ])[3],
  ).toBe(3);
  expect(order([document([2, 0]), document([1, 0], { time: 1 })])).toEqual([1, 0]);
});

test("fuse() never lets weak lists outvote a strong one", () => {
  const strong = { scores: Float64Array.of(9, 8, 7, 0, 0, 0), weight: 10 };
  const weak = { scores: Float64Array.of(0, 0, 0, 3, 2, 1), weight: 1 };
  expect(bestFirst(fuse([strong, weak, weak, weak])).slice(0, 3)).toEqual([0, 1, 2]);
});

test("fuse() lifts what several phrasings of the same weight agree on", () => {
  const lists = [Float64Array.of(3, 2, 0), Float64Array.of(0, 2, 3)].map((scores) => ({ scores, weight: 1 }));
  expect(bestFirst(fuse(lists))[0]).toBe(1);
  expect([...fuse([])]).toEqual([]);
});

test("rankDocuments() prefers the end of a session that is asked for", () => {
  expect(order([document([1, 1]), document([1, 1], { atEnd: 1 })])).toEqual([1, 0]);
});
