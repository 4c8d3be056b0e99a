import { expect, test } from "bun:test";
import { isDecision, isFinding } from "../lib/language/speech.ts";
import { describeText } from "../lib/language/topics.ts";

test("describeText() names up to three topics, most mentioned first", () => {
  expect(describeText("The tests fail: a mock in the unittest fixture raises an error").topics).toEqual([
    "testing",
    "debugging",
  ]);
  expect(
    describeText("deploy the release, then commit and push the branch; schema migration of the database")
      .topics,
  ).toEqual(["database", "git", "deployment"]);
});

test("describeText() falls back to a telling word, and to a word for nothing at all", () => {
  expect(describeText("User: hello Kaleidoscope").topics).toEqual(["kaleidoscope"]);
  expect(describeText("ok").topics).toEqual(["conversation"]);
});

test("describeText() tells decisions in several languages, and does not take every sentence for one", () => {
  const decisions = [
    "We decided to keep WAL.",
    "Let's use Postgres for that.",
    "ok, going with the second layout",
    "Wir haben uns für WAL entschieden.",
    "On a choisi la deuxième solution",
    "Decidimos usar la otra tabla",
    "Вчера РЕШИЛИ использовать журнал",
  ];
  for (const text of decisions)
    expect({ text, ...describeText(text) }).toMatchObject({ text, hasDecision: true });
  for (const text of [
    "Go to the next page",
    "What does the reader do?",
    "we use it",
    "letter from the boss",
  ]) {
    expect({ text, ...describeText(text) }).toMatchObject({ text, hasDecision: false });
  }
});

test("describeText() tells what is left to do", () => {
  for (const text of [
    "TODO: rename it",
    "We need to call them",
    "next steps are clear",
    "- [ ] write docs",
    "Es gibt noch zu tun",
    "надо проверить",
  ]) {
    expect({ text, ...describeText(text) }).toMatchObject({ text, hasAction: true });
  }
  for (const text of ["All green.", "the next page", "needle in a haystack"]) {
    expect({ text, ...describeText(text) }).toMatchObject({ text, hasAction: false });
  }
});

test("isDecision() takes a choice that was made, and not thinking aloud, announcing or describing", () => {
  for (const made of [
    "We decided to keep WAL mode.",
    "use Vitest instead of Jest",
    "Decision: the gateway stays on 8443",
    "I went with the smaller patch rather than rewriting the parser.",
    "Wir nehmen den zweiten Ansatz.",
  ])
    expect([made, isDecision(made)]).toEqual([made, true]);
  for (const none of [
    "Wait, looking at the screenshot again I chose the wrong one",
    "Maybe we should use a lock instead of a queue",
    "Should we use WAL instead?",
    "Let me check if we need a rewrite rule rather than a redirect.",
    "Models load one by one instead of in parallel",
    "The issue is likely that the template decided on its own.",
    "Understanding a feature requires its history (decisions made, alternatives given).",
  ])
    expect([none, isDecision(none)]).toEqual([none, false]);
});

test("isFinding() takes what was found, and not what may be", () => {
  expect(isFinding("The root cause is the missing await in auth.ts")).toBe(true);
  expect(isFinding("The problem is probably the cache")).toBe(false);
});
