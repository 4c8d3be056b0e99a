import { expect, test } from "bun:test";
import { spansOf } from "./docs/picture.ts";

test("spansOf() splits a line where its colours change, and ends each as terminals do", () => {
  const spans = spansOf("a\x1b[1mb\x1b[36mc\x1b[39md\x1b[22me\x1b[2mf\x1b[0mg");
  expect(spans.map(({ text, codes }) => [text, [...codes].join()])).toEqual([
    ["a", ""],
    ["b", "1"],
    ["c", "1,36"],
    ["d", "1"],
    ["e", ""],
    ["f", "2"],
    ["g", ""],
  ]);
});
