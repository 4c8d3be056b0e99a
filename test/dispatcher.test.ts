/** bin/session-memory.js: one command for all scripts, on Bun from the sources and on Node from the build. */

import { afterAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { claudeUser } from "./support/claude.ts";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { ROOT, runCommand } from "./support/run.ts";

const BIN = join(ROOT, "bin", "session-memory.js");
const SCRIPTS = readdirSync(join(ROOT, "scripts")).map((name) => name.replace(".ts", ""));
const home = temporaryHome();
afterAll(() => home.remove());

function call(args: string[], command = [process.execPath, BIN]) {
  return runCommand([...command, ...args], { env: home.env, cwd: home.project });
}

test("session-memory alone lists every script with what it does", async () => {
  const { stdout, exitCode } = await call([]);
  const listed = stdout.split("\n").flatMap((line) => /^ {2}([a-z-]+) +[A-Z]/.exec(line)?.[1] ?? []);
  expect([listed, exitCode]).toEqual([SCRIPTS.toSorted(), 0]);
  const list = stdout.split("\n").filter((line) => line.startsWith("  "));
  expect(list.filter((line) => line.length > 80)).toEqual([]);
});

test("session-memory --version prints the package's version", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(await call(["--version"])).toEqual({ stdout: `${version}\n`, stderr: "", exitCode: 0 });
});

test("session-memory with an unknown script is wrong usage, and repeats no more than 200 characters of it", async () => {
  const { stdout, stderr, exitCode } = await call(["x".repeat(500)]);
  expect([stdout, exitCode]).toEqual(["", 2]);
  expect(stderr).toBe(
    `error: Cannot run "${"x".repeat(200)}": there is no such script\nhint: session-memory alone lists them\n`,
  );
});

test("session-memory <script> passes arguments, streams and exit code on, and hints name this form", async () => {
  const help = await call(["session-reader", "--help"]);
  expect(help.stdout).toStartWith("Usage: session-memory session-reader <session>");
  expect(help.stdout).not.toContain("bun scripts/");
  const wrong = await call(["session-reader", "--lines", "x"]);
  expect([wrong.stdout, wrong.exitCode]).toEqual(["", 2]);
  expect(await call(["session-reader", "--list", "--json", "--quiet"])).toEqual({
    stdout: '{\n  "sessions": []\n}\n',
    stderr: "",
    exitCode: 0,
  });
});

test("session-memory health names its remedies in this form", async () => {
  using own = temporaryHome();
  writeClaude(own, { rows: [claudeUser({ text: "hello" })] });
  const { stdout } = await runCommand([process.execPath, BIN, "health"], { env: own.env, cwd: own.project });
  expect(stdout).toContain("info: nothing is indexed yet · run session-memory embed\n");
  expect(stdout).not.toContain("bun scripts/");
});

test("session-memory runs through a link, as package managers make them, on the bun of PATH", async () => {
  const link = join(home.root, "session-memory");
  symlinkSync(BIN, link);
  const env = { ...home.env, PATH: `${join(process.execPath, "..")}:/usr/bin:/bin` };
  mkdirSync(join(home.project, "evil"));
  await Bun.write(join(home.project, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
  await Bun.write(join(home.project, "evil.ts"), 'console.log("evil");\n');
  const { stdout, exitCode } = await runCommand([link, "--version"], { env, cwd: home.project });
  expect([stdout, exitCode]).toEqual([
    `${JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version}\n`,
    0,
  ]);
});

test("every file of the package that a host or a runtime needs is packed, and no test", async () => {
  const { files, bin } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(bin).toEqual({ "session-memory": "bin/session-memory.js" });
  for (const needed of ["bin", "dist", "lib", "scripts", "hooks", "skills", ".claude-plugin", "bunfig.toml"])
    expect(files).toContain(needed);
  expect(files).not.toContain("test");
});

const node = process.env.SESSION_MEMORY_TEST_NODE;
const tsc = join(ROOT, "test", "node_modules", ".bin", "tsc");
const canBuild = node !== undefined && existsSync(tsc);
if (!canBuild)
  console.error("SESSION_MEMORY_TEST_NODE or the development tools are missing: no test of the build");

test.skipIf(!canBuild)("on Node below a node_modules the build runs", async () => {
  const place = join(home.root, "node_modules", "session-memory");
  for (const name of ["bin", "scripts", "lib", "hooks", "package.json", "bunfig.toml"])
    cpSync(join(ROOT, name), join(place, name), { recursive: true });
  const build = await runCommand([tsc, "-p", "tsconfig.build.json", "--outDir", join(place, "dist")], {
    env: { ...home.env, PATH: process.env.PATH },
  });
  expect([build.stdout, build.exitCode]).toEqual(["", 0]);
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (!name.startsWith("."))
      symlinkSync(join(ROOT, "node_modules", name), join(home.root, "node_modules", name));
  const run = (...args: string[]) => call(args, [node ?? "", join(place, "bin", "session-memory.js")]);
  const list = await run("session-reader", "--list", "--json", "--quiet");
  expect([JSON.parse(list.stdout), list.exitCode]).toEqual([{ sessions: [] }, 0]);
  const health = await run("health", "--json");
  expect(JSON.parse(health.stdout).runtime).toBeDefined();
  const search = await run("search", "anything", "--json", "--quiet");
  expect([JSON.parse(search.stdout).results, search.exitCode]).toEqual([[], 0]);
});
