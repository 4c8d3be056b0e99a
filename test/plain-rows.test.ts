/** A transcript in our plain form whose rows name their own places: those hold, whichever line of the file a row is on. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { rowRecord } from "../lib/hosts/plain-row.ts";
import type { Row } from "../lib/hosts/session.ts";
import { homePerTest, write } from "./support/home.ts";

const home = homePerTest();

const at = (minute: number) => `2026-02-03T14:${String(minute).padStart(2, "0")}:00.000Z`;
const call = {
  who: "tool",
  tool: "Bash",
  kind: "command",
  target: "bun test",
  paths: [],
  input: "",
} as const;
const ROWS: Row[] = [
  { line: 3, nth: 0, at: at(1), who: "user", text: "why does the heron stand still" },
  { ...call, line: 5, nth: 1, at: at(2), outcome: "failed", result: "1 fail: it waits", resultLine: 9 },
  { ...call, line: 6, nth: 0, at: at(3), outcome: "unknown", result: "Command aborted" },
  { line: 12, nth: 0, at: at(4), who: "assistant", text: "it waits for a fish" },
  { line: 40, nth: 0, at: at(5), who: "user", text: "and the egret", typed: false },
  { line: 41, nth: 0, at: at(6), who: "assistant", text: "it stirs the mud" },
  { ...call, line: 44, nth: 0, at: at(7), outcome: "done", result: "all pass", resultLine: 47 },
];

/** Lays the session where `$SESSION_MEMORY_SESSIONS` names it. */
function lay(): void {
  const head = { host: "claude", session: "birds", cwd: home.project, timestamp: at(0) };
  home.env.SESSION_MEMORY_SESSIONS = write(
    join(home.root, "birds.jsonl"),
    [head, ...ROWS.map((row, i) => rowRecord(row, i === 4 ? [["wading birds"]] : undefined))]
      .map((row) => `${JSON.stringify(row)}\n`)
      .join(""),
  );
}

const read = async (...args: string[]) => {
  const { stdout } = await home.run("session-reader", "birds", "--utc", ...args);
  return stdout.split("\n").slice(1, -1);
};
const time = (minute: number) => `[2026-02-03 14:${String(minute).padStart(2, "0")}:00]`;

test("is read from its end and by lines, each row with its own", async () => {
  lay();
  expect(await read()).toEqual([
    `L3 ${time(1)} User: why does the heron stand still`,
    `L5 ${time(2)} [Bash bun test] failed`,
    `L6 ${time(3)} [Bash bun test]`,
    `L12 ${time(4)} Assistant: it waits for a fish`,
    `L40 ${time(5)} User: and the egret`,
    `L41 ${time(6)} Assistant: it stirs the mud`,
    `L44 ${time(7)} [Bash bun test]`,
  ]);
  expect(await read("--lines", "1")).toEqual([`L44 ${time(7)} [Bash bun test]`]);
  expect(await read("--line", "12", "--around", "0")).toEqual([
    `L12 ${time(4)} Assistant: it waits for a fish`,
  ]);
  expect(await read("--line", "11-40", "--around", "0")).toEqual([
    `L12 ${time(4)} Assistant: it waits for a fish`,
    `L40 ${time(5)} User: and the egret`,
  ]);
});

test("shows an output by the line that it had, with its call, and no line behind the last", async () => {
  lay();
  const output = ["$ bun test", "  1 fail: it waits"];
  expect((await read("--tools", "--line", "9", "--around", "0")).slice(0, 3).join("\n")).toContain(
    output.join("\n"),
  );
  expect(await read("--line", "47", "--around", "0")).toEqual([`L44 ${time(7)} [Bash bun test]`]);
  expect((await home.run("session-reader", "birds", "--line", "48")).stderr).toContain("has fewer lines");
});
