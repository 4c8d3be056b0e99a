import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { jsonOf } from "../lib/base/json.ts";
import { readActiveBranch, readEntries, readLastEntries } from "./support/entries.ts";
import { temporaryHome, write, writeClaude } from "./support/home.ts";
import { runScript } from "./support/run.ts";

const LEVELS = 200_000;
const deepObject = `${'{"a":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`;
const deepList = `${"[".repeat(LEVELS)}1${"]".repeat(LEVELS)}`;

const claude = (content: string, kind = "assistant") =>
  `{"type":"${kind}","sessionId":"s","uuid":"u","timestamp":"2026-02-03T10:00:00.000Z","cwd":"/tmp","message":{"role":"${kind}","content":${content}}}`;
const call = (input: string, name = "mcp") =>
  claude(`[{"type":"tool_use","id":"t","name":"${name}","input":${input}}]`);

/** Files whose second row is nested beyond what a stack holds. */
const FILES: Record<string, string[]> = {
  "a tool's input": [call(deepObject)],
  "an argument of a known tool": [
    call(`{"command":${deepList}}`, "Bash"),
    call(`{"questions":${deepObject}}`, "AskUserQuestion"),
  ],
  "a tool's result": [
    claude(`[{"type":"tool_result","tool_use_id":"t","content":${deepList}}]`, "user"),
    `{"type":"user","sessionId":"s","uuid":"v","toolUseResult":${deepObject},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}`,
  ],
  "a message's content": [claude(deepList, "user"), claude(deepObject, "user")],
};
const CODEX = [
  '{"timestamp":"2026-02-03T10:00:00.000Z","type":"session_meta","payload":{"id":"c","cwd":"/tmp"}}',
  `{"timestamp":"2026-02-03T10:00:00.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":${JSON.stringify(`{"command":${deepList}}`)}}}`,
  `{"timestamp":"2026-02-03T10:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":${deepObject}}}`,
  '{"timestamp":"2026-02-03T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"last words"}]}}',
];

describe("a row nested 200,000 levels deep", () => {
  test.each(Object.entries(FILES))("in %s costs no other row", (_, rows) => {
    using home = temporaryHome();
    const lines = [claude('"first words"', "user"), ...rows, claude('"last words"', "user")];
    const file = write(join(home.root, "a.jsonl"), `${lines.join("\n")}\n`);
    expectEnds(file);
  });

  test("in Codex's calls and results costs no other row", () => {
    using home = temporaryHome();
    const file = write(join(home.root, "c.jsonl"), `${CODEX.join("\n")}\n`);
    expect([...readEntries(file, { results: true })].at(-1)?.text).toBe("last words");
    expect(readLastEntries(file, { count: 9, results: true }).entries.at(-1)?.text).toBe("last words");
  });

  test("ends no search", async () => {
    using home = temporaryHome();
    writeClaude(home, { rows: `${[claude('"the gateway"', "user"), call(deepObject)].join("\n")}\n` });
    const { stdout, stderr, exitCode } = await runScript("search", ["gateway"], { env: home.env });
    expect({
      exitCode,
      found: stdout.includes("the gateway"),
      stderr: stderr.includes("RangeError"),
    }).toEqual({
      exitCode: 0,
      found: true,
      stderr: false,
    });
  });
});

function expectEnds(file: string): void {
  for (const entries of [
    [...readEntries(file, { results: true })],
    readLastEntries(file, { count: 20, results: true }).entries,
    readActiveBranch(file, { results: true }).entries,
  ]) {
    const texts = entries.map(({ text }) => text);
    expect([texts[0], texts.at(-1)]).toEqual(["first words", "last words"]);
    for (const text of texts) expect(text.length).toBeLessThan(1000);
  }
}

test("jsonOf() writes what is deeper than 64 levels as a mark", () => {
  expect(jsonOf({ a: [1, "b", null, { c: true }] })).toBe('{"a":[1,"b",null,{"c":true}]}');
  expect(jsonOf(JSON.parse(deepList))).toBe(`${"[".repeat(64)}"…"${"]".repeat(64)}`);
  expect(jsonOf(undefined)).toBe("");
});
