/** Listings of sessions: how to go on in the host, and how rows fit a terminal. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { columnsOf } from "../lib/base/terminal.ts";
import { listingColumns, resumeCommand } from "../lib/sessions/listing.ts";
import { claudeUser } from "./support/claude.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import { temporaryHome, write, writeClaude, writeCodex, writePi } from "./support/home.ts";
import { piHeader, piUser } from "./support/pi.ts";
import { uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

test("--resume names the command that goes on with a session in its host, where there is one", async () => {
  using own = temporaryHome();
  const id = uuidFrom("resumed");
  writeClaude(own, { id, rows: [claudeUser({ text: "hi", cwd: own.project })] });
  const pi = writePi(own, { rows: [piHeader(), piUser({ text: "hello" })] });
  const codex = writeCodex(own, {
    id: uuidFrom("codex"),
    rows: [codexMeta({ id: uuidFrom("codex") }), ...codexPrompt({ text: "hey" })],
  });
  const run = (...args: string[]) => own.run("session-reader", ...args);
  const commands = [
    `claude --resume ${id}`,
    `pi --session ${pi}`,
    `codex resume ${uuidFrom("codex")}`,
  ].toSorted();
  const listed = (await run("--list", "--resume")).stdout.split("\n");
  expect(listed.filter((line) => line.startsWith("   ")).toSorted()).toEqual(
    commands.map((line) => `   ${line}`),
  );
  const { sessions } = JSON.parse((await run("--list", "--resume", "--json")).stdout);
  expect(sessions.map(({ resume }: { resume: string }) => resume).toSorted()).toEqual(commands);
  expect(await run(id, "--resume")).toEqual({ stdout: `claude --resume ${id}\n`, stderr: "", exitCode: 0 });
  expect((await run(codex, "--resume")).stdout).toBe(`codex resume ${uuidFrom("codex")}\n`);
});

test("--resume of what no host here goes on with is an error, and no id is taken for more than one word", async () => {
  using own = temporaryHome();
  const plain = write(join(own.root, "plain", "talk.jsonl"), [{ role: "user", content: "hi" }]);
  const { stdout, stderr, exitCode } = await runScript("session-reader", [plain, "--resume"], {
    env: own.env,
  });
  expect([stdout, exitCode]).toEqual(["", 1]);
  expect(stderr).toStartWith("error: NOT_FOUND: Cannot go on with talk: ");
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

test("at a terminal a row fits 80 columns: folders are short there, and sizes left out", () => {
  const row = [
    "2026-02-03 14:31",
    "the name of a session ".repeat(4),
    "7c41f0b2",
    "claude",
    "/home/u/projects/a-long-folder-name",
    "1 KiB",
  ];
  const dates = [new Date("2020-02-03T14:31:00Z")];
  const shown = (columns: number) =>
    listingColumns([row], { dates, home: "/home/u", timezone: "UTC", columns })[0] ?? "";
  expect(shown(80)).toBe("3 Feb 2020  the name of a session the name…  7c41f0b2  claude  …/a-long-folder…");
  expect(shown(140)).toEndWith("  7c41f0b2  claude  …/a-long-folder-name  1 KiB");
  expect([80, 100, 140].filter((columns) => columnsOf(shown(columns)) > columns)).toEqual([]);
});
