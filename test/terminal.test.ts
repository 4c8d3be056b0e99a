import { afterEach, expect, setSystemTime, test } from "bun:test";
import { countPoints, type Line, linesWithin, type Part, plainText } from "../lib/base/output.ts";
import { dresser, painter, sayTime } from "../lib/base/terminal.ts";

afterEach(() => setSystemTime());

test("painter() asks NO_COLOR and TERM", () => {
  const painted = (env: Record<string, string>) => painter(env)("bad", "failed");
  expect([painted({}), painted({ NO_COLOR: "" })]).toEqual(Array(2).fill("\x1b[31mfailed\x1b[39m"));
  expect([painted({ NO_COLOR: "1" }), painted({ TERM: "dumb" })]).toEqual(["failed", "failed"]);
});

test("dresser() paints parts by meaning, with a blank line between results", () => {
  const paint = (meaning: string, text: string) => `<${meaning}>${text}</>`;
  const dress = dresser({ paint, words: ["deploy"], columns: Number.POSITIVE_INFINITY });
  const result = (...parts: Part[]): Line => ({ kind: "result", parts });
  const time = ["time", "2025-02-12 09:05", "2025-02-12T09:05:00Z"] as const;
  const said: Part[] = ["   ", ["place", "L13"], " ", ["user", "User:"], " ", ["said", "I deploy this"]];
  expect(
    [
      result(["name", "8463c716:13-36"], " · LiveView tests · ", time),
      { kind: "row", parts: said } as const,
      result(["name", "258c7280:9"]),
    ].map(dress),
  ).toEqual([
    "<name>8463c716:13-36</> · LiveView tests · <time>12 Feb 2025</>",
    "   <place>L13</> <user>User:</> I <match>deploy</> this",
    "\n<name>258c7280:9</>",
  ]);
});

test("sayTime() says a time as people do", () => {
  setSystemTime(new Date("2026-03-01T00:30:00Z"));
  const say = (iso: string) => sayTime(iso, "Europe/Berlin");
  expect(
    ["2026-02-28T23:05:00Z", "2026-02-28T08:05:00Z", "2026-02-03T08:05:00Z", "2025-02-03T08:05:00Z"].map(say),
  ).toEqual(["today 00:05", "yesterday 09:05", "3 Feb", "3 Feb 2025"]);
});

test("dresser() breaks results and rows between words at the terminal's width, and nothing else", () => {
  const dress = dresser({ paint: (_, text) => text, words: [], columns: 29 });
  const lines: Line[] = [
    { kind: "row", parts: ["   L13 ", ["said", "User: how do I deploy this?"]] },
    { kind: "result", parts: ["1. 8463c716:13-36 · LiveView tests"] },
    { kind: "text", parts: ["warning: no hook has run in Claude Code yet"] },
  ];
  expect(lines.map(dress)).toEqual([
    "   L13 User: how do I deploy\n     this?",
    "\n1. 8463c716:13-36 · LiveView\n  tests",
    "warning: no hook has run in Claude Code yet",
  ]);
});

test("linesWithin() stays within its bound, and counts what is left out where there is room to", () => {
  const lines: Line[] = Array.from({ length: 5 }, (_, i) => ({ kind: "text", parts: [`line number ${i}`] }));
  for (let max = 2; max < 80; max++) expect(countPoints(linesWithin(lines, max))).toBeLessThanOrEqual(max);
  expect(linesWithin(lines, 8).map(plainText)).toEqual(["line n…"]);
  expect(linesWithin(lines, 20).map(plainText)).toEqual(["line numb…", "… 4 more"]);
});
