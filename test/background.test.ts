/** What follows a transcript after a turn: index, observations and name. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { reads } from "../lib/hosts/lines.ts";
import { metaFile } from "../lib/sessions/meta.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { homePerTest } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";
import { lay } from "./support/world.ts";

const home = homePerTest();

const ID = "5d1f0c52-7a84-4e7b-9a51-0a6de7f3c101";
setDefaultTimeout(30_000);

/** Runs the background and returns how much of transcripts was read by the job that logged an event. */
async function run(args: string[], event: string): Promise<number> {
  reads.bytes = 0;
  const options = { env: home.env, cwd: home.project };
  const done = await runScript("hooks/background.ts", [...args, "--cwd", home.project], options);
  expect([done.stderr, done.exitCode]).toEqual(["", 0]);
  const lines = readFileSync(home.paths.log, "utf8").trim().split("\n");
  const log = lines.map((line) => JSON.parse(line));
  expect(log.filter(({ ok }) => !ok)).toEqual([]);
  return log.findLast((logged) => logged.event === event).bytesRead;
}

test("a failure is logged with the host that asked for the work", async () => {
  const file = lay(home, `@claude ${ID} 60s ago\nUser: fix the login test\nAssistant: It passes now.`);
  mkdirSync(home.paths.database, { recursive: true });
  const args = ["--session", ID, "--file", file, "--source", "pi", "--cwd", home.project];
  await runScript("hooks/background.ts", args, { env: home.env, cwd: home.project });
  const rows = readFileSync(home.paths.log, "utf8").trim().split("\n");
  const failed = rows.map((row) => JSON.parse(row)).find(({ event }) => event === "hook.background.index");
  expect(failed).toMatchObject({ ok: false, source: "pi", session: ID });
});

test("when a session begins, those that were there before are indexed and named, the newest first, once", async () => {
  const ids = ["1", "2", "3", "4", "5"].map((digit) => `${digit}d1f0c52-7a84-4e7b-9a51-0a6de7f3c101`);
  for (const [index, id] of ids.entries())
    lay(
      home,
      `@claude ${id} 60s ago\nUser: fix the flaky checkout test number ${index}, it fails on Mondays\nAssistant: Fixed.`,
    );
  const begin = () => run(["--begin"], "background.old-sessions");
  await begin();
  for (const [index, id] of ids.entries()) {
    const meta = JSON.parse(readFileSync(metaFile(home.paths, { id, agent: "claude" }), "utf8"));
    expect(meta.name).toBe(`Fix the flaky checkout test number ${index}`);
  }
  const { metrics } = JSON.parse((await runScript("health", ["--json"], { env: home.env })).stdout);
  expect(metrics.totalSessions).toBe(5);
  expect(await begin()).toBe(0);
});

const server = serverPerFile();
const OBSERVER = "You keep the memory of a coding session.";

/** A session of one exchange, far too short for a step, last written to so many minutes ago. */
function short(id: string, minutes: number): string {
  return lay(
    home,
    `@claude ${id} ${minutes * 60}s ago\nUser: can't the tests be tables?\nAssistant: They can.`,
  );
}

function answerEach(): void {
  const observations = [
    { priority: "red", text: "Preference: tests as tables", sources: [1], standing: true },
  ];
  server.script(JSON.stringify({ observations }));
  home.env.OPENAI_API_KEY = "made-up";
  home.configure({ llm: { baseUrl: server.baseUrl, model: "fake-1" } });
}

function observed(): number {
  return server.chats().filter(({ text }) => text.includes(OBSERVER)).length;
}

test("a model observes the rest of a session once it has ended, and only then", async () => {
  answerEach();
  const file = short(ID, 0);
  await run(["--session", ID, "--file", file], "background.observe");
  expect(observed()).toBe(0);
  await run(["--session", ID, "--file", file, "--end"], "background.observe");
  await run(["--session", ID, "--file", file, "--end"], "background.observe");
  expect(observed()).toBe(1);
  expect(await home.ok("rules", "--markdown")).toBe("- can't the tests be tables?\n");
});

test("when a session begins, a model observes the rest of the project's last one that ended unheard, and of no other", async () => {
  answerEach();
  for (const minutes of [1, 30, 60]) short(uuidFrom(`ended ${minutes}`), minutes);
  await run(["--begin", "--source", "claude"], "background.last-session");
  expect(observed()).toBe(1);
  expect((await home.json("rules")).rules).toMatchObject([{ session: { id: uuidFrom("ended 30") } }]);
  home.configure({ llm: { baseUrl: server.baseUrl, model: "fake-1" }, observe: { auto: false } });
  short(uuidFrom("ended 20"), 20);
  await run(["--begin", "--source", "claude"], "background.last-session");
  expect(observed()).toBe(1);
});
