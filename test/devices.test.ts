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

const pipe = (path: string) => execFileSync("mkfifo", [path]);
const device = (path: string) => symlinkSync("/dev/zero", path);

/** A process of its own: what waits for a pipe can be ended. */
async function run(name: string, args: string[], stdin = ""): Promise<string> {
  const { stdout, exitCode } = await startScript(name, args, { env: home.env, cwd: home.project, stdin });
  expect([name, exitCode]).toEqual([name, 0]);
  return stdout;
}

test("a pipe or a link to a device as a meta file, a host's database or title silences no command", async () => {
  const metas = join(home.paths.pi, "sessions-meta");
  const places: [string, typeof pipe | typeof device][] = [
    [join(home.paths.meta, `${OTHER}.meta.json`), pipe],
    [join(home.paths.meta, `${ME}.meta.json`), device],
    [join(metas, `${uuidFrom("pi")}.meta.json`), device],
    [join(metas, `${uuidFrom("another")}.meta.json`), pipe],
    [join(home.home, ".local/share/opencode/opencode.db"), pipe],
    [join(home.home, ".local/share/kilo/kilo.db"), device],
    [join(home.paths.claude, "settings.json"), device],
    [join(home.paths.codex, "config.toml"), pipe],
  ];
  for (const [place, plant] of places) {
    mkdirSync(dirname(place), { recursive: true });
    plant(place);
  }
  expect(await run("session-reader", ["--list"])).toContain(OTHER.slice(0, 8));
  expect(await run("search", ["sextant"])).toContain("hoist the sextant");
  expect(await run("session-reference", [`@@${OTHER}`])).toContain("[Session References]");
  await run("index-meta", ["--all"]);
  expect(await run("health", [])).toContain("runtime: ");
});

test("a pipe or a link to a device as a hook's transcript is not read, and the hook does its work", async () => {
  const [piped, linked] = ["piped", "linked"].map((name) => join(home.root, `${name}.jsonl`)) as [
    string,
    string,
  ];
  pipe(piped);
  device(linked);
  const hook = (name: string, transcript_path = piped, session_id = ME) => {
    const input = { session_id, transcript_path, cwd: home.project, prompt: "hello", source: "startup" };
    return run(name, [], JSON.stringify(input));
  };
  expect(await hook("user-prompt-submit")).toContain("hoist the sextant");
  expect(await hook("user-prompt-submit")).toBe("");
  expect(await hook("user-prompt-submit", linked, uuidFrom("linked"))).toContain("hoist the sextant");
  for (const name of ["session-start", "pre-compact", "stop"]) await hook(name);
  for (const name of ["session-end", "post-tool-use-failure"]) await hook(name, linked);
  for (const file of [piped, linked])
    await run("hooks/background.ts", ["--session", ME, "--file", file, "--cwd", home.project]);
});
