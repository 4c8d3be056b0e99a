/** Tests start and read nothing of whoever runs them: test/preload.ts takes their programs, variables and places away. */

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { findProgram } from "../lib/base/runtime.ts";
import { resolvePaths } from "../lib/config/config.ts";
import { HOSTS } from "../lib/transcripts/hosts.ts";
import { temporaryHome, write } from "./support/home.ts";
import { BUN_PATH, ROOT, runCommand } from "./support/run.ts";

const OUTSIDE = "SESSION_MEMORY_TEST_OUTSIDE";

test("no test finds an agent of this machine on PATH, or the place of one", () => {
  using home = temporaryHome();
  const places = ({ home, skills }: (typeof HOSTS)[number]) => [
    home,
    ...(skills === undefined ? [] : [skills]),
  ];
  for (const [env, root] of [
    [process.env, tmpdir()],
    [home.env, home.root],
  ] as const) {
    const { expand } = resolvePaths(env);
    const outside = HOSTS.flatMap(places)
      .map(expand)
      .filter((place) => !place.startsWith(root + sep));
    expect(outside).toEqual([]);
  }
  const paths = [process.env.PATH, home.env.PATH, BUN_PATH];
  const programs = HOSTS.flatMap(({ program }) =>
    paths.flatMap((path = "") => findProgram(program, path) ?? []),
  );
  expect(programs).toEqual([]);
});

test.skipIf(process.env[OUTSIDE] !== undefined)(
  "no agent is started or read, wherever the user has them on PATH and whatever variables name",
  async () => {
    using home = temporaryHome();
    const bin = join(home.root, "own");
    const called = join(home.root, "called");
    for (const program of [...HOSTS.map((host) => host.program), "less", "vi", "xdg-open"])
      write(join(bin, program), `#!/bin/sh\necho "$0 $*" >>"${called}"\n`);
    await runCommand(["chmod", "-R", "755", bin]);
    const names = HOSTS.flatMap((host) => `${host.home} ${host.skills}`.match(/(?<=\$)\w+/g) ?? []);
    const own = Object.fromEntries(names.map((name) => [name, join(home.root, "own", name)]));
    const variables = {
      ...own,
      SESSION_MEMORY_HOME: join(bin, "state"),
      EDITOR: "vi",
      PAGER: "less",
      [OUTSIDE]: "1",
    };
    const tests = ["own-programs", "hosts", "setup"].map((name) => `./test/${name}.test.ts`);
    const { stderr, exitCode } = await runCommand(
      [
        process.execPath,
        "test",
        "--timeout",
        "60000",
        "-t",
        "no test finds|a fifth host|setup --yes|setup --json",
        ...tests,
      ],
      { cwd: ROOT, env: { ...home.env, ...variables, PATH: `${bin}:${process.env.PATH}` } },
    );
    expect([exitCode, /\d+ pass/.exec(stderr)?.[0], /\d+ fail/.exec(stderr)?.[0]]).toEqual([
      0,
      "4 pass",
      "0 fail",
    ]);
    expect(existsSync(called)).toBe(false);
    expect(existsSync(join(bin, "state"))).toBe(false);
  },
  60_000,
);
