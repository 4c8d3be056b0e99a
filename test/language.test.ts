import { expect, test } from "bun:test";
import { isDecision, isFinding, isRule, type UserAct, userAct } from "../lib/language/speech.ts";
import { cueSpans, readTimeCues, timeFit } from "../lib/language/time-cues.ts";
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

const MESSAGES: Record<UserAct, string[]> = {
  request: [
    "fix the flaky login test",
    "ok, so then please add a rollback step",
    "can you explain the modifications needed to test?",
    "we need to fix the tui test sources",
    "the login test is flaky on CI",
    "scrolling back in xterm.js still does not work (maybe because the outer web catches it)?",
    "did you see it? well, revert that",
    "Kannst du bitte den Login-Test reparieren",
    "请帮我修复登录测试",
    "no deprecation alias!",
    "ok, do a release",
    "omfg use rgb values in the themes",
    "should probably explain when this can be null",
    "let me rephrase: sort by date, then by name",
    "it'd be great if it could also export CSV",
    "same thing for the other endpoint",
  ],
  rule: ["never change the public signature", "Don't touch the theme. Always run the linter first."],
  decision: ["We decided on 8443 for the gateway."],
  question: [
    "how was markdown rendering added? vendored marked?",
    "why isn't it toolresultmessage?",
    "这是什么？",
    "what about split turns?",
    "wait, all I see is a readme, is there supposed to be a json file?",
    "would I be able to redirect, so that the old address works?",
  ],
  remark: [
    "hello",
    "I like it",
    "stop doing shit!",
    "ok, let me try the light theme, then we should be good to go",
    "i suppose the workflow would be write the file, use /theme to preview",
    "I created a repo, not sure which one do you need",
    "testing characters in some of the words: café, naïve, 中文, emojis and other symbols",
    "(py) ann@box:~/x$ agent --continue\nNo conversation found to continue\nPress Ctrl+C to exit",
    "│ tool callable by the model │ custom tool │",
    "jesus, everything works, you are a monster",
    "did some more shit, npm run check",
    "that seems to be the old dim color",
    "[redacted:openai-key]",
    "2026-02-03 10:00:01 ERROR connect ECONNREFUSED 127.0.0.1:5432",
  ],
};

for (const [act, messages] of Object.entries(MESSAGES)) {
  test.each(messages)(`a ${act}: %s`, (message) => {
    expect(userAct(message)).toBe(act as UserAct);
  });
}

test("a rule holds beyond the work at hand; what always happens, or was never seen, is none", () => {
  for (const rule of [
    "Always ask before a push",
    "from now on use tabs",
    "please don't edit the lock file",
    "niemals direkt auf main",
  ])
    expect([rule, isRule(rule)]).toEqual([rule, true]);
  for (const none of [
    "it always fails on Mondays",
    "never mind",
    "I have never seen that",
    "the modules don't use the helper",
    "das geht immer noch nicht",
    "use tabs instead of spaces",
  ])
    expect([none, isRule(none)]).toEqual([none, false]);
});

const NOW = new Date("2026-11-20T12:00:00Z"); // a Friday
const fit = (question: string, at: string, timezone = "UTC") => {
  const cues = readTimeCues(question, { now: NOW, timezone });
  return cues && timeFit(cues, at);
};

test("readTimeCues() finds no time where none is named", () => {
  for (const question of [
    "why WAL",
    "version 2.0.2025 on port 8080",
    "we may march on",
    "issue #296",
    "at the end",
    "why did another one time out on this last set",
  ]) {
    expect({ question, cues: readTimeCues(question, { now: NOW, timezone: "UTC" }) }).toEqual({
      question,
      cues: undefined,
    });
  }
});

test("timeFit() is 1 on the day, less around it, 0 far away", () => {
  for (const question of [
    "on 2025-12-24",
    "Christmas Eve 2025",
    "Xmas Eve",
    "24 December 2025",
    "December 24th",
    "am 24. Dezember",
    "le 24 décembre 2025",
    "24 de diciembre de 2025",
    "24 декабря 2025",
    "24.12.2025",
    "December 2025, what on the 24th?",
  ]) {
    const fits = [
      "2025-12-24T12:00:00Z",
      "2025-12-25T03:00:00Z",
      "2025-12-25T15:00:00Z",
      "2025-11-24T12:00:00Z",
    ];
    expect({ question, fits: fits.map((at) => fit(question, at)) }).toEqual({
      question,
      fits: [1, 0.5, 0.25, 0],
    });
  }
});

test("timeFit() knows months, their parts, feasts and spans of days", () => {
  expect(fit("in July", "2024-07-30T00:00:00Z")).toBe(1);
  expect(fit("mid-July 2025", "2025-07-14T00:00:00Z")).toBe(1);
  expect(fit("mid-July 2025", "2025-07-28T00:00:00Z")).toBe(0);
  expect(fit("around Christmas", "2025-12-26T10:00:00Z")).toBe(1);
  expect(fit("am 20. auf den 21. November 2025", "2025-11-21T02:00:00Z")).toBe(1);
  expect(fit("what changed in March", "2026-03-14T00:00:00Z")).toBe(1);
  expect(fit("in May 2025", "2025-05-31T23:00:00Z")).toBe(1);
});

test("timeFit() measures words like yesterday from now", () => {
  expect(fit("what broke last Tuesday", "2026-11-17T09:00:00Z")).toBe(1);
  expect(fit("was haben wir gestern gemacht", "2026-11-19T09:00:00Z")).toBe(1);
  expect(fit("the plan of last week", "2026-11-10T09:00:00Z")).toBe(1);
  expect(fit("what we did this week", "2026-11-18T09:00:00Z")).toBe(1);
  expect(fit("what we did on Tuesday", "2026-11-17T09:00:00Z")).toBe(1);
  expect(fit("3 days ago", "2026-11-17T20:00:00Z")).toBe(1);
  expect(fit("yesterday", "2026-11-01T09:00:00Z")).toBe(0);
});

test("timeFit() judges by the local date and the hour that is named", () => {
  expect(fit("on 2026-02-03", "2026-02-02T23:30:00Z", "Europe/Berlin")).toBe(1);
  expect(fit("on 2026-02-03", "2026-02-02T14:00:00Z", "UTC")).toBe(0.25);
  expect(fit("24 December 2025 around noon", "2025-12-24T12:30:00Z")).toBe(1);
  expect(fit("24 December 2025 around noon", "2025-12-24T20:30:00Z")).toBe(0.5);
  expect(fit("20 November 2025 at night", "2025-11-20T23:30:00Z")).toBe(1);
});

test("cueSpans() gives the days of every covered year", () => {
  const cues = readTimeCues("on Boxing Day", { now: NOW, timezone: "UTC" });
  expect(cues && cueSpans(cues, { from: "2024-06-01T00:00:00Z", to: "2026-01-02T00:00:00Z" })).toEqual([
    { from: "2024-12-25T18:00:00.000Z", to: "2024-12-27T05:59:59.999Z" },
    { from: "2025-12-25T18:00:00.000Z", to: "2025-12-27T05:59:59.999Z" },
  ]);
});
