import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withoutOwnOutput } from "../lib/transcripts/calls.ts";
import { shellParts, shellWords, withoutOwnCommands } from "../lib/transcripts/own-commands.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { codexCall, codexCallOutput, codexMeta, codexPrompt } from "./support/codex.ts";
import { readEntries, readLastEntries } from "./support/entries.ts";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { piAssistant, piHeader, piMessage, piToolResult, piUser } from "./support/pi.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";
import { ROOT } from "./support/run.ts";

const home = temporaryHome();
const clone = join(home.root, "a clone");
mkdirSync(join(clone, "scripts"), { recursive: true });
writeFileSync(join(clone, "package.json"), '{"name": "session-memory"}');
mkdirSync(join(home.project, "scripts"), { recursive: true });
writeFileSync(join(home.project, "package.json"), '{"name": "shop"}');

const rest = (command: string, cwd = home.project) => withoutOwnCommands(command, cwd);

describe("withoutOwnCommands()", () => {
  const flags = `--no-env-file --no-install --config=${ROOT}/bunfig.toml`;
  const ours: [how: string, command: string, cwd?: string][] = [
    ["by its path", `bun ${ROOT}/scripts/search.ts "why WAL" "journal mode"`],
    ["with the flags of the skill page", `bun ${flags} ${ROOT}/scripts/search.ts x`],
    ["on Node", `node ${ROOT}/scripts/session-reader.ts last`],
    ["on Deno", `deno run -A --quiet ${ROOT}/scripts/session-reader.ts last --lines 5`],
    ["from a folder with our package.json", "bun scripts/search.ts x", clone],
    ["behind cd", `cd "${clone}" && bun scripts/search.ts x`],
    ["behind cd on a line of its own", `cd '${clone}'\nbun scripts/search.ts x`],
    ["in a subshell", `(cd "${clone}" && bun scripts/search.ts x)`],
    ["through a variable", `ROOT=${ROOT}; bun $ROOT/scripts/search.ts x`],
    ["through a variable in braces", `R=${ROOT} && bun "\${R}/scripts/search.ts" x`],
    ["with the host's variable", `bun "\${CLAUDE_PLUGIN_ROOT}/scripts/search.ts" x`],
    ["with the skill's variable", `bun \${CLAUDE_SKILL_DIR}/../../scripts/session-reader.ts last`],
    ["as our bin", "session-memory search x"],
    ["as our bin by path", "~/.local/bin/session-memory search x"],
    ["by npx", "npx --yes session-memory search x"],
    ["by bunx", "bunx session-memory search x"],
    ["with variables before it", `NO_COLOR=1 SESSION_MEMORY_HOME=/tmp/x bun ${ROOT}/scripts/search.ts x`],
    ["under timeout", `timeout 20 bun ${ROOT}/scripts/search.ts x`],
    ["under env and time", `time env -i HOME=/tmp bun ${ROOT}/scripts/search.ts x`],
    ["in another shell", `bash -lc "bun ${ROOT}/scripts/search.ts x"`],
    ["into a pipe", `bun ${ROOT}/scripts/search.ts x --json | jq '.results[0]' | head -40`],
    ["out of a pipe", `cat questions.txt | xargs -n1 bun ${ROOT}/scripts/search.ts`],
    ["inside a substitution", `echo "$(bun ${ROOT}/scripts/search.ts x)"`],
    ["in a loop", `for q in a b; do bun ${ROOT}/scripts/search.ts "$q"; done`],
    [
      "into a file that is then read",
      `bun ${ROOT}/scripts/search.ts x > /tmp/found.txt 2>&1; cat /tmp/found.txt`,
    ],
    ["as an executable file", `${ROOT}/scripts/search.ts x`],
    [
      "from a copy that is gone",
      "bun /home/dev/.claude/plugins/cache/m/session-memory/1.2.0/scripts/search.ts x",
    ],
  ];
  for (const [how, command, cwd] of ours) {
    test(`leaves nothing of ours started ${how}`, () => expect(rest(command, cwd)).toBeUndefined());
  }

  test.each([
    `bun test test/search.test.ts`,
    `bun scripts/search.ts x`,
    `node scripts/session-reader.ts`,
    `cat ${ROOT}/scripts/search.ts`,
    `grep -rn session-memory . | head`,
    `git commit -m "feat: use session-memory search"`,
    `cd /srv/session-memory-demo && npm test`,
    `echo 'bun ${ROOT}/scripts/search.ts'`,
    `ls; npm test && git push`,
    `cat <<'EOF' > notes.md\nbun ${ROOT}/scripts/search.ts x\nEOF`,
  ])("keeps what only looks like it: %s", (command) => {
    expect(rest(command)).toBe(command);
  });

  test("leaves out only our part of a line", () => {
    expect(rest(`cd x && bun ${ROOT}/scripts/search.ts y; npm test`)).toBe("cd x && npm test");
    expect(rest(`npm test | tail -5 && session-memory search "a && b"\ngit status`)).toBe(
      "npm test | tail -5 && git status",
    );
    // What reads our output back goes with it; a file's short name inside a word is no reading.
    const teed = `cd x && bun ${ROOT}/scripts/search.ts y | tee -a f`;
    expect(rest(`${teed}; npm test`)).toBe("cd x && npm test");
    expect(rest(`${teed}; grep z < f | head; npm test -- --file=f`)).toBeUndefined();
    expect(rest(`bun ${ROOT}/scripts/search.ts y > t 2>&1; npm test`)).toBe("npm test");
    expect(rest(`bun ${ROOT}/scripts/search.ts y 2>/dev/null | tee "a b" | head; cat "a b"; ls`)).toBe("ls");
  });

  test("reads no package.json that is no regular file", () => {
    const folder = join(home.root, "odd");
    mkdirSync(join(folder, "scripts"), { recursive: true });
    symlinkSync("/dev/zero", join(folder, "package.json"));
    expect(rest("bun scripts/search.ts x", folder)).toBe("bun scripts/search.ts x");
  });
});

test("shellParts() and shellWords() follow quotes, parentheses and here-documents", () => {
  expect(shellParts(`a "b; c" && (d; e) | f 2>&1 &\ng <<EOF\nh; i\nEOF\nj`)).toEqual([
    { text: 'a "b; c"', separator: "&&" },
    { text: "(d; e)", separator: "|" },
    { text: "f 2>&1", separator: "&" },
    { text: "g <<EOF\nh; i\nEOF", separator: "\n" },
    { text: "j", separator: "" },
  ]);
  expect(shellWords(`a 'b c'd "e \\" f" g\\ h`)).toEqual(["a", "b cd", 'e " f', "g h"]);
});

test("withoutOwnOutput() leaves the lines of other commands", () => {
  const found = `1. 8463c716:1329-1363 · tests · shop · 2026-02-11 22:46 · strong
   L1329 Assistant: The issue is clear.
   also 1142-1199
12 pass
0 fail`;
  expect(withoutOwnOutput(found)).toBe("12 pass\n0 fail");
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
      const forward = [...readEntries(file, { results })].map((entry) => ({ ...entry, line: 0 }));
      for (const count of [1, 2, 3, 9]) {
        const { entries } = readLastEntries(file, { count, results });
        expect(entries.map((entry) => ({ ...entry }))).toEqual(forward.slice(-count));
      }
    }
  });

  test("shows no call of our own tools in pi", () => {
    const file = join(home.root, "pi.jsonl");
    const tools = [{ name: "session_search", id: "c1", arguments: { phrasings: ["x"] } }];
    const rows = [
      piHeader({}),
      piUser({ text: "hi" }),
      piAssistant({ tools }),
      piToolResult({ callId: "c1", tool: "session_search", text: "found it" }),
    ];
    writeFileSync(file, jsonl(...rows));
    expect([...readEntries(file, { results: true })].map(({ text }) => text)).toEqual(["hi"]);
  });

  test("shows no command of ours in Codex and pi, however it was called there", () => {
    const search = `bun ${ROOT}/scripts/search.ts zebra`;
    const codex = join(home.root, "codex.jsonl");
    const call = (name: string, input: Row, callId: string) => [
      codexCall({ name, arguments: input, callId }),
      codexCallOutput({ callId, output: "1. 7c41f0b2:3-9 · plans" }),
    ];
    writeFileSync(
      codex,
      jsonl(
        codexMeta(),
        ...codexPrompt({ text: "hi" }),
        ...call("exec_command", { cmd: "bun scripts/search.ts zebra", workdir: clone }, "c1"),
        ...call("shell", { command: ["bash", "-lc", search] }, "c2"),
        ...call("exec_command", { cmd: "npm test" }, "c3"),
      ),
    );
    expect([...readEntries(codex, { results: true })].map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "user hi",
      "tool exec_command npm test",
      "result 1. 7c41f0b2:3-9 · plans",
    ]);
    const pi = join(home.root, "pi-bash.jsonl");
    const message = {
      role: "bashExecution",
      command: search,
      output: "1. 7c41f0b2:3-9 · plans",
      exitCode: 0,
    };
    writeFileSync(pi, jsonl(piHeader({}), piUser({ text: "hi" }), piMessage({ message })));
    expect([...readEntries(pi, { results: true })].map(({ text }) => text)).toEqual(["hi"]);
  });

  test("is not fooled by a search of its own: a second one does not find the first", async () => {
    using own = temporaryHome();
    const sessionId = uuidFrom("searching");
    writeClaude(own, {
      id: sessionId,
      cwd: own.project,
      rows: [
        claudeUser({ sessionId, text: "what did we say of pelicans?" }),
        ...claudeAssistant({
          sessionId,
          tools: [
            { name: "Bash", input: { command: `bun ${ROOT}/scripts/search.ts "quokka habitat"` }, id: "q" },
          ],
        }),
        claudeToolResult({ sessionId, toolUseId: "q", content: "1. 7c41f0b2:3-9 · quokka habitat notes" }),
      ],
    });
    const { stdout, stderr } = await own.run("search", "quokka habitat");
    expect({ stdout, nothing: stderr.includes("nothing relevant found") }).toEqual({
      stdout: "",
      nothing: true,
    });
  });
});
