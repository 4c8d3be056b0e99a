import { expect, test } from "bun:test";
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

test("dresser() paints results by meaning, with a blank line between them and times as people say them", () => {
  const dress = dresser(options);
  expect(dress("1. 8463c716:13-36 · LiveView tests · spotter · 2026-02-12 09:05 · strong")).toBe(
    "<faint>1. </><name>8463c716:13-36</> · LiveView tests · spotter · <time>today 09:05</> · <good>strong</>",
  );
  expect(dress("   L13 User: how do I deploy this?")).toBe(
    "   <faint>L13</> <user>User:</> how do I <match>deploy</> this?",
  );
  expect(dress("   L14 [Bash npm test] failed")).toBe(
    "   <faint>L14</> <tool>[Bash npm test]</> <bad>failed</>",
  );
  expect(dress("   also 1142-1199")).toBe("<faint>   also 1142-1199</>");
  expect(dress("2. 258c7280:9 · 2025-12-31 23:10 · weak")).toBe(
    "\n<faint>2. </><name>258c7280:9</> · <time>31 Dec 2025</> · <faint>weak</>",
  );
});

test("dresser() breaks results and rows between words at the terminal's width, and nothing else", () => {
  const dress = dresser({ ...options, columns: 29, paint: (_, text) => text });
  expect(dress("   L13 User: how do I deploy this?")).toBe("   L13 User: how do I deploy\n     this?");
  expect(dress("  edited deploy.sh; ran 12 commands")).toBe("  edited deploy.sh; ran 12\n  commands");
  expect(dress("1. 8463c716:13-36 · LiveView tests")).toBe("\n1. 8463c716:13-36 · LiveView\n   tests");
  const report = "warning: no hook has run in Claude Code yet";
  expect(dress(report)).toBe(report);
});

test("dresser() paints a log, a diff, and a report", () => {
  const dress = dresser(options);
  expect(dress("# name · claude · id · /shop")).toBe("<name># name · claude · id · /shop</>");
  expect(dress("L118 (rewound) [2026-02-12 10:30:05] Assistant: Deploying")).toBe(
    "<faint>L118</><bad> (rewound)</><time> [2026-02-12 10:30:05]</> <assistant>Assistant:</> <match>Deploying</>",
  );
  expect(dress("  + new\n  - old\n  same")).toBe("<good>  + new</>\n<bad>  - old</>\n  same");
  expect(dress("3 Feb            posting frequency  7c41f0b2  claude  ~/shop  23 KiB")).toBe(
    "<time>3 Feb</>            <name>posting frequency</>  <faint>7c41f0b2</>  claude  ~/shop  23 KiB",
  );
  expect(dress("DEGRADED")).toBe("<bad>DEGRADED</>");
  expect(dress("warning: no hook has run")).toBe("<bad>warning</>: no hook has run");
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
