import { describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isOwnCommand } from "../lib/transcripts/calls.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { codexCall, codexCallOutput, codexMeta, codexPrompt } from "./support/codex.ts";
import { readEntries, readLastEntries } from "./support/entries.ts";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { piAssistant, piHeader, piMessage, piToolResult, piUser } from "./support/pi.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";
import { ROOT } from "./support/run.ts";

const home = temporaryHome();
describe("a call is left out whole when its command line starts one of ours", () => {
  test.each<[how: string, command: string, cwd?: string]>([
    ["by the starter", `sh ${ROOT}/bin/session-memory search "why WAL" "journal mode"`],
    ["by a copy's starter", "sh /home/dev/src/session-memory-main/bin/session-memory session-reader last"],
    ["with the host's variable", `sh "\${CLAUDE_SKILL_DIR}/../../bin/session-memory" search x`],
    ["as our bin", "session-memory search x"],
    ["by npx", "npx --yes session-memory search x"],
    ["behind another command", "npm test && session-memory search x | head -40"],
    ["in a loop", 'for q in a b; do session-memory search "$q"; done'],
    ["in a substitution", 'echo "$(session-memory search x)"'],
    ["as a script of this folder", `bun ${ROOT}/scripts/search.ts "why WAL"`],
    ["on Deno under timeout", `timeout 20 deno run -A --quiet ${ROOT}/scripts/session-reader.ts last`],
    [
      "from a plugin's copy",
      "bun /home/dev/.claude/plugins/cache/m/session-memory/1.2.0/scripts/search.ts x",
    ],
    ["behind cd", `cd "/home/dev/session-memory" && bun scripts/search.ts x`],
    ["through a variable", `R=${ROOT}; node $R/scripts/search.ts x`],
    ["from a folder of ours", "bun scripts/search.ts x", "/home/dev/session-memory"],
  ])("%s", (_, command, cwd = home.project) => {
    expect(isOwnCommand(command, cwd)).toBe(true);
  });

  test.each(readdirSync(join(ROOT, "scripts")))("for each script: %s", (file) => {
    expect(isOwnCommand(`session-memory ${file.replace(/\.ts$/, "")} x`, home.project)).toBe(true);
  });

  test.each([
    "bun scripts/search.ts x",
    "node scripts/session-reader.ts",
    "grep -rn session-memory . | head",
    'git commit -m "feat: use session-memory search"',
    "cd /srv/session-memory-demo && npm test",
    "npm install -g session-memory && npm test",
    "ls ~/.session-memory/indexes",
    "ls; npm test && git push",
  ])("but not where it only looks like it: %s", (command) => {
    expect(isOwnCommand(command, home.project)).toBe(false);
  });
});

describe("the reader", () => {
  const search = `bun ${ROOT}/scripts/search.ts "posting frequency"`;
  const call = (command: string, id: string) =>
    claudeAssistant({ tools: [{ name: "Bash", input: { command }, id }], cwd: home.project });

  test("shows neither our command nor its output, forward and backward", () => {
    const file = writeClaude(home, {
      rows: [
        claudeUser({ text: "what did we say?" }),
        ...call(search, "t1"),
        claudeToolResult({ toolUseId: "t1", content: "1. 7c41f0b2:3-9 · secret plans" }),
        ...call(`${search}; npm test`, "t2"),
        claudeToolResult({ toolUseId: "t2", content: "1. 7c41f0b2:3-9 · plans\n   L3 User: x\n12 pass" }),
        ...call("npm test", "t3"),
        claudeToolResult({ toolUseId: "t3", content: "12 pass" }),
        ...claudeAssistant({ text: "At least one post a day." }),
      ],
    });
    const all = [...readEntries(file, { results: true })];
    expect(all.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "user what did we say?",
      "tool Bash npm test",
      "result 12 pass",
      "assistant At least one post a day.",
    ]);
    for (const results of [true, false]) {
      const forward = [...readEntries(file, { results })];
      for (const count of [1, 2, 3, 9]) {
        const { entries } = readLastEntries(file, { count, results });
        expect(entries.map((entry) => ({ ...entry }))).toEqual(forward.slice(-count));
      }
    }
  });

  const shown = (...rows: Row[]) => {
    const file = join(home.root, "session.jsonl");
    writeFileSync(file, jsonl(...rows));
    return [...readEntries(file, { results: true })].map(({ kind, text }) => `${kind} ${text}`);
  };

  test("shows no call of our own tools in pi", () => {
    const tools = [{ name: "session_search", id: "c1", arguments: { phrasings: ["x"] } }];
    const result = piToolResult({ callId: "c1", tool: "session_search", text: "found it" });
    expect(shown(piHeader({}), piUser({ text: "hi" }), piAssistant({ tools }), result)).toEqual(["user hi"]);
  });

  test("shows no command of ours in Codex and pi, however it was called there", () => {
    const search = `bun ${ROOT}/scripts/search.ts zebra`;
    const output = "1. 7c41f0b2:3-9 · plans";
    const call = (name: string, input: Row, callId: string) => [
      codexCall({ name, arguments: input, callId }),
      codexCallOutput({ callId, output }),
    ];
    const workdir = "/home/dev/session-memory";
    expect(
      shown(
        codexMeta(),
        ...codexPrompt({ text: "hi" }),
        ...call("exec_command", { cmd: "bun scripts/search.ts zebra", workdir }, "c1"),
        ...call("shell", { command: ["bash", "-lc", search] }, "c2"),
        ...call("exec_command", { cmd: "npm test" }, "c3"),
      ),
    ).toEqual(["user hi", "tool exec_command npm test", `result ${output}`]);
    const message = { role: "bashExecution", command: search, output, exitCode: 0 };
    expect(shown(piHeader({}), piUser({ text: "hi" }), piMessage({ message }))).toEqual(["user hi"]);
  });

  test("is not fooled by a search of its own: a second one does not find the first", async () => {
    using own = temporaryHome();
    const sessionId = uuidFrom("searching");
    const command = `bun ${ROOT}/scripts/search.ts "quokka habitat"`;
    const rows = [
      claudeUser({ sessionId, text: "what did we say of pelicans?" }),
      ...claudeAssistant({ sessionId, tools: [{ name: "Bash", input: { command }, id: "q" }] }),
      claudeToolResult({ sessionId, toolUseId: "q", content: "1. 7c41f0b2:3-9 · quokka habitat notes" }),
    ];
    writeClaude(own, { id: sessionId, cwd: own.project, rows });
    const { stdout, stderr } = await own.run("search", "quokka habitat");
    expect([stdout, stderr.includes("nothing relevant found")]).toEqual(["", true]);
  });
});
