/** Pipes and devices in the places that are read are not opened: one would wait for a writer, the other may never end. */

import { beforeEach, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { secondsAgo, uuidFrom } from "./support/rows.ts";
import { startScript } from "./support/run.ts";

const home = homePerTest();
const ME = uuidFrom("me");
const OTHER = uuidFrom("other");

beforeEach(() => {
  const of = { sessionId: OTHER, cwd: home.project, at: secondsAgo(60) };
  const rows = [
    claudeUser({ ...of, text: "hoist the sextant" }),
    ...claudeAssistant({ ...of, text: "done" }),
  ];
  writeClaude(home, { id: OTHER, rows });
});

const kinds: [what: string, plant: (path: string) => unknown][] = [
  ["a pipe", (path) => execFileSync("mkfifo", [path])],
  ["a link to a device", (path) => symlinkSync("/dev/zero", path)],
];

/** A process of its own: what waits for a pipe can be ended. */
async function run(name: string, args: string[], stdin = ""): Promise<string> {
  const { stdout, exitCode } = await startScript(name, args, { env: home.env, cwd: home.project, stdin });
  expect([name, exitCode]).toEqual([name, 0]);
  return stdout;
}

test.each(kinds)("%s as a meta file, a host's database or title silences no command", async (_, plant) => {
  const places = [
    join(home.paths.meta, `${OTHER}.meta.json`),
    join(home.paths.pi, "sessions-meta", `${uuidFrom("pi")}.meta.json`),
    join(home.home, ".local/share/opencode/opencode.db"),
    join(home.paths.claude, "settings.json"),
  ];
  for (const place of places) {
    mkdirSync(dirname(place), { recursive: true });
    plant(place);
  }
  expect(await run("session-reader", ["--list"])).toContain(OTHER.slice(0, 8));
  expect(await run("search", ["sextant"])).toContain("hoist the sextant");
  expect(await run("session-reference", [`@@${OTHER}`])).toContain("[Session References]");
  await run("index-meta", ["--all"]);
  expect(await run("health", [])).toContain("runtime: ");
});

test.each(kinds)("%s as a hook's transcript is not read, and the hook does its work", async (_, plant) => {
  const transcript_path = join(home.root, `${ME}.jsonl`);
  plant(transcript_path);
  const input = { session_id: ME, transcript_path, cwd: home.project, prompt: "hello", source: "startup" };
  const hook = (name: string) => run(name, [], JSON.stringify(input));
  expect(await hook("user-prompt-submit")).toContain("hoist the sextant");
  expect(await hook("user-prompt-submit")).toBe("");
  for (const name of ["session-start", "pre-compact", "stop", "session-end", "post-tool-use-failure"])
    await hook(name);
  await run("hooks/background.ts", ["--session", ME, "--file", transcript_path, "--cwd", home.project]);
});
