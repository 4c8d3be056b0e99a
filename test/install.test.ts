/** bin/install.js: the link that it makes beside the user's other programs, and what it leaves without a network. */

import { beforeEach, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { homePerTest, write } from "./support/home.ts";
import { BUN_PATH, ROOT, runCommand } from "./support/run.ts";

const home = homePerTest();
const NODE = process.env.SESSION_MEMORY_TEST_NODE;
if (NODE === undefined) console.error("SESSION_MEMORY_TEST_NODE is missing: the build is not tried on Node");
const place = (folder: string) => join(home.home, ".local", folder);
const ours = "session-memory/package/bin/session-memory";
let [file, starter] = ["", ""];
beforeEach(() => {
  [file, starter] = [place("bin/session-memory"), write(place(`share/${ours}`), "")];
  mkdirSync(dirname(file), { recursive: true });
});

/** Links the command as `npm start` does; returns what is said. */
async function link(): Promise<string> {
  const code = `import { link } from ${JSON.stringify(join(ROOT, "bin/install.js"))}; link(process.argv[1]);`;
  const env = { ...home.env, PATH: `${dirname(file)}:${home.env.PATH}` };
  const { stderr, exitCode } = await runCommand([process.execPath, "-e", code, starter], { env });
  expect(exitCode).toBe(0);
  return stderr;
}

test("npm start links session-memory, and again over its own links", async () => {
  const own = [undefined, starter, `../share/${ours}`, place(`share/session-memory/old`), `/moved/${ours}`];
  for (const target of own) {
    rmSync(file, { force: true });
    if (target !== undefined) symlinkSync(target, file);
    expect([target, await link(), readlinkSync(file)]).toEqual([target, "", starter]);
  }
});

test("npm start replaces no other program's link, even of one that is away", async () => {
  const others = [
    "/opt/elsewhere/session-memory",
    place("share/session-memory-fork/bin/session-memory"),
    place("share/session-memory/../fork/session-memory"),
    write(join(home.root, "clone", "bin", "session-memory"), ""),
  ];
  for (const target of others) {
    rmSync(file, { force: true });
    symlinkSync(target, file);
    expect([await link(), readlinkSync(file)]).toEqual([
      `${file} is another program: left as it is\n`,
      target,
    ]);
  }
});

test("npm start leaves nothing half installed where Bun cannot be fetched", async () => {
  const folder = place("share/session-memory/runtime");
  const code = `import { installBun } from ${JSON.stringify(join(ROOT, "bin/install.js"))}; installBun(${JSON.stringify(folder)});`;
  const env = { ...home.env, npm_config_registry: "http://127.0.0.1:9" };
  const { stderr, exitCode } = await runCommand([process.execPath, "-e", code], { env });
  expect([exitCode, stderr.split("\n").slice(-3)]).toEqual([
    1,
    [
      expect.stringMatching(/^error: Cannot install Bun \S+: npm says why above$/),
      "hint: check the network, then npm start again",
      "",
    ],
  ]);
  expect(["", ".new"].map((end) => existsSync(folder + end))).toEqual([false, false]);
});

test("npm start installs a build that needs no packages, and a plugin that leads to it", async () => {
  const stage = join(home.root, "stage");
  for (const name of [
    "bin",
    "scripts",
    "lib",
    "hooks",
    "skills",
    ".claude-plugin",
    ".codex-plugin",
    "package.json",
    "bunfig.toml",
    "tsconfig.json",
  ])
    cpSync(join(ROOT, name), join(stage, name), { recursive: true });
  // the packages are deleted from the copy: a link would lead to those of this clone
  cpSync(realpathSync(join(ROOT, "node_modules")), join(stage, "node_modules"), { recursive: true });
  const installed = join(home.root, "it's installed", "bin", "session-memory");
  const code = `import { bundle, writePlugin } from ${JSON.stringify(join(ROOT, "bin/install.js"))};
    bundle(process.execPath, process.argv[1]); writePlugin(process.argv[1], process.argv[2]);`;
  const env = { ...home.env, PATH: BUN_PATH };
  const built = await runCommand([process.execPath, "-e", code, stage, installed], { env });
  expect(built.exitCode).toBe(0);
  expect(readdirSync(join(stage, "node_modules")).filter((name) => !name.startsWith("sqlite-vec"))).toEqual(
    [],
  );
  expect(existsSync(join(stage, "lib"))).toBe(false);
  const run = (starter: string, ...words: string[]) =>
    runCommand(["/bin/sh", starter, ...words], { env, cwd: home.project });
  const search = await run(join(stage, "bin", "session-memory"), "search", "anything", "--json", "--quiet");
  expect([JSON.parse(search.stdout).results, search.exitCode]).toEqual([[], 0]);
  const scripts = readdirSync(join(ROOT, "scripts")).map((name) => basename(name, ".ts"));
  const helped = scripts.map(async (name) => [
    name,
    await run(join(stage, "bin", "session-memory"), name, "--help"),
  ]);
  for (const [name, printed] of await Promise.all(helped))
    expect([name, printed]).toEqual([
      name,
      { stdout: expect.stringContaining("Usage: "), stderr: "", exitCode: 0 },
    ]);

  const plugin = join(stage, "plugin");
  expect(
    JSON.parse(readFileSync(join(stage, ".claude-plugin", "marketplace.json"), "utf8")).plugins[0].source,
  ).toBe("./plugin");
  const sizes = readdirSync(plugin, { recursive: true, encoding: "utf8" }).map(
    (name) => statSync(join(plugin, name)).size,
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_000_000);
  const copied = join(plugin, "bin", "session-memory");
  const gone = {
    stdout: "",
    stderr: `error: Cannot find session-memory: it was removed from ${installed}\nhint: npm start in a clone of it installs it again\n`,
  };
  expect(await run(copied, "search", "anything")).toEqual({ ...gone, exitCode: 1 });
  expect(await run(copied, "user-prompt-submit")).toEqual({ ...gone, exitCode: 0 });
  write(installed, "echo started with $1");
  expect(await run(copied, "search", "anything")).toEqual({
    stdout: "started with search\n",
    stderr: "",
    exitCode: 0,
  });

  // and the same build as one file, which needs no network
  const packing = `import { pack } from ${JSON.stringify(join(ROOT, "bin/archive.js"))};
    process.stdout.write(pack(process.argv[1], process.argv[2]));`;
  const packed = await runCommand([process.execPath, "-e", packing, stage, home.root], { env });
  expect(packed.exitCode).toBe(0);
  const away = { ...home.env, npm_config_registry: "http://127.0.0.1:9", BUN_INSTALL: place("bun") };
  const nodes = join(home.root, "nodes");
  mkdirSync(nodes);
  for (const program of [NODE, Bun.which("readlink")])
    if (program) symlinkSync(program, join(nodes, basename(program)));
  const onNode = { env: { ...env, PATH: nodes }, cwd: home.project };
  for (const [prefix, install] of [
    [place("bun"), [process.execPath, "add", "-g"]],
    [place("npm"), ["npm", "install", "-g", "--prefix", place("npm")]],
  ] as const) {
    expect((await runCommand([...install, packed.stdout], { env: away })).exitCode).toBe(0);
    const command = join(prefix, "bin", "session-memory");
    const found = await run(command, "search", "any", "--json", "--quiet");
    expect([JSON.parse(found.stdout).results, found.exitCode]).toEqual([[], 0]);
    if (NODE === undefined) continue;
    const health = await runCommand(["/bin/sh", command, "health", "--json"], onNode);
    expect(JSON.parse(health.stdout).runtime).toStartWith("node ");
  }
});
