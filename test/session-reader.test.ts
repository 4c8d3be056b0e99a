import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { plainText } from "../lib/base/output.ts";
import { listingColumns, resumeCommand } from "../lib/sessions/listing.ts";
import { readSessionLog } from "../scripts/session-reader.ts";
import { chain, claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { runCommand, starting, startScript } from "./support/run.ts";

const home = temporaryHome();

test("writes all of a long answer to a pipe and survives a reader that leaves", async () => {
  using own = temporaryHome();
  const rows = Array.from({ length: 3000 }, (_, i) =>
    claudeUser({ text: `message ${i} ${"x".repeat(300)}`, cwd: own.project }),
  );
  writeClaude(own, { rows });
  const options = { env: own.env, cwd: own.project };
  const whole = await startScript("session-reader", ["last", "--lines", "3000"], options);
  expect(whole.stdout.trimEnd().split("\n").length).toBe(3001);
  const { stdout } = await startScript("session-reader", ["last", "--lines", "3000", "--json"], options);
  expect(JSON.parse(stdout).entries).toHaveLength(3000);
  const command = [...starting("session-reader"), "last", "--lines", "3000"];
  const piped = await runCommand(["sh", "-c", `"$@" | head -1`, "sh", ...command], options);
  expect(piped.stdout).toStartWith("# ");
  expect({ stderr: piped.stderr, exitCode: piped.exitCode }).toEqual({ stderr: "", exitCode: 0 });
}, 30_000);

test("readSessionLog() gives the log of a transcript in the format it is told", () => {
  const file = join(home.root, "sdk.jsonl");
  const at = "2026-02-12T10:30:05.000Z";
  const edit = { name: "Edit", input: { file_path: "home/MEMORY.md" } };
  const said = chain([
    claudeUser({ text: "how do I deploy this?", at }),
    ...claudeAssistant({ text: "Two steps", tools: [edit], at }),
  ]);
  writeFileSync(file, jsonl(...said));
  expect(readSessionLog({ jsonlPath: file, format: "agent-sdk" })).toBe(`\
L1 [2026-02-12 10:30:05] User: how do I deploy this?
L2 [2026-02-12 10:30:05] Assistant: Two steps
L3 [2026-02-12 10:30:05] [Edit home/MEMORY.md]`);
  expect(readSessionLog({ jsonlPath: file, format: "agent-sdk", lines: 1 })).toBe(
    "L3 [2026-02-12 10:30:05] [Edit home/MEMORY.md]",
  );
});

test("readSessionLog() of a missing file throws our error", () => {
  const jsonlPath = join(home.root, "missing.jsonl");
  expect(() => readSessionLog({ jsonlPath, format: "pi" })).toThrow(
    expect.objectContaining({
      type: "NOT_FOUND",
      message: `Cannot read "${jsonlPath}": there is no such file`,
    }),
  );
});

test("no id that a host is given is more than one word", () => {
  const session = { agent: "claude", file: "/a b/c.jsonl", updatedAt: "", modifiedAt: "", size: 0 } as const;
  const ids = ["$(id)", "it's", "--dangerous", ""];
  expect(ids.map((id) => resumeCommand({ ...session, id }))).toEqual([
    "claude --resume '$(id)'",
    "claude --resume 'it'\\''s'",
    undefined,
    "claude --resume ''",
  ]);
  expect(resumeCommand({ ...session, id: "x", agent: "pi" })).toBe("pi --session '/a b/c.jsonl'");
  expect(resumeCommand({ ...session, id: "x", machine: "desk" })).toBeUndefined();
});

test("at a terminal a name has 40 columns, whatever the ids: these are cut, then sizes and folders left out", () => {
  const row = (name: string, id: string) => [
    ...["3 h ago", name, id, "claude"],
    ...["/home/u/projects/a-long-folder-name", "1 KiB"],
  ];
  const rows = [
    row("the name of a session ".repeat(4), "7c41f0b2"),
    row("短い", "0b2"),
    row("long id", "2026-01-08-migration-of-everything-else"),
  ];
  const shown = (columns: number) => listingColumns(rows, columns).map(plainText);
  expect(shown(100)).toEqual([
    "3 h ago  the name of a session the name of a sessio…  7c41f0b2       claude  a-long-folder-n…  1 KiB",
    "3 h ago  短い                                         0b2            claude  a-long-folder-n…  1 KiB",
    "3 h ago  long id                                      2026-01-08-mi  claude  a-long-folder-n…  1 KiB",
  ]);
  expect(shown(80)).toEqual([
    "3 h ago  the name of a session the name of a session the…  7c41f0b2       claude",
    "3 h ago  短い                                              0b2            claude",
    "3 h ago  long id                                           2026-01-08-mi  claude",
  ]);
});

test("--tools keeps the blanks before the first line of what was written and printed", async () => {
  using home = temporaryHome();
  const context = { sessionId: uuidFrom("blanks"), cwd: home.project };
  const tools = [
    { name: "Write", id: "w", input: { file_path: "a.py", content: "\tfirst\n\tsecond\n" } },
    { name: "Bash", id: "b", input: { command: "make" } },
  ];
  writeClaude(home, {
    id: context.sessionId,
    cwd: home.project,
    rows: chain([
      claudeUser({ ...context, text: "Write it." }),
      ...claudeAssistant({ ...context, text: "Written.", tools }),
      claudeToolResult({ ...context, toolUseId: "b", content: "\n    indented\nnot\n" }),
    ]),
  });
  const { stdout } = await home.run("session-reader", context.sessionId, "--tools");
  expect(stdout).toContain("\n  \tfirst\n  \tsecond\n");
  expect(stdout).toContain("\n      indented\n  not\n");
});
