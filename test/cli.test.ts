/** What every script has in common, seen from outside. */

import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { platform, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { claudeUser } from "./support/claude.ts";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { jsonl } from "./support/rows.ts";
import { ROOT, runCommand, runScript, scriptPath, startScript } from "./support/run.ts";

const home = temporaryHome();
const SCRIPTS = readdirSync(join(ROOT, "scripts")).map((file) => basename(file, ".ts"));
const IS_LINUX = platform() === "linux";

function run(script: string, args: string[], env = home.env) {
  return runScript(script, args, { env, cwd: home.project });
}

describe("flags", () => {
  test.each(SCRIPTS)("of %s that do not exist are wrong usage, whatever config.json says", async (script) => {
    using own = temporaryHome();
    mkdirSync(own.paths.home);
    writeFileSync(own.paths.config, "{");
    const { stdout, stderr, exitCode } = await run(script, ["--frob"], own.env);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
    expect(stderr).toMatch(/^error: Unknown option '--frob'\nhint: --help lists the flags\n$/);
  });

  test.if(IS_LINUX)("end at --, also where it comes first", async () => {
    for (const typed of ["-- --lines", "--quiet -- --lines", "-- --help"]) {
      const args = typed.split(" ");
      // Bun drops the first one of a process.
      const { stdout, stderr, exitCode } = await startScript("session-reader", args, { env: home.env });
      expect({ args, stdout, exitCode }).toEqual({ args, stdout: "", exitCode: 1 });
      expect(stderr).toStartWith(`error: NOT_FOUND: Cannot find session "${args.at(-1)}"\n`);
    }
  });

  test("that are wrong are named on one line", async () => {
    const { stderr } = await run("search", ["x", "--limit", "a\nhint: b"]);
    expect(stderr).toStartWith(
      'error: Cannot use --limit "a hint: b": expected a whole number from 1 to 100\n',
    );
  });
});

test.each(SCRIPTS)("the help of %s has at most 25 lines", async (script) => {
  const { stdout, stderr, exitCode } = await run(script, ["--help"]);
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  expect(stdout.trimEnd().split("\n").length).toBeLessThanOrEqual(25);
});

test("nothing is coloured outside of a terminal", async () => {
  for (const variables of [{}, { NO_COLOR: "1" }, { FORCE_COLOR: "1" }]) {
    for (const args of [["--frob"], ["--list"], ["--help"]]) {
      const env = { ...home.env, ...variables };
      const { stdout, stderr } = await run("session-reader", args, env);
      expect(stdout + stderr).not.toContain("\u001b");
    }
  }
});

describe("what the file system refuses", () => {
  test("is told by every script that writes", async () => {
    using own = temporaryHome();
    writeClaude(own, {
      cwd: home.project,
      rows: [claudeUser({ text: "hello", cwd: home.project, at: new Date().toISOString() })],
    });
    const file = join(own.root, "file");
    writeFileSync(file, "");
    const scripts = [
      ["embed"],
      ["search", "hello"],
      ["index-meta"],
      ["observe-compact", "last", "--observe"],
      ["save-session", "last", "--dir", own.root],
      ["forget", "last", "--yes"],
      ["activity-summary", "--current", "last"],
    ];
    for (const folder of [file, join(file, "below")]) {
      for (const [script = "", ...args] of scripts) {
        const env = { ...own.env, SESSION_MEMORY_HOME: folder };
        const { stderr } = await run(script, [...args, "--quiet"], env);
        const first = stderr.split("\n", 1)[0];
        if (first)
          expect([script, first]).toEqual([script, expect.stringMatching(/^error: STORAGE_ERROR: /)]);
        expect(stderr).not.toMatch(/^ {4,}at /m);
      }
    }
  });

  test.if(existsSync("/dev/full"))("includes a result that finds no room", async () => {
    const command = ["sh", "-c", '"$@" > /dev/full', "sh", process.execPath, scriptPath("session-reader")];
    for (const flags of [["--list", "--json"], ["019b1e77"]]) {
      const full = [...command, ...flags, "--sessions", join(ROOT, "test", "fixtures")];
      expect(await runCommand(full, { env: home.env, cwd: home.project })).toEqual({
        stdout: "",
        stderr:
          "error: STORAGE_ERROR: Cannot write: no space left on the device\nhint: free some space and try again\n",
        exitCode: 1,
      });
    }
  });

  test("includes packages that are not installed", async () => {
    using own = temporaryHome();
    for (const folder of ["lib", "scripts", "hooks"])
      cpSync(join(ROOT, folder), join(own.root, "clone", folder), { recursive: true });
    mkdirSync(own.paths.home);
    writeFileSync(own.paths.config, "{}");
    const script = join(own.root, "clone", "scripts", "health.ts");
    const options = { env: own.env, cwd: own.project };
    expect(await runCommand([process.execPath, "--no-install", script], options)).toEqual({
      stdout: "",
      stderr: `error: NOT_FOUND: Cannot load "zod": the packages are not installed\nhint: run bun install in ${join(own.root, "clone")}\n`,
      exitCode: 1,
    });
    const hook = join(own.root, "clone", "hooks", "event.ts");
    const input = { session_id: "x", transcript_path: "x.jsonl", cwd: own.project, source: "resume" };
    const stdin = JSON.stringify(input);
    expect(
      await runCommand([process.execPath, "--no-install", hook, "session-start"], { ...options, stdin }),
    ).toEqual({
      stdout: `{"systemMessage":"session-memory keeps nothing yet: its packages are not installed (bun install --cwd ${join(own.root, "clone")})"}\n`,
      stderr: "",
      exitCode: 0,
    });
  }, 30_000);

  test("includes a current folder that has been removed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "removed-"));
    const list = [process.execPath, scriptPath("session-reader"), "--list"];
    const command = ["sh", "-c", 'rmdir "$0" && exec "$@"', folder, ...list];
    expect(await runCommand(command, { env: home.env, cwd: folder })).toEqual({
      stdout: "",
      stderr:
        "error: NOT_FOUND: Cannot work here: the current folder has been removed\nhint: change to an existing folder\n",
      exitCode: 1,
    });
  });
});

test("a bug keeps its stack", async () => {
  const file = join(home.root, "bug.ts");
  const cli = join(ROOT, "lib", "cli.ts");
  writeFileSync(file, `import { runMain } from "${cli}"; await runMain("", () => undefined.length);`);
  const { stderr, exitCode } = await runCommand([process.execPath, file], { env: home.env });
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^TypeError: undefined is not an object[\s\S]*\n +at .*\/bug\.ts:1/m);
});

test("a session's folder and id cannot write to the terminal", async () => {
  const folder = join(home.root, "odd");
  mkdirSync(folder);
  const row = claudeUser({ text: "hi", cwd: "/home/\u001b[2Jdev\n# forged · claude" });
  writeFileSync(join(folder, "a\u001b[31mb.jsonl"), jsonl([row]));
  const list = await run("session-reader", ["--list", "--sessions", folder]);
  expect(list.stdout).toMatch(/ · ab · claude · \/home\/dev # forged · claude · 1 KiB\n$/);
  const log = await run("session-reader", ["last", "--sessions", folder]);
  expect(log.stdout).toStartWith("# ab · claude · ab · /home/dev # forged · claude\nL1 [");
});

test("no message repeats more than 200 characters of a path that an argument leads to", async () => {
  const out = join("/nonexistent", "l".repeat(3000), "x.html");
  const { exitCode, stderr } = await run("report", ["last", "--out", out]);
  expect([exitCode, stderr.includes("l".repeat(201))]).toEqual([1, false]);
});

test.each([
  ["search", ["x", "--topic", ""], '--topic ""', "name one, or leave --topic out"],
  ["save-session", ["x", "--dir", ""], '--dir ""', "name one, or leave --dir out"],
  ["restore", ["x", "--to", ""], '--to ""', "name one, or leave --to out"],
  ["session-reader", ["--list", "--agent", "PI"], '--agent "PI"', "did you mean --agent pi?"],
])("%s %j is wrong usage", async (script, args, given, hint) => {
  const { exitCode, stdout, stderr } = await run(script, args);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toStartWith(`error: Cannot use ${given}: `);
  expect(stderr).toEndWith(`\nhint: ${hint}\n`);
});
