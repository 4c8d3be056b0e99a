/** bin/install.js: the link that it makes beside the user's other programs, and what it leaves without a network. */

import { beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { homePerTest, write } from "./support/home.ts";
import { ROOT, runCommand } from "./support/run.ts";

const home = homePerTest();
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
