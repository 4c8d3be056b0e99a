/** What npm start, npm and Bun install, on a PATH without Bun: the hosts find all they need. Fetches packages; run by `bun run test:clients`. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { claudeUser } from "../support/claude.ts";
import { eventually } from "../support/eventually.ts";
import { jsonl } from "../support/rows.ts";
import { ROOT, runCommand } from "../support/run.ts";
import { claudeHome, succeeded, textOf } from "./client.ts";
import { CLIENTS, installed } from "./install.ts";
import { startAnthropic } from "./models.ts";

const [claude, codex] = await Promise.all([installed(CLIENTS.claude), installed(CLIENTS.codex)]);
const root = mkdtempSync(join(tmpdir(), "session-memory-install-"));
const [clone, system] = [join(root, "clone"), join(root, "system")];
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Where this machine's npm looks for packages, which another prefix would change. */
const registry = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^npm_config_registry$/i.test(name))),
  npm_config_globalconfig: (await runCommand(["npm", "config", "get", "globalconfig"])).stdout.trim(),
};

beforeAll(() => {
  const skipped = [".git", ".cache", "node_modules", "dist", "test/node_modules"].map((name) =>
    join(ROOT, name),
  );
  cpSync(ROOT, clone, { recursive: true, filter: (path) => !skipped.includes(path) });
  // Every program of this machine but Bun.
  mkdirSync(system);
  for (const folder of (process.env.PATH ?? "").split(delimiter).filter(existsSync))
    for (const name of readdirSync(folder))
      if (!/^bunx?$/.test(name) && !existsSync(join(system, name)))
        symlinkSync(join(folder, name), join(system, name));
});

describe.skipIf(!claude)("npm start on a machine without Bun", () => {
  const model = startAnthropic();
  const home = claudeHome(model.url);
  const HOME = home.home;
  const bin = join(HOME, ".local", "bin");
  const env = { ...home.env, ...registry, PATH: `${system}:${join(root, "agents")}:${bin}` };
  const binary = join(claude ?? "", CLIENTS.claude.file);
  afterAll(() => {
    model.stop();
    home.remove();
  });

  const start = (...args: string[]) => runCommand(["npm", "start", "--silent", ...args], { cwd: clone, env });
  const prompt = async (text: string, ...args: string[]) => {
    succeeded(await runCommand([binary, "-p", text, ...args], { env, cwd: home.project }));
    return model.requests.at(-1)?.raw ?? "";
  };

  test("installs, links, shows a first answer, and installs into no agent that nobody agreed to", async () => {
    mkdirSync(join(root, "agents"));
    symlinkSync(binary, join(root, "agents", "claude"));
    const { stdout, exitCode } = await start();
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      `plugin marketplace add ${HOME}/.local/share/session-memory/package   # Claude Code`,
    );
    expect(stdout).toContain("at least one post a day");
    expect(existsSync(join(home.paths.claude, "plugins"))).toBe(false);
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const called = await runCommand(["session-memory", "--version"], { cwd: home.project, env });
    expect(called).toEqual({ stdout: `${version}\n`, stderr: "", exitCode: 0 });
  });

  test("again it updates, and with a yes hooks and skills work in Claude Code", async () => {
    writeFileSync(join(clone, "CHANGELOG.md"), "changed\n");
    expect((await start("--", "--yes")).exitCode).toBe(0);
    const folder = join(HOME, ".local", "share", "session-memory");
    expect(textOf(join(folder, "package", "CHANGELOG.md"))).toBe("changed\n");
    expect(readdirSync(folder).sort()).toEqual(["package", "runtime"]);
    const again = await start();
    expect(again.stdout).toBe(
      "nothing to do: session-memory is in Claude Code; 0 sessions can be searched\n",
    );
    await prompt("remember the blue door");
    expect(await prompt("what is going on?")).toMatch(/\\"remember the blue door\\"/i);
    const skill = await prompt("/session-memory:sessions what did the other session say?");
    const [, command = ""] = /(sh [^ ]*\/bin\/session-memory) session-reader last/.exec(skill) ?? [];
    expect(command).not.toBe("");
  });

  test("setup --remove takes all of it back", async () => {
    const remove = ["session-memory", "setup", "--remove", "--yes"];
    succeeded(await runCommand(remove, { cwd: home.project, env }));
    const left = [join(HOME, ".local", "share", "session-memory"), join(bin, "session-memory")];
    expect(left.map((path) => existsSync(path))).toEqual([false, false]);
    expect(textOf(join(home.paths.claude, "plugins", "installed_plugins.json"))).not.toContain(
      "session-memory@",
    );
  });
});

describe.skipIf(!codex)("Codex's copy of the package has its dependencies, installed by", () => {
  let tarball = "";
  beforeAll(async () => {
    const stdout = succeeded(await runCommand(["npm", "pack", "--silent"], { cwd: clone }));
    tarball = join(clone, stdout.trim().split("\n").at(-1) ?? "");
  });

  const prefix = (name: string) => join(root, name);
  test.each([
    ["npm", ["npm", "install", "--global", `--prefix=${prefix("npm")}`, "--silent"], "lib/node_modules"],
    ["bun", ["bun", "add", "--global", "--silent"], "install/global/node_modules"],
  ] as const)("%s", async (name, install, modules) => {
    const home = join(prefix(name), "home");
    mkdirSync(home, { recursive: true });
    const env = { HOME: home, LANG: "C.UTF-8", TZ: "UTC", ...registry };
    const withBun = { ...env, PATH: `${dirname(Bun.which("bun") ?? "")}:${system}` };
    const run = async (...words: string[]) =>
      succeeded(await runCommand(words, { env: { ...withBun, BUN_INSTALL: prefix(name) }, cwd: root }));
    await run(...install, tarball);
    await run(join(prefix(name), "bin", "session-memory"), "--version");
    const plugin = (...words: string[]) => run(join(codex ?? "", CLIENTS.codex.file), "plugin", ...words);
    await plugin("marketplace", "add", join(prefix(name), modules, "session-memory"));
    await plugin("add", "session-memory@session-memory");
    const cache = join(home, ".codex", "plugins", "cache", "session-memory", "session-memory");
    const [version = ""] = readdirSync(cache);
    const state = join(home, ".session-memory");
    mkdirSync(state);
    writeFileSync(join(state, "config.json"), '{"minNewUserMessages": 1}');
    const id = "11111111-2222-4333-8444-555555555555";
    const file = join(home, ".claude", "projects", "p", `${id}.jsonl`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, jsonl(claudeUser({ text: "remember the blue door", sessionId: id, cwd: root })));
    const input = { session_id: id, transcript_path: file, cwd: root };
    const starter = join(cache, version, "bin", "session-memory");
    await runCommand(["/bin/sh", starter, "stop"], { env: withBun, cwd: root, stdin: JSON.stringify(input) });
    const log = () => textOf(join(state, "log.ndjson"));
    await eventually("the work after the turn", () => log().includes('"background.meta"'));
    const failures = log()
      .split("\n")
      .filter((line) => line.includes('"ok":false'));
    expect(failures).toEqual([]);
  });
});
