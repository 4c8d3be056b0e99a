/** The English of comments: a wording that a native maintainer would not use does not come back. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./support/run.ts";

const WORDINGS: readonly (readonly [name: string, wording: RegExp])[] = [
  ["a question word at the start", /\/\*\* (?:What|Whether|Which|Where|How|Why|When|Who)\b/],
  [
    "negation by a noun: is none, is no",
    /(?<!\bthere )\b(?:is|are|was|were|be) (?:none|no)\b(?! (?:longer|more|one)\b)/,
  ],
  ["a headless clause: what is … of which", /\bof which\b|(?:^|[.;:,] )what (?:is|are|was|were)\b/i],
  ["those that for a noun", /\bthose (?:that|which|who)\b/],
  ["so many for a number", /\bso (?:many|much|few)\b/],
  ["is given for takes", /\b(?:is|are|was|were) given\b/],
  ["where there is for if", /\bwhere there (?:is|are|was|were)\b/],
  ["a sex for a user", /\b(?:he|him|his|she|her)\b/],
  [
    "another start than its subject",
    /^\W*(?:So many|As many|What is given)|[.:;] (?:Of [a-z]|So many|As many|What is given)/,
  ],
  ["a program in a hurry", /\bin a hurry\b/],
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

test.each(WORDINGS)("no comment has %s", (_, wording) => {
  const found = comments.filter(({ text }) => wording.test(text));
  expect(found.map(({ place, text }) => `${place} ${text}`)).toEqual([]);
});

test("comments are found", () => {
  expect(comments.length).toBeGreaterThan(1000);
});
