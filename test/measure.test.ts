/** Which words of a question stand where in a text. */

import { describe, expect, test } from "bun:test";
import { makeMeasure } from "../lib/search/measure.ts";

/** Returns the words of a question that a text holds: stem, position among the words, and the text from there. */
function held(stems: string[], text: string): string[] {
  const [measured] = makeMeasure(stems)([text]);
  return (measured?.found ?? []).map(
    ({ stem, at, start, isPart }) => `${stem} ${at}${isPart ? " part" : ""} ${text.slice(start, start + 9)}`,
  );
}

describe("makeMeasure()", () => {
  test("finds words by the stems of the index's tokenizer, each with its place", () => {
    expect(held(["test", "ran", "abil"], "Tests: we ran the TESTING suite, unable to test")).toEqual([
      "test 0 Tests: we",
      "ran 2 ran the T",
      "test 4 TESTING s",
      "test 8 test",
    ]);
    expect(held(["stabil", "reliabl", "happi"], "stability, happy and reliability")).toEqual([
      "stabil 0 stability",
      "happi 1 happy and",
      "reliabl 3 reliabili",
    ]);
  });

  test("finds words with accents, and parts of names and of runs without spaces as parts", () => {
    expect(held(["ubergang", "sandbox", "数据"], "die Übergang sqlSandbox 数据库")).toEqual([
      "ubergang 1 Übergang ",
      "sandbox 2 part sqlSandbo",
      "数据 3 part 数据库",
    ]);
  });

  test("counts all words of a text, and finds none of a question without words", () => {
    expect(makeMeasure(["a"])(["one two", "", "one two"])).toEqual([
      { words: 2, found: [] },
      { words: 0, found: [] },
      { words: 2, found: [] },
    ]);
    expect(makeMeasure([])(["one"])).toEqual([{ words: 1, found: [] }]);
  });
});
