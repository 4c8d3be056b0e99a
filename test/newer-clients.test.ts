/** What is said of clients that went on since their tests passed, by what npm answers. */

import { expect, test } from "bun:test";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { CLIENTS } from "./clients/install.ts";
import { temporaryHome, write } from "./support/home.ts";
import { ROOT, runCommand } from "./support/run.ts";

/** Runs it where `npm` does this; returns what it says. */
async function said(npm: string | undefined): Promise<string[]> {
  using home = temporaryHome();
  const bin = join(home.root, "bin");
  mkdirSync(bin);
  if (npm !== undefined) chmodSync(write(join(bin, "npm"), `#!/bin/sh\n${npm}\n`), 0o755);
  const env = { ...home.env, PATH: bin };
  const { stdout, stderr, exitCode } = await runCommand(
    [process.execPath, join(ROOT, "test", "clients", "newer.ts")],
    {
      env,
      cwd: home.project,
    },
  );
  expect([stderr, exitCode]).toEqual(["", 0]);
  return stdout.split("\n").filter((line) => line !== "");
}

const answering = (version: string) => `case "$2" in @qwen-code/*) echo ${version};; *) echo 0.0.1;; esac`;
const { version } = CLIENTS.qwen;

test("clients with a newer version are named with both versions", async () => {
  expect(await said(answering("99.0.0"))).toEqual([
    `newer than what was tested: Qwen Code ${version}: @qwen-code/qwen-code ${version} → 99.0.0`,
  ]);
});

test("a tenth minor version is newer than a ninth", async () => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  expect(await said(answering(`${major}.${minor + 76}.0`))).toHaveLength(1);
  expect(await said(answering(`${major}.${minor - 15}.99`))).toEqual([]);
});

test("nothing is said of the tested version, and where npm cannot say", async () => {
  expect(await said(answering(version))).toEqual([]);
  expect(await said("echo 'npm ERR! network' >&2; exit 1")).toEqual([]);
  expect(await said("echo 1.0.0-beta.1")).toEqual([]);
  expect(await said(undefined)).toEqual([]);
});
