import { beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { homePerTest, write, writeClaude } from "./support/home.ts";
import { turn } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const home = homePerTest();
const ID = uuidFrom("participants");
const POSTING = uuidFrom("participants posting");

beforeEach(() => {
  write(
    home.paths.config,
    JSON.stringify({ participants: { user: "Jason Wu", assistant: "Max" }, timezone: "UTC" }),
  );
  const tools = [{ name: "Edit", input: { file_path: "/growth/plan.md", old_string: "a", new_string: "b" } }];
  const rows = turn("how many posts a day should we plan?", "Two posts a day are enough.", {
    sessionId: ID,
    tools,
  });
  writeClaude(home, { id: ID, rows });
  const said = turn("note the budget", "Noted: Jason said that the budget ends in March.", {
    sessionId: POSTING,
  });
  writeClaude(home, { id: POSTING, rows: said });
});

async function out(script: Parameters<typeof runScript>[0], ...args: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await runScript(script, args, { env: home.env, cwd: home.root });
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

test("a session's entries and its outline name who talks", async () => {
  expect((await out("session-reader", ID, "--no-tools")).split("\n").slice(1, 3)).toEqual([
    "L1 [2026-02-03 14:00:00] Jason Wu: how many posts a day should we plan?",
    "L2 [2026-02-03 14:00:20] Max: Two posts a day are enough.",
  ]);
  expect(await out("session-reader", ID, "--outline")).toContain("] Jason Wu: how many posts a day");
});

test("--speaker takes a participant's name, or one word of it, for a role", async () => {
  for (const name of ["jason", "Jason Wu", "user"]) {
    const { entries } = JSON.parse(await out("session-reader", ID, "--speaker", name, "--json"));
    expect(entries.map(({ kind }: { kind: string }) => kind)).toEqual(["user"]);
    expect(await out("search", "posts a day", "--speaker", name)).toContain("Jason Wu: how many posts");
  }
  const { stderr, exitCode } = await runScript("session-reader", [ID, "--speaker", "Jim"], { env: home.env });
  expect({ stderr, exitCode }).toEqual({
    stderr: 'error: Cannot use --speaker "Jim": not one of its values\nhint: try --speaker user\n',
    exitCode: 2,
  });
});

test("what search shows names who talks: rows, one line a hit, whole exchanges, and the sessions of a file", async () => {
  for (const mode of [[], ["--full"]])
    expect(await out("search", "how many posts a day", ...mode)).toContain("Jason Wu: how many posts a day");
  expect(await out("search", "how many posts a day", "--brief")).toContain(
    "Max: Two posts a day are enough.",
  );
  const { results } = JSON.parse(await out("search", "how many posts a day", "--json"));
  expect(results[0]).toMatchObject({
    speakers: ["user", "assistant"],
    content: expect.stringContaining("User: how"),
  });
  expect(await out("search", "--file", "plan.md")).toContain("Max: Two posts a day");
});

test("a saved note names who talks", async () => {
  const path = (await out("save-session", ID)).trim();
  expect(readFileSync(path, "utf8").split("\n").slice(-3)).toEqual([
    "Jason Wu: how many posts a day should we plan?",
    "Max: Two posts a day are enough.",
    "",
  ]);
});
