import { expect, test } from "bun:test";
import { findReferences } from "../lib/sessions/references.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";

/** `name`, `name~2`, `name: question`. */
function short(prompt: string): string[] {
  return findReferences(prompt).map(
    ({ name, ancestors, question }) =>
      `${name}${ancestors ? `~${ancestors}` : ""}${question ? `: ${question}` : ""}`,
  );
}

const found: [string, string[]][] = [
  ["@@deploy", ["deploy"]],
  ["how was it in @@deploy?", ["deploy"]],
  ["see @@deploy, @@email and (@@fix-login).", ["deploy", "email", "fix-login"]],
  ['as in @@"fix login test" please', ["fix login test"]],
  ["as in @@“fix login test” please", ["fix login test"]],
  ["@@3d0a7c52", ["3d0a7c52"]],
  ["@@3d0a7c52-6f4e-4c1b-a8d9-b2e7f1905c66 what was that", ["3d0a7c52-6f4e-4c1b-a8d9-b2e7f1905c66"]],
  ["@@v2.1_release.", ["v2.1_release"]],
  ["@@last", ["last"]],
  ["@@deploy: which port did we use?", ["deploy: which port did we use?"]],
  ['@@"fix login": why await?\nand now this', ["fix login: why await?"]],
  ["@@a-one: what? @@b-two: why?", ["a-one: what?", "b-two: why?"]],
  ["@@deploy:\nsomething else", ["deploy"]],
  ["@@deploy~2", ["deploy~2"]],
  ['@@"fix login"~1: what came before?', ["fix login~1: what came before?"]],
  ["@@deploy~99", ["deploy~9"]],
  ["@@deploy:12 and @@3d0a7c52:7-9: why?", ["deploy:12", "3d0a7c52:7-9: why?"]],
  ['@@"fix login":4, @@last:3.', ["fix login:4", "last:3"]],
  ["@@Überblick und @@数据库 und @@тест", ["Überblick", "数据库", "тест"]],
  ["@@deploy @@DEPLOY @@deploy", ["deploy"]],
  ["1. look at @@deploy\n   - and @@email", ["deploy", "email"]],
  ["\"@@deploy\" and '@@email'", ["deploy", "email"]],
  ["> quoted @@deploy", ["deploy"]],
  ["@@deploy—the one before", ["deploy"]],
];

test.each(found)("findReferences() finds in %j: %j", (prompt, names) => {
  expect(short(prompt)).toEqual(names);
});

const none: [string, string][] = [
  ["an e-mail address", "mail dev@@example.com or dev@example.com"],
  ["one at sign", "@deploy @src/a.ts"],
  ["three at signs", "@@@deploy"],
  ["a diff header", "@@ -1,3 +1,4 @@ function deploy() {"],
  ["a diff header with a name behind it", "@@ -1,3 +1,4 @@deploy"],
  ["a combined diff header", "@@@ -1,2 -1,2 +1,3 @@@ deploy"],
  ["a whole diff", "diff --git a/x b/x\n@@ -1,3 +1,4 @@\n+@@ -9 +9 @@ x"],
  ["a fenced block", "look:\n```ruby\n@@count\n```\n"],
  ["a fence of tildes", "~~~\n@@count\n~~~"],
  ["a fence that never closes", "```\n@@count"],
  ["inline code", "why is `@@count` nil"],
  ["double inline code", "why is ``a `@@count` b`` nil"],
  ["indented code", "this:\n\n    @@count\n\t@@other\n"],
  ["a call", "@@logger.info('x') @@app.route(\"/x\") @@property()"],
  ["an index", "@@items[0]"],
  ["an Objective-C literal", 'NSNumber *n = @@(1); x = @"text"; @@[1]'],
  ["an Angular id", '<h1 i18n="@@homeTitle">'],
  ["a path", "@@../../etc/passwd @@/etc/passwd @@./x"],
  ["a path behind a name", "@@deploy/../../x"],
  ["a Windows path behind a name", "@@deploy\\x"],
  ["an escape", "\\@@deploy"],
  ["nothing behind it", '@@ and @@! and @@"" and @@'],
  ["a quote that never closes", '@@"fix login\ntest'],
  ["a name with a control character", '@@"a\u0000b"'],
];

test.each(none)("findReferences() takes %s for no reference", (_, prompt) => {
  const names = short(prompt).filter((name) => !name.includes("\u0000"));
  expect(names).toEqual([]);
});

test("findReferences() is linear in a prompt of a megabyte of near misses", () => {
  for (const piece of ["@@", '@@"', "@@a", "`@@", "```\n@@", "@@ -1 ", "@@a: ", "(@@", "~~~\n"]) {
    expect(findReferences(piece.repeat(Math.floor(100_000 / piece.length))).length).toBeLessThanOrEqual(
      40_000,
    );
  }
});

test("findReferences() never throws, and each name stands in the prompt", () => {
  const random = seeded(fuzzSeed("references"));
  const parts = [
    "@@",
    "@",
    '"',
    "name",
    "two words",
    ":",
    " ",
    "\n",
    "`",
    "```",
    "~2",
    "~",
    "-1,2",
    "=",
    ".",
    "é",
    "数",
    "\ud800",
    "\\",
    "“",
    "”",
  ];
  for (let run = 0; run < 1500 * SOAK; run++) {
    const prompt = Array.from({ length: random.integer(0, 14) }, () => random.pick(parts)).join("");
    for (const { name, question } of findReferences(prompt)) {
      expect(prompt).toContain(name);
      expect(name).not.toContain("\n");
      if (question) expect(question).not.toContain("\n");
    }
  }
});
