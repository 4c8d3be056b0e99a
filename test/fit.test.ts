/** Fits blocks into a budget: what stays, what grows, and what is counted where it stood. */

import { describe, expect, test } from "bun:test";
import { fit } from "../lib/base/fit.ts";

const gap = (count: number) => [`[${count}]`];

describe("fit()", () => {
  const blocks = [
    { rank: 0, forms: [["first, whole"], ["first"]] },
    { rank: 3, forms: [["third"]] },
    { rank: 2, forms: [["second, whole"], ["second"]] },
    { rank: 1, forms: [] },
    { rank: 1, forms: [["last"]] },
  ];

  test.each<[number, string[]]>([
    [100, ["first, whole", "third", "second, whole", "[1]", "last"]],
    [35, ["first, whole", "third", "second", "[1]", "last"]],
    [26, ["first", "[1]", "second", "[1]", "last"]],
    [15, ["first", "[3]", "last"]],
    [10, ["first", "[4]"]],
    [4, ["[5]"]],
  ])("in %p characters", (maxChars, expected) => {
    expect(fit(blocks, { maxChars, gap })).toEqual(expected);
  });

  test("leaves out nothing where all fits, even what is shorter than its count", () => {
    const short = ["first", "b"].map((line, rank) => ({ rank, forms: [[line]] }));
    expect(fit(short, { maxChars: 8, gap })).toEqual(["first", "b"]);
  });

  test("counts code points, line ends included", () => {
    const wide = [{ rank: 0, forms: [["\u{1f6a2}\u{1f6a2}"]] }];
    expect(fit(wide, { maxChars: 4, gap: () => [""] })).toEqual(["\u{1f6a2}\u{1f6a2}"]);
    expect(fit(wide, { maxChars: 2, gap: () => [""] })).toEqual([""]);
  });
});
