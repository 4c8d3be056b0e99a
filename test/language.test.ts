import { describe, expect, test } from "bun:test";
import { readMeaning } from "../lib/language/meaning.ts";
import { isChoice, isRule } from "../lib/language/speech.ts";
import { readTimeAsked, readTimeCues } from "../lib/language/times.ts";

/** Which of the texts a check holds for. */
const holding = (texts: readonly string[], check: (text: string) => boolean) => texts.filter(check);

/** Returns the topics of a text. */
const topicsOf = (text: string) => readMeaning(text).topics;

describe("readMeaning()", () => {
  test("names up to three topics, most mentioned first, whatever form their words have", () => {
    expect(topicsOf("The tests fail: a mocked unittest fixture raises an error")).toEqual([
      "testing",
      "debugging",
    ]);
    expect(
      topicsOf(
        "deployed the release, then committing and pushing branches; schema migrations of the databases",
      ),
    ).toEqual(["git", "database", "deployment"]);
    expect(topicsOf("2tests, not a1test, testimony, logical, cities or apiary")).toEqual(["testing"]);
    expect(topicsOf("Ошибка в DATENBANK, snake_test_case")).toEqual(["debugging", "database", "testing"]);
  });

  test("names no topic where no word is known", () => {
    expect(topicsOf("User: the turnstile counts twice\nAssistant: Each sees the barrier.")).toEqual([]);
    expect(topicsOf("")).toEqual([]);
  });

  test("tells decisions in several languages, and does not take every sentence for one", () => {
    const decisions = [
      "We decided to keep WAL.",
      "Let's use Postgres for that.",
      "let’s not",
      "ok, going with the second layout",
      "The decision: WAL",
      "Wir haben uns für WAL entschieden.",
      "On a choisi la deuxième solution",
      "Decidimos usar la otra tabla",
      "Вчера РЕШИЛИ использовать журнал",
      "我们决定使用预写日志",
    ];
    const others = [
      "Go to the next page",
      "What does the reader do?",
      "we use it",
      "letter from the boss",
      "undecided",
      "instead often",
    ];
    expect(holding([...decisions, ...others], (text) => readMeaning(text).hasDecision)).toEqual(decisions);
  });

  test("tells topics and both acts of one text, in whatever case", () => {
    const text = "Todo: the LAYOUT.\nInstead of flex, we need to use a grid; DECIDED";
    expect(readMeaning(text)).toEqual({
      topics: ["planning", "frontend"],
      hasDecision: true,
      hasAction: true,
    });
  });

  test("tells what is left to do", () => {
    const open = [
      "TODO: rename it",
      "We need to call them",
      "next steps are clear",
      "- [ ] write docs",
      "Es gibt noch zu tun",
      "надо проверить",
      "忘れずに",
    ];
    const done = ["All green.", "the next page", "needle in a haystack", "mustard"];
    expect(holding([...open, ...done], (text) => readMeaning(text).hasAction)).toEqual(open);
  });
});

test("isChoice() takes a choice that was made, and not thinking aloud, announcing or asking", () => {
  const made = [
    "We decided to keep WAL mode.",
    "use Vitest instead of Jest",
    "Decision: the gateway stays on 8443",
    "I went with the smaller patch rather than rewriting the parser.",
    "Wir nehmen den zweiten Ansatz.",
  ];
  const none = [
    "Wait, looking at the screenshot again I chose the wrong one",
    "Maybe we should use a lock instead of a queue",
    "Should we use WAL instead?",
    "Let me check if we need a rewrite rule rather than a redirect.",
  ];
  expect(holding([...made, ...none], isChoice)).toEqual(made);
});

test("isRule() takes what forbids or holds from then on; what always happens, or was never seen, is none", () => {
  const rules = [
    "Always ask before a push",
    "never change the public signature",
    "from now on use tabs",
    "please don't edit the lock file",
    "niemals direkt auf main",
    "никогда не трогай main",
    "不要修改测试",
  ];
  const none = [
    "it always fails on Mondays",
    "never mind",
    "I have never seen that",
    "I don't know",
    "the modules don't use the helper",
    "das geht immer noch nicht",
    "use tabs instead of spaces",
    "why is it never called?",
  ];
  expect(holding([...rules, ...none], isRule)).toEqual(rules);
});

const NOW = new Date("2026-11-20T12:00:00Z"); // a Friday

test("readTimeAsked() reads a question that asks for nothing but a time", () => {
  const asked = [
    "what did we do on 14 July 2026?",
    "what happened yesterday",
    "which sessions did we work on last week?",
  ];
  const others = [
    "what did we decide on 14 July",
    "what did we do in ovens on 14 July",
    "the deploy of yesterday",
  ];
  const isAsked = (question: string) => readTimeAsked(question, { now: NOW }, ["oven"]) !== undefined;
  expect(holding([...asked, ...others], isAsked)).toEqual(asked);
  expect(readTimeAsked("what was done on 2026-07-14?", { now: NOW, timezone: "UTC" })).toEqual({
    times: [{ from: Date.UTC(2026, 6, 14), to: Date.UTC(2026, 6, 15) - 1 }],
    projects: [],
  });
  for (const stretch of ["from 10 to 12 July 2026", "10-12 July 2026", "July 10th through 12th, 2026"])
    expect(readTimeAsked(`what happened ${stretch}?`, { now: NOW, timezone: "UTC" })?.times).toEqual([
      { from: Date.UTC(2026, 6, 10), to: Date.UTC(2026, 6, 13) - 1 },
    ]);
  const named = readTimeAsked("what did we do in my-oven", { now: NOW }, ["oven", "my-oven", "work"]);
  expect(named).toEqual({ times: [], projects: ["my-oven"] });
});

test("readTimeCues() finds no time where none is named", () => {
  const questions = [
    "why WAL",
    "version 2.0.2025 on port 8080",
    "we may march on",
    "issue #296",
    "at the end",
    "why did another one time out on this last set",
  ];
  expect(holding(questions, (question) => readTimeCues(question, { now: NOW }) !== undefined)).toEqual([]);
});
