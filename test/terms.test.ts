import { expect, test } from "bun:test";
import { findStems, stemWords } from "../lib/search/query.ts";
import { fuzzSeed, seeded } from "./support/random.ts";

test("stemWords() gives each word the stem that the index has for it", () => {
  const words =
    "running flies decisions relational conditional hopefully sky agreed plastered motoring generalizations".split(
      " ",
    );
  expect([...stemWords(words).values()]).toEqual(
    "run fli decis relat condit hopefulli sky agre plaster motor gener".split(" "),
  );
  expect([...stemWords(["数据", "ubergange", "журнал", ""])]).toEqual([
    ["数据", "数据"],
    ["ubergange", "ubergang"],
    ["журнал", "журнал"],
    ["", ""],
  ]);
  expect(stemWords([]).size).toBe(0);
});

test("findStems() says in which text, in which column and at which word each stem occurs", () => {
  const found: unknown[] = [];
  findStems(
    ["run", "Index"],
    [["a run", "index"], [], ["nothing"], ["", "it was running: RUN!"]],
    (...occurrence) => found.push(occurrence),
  );
  expect(found).toEqual([
    ["run", 0, 0, 1],
    ["run", 3, 1, 2],
    ["run", 3, 1, 3],
  ]);
});

test("findStems() finds what splitting at marks finds, whatever was asked before", () => {
  const random = seeded(fuzzSeed("stems in texts"));
  const words = ["log", "tab", "zip", "dot", "net"];
  for (let round = 0; round < 20; round++) {
    const texts = Array.from({ length: random.integer(0, 5) }, () => [
      Array.from({ length: random.integer(0, 9) }, () => random.pick(words)).join(
        random.pick([" ", ", ", "_", "."]),
      ),
    ]);
    const counts = new Map<string, number>();
    findStems(words, texts, (stem) => counts.set(stem, (counts.get(stem) ?? 0) + 1));
    const all = texts.flat().flatMap((text) => text.split(/[ ,_.]+/));
    for (const word of words) {
      expect(counts.get(word) ?? 0).toBe(all.filter((one) => one === word).length);
    }
  }
});
