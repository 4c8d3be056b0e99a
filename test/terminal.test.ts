import { expect, test } from "bun:test";
import { type Line, type Part, plainText } from "../lib/base/output.ts";
import { dresser, painter } from "../lib/base/terminal.ts";

test("painter() asks NO_COLOR and TERM", () => {
  const painted = (env: Record<string, string>) => painter(env)("bad", "failed");
  expect([painted({}), painted({ NO_COLOR: "" })]).toEqual(Array(2).fill("\x1b[31mfailed\x1b[39m"));
  expect([painted({ NO_COLOR: "1" }), painted({ TERM: "dumb" })]).toEqual(["failed", "failed"]);
});

const options = {
  paint: (meaning: string, text: string) => (text === "" ? "" : `<${meaning}>${text}</>`),
  now: new Date("2026-02-12T10:30:00Z"),
  timezone: "Europe/Berlin",
  words: ["deploy"],
};

const result = (...parts: Part[]): Line => ({ kind: "result", parts });
const row = (...parts: Part[]): Line => ({ kind: "row", parts });

test("dresser() paints parts by meaning, with a blank line between results and times as people say them", () => {
  const dress = dresser(options);
  const time = ["time", "2026-02-12 09:05", "2026-02-12T08:05:00Z"] as const;
  const head = result(["faint", "1. "], ["name", "8463c716:13-36"], " · LiveView tests · ", time);
  expect(dress(head)).toBe("<faint>1. </><name>8463c716:13-36</> · LiveView tests · <time>today 09:05</>");
  expect(
    dress(row("   ", ["place", "L13"], " ", ["user", "User:"], " ", ["said", "do I deploy this?"])),
  ).toBe("   <place>L13</> <user>User:</> do I <match>deploy</> this?");
  expect(dress(result(["faint", "2. "], ["name", "258c7280:9"]))).toBe("\n<faint>2. </><name>258c7280:9</>");
  expect(plainText(head)).toBe("1. 8463c716:13-36 · LiveView tests · 2026-02-12 09:05");
});

test("dresser() breaks results and rows between words at the terminal's width, and nothing else", () => {
  const dress = dresser({ ...options, columns: 29, paint: (_, text) => text });
  expect(dress(row("   L13 ", ["said", "User: how do I deploy this?"]))).toBe(
    "   L13 User: how do I deploy\n     this?",
  );
  expect(dress(row("  edited deploy.sh; ran 12 commands"))).toBe("  edited deploy.sh; ran 12\n    commands");
  expect(dress(result("1. 8463c716:13-36 · LiveView tests"))).toBe("\n1. 8463c716:13-36 · LiveView\n  tests");
  const report: Line = { kind: "text", parts: ["warning: no hook has run in Claude Code yet"] };
  expect(dress(report)).toBe("warning: no hook has run in Claude Code yet");
});
