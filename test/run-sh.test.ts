/** hooks/claude/run.sh: which runtime it starts a hook on, and what it says without one. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TemporaryHome, temporaryHome, write } from "./support/home.ts";
import { ROOT, runCommand } from "./support/run.ts";

const LAUNCHER = join(ROOT, "hooks", "claude", "run.sh");
const FLAGS = `--no-env-file --no-install --config=${ROOT}/bunfig.toml`;

let home: TemporaryHome;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => {
  home[Symbol.dispose]();
});

/** A program that prints its own name and arguments. */
function program(path: string, version = ""): string {
  write(path, `#!/bin/sh\n[ "$1" = --version ] && echo ${version} && exit\necho "$0" "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

function launch(hook: string, folders: string[], env: Record<string, string> = {}, launcher = LAUNCHER) {
  const path = [...folders, join(home.root, "system")].join(":");
  // sh and mkdir alone: whatever bun or node this machine has must not be found
  for (const tool of ["sh", "mkdir"])
    if (!existsSync(join(home.root, "system", tool)))
      write(join(home.root, "system", tool), `#!/bin/sh\nexec /bin/${tool} "$@"\n`);
  for (const tool of ["sh", "mkdir"]) chmodSync(join(home.root, "system", tool), 0o755);
  return runCommand(["/bin/sh", launcher, hook], {
    cwd: home.project,
    env: { HOME: join(home.root, "user"), PATH: path, CLAUDE_PROJECT_DIR: home.project, ...env },
  });
}

test("run.sh starts the hook on the bun of PATH, with nothing of the project folder", async () => {
  const bun = program(join(home.root, "bin", "bun"));
  const { stdout, exitCode } = await launch("stop", [join(home.root, "bin")]);
  expect([stdout, exitCode]).toEqual([`${bun} ${FLAGS} ${ROOT}/hooks/claude/stop.ts\n`, 0]);
});

test("run.sh passes over a bun of the project and relative folders of PATH, and takes the one in ~/.bun", async () => {
  program(join(home.project, "node_modules", ".bin", "bun"));
  const own = program(join(home.root, "user", ".bun", "bin", "bun"));
  const { stdout } = await launch("stop", [
    join(home.project, "node_modules", ".bin"),
    "node_modules/.bin",
    ".",
  ]);
  expect(stdout).toStartWith(`${own} --no-env-file`);
});

test("run.sh passes over a bun of the repository around the project, and of a node_modules of a folder above", async () => {
  const top = join(home.root, "monorepo");
  const cwd = join(top, "packages", "app");
  write(join(top, ".git", "HEAD"), "ref: refs/heads/main\n");
  write(join(cwd, "package.json"), "{}");
  const folders = [
    join(top, "bin"),
    join(top, "node_modules", ".bin"),
    join(home.root, "node_modules", ".bin"),
  ];
  for (const folder of folders) program(join(folder, "bun"));
  const own = program(join(home.root, "outside", "bun"));
  const { stdout } = await launch("stop", [...folders, join(home.root, "outside")], {
    CLAUDE_PROJECT_DIR: cwd,
  });
  expect(stdout).toStartWith(`${own} --no-env-file`);
});

test("run.sh without bun takes a node that strips types, on the build where there is one", async () => {
  const node = program(join(home.root, "bin", "node"), "v22.18.0");
  const sources = await launch("stop", [join(home.root, "bin")]);
  const root = join(home.root, "node_modules", "session-memory");
  const launcher = join(root, "hooks", "claude", "run.sh");
  write(launcher, readFileSync(LAUNCHER, "utf8"));
  write(join(root, "dist", "hooks", "claude", "stop.js"), "");
  const built = await launch("stop", [join(home.root, "bin")], {}, launcher);
  expect([sources.stdout, built.stdout]).toEqual([
    `${node} ${existsSync(join(ROOT, "dist")) ? `${ROOT}/dist/hooks/claude/stop.js` : `${ROOT}/hooks/claude/stop.ts`}\n`,
    `${node} ${root}/dist/hooks/claude/stop.js\n`,
  ]);
});

test("run.sh without a runtime says so at the first session start only, and every hook ends well", async () => {
  program(join(home.root, "bin", "node"), "v20.20.2");
  const at = async (hook: string) => await launch(hook, [join(home.root, "bin")]);
  const silent = { stdout: "", stderr: "", exitCode: 0 };
  expect(await at("user-prompt-submit")).toEqual(silent);
  const { stdout, ...rest } = await at("session-start");
  expect([JSON.parse(stdout), rest]).toEqual([
    {
      systemMessage:
        "session-memory does nothing yet: it needs Bun, or Node 22.18 or later (npm install -g bun)",
    },
    { stderr: "", exitCode: 0 },
  ]);
  expect(await at("session-start")).toEqual(silent);
});
