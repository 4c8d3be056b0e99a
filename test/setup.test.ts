import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { claudeState, claudeUser } from "./support/claude.ts";
import { layFixtures, type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { ROOT, runCommand, runScript } from "./support/run.ts";

let home: TemporaryHome;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => {
  home[Symbol.dispose]();
});

const bin = () => join(home.root, "bin");
const calls = () => join(home.root, "calls");

/** A host's program that writes down how it was called. */
function host(name: string, exitCode = 0): string {
  const file = join(bin(), name);
  write(file, `#!/bin/sh\necho "${name} $*" >>"${calls()}"\nexit ${exitCode}\n`);
  chmodSync(file, 0o755);
  return file;
}

function setup(...args: string[]) {
  mkdirSync(bin(), { recursive: true });
  const env = { ...home.env, PATH: [bin(), dirname(process.execPath), "/usr/bin", "/bin"].join(":") };
  return runScript("setup", args, { env, cwd: home.home });
}

const called = () => readFileSync(calls(), "utf8").trimEnd().split("\n");

test("setup shows its commands and changes nothing where nobody can answer", async () => {
  const [claude, pi, codex] = [host("claude"), host("pi"), host("codex")];
  const { stdout, stderr, exitCode } = await setup();
  expect(stdout.split("\n")).toEqual([
    `Claude Code: ${claude}`,
    `pi: ${pi}`,
    `Codex: ${codex}`,
    "Will run:",
    `  ${claude} plugin marketplace add ${ROOT}   # Claude Code`,
    `  ${claude} plugin install session-memory@session-memory   # Claude Code`,
    `  ${pi} install ${ROOT}   # pi`,
    `  ${codex} plugin marketplace add ${ROOT}   # Codex`,
    `  ${codex} plugin add session-memory@session-memory   # Codex`,
    "Will index and name the sessions of this machine; nothing is sent anywhere",
    "",
  ]);
  expect([stderr, exitCode]).toEqual(["nothing was changed: run it again with --yes\n", 0]);
  expect([existsSync(calls()), existsSync(home.paths.home)]).toEqual([false, false]);
});

test("setup --yes runs the hosts' commands, indexes and names, and suggests questions from the user's own history", async () => {
  host("claude");
  layFixtures(home);
  const { stdout, exitCode } = await setup("--yes");
  expect(called()).toEqual([
    `claude plugin marketplace add ${ROOT}`,
    "claude plugin install session-memory@session-memory",
  ]);
  expect(exitCode).toBe(0);
  expect(stdout).toContain("pi: no pi on PATH\n");
  expect(stdout).toMatch(/^\d+ sessions can be searched now$/m);
  const questions = stdout.split("Questions to try:\n")[1]?.trimEnd().split("\n") ?? [];
  expect([1, 2, 3]).toContain(questions.length);
  for (const question of questions) expect(question).toMatch(/search\.ts 'what came of .+\?'$/);
  expect(existsSync(home.paths.database)).toBe(true);
  expect(existsSync(home.paths.meta)).toBe(true);
}, 30_000);

test("setup suggests questions that a shell takes as they are, whatever a session is called", async () => {
  const customTitle = "it's `touch /tmp/x` of $(id)";
  writeClaude(home, { rows: [claudeUser({ text: "hi" }), claudeState("custom-title", { customTitle })] });
  const { stdout } = await setup("--yes");
  const [question = ""] = /(?<=search\.ts ).*$/m.exec(stdout) ?? [];
  const { stdout: typed } = await runCommand(["sh", "-c", `printf %s ${question}`], { env: home.env });
  expect(typed).toBe(`what came of ${customTitle}?`);
});

test("setup names who receives anything once it is installed in pi", async () => {
  host("pi");
  mkdirSync(home.paths.pi, { recursive: true });
  const { stdout } = await setup();
  expect(stdout).toContain(
    "Once installed sends: conversation to pi's active model for observing (at most $1.00 a day)\n",
  );
});

test("setup goes on after a host's command that failed, names it, and ends with 1", async () => {
  const claude = host("claude", 3);
  host("pi");
  const { stdout, exitCode } = await setup("--yes", "--quiet");
  expect(called()).toHaveLength(3);
  expect(stdout).toContain(`failed: ${claude} plugin marketplace add ${ROOT}   # Claude Code\n`);
  expect(exitCode).toBe(1);
});

test("setup --remove undoes what setup did and lists what stays", async () => {
  host("claude");
  host("pi");
  const copy = join(home.paths.claude, "plugins", "cache", "session-memory");
  mkdirSync(copy, { recursive: true });
  const { stdout, exitCode } = await setup("--remove", "--yes");
  expect(called()).toEqual([
    "claude plugin uninstall session-memory@session-memory",
    "claude plugin marketplace remove session-memory",
    `pi remove ${ROOT}`,
  ]);
  expect(stdout).toContain(`  ${copy}: Claude Code's copy of the plugin, which you may delete\n`);
  expect(stdout.slice(stdout.indexOf("What stays:")).split("\n")[1]).toContain(home.paths.home);
  expect([exitCode, existsSync(home.paths.database)]).toEqual([0, false]);
});

test("setup installs into Codex, says that its hooks need a yes, and takes it out again", async () => {
  host("codex");
  const { stdout } = await setup("--yes");
  expect(stdout).toContain("\nCodex runs no hook before you trust it: start codex once");
  await setup("--remove", "--yes");
  expect(called()).toEqual([
    `codex plugin marketplace add ${ROOT}`,
    "codex plugin add session-memory@session-memory",
    "codex plugin remove session-memory@session-memory",
    "codex plugin marketplace remove session-memory",
  ]);
});
