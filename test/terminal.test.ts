import { expect, test } from "bun:test";
import { cutLine, type Line, type Part, plainText } from "../lib/base/output.ts";
import {
  columnsOf,
  dresser,
  fitColumns,
  painter,
  sayTime,
  wantsColour,
  wrapColumns,
} from "../lib/base/terminal.ts";
import { spansOf } from "./docs/picture.ts";
import { seeded } from "./support/random.ts";

test("columnsOf() counts wide scripts and emoji twice, and marks, joiners and colours not at all", () => {
  const texts = ["abc", "日本語", "한글", "e\u0301", "👍", "a\u200db", painter(true)("bad", "red"), ""];
  expect(texts.map(columnsOf)).toEqual([3, 6, 4, 1, 2, 2, 3, 0]);
});

test("fitColumns() gives exactly that many columns, with a mark where it cut", () => {
  expect(fitColumns("abc", 5)).toBe("abc  ");
  expect(fitColumns("abcdef", 5)).toBe("abcd…");
  expect(fitColumns("日本語", 5)).toBe("日本…");
  expect(fitColumns("a日本", 4)).toBe("a日…");
  expect(["abc", "abcdef", "日本語", "a日本"].map((text) => columnsOf(fitColumns(text, 4)))).toEqual([
    4, 4, 4, 4,
  ]);
});

test("wrapColumns() breaks between words, indents what follows, and leaves a word longer than a line to the terminal", () => {
  const wrap = (line: string) => wrapColumns(line, { columns: 12, indent: 2 });
  expect(wrap("one two")).toBe("one two");
  expect(wrap("L1 one two three four")).toBe("L1 one two\n  three four");
  expect(wrap("L1 \x1b[1mone\x1b[22m two three")).toBe("L1 \x1b[1mone\x1b[22m two\n  three");
  expect(wrap("L1 日本語 日本語")).toBe("L1 日本語\n  日本語");
  expect(wrap("L1 /a/path/longer/than/it and on")).toBe("L1 /a/path/longer/than/it and on");
  expect(wrap("L1 one two 3 four")).toBe("L1 one two 3\n  four");
  const random = seeded(20261121);
  for (let i = 0; i < 200; i++) {
    const words = Array.from({ length: random.integer(1, 30) }, () => "x".repeat(random.integer(1, 9)));
    const lines = wrap(words.join(" ")).split("\n");
    expect(lines.filter((line) => line.length > 12)).toEqual([]);
    expect(lines.join(" ").split(/ +/)).toEqual(words);
  }
});

test("wantsColour() asks the terminal, NO_COLOR and TERM", () => {
  const terminal = { isTTY: true };
  expect(wantsColour(terminal, {})).toBe(true);
  expect(wantsColour(terminal, { NO_COLOR: "" })).toBe(true);
  expect(wantsColour(terminal, { NO_COLOR: "1" })).toBe(false);
  expect(wantsColour(terminal, { TERM: "dumb" })).toBe(false);
  expect(wantsColour({}, {})).toBe(false);
});

test("sayTime() says today, yesterday, the day, and the year where it is another", () => {
  const options = { now: new Date("2026-02-12T10:30:00Z"), timezone: "Europe/Berlin" };
  const said = (time: string) => sayTime(new Date(time), options);
  expect(said("2026-02-12T08:05:00Z")).toBe("today 09:05");
  expect(said("2026-02-11T22:30:00Z")).toBe("yesterday 23:30");
  expect(said("2026-02-11T23:30:00Z")).toBe("today 00:30");
  expect(said("2026-02-03T12:00:00Z")).toBe("3 Feb");
  expect(said("2025-12-31T12:00:00Z")).toBe("31 Dec 2025");
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

test("cutLine() keeps the parts that fit, the last of them in part", () => {
  const line = row(["place", "L13"], " ", ["said", "how do I 👍 deploy this?"]);
  expect(cutLine(line, 15)).toEqual(row(["place", "L13"], " ", ["said", "how do I 👍"], "…"));
  expect(cutLine(line, 5)).toEqual(row(["place", "L13"], " ", "…"));
  expect(cutLine(line, 27)).toEqual(line);
});

test("spansOf() splits a line where its colours change, and ends each as terminals do", () => {
  const spans = spansOf("a\x1b[1mb\x1b[36mc\x1b[39md\x1b[22me\x1b[2mf\x1b[0mg");
  expect(spans.map(({ text, codes }) => [text, [...codes].join()])).toEqual([
    ["a", ""],
    ["b", "1"],
    ["c", "1,36"],
    ["d", "1"],
    ["e", ""],
    ["f", "2"],
    ["g", ""],
  ]);
});

test("wrapColumns() ends on a terminal of any size, also one that says it has none", () => {
  const line = "a line of several words, one of them averyveryverylongone";
  expect(wrapColumns(line, { columns: 0, indent: 2 })).toBe(line);
  for (const columns of [1, 2, 3, 7]) {
    const wrapped = wrapColumns(line, { columns, indent: 2 });
    expect(wrapped.replace(/\n */g, " ").replaceAll("  ", " ")).toBe(line);
  }
});
