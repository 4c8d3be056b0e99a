/** Tells what happened in a session: what is decided is what the user said or accepted, and a deed ends what it does. */

import { describe, expect, test } from "bun:test";
import { makeAccount } from "../lib/account/account.ts";
import { failingLast, stillOpen } from "../lib/account/open.ts";
import { plainText } from "../lib/base/output.ts";
import type { Row } from "../lib/hosts/session.ts";
import { outline } from "../lib/naming/outline.ts";

/** Returns rows, each on a line of its own, of words such as `user: yes`. */
function rowsOf(...said: string[]): Row[] {
  return said.map((words, at): Row => {
    const [, who, text = ""] = /^(\w+): ([\s\S]*)$/.exec(words) ?? [];
    return { who: who === "user" ? "user" : "assistant", text, line: at + 1 } as Row;
  });
}

function command(line: number, target: string, result: string, outcome = "done"): Row {
  const done = { who: "tool", tool: "Bash", kind: "command", outcome, paths: [], input: target };
  return { ...done, line, target, result } as unknown as Row;
}

const decided = (...said: string[]) =>
  makeAccount(rowsOf(...said)).decided.map(({ line, text }) => `L${line} ${text}`);

describe("decided is", () => {
  test.each<[string, string[], string[]]>([
    ["a choice of the user's", ["user: Let's use SQLite for that."], ["L1 Let's use SQLite for that."]],
    [
      "an accepted proposal",
      ["assistant: Found it. Shall I cut the queue?", "user: yes"],
      ["L1 Shall I cut the queue?"],
    ],
    [
      "a proposal told to go on with",
      ["assistant: Want me to post the review?", "user: go ahead"],
      ["L1 Want me to post the review?"],
    ],
    [
      "a proposal accepted with words of one's own",
      ["assistant: Want me to clean the types too?", "user: yes, they need to be fully clean"],
      ["L1 Want me to clean the types too?"],
    ],
    ["no half of a proposal", ["assistant: Shall I cut the queue?", "user: yes, but not on Friday"], []],
    ["no ok before another task", ["assistant: Shall I cut the queue?", "user: ok, create a branch"], []],
    [
      "no untaken proposal",
      ["assistant: We decided to use WAL. Shall I cut the queue?", "user: what is the queue?"],
      [],
    ],
    ["no agent's word", ["user: fix it", "assistant: I decided to go with WAL.", "user: thanks"], []],
    ["no yes to a choice of two", ["assistant: Shall I cut it or keep it?", "user: yes"], []],
    ["no yes to a question that proposes nothing", ["assistant: Did the test pass?", "user: yes"], []],
    [
      "no comparison in a bug's report",
      ["user: It prints one row instead of two, and the request was rejected."],
      [],
    ],
    [
      "the answer to a menu",
      ["user: Postgres\n(asked: Which database?; options: Postgres | SQLite)"],
      ["L1 Postgres\n(asked: Which database?; options: Postgres | SQLite)"],
    ],
    ["nothing that the user only supposes", ["user: I think we should use SQLite."], []],
    ["no question in place of that", ["user: what is the difference?\n(asked: Which database?)"], []],
  ])("%s", (_, said, expected) => {
    expect(decided(...said)).toEqual(expected);
  });

  test("nothing that was taken back", () => {
    const rows = rowsOf("user: Let's use SQLite for that.");
    expect(makeAccount(rows, { isRewound: () => true }).decided).toEqual([]);
  });
});

test("asked is no answer to a menu, no approved plan, no assent, no greeting and no word that it works", () => {
  const said = rowsOf(
    "user: fix it",
    "user: WAL\n(asked: Which mode?)",
    "user: Approved the plan: WAL",
    "user: go on",
    "user: yo",
    "user: it worked!",
    "user: OK. Deploy works now!!",
    "user: nothing works now",
  );
  expect(makeAccount(said).asked.map(({ line }) => line)).toEqual([1, 8]);
});

test("a word that it works accepts no proposal", () => {
  const words = ["user: ok, it works", "user: OK. Deploy works now!!"];
  expect(words.flatMap((said) => decided("assistant: Shall I merge the queue?", said))).toEqual([]);
});

test("a part's line in an outline keeps its commits, whatever else was done, an amended one once", () => {
  const edit = (line: number) => {
    const path = `src/a/long/way/down/to/the/component/number-${line}.ts`;
    return { ...command(line, path, ""), tool: "Edit", kind: "edit", paths: [path] } as unknown as Row;
  };
  const rows = [
    ...rowsOf("user: do it"),
    ...[2, 3, 4, 5, 6, 7].map(edit),
    command(8, 'git commit -m "fix: drain the queue"', "[main 1a2b3c4] fix: drain the queue"),
    command(9, "git commit --amend --no-edit", "[main 2b3c4d5] fix: drain the queue"),
  ];
  const lines = outline(rows, { timezone: "UTC", maxChars: 4000, isRewound: () => false }).map(plainText);
  expect(lines[1]).toStartWith("  committed: fix: drain the queue; edited src/a/long");
});

test("forbidden is what the user lays down, not what is quoted, supposed or told of a plan", () => {
  const said = rowsOf(
    "user: Never touch the schema. Next time let me commit.",
    'user: The page says "never reload" somewhere.',
    "user: ok, i think it breaks the invariant that a line must not be wider.",
    "user: No new colors needed. No new files.",
    "user: stop doing that! Stop committing everything.",
  );
  const forbidden = makeAccount(said).forbidden.map(({ line, text }) => `L${line} ${text}`);
  expect(forbidden).toEqual([
    "L1 Never touch the schema.",
    "L1 Next time let me commit.",
    "L4 No new files.",
    "L5 Stop committing everything.",
  ]);
});

test("what is open ends with the deed that does it, or with the user's next word on it", () => {
  const threads = [
    { text: "User wants the exporter queue drained", sources: [1] },
    { text: "User asks for the invoice footer", sources: [2] },
    { text: "User asks for a spinner in the dashboard", sources: [3] },
  ];
  const rows = [
    ...rowsOf("user: drain the exporter queue", "user: invoice footer", "user: dashboard spinner"),
    command(
      4,
      'git commit -m "fix: drain the exporter queue"',
      "[main 1a2b3c4] fix: drain the exporter queue",
    ),
    { who: "user", text: "forget the invoice footer", line: 5 } as Row,
  ];
  expect(stillOpen(threads, rows).map(({ sources }) => sources)).toEqual([[3]]);
});

test("what fails is what failed when it was run last, by whatever wrapper", () => {
  const failed = (line: number, target: string) => command(line, target, "Exit code 2", "failed");
  const rows = [
    failed(1, "make check"),
    failed(2, "wrap bun run test"),
    command(3, "bun run test", "12 pass"),
    failed(4, "bun run lint"),
    failed(5, "bun start & sleep 2 echo up"), // either may have failed
  ];
  expect(failingLast(rows)).toEqual(["make check", "bun run lint"]);
});
