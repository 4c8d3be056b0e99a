/** The English of comments: wordings that a native maintainer would not use may become fewer, never more. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./support/run.ts";

/** Each wording with the most lines of comments that may have it: a commit that rewrites some lowers the number. */
const WORDINGS: readonly (readonly [name: string, wording: RegExp, most: number])[] = [
  ["a question word at the start", /\/\*\* (?:What|Whether|Which|Where|How|Why|When|Who)\b/, 0],
  [
    "negation by a noun: is none, is no",
    /(?<!\bthere )\b(?:is|are|was|were|be) (?:none|no)\b(?! (?:longer|more|one)\b)/,
    0,
  ],
  ["a headless clause: what is … of which", /\bof which\b|(?:^|[.;:,] )what (?:is|are|was|were)\b/i, 0],
  ["those that for a noun", /\bthose (?:that|which|who)\b/, 0],
  ["so many for a number", /\bso (?:many|much|few)\b/, 0],
  ["is given for takes", /\b(?:is|are|was|were) given\b/, 0],
  ["where there is for if", /\bwhere there (?:is|are|was|were)\b/, 0],
  ["a sex for a user", /\b(?:he|him|his|she|her)\b/, 0],
  ["a program in a hurry", /\bin a hurry\b/, 0],
];

/** Returns the lines of comments with their places. */
function readComments(): { place: string; text: string }[] {
  const files = ["lib", "scripts", "hooks"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  return files
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) =>
      readFileSync(join(ROOT, file), "utf8")
        .split("\n")
        .flatMap((line, i) => {
          const text = /^\s*(\/?\*.*|\/\/.*)|\s(\/\/ .*)/.exec(line)?.[0].trim();
          return text === undefined ? [] : { place: `${file}:${i + 1}`, text };
        }),
    );
}

const comments = readComments();

test.each(WORDINGS)("comments have no more of %s", (_, wording, most) => {
  const found = comments.filter(({ text }) => wording.test(text));
  expect(found.length, found.map(({ place, text }) => `${place} ${text}`).join("\n")).toBeLessThanOrEqual(
    most,
  );
});

test("comments are found", () => {
  expect(comments.length).toBeGreaterThan(1000);
});
