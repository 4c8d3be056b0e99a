import { expect, test } from "bun:test";
import { readQuestion } from "../lib/search/query.ts";
import { countTerms, makeVocabulary } from "../lib/search/term-counts.ts";

/** How often each word of the question is counted in the text. */
function count(question: string, text: string): Record<string, number> {
  const { terms } = readQuestion(question);
  const counts = countTerms(text, makeVocabulary(terms));
  return Object.fromEntries(terms.map(({ forms }, i) => [forms[0] ?? "", counts[i] ?? 0]));
}

test("countTerms() counts all forms of a word, and no word that only begins or goes on like it", () => {
  expect(count("decide", "We decided. Deciding is hard, the DECISION decides; decidual, undecided.")).toEqual(
    { decide: 3 },
  );
  expect(count("queue run", "Queues run; runs, ran, trunk, rune")).toEqual({ queue: 1, run: 3 });
  expect(count("happy nullability", "happily happy nullable nullability")).toEqual({
    happy: 1,
    nullability: 2,
  });
});

test("countTerms() counts parts of joined names half, and names of marks in full", () => {
  expect(count("queue worker", "workerQueueTimeout WORKER_QUEUE my_queue queue.ts HTTPWorker")).toEqual({
    queue: 3.5,
    worker: 2,
  });
  expect(count("url", "waitForURL(url)")).toEqual({ url: 1.5 });
  expect(count("waitForURL", "Läufe mit page.waitForURL()")).toEqual({ waitforurl: 1, wait: 0.5, url: 0.5 });
});

test("countTerms() sees through accents and case, and counts pairs of unspaced scripts", () => {
  expect(count("uber größe", "Über über GRÖẞE Größe")).toEqual({ große: 1 });
  expect(count("журнал", "Журнал и журнал, журналы")).toEqual({ журнал: 2 });
  expect(count("数据库", "我们的数据库和数据")).toEqual({ 数据: 2, 据库: 1 });
});

test("countTerms() counts nothing for nothing", () => {
  expect(count("", "any text")).toEqual({});
  expect(count("word", "")).toEqual({ word: 0 });
});
