/** What is left of a session when the host has deleted its transcript and there is no copy of it yet. */

import { expect, test } from "bun:test";
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

const ID = uuidFrom("gone session");
const LEFT = "the transcript is gone, its observations are left\n";

/** A session of today that was indexed and observed. */
async function indexed(): Promise<{ home: TemporaryHome; file: string }> {
  const home = temporaryHome();
  const context = { sessionId: ID, cwd: home.project };
  const rows = [
    claudeUser({ ...context, text: "Always use port 8443 for the gateway, never 8080." }),
    ...claudeAssistant({ ...context, text: "The gateway listens on port 8443." }),
  ];
  const file = writeClaude(home, { id: ID, rows });
  await home.run("embed");
  await home.run("observe-compact", ID, "--observe");
  return { home, file };
}

async function found(home: TemporaryHome): Promise<string[]> {
  const { stdout } = await home.run("search", "port of the gateway", "--json");
  return JSON.parse(stdout).results.map(({ session_id }: { session_id: string }) => session_id);
}

test("its rows go at the next run, its observations stay", async () => {
  const { home, file } = await indexed();
  using _ = home;
  rmSync(file);
  expect(await found(home)).toEqual([ID]);
  const { records } = await home.json("observe-compact", ID, "--dump");
  const recall = ["observe-compact", ID, "--recall", records[0].observations[0].id] as const;
  const [observation = "", ...source] = (await home.ok(...recall)).trimEnd().split("\n");
  expect(source).toEqual([
    "its transcript is gone: from the index",
    expect.stringMatching(/^1: \[.*\] User: Always use port 8443 for the gateway, never 8080\.$/),
  ]);
  home.configure({ exclude: { patterns: ["8443"] } });
  expect(await home.run(...recall)).toMatchObject({ exitCode: 1, stdout: "" });
  home.configure({});
  expect((await home.run("embed")).stdout).toStartWith("pruned 1 session\n");
  expect(await home.ok(...recall)).toBe(`${observation}\nits transcript is gone\n`);
  expect(await found(home)).toEqual([]);
  expect(await home.run("session-reader", ID)).toMatchObject({ stdout: "", exitCode: 1 });
  const rendered = await home.run("observe-compact", ID, "--render", "--status");
  expect([rendered.exitCode, rendered.stderr]).toEqual([0, LEFT]);
  expect(rendered.stdout).toContain("8443");
});

test("a folder that is only missing takes nothing away, but with --prune", async () => {
  const { home, file } = await indexed();
  using _ = home;
  const [folder, elsewhere] = [dirname(file), `${home.root}/unmounted`];
  renameSync(folder, elsewhere);
  const left = "transcript gone: 1 session, still searchable (--prune forgets them)\n";
  expect((await home.run("embed")).stderr).toBe(left);
  expect(await found(home)).toEqual([ID]);
  renameSync(elsewhere, folder);
  expect((await home.run("embed")).stderr).toBe("");
  renameSync(folder, elsewhere);
  await home.run("embed", "--prune");
  expect(await found(home)).toEqual([]);
});

test("a hit says so as soon as the transcript is gone, whether or not the index was brought up to date", async () => {
  using home = temporaryHome();
  const file = writeClaude(home, {
    id: ID,
    rows: [claudeUser({ text: "Always use port 8443 for the gateway." })],
  });
  await home.run("embed");
  const gone = async (...args: string[]) =>
    JSON.parse((await home.run("search", ...args, "--json")).stdout).results[0].source_gone;
  expect(await gone("port of the gateway")).toBe(false);
  rmSync(file);
  expect(await gone("port of the gateway")).toBe(true);
  expect(await gone("port of the gateway", "--session", ID)).toBe(true);
});
