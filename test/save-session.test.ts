import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSettings } from "../lib/config/config.ts";
import { type SaveOptions, saveSessionToMemory } from "../scripts/save-session.ts";
import { claudeUser } from "./support/claude.ts";
import { homePerTest, type TemporaryHome, write, writeClaude } from "./support/home.ts";
import { plainLine } from "./support/plain.ts";
import type { Row } from "./support/rows.ts";
import { runScript, startScript } from "./support/run.ts";

const home = homePerTest();

/** Saves a plain transcript of these rows; `more` overrides what is passed. */
function save(home: TemporaryHome, rows: Row[], more: Partial<SaveOptions> = {}): Promise<string | null> {
  return saveSessionToMemory({
    sessionFile: write(join(home.root, "session.jsonl"), rows),
    workspaceDir: home.project,
    sessionKey: "test-session",
    sessionId: "sess123",
    source: "cli",
    config: inZone("UTC"),
    ...more,
  });
}

function inZone(timezone: string): SaveOptions["config"] {
  return { paths: home.paths, settings: { ...defaultSettings(), timezone } };
}

function notes(home: TemporaryHome): string[] {
  return readdirSync(join(home.project, "memory")).sort();
}

const DEPLOY = [
  plainLine("user", "Write the deploy script for the shop", "2026-02-03T14:30:00.000Z"),
  plainLine("assistant", "It is in deploy.sh now.", "2026-02-03T14:31:05.000Z"),
];

test("saveSessionToMemory() writes the messages of a transcript that has nothing but them", async () => {
  const path = await save(home, [
    { type: "message", message: { role: "user", content: "Hello" } },
    { type: "message", message: { role: "assistant", content: "Hi!" } },
    { type: "tool_use", tool: "file_read", args: {} },
  ]);
  expect(notes(home)).toHaveLength(1);
  expect(notes(home)[0]).toMatch(/^\d{4}-\d{2}-\d{2}-.+\.md$/);
  const note = readFileSync(path ?? "", "utf8");
  expect(note).toContain("# Session:");
  expect(note).toContain("User: Hello\nAssistant: Hi!\n");
});

test("saveSessionToMemory() says on which command a note was made, and is that note again without one", async () => {
  const path = await save(home, DEPLOY, { savedOn: "/new" });
  expect(readFileSync(path ?? "", "utf8")).toContain(
    ":1-2\n- **Saved**: on /new\n\n## Conversation Summary\n",
  );
  expect(await save(home, DEPLOY)).toBe(path);
  expect(await save(home, DEPLOY, { slug: "deploy" })).toEndWith("-deploy.md");
});

test("four savers at once write one note", async () => {
  const file = write(join(home.root, "s", "deploy.jsonl"), DEPLOY);
  const runs = await Promise.all(
    Array.from({ length: 4 }, () =>
      startScript("save-session", [file], { env: home.env, cwd: home.project }),
    ),
  );
  expect(runs.map((run) => run.exitCode)).toEqual(new Array(4).fill(0));
  expect(new Set(runs.map((run) => run.stdout)).size).toBe(1);
  expect(notes(home)).toEqual(["2026-02-03-write-the-deploy-script-for-the-shop.md"]);
});

test("saveSessionToMemory() gives null and logs why, and never throws", async () => {
  const log = () =>
    readFileSync(home.paths.log, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .at(-1);
  expect(await save(home, DEPLOY, { sessionFile: join(home.root, "missing.jsonl") })).toBeNull();
  expect(log()).toMatchObject({ event: "save-session", ok: false, session: "sess123" });
  expect(await save(home, DEPLOY, { sessionFile: home.root })).toBeNull();
  expect(await save(home, [], {})).toBeNull();
  expect(log().reason).toBe('Cannot save session "sess123": nothing was said in it');
  const binary = join(home.root, "binary.jsonl");
  writeFileSync(binary, Buffer.from([0, 255, 254, 10, 0]));
  expect(await save(home, DEPLOY, { sessionFile: binary })).toBeNull();
  writeFileSync(join(home.project, "memory"), "a file, no folder");
  expect(await save(home, DEPLOY)).toBeNull();
  expect(log().reason).toStartWith(`Cannot save to "${join(home.project, "memory")}"`);
});

test("save-session of a session whose transcript is gone says so, and where its words still are", async () => {
  const id = "33333333-3333-4333-8333-333333333333";
  const file = writeClaude(home, { id, rows: [claudeUser({ text: "Deploy the shop" })] });
  const options = { env: home.env, cwd: home.project };
  await runScript("index-meta", ["--all"], options);
  rmSync(file);
  const { stdout, stderr, exitCode } = await runScript("save-session", [id], options);
  expect([stdout, exitCode]).toEqual(["", 1]);
  expect(stderr).toStartWith(`error: NOT_FOUND: Cannot read "${file}": the transcript is gone\nhint: `);
});
