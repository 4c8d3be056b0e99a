import { describe, expect, test } from "bun:test";
import {
  describeActs,
  isCorrection,
  isDecision,
  isFinding,
  isRule,
  replyOf,
} from "../lib/language/speech.ts";
import { cueSpans, readTimeAsked, readTimeCues, timeFit } from "../lib/language/times.ts";
import { topicsOf } from "../lib/language/topics.ts";

/** Which of the texts a check holds for. */
const holding = (texts: readonly string[], check: (text: string) => boolean) => texts.filter(check);

describe("topicsOf()", () => {
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
  });

  test("falls back to the three words that tell most, and to a word for nothing at all", () => {
    const text =
      "User: the turnstile counts twice\nAssistant: Each turnstile sees the barrier; a kaleidoscope of causes.";
    expect(topicsOf(text)).toEqual(["turnstile", "kaleidoscope", "barrier"]);
    expect(topicsOf("ok")).toEqual(["conversation"]);
  });
});

describe("describeActs()", () => {
  test("tells decisions in several languages, and does not take every sentence for one", () => {
    const decisions = [
      "We decided to keep WAL.",
      "Let's use Postgres for that.",
      "ok, going with the second layout",
      "Wir haben uns für WAL entschieden.",
      "On a choisi la deuxième solution",
      "Decidimos usar la otra tabla",
      "Вчера РЕШИЛИ использовать журнал",
      "我们决定使用预写日志",
    ];
    const others = ["Go to the next page", "What does the reader do?", "we use it", "letter from the boss"];
    expect(holding([...decisions, ...others], (text) => describeActs(text).hasDecision)).toEqual(decisions);
  });

  test("tells what is left to do", () => {
    const open = [
      "TODO: rename it",
      "We need to call them",
      "next steps are clear",
      "- [ ] write docs",
      "Es gibt noch zu tun",
      "надо проверить",
    ];
    const done = ["All green.", "the next page", "needle in a haystack"];
    expect(holding([...open, ...done], (text) => describeActs(text).hasAction)).toEqual(open);
  });
});

test("isDecision() takes a choice that was made, and not thinking aloud, announcing or asking", () => {
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
  expect(holding([...made, ...none], isDecision)).toEqual(made);
});

test("isFinding() takes what was found, and not what may be", () => {
  const found = ["The root cause is the missing await in auth.ts", "Die Ursache war ein fehlendes await."];
  expect(holding([...found, "The problem is probably the cache"], isFinding)).toEqual(found);
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

test("isCorrection() takes what says that the work before is not as wanted", () => {
  const wrong = [
    "no, not that",
    "it still fails",
    "das ist falsch",
    "undo it",
    "non, pas comme ça",
    "нет, не то",
    "不对",
  ];
  expect(
    holding([...wrong, "now add tests", "node is fine", "fix the wrong colour", "no problem"], isCorrection),
  ).toEqual(wrong);
});

test("replyOf() tells thanks, going on and agreement, and nothing of a message that says more", () => {
  const replies: Record<string, string[]> = {
    agrees: ["yes", "sounds good!", "Да", "好的", "ok, great"],
    goesOn: ["continue", "weiter", "please go on", "ok, do it", "继续"],
    thanks: ["thank you so much", "Excellent work, thank you!", "merci", "谢谢"],
  };
  for (const [act, texts] of Object.entries(replies))
    expect(holding(texts, (text) => replyOf(text) === act)).toEqual(texts);
  for (const text of [
    "perfect! now add a dark mode",
    "ok, create a branch refactor",
    "thanks, but the login is broken",
    "continue with the login, then the logout",
  ])
    expect([text, replyOf(text)]).toEqual([text, undefined]);
});

const NOW = new Date("2026-11-20T12:00:00Z"); // a Friday
const fit = (question: string, at: string, timezone = "UTC") => {
  const cues = readTimeCues(question, { now: NOW, timezone });
  return cues && timeFit(cues, at);
};

test("readTimeAsked() reads a question that asks for nothing but a time", () => {
  const asked = [
    "what did we do on 14 July 2026?",
    "what happened yesterday",
    "which sessions did we work on last week?",
  ];
  const others = ["what did we decide on 14 July", "what did we do", "the deploy of yesterday"];
  const isAsked = (question: string) => readTimeAsked(question, { now: NOW }) !== undefined;
  expect(holding([...asked, ...others], isAsked)).toEqual(asked);
  expect(readTimeAsked("what was done on 2026-07-14?", { now: NOW, timezone: "UTC" })).toEqual([
    { from: Date.UTC(2026, 6, 14), to: Date.UTC(2026, 6, 15) - 1 },
  ]);
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

test("timeFit() is 1 on the day, less around it, 0 far away", () => {
  for (const question of [
    "on 2025-12-24",
    "24 December 2025",
    "December 24th",
    "am 24. Dezember",
    "le 24 décembre 2025",
    "24 de diciembre de 2025",
    "24 декабря 2025",
    "24.12.2025",
  ]) {
    const days = [
      "2025-12-24T12:00:00Z",
      "2025-12-25T03:00:00Z",
      "2025-12-25T15:00:00Z",
      "2025-11-24T12:00:00Z",
    ];
    expect({ question, fits: days.map((at) => fit(question, at)) }).toEqual({
      question,
      fits: [1, 0.5, 0.25, 0],
    });
  }
});

test("timeFit() knows months and years as a whole", () => {
  expect(fit("in July", "2024-07-30T00:00:00Z")).toBe(1);
  expect(fit("July 2025", "2025-07-28T00:00:00Z")).toBe(1);
  expect(fit("what changed in March", "2026-03-14T00:00:00Z")).toBe(1);
  expect(fit("in May 2025", "2025-05-31T23:00:00Z")).toBe(1);
  expect(fit("in 2025", "2025-01-01T00:00:00Z")).toBe(1);
  expect(fit("in December 2025", "2026-01-05T00:00:00Z")).toBe(0);
});

test("timeFit() measures words like yesterday from now", () => {
  expect(fit("what broke last Tuesday", "2026-11-17T09:00:00Z")).toBe(1);
  expect(fit("the plan of last week", "2026-11-10T09:00:00Z")).toBe(1);
  expect(fit("what we did this week", "2026-11-18T09:00:00Z")).toBe(1);
  expect(fit("what we did on Tuesday", "2026-11-17T09:00:00Z")).toBe(1);
  expect(fit("3 days ago", "2026-11-17T20:00:00Z")).toBe(1);
  expect(fit("yesterday", "2026-11-01T09:00:00Z")).toBe(0);
});

test("timeFit() judges by the local date", () => {
  expect(fit("on 2026-02-03", "2026-02-02T23:30:00Z", "Europe/Berlin")).toBe(1);
  expect(fit("on 2026-02-03", "2026-02-02T14:00:00Z", "UTC")).toBe(0.25);
});

test("cueSpans() gives the days of every covered year", () => {
  const cues = readTimeCues("on December 26", { now: NOW, timezone: "UTC" });
  expect(cues && cueSpans(cues, { from: "2024-06-01T00:00:00Z", to: "2026-01-02T00:00:00Z" })).toEqual([
    { from: "2025-12-25T18:00:00.000Z", to: "2025-12-27T05:59:59.999Z" },
    { from: "2024-12-25T18:00:00.000Z", to: "2024-12-27T05:59:59.999Z" },
  ]);
});
