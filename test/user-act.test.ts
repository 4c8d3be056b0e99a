import { expect, test } from "bun:test";
import { isRule, type UserAct, userAct } from "../lib/language/speech.ts";

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
