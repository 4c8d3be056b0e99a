/** Tests start and read nothing of whoever runs them: test/support/isolation.ts takes their programs, variables and places away. */

import { expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { findProgram } from "../lib/base/runtime.ts";
import { resolvePaths } from "../lib/config/config.ts";
import { HOSTS } from "../lib/hosts/hosts.ts";
import { temporaryHome, write } from "./support/home.ts";
import { isolatedEnvironment } from "./support/isolation.ts";
import { BUN_PATH } from "./support/run.ts";

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

test("no program, variable or place of whoever runs the tests is left in their environment", () => {
  using home = temporaryHome();
  const own = join(home.root, "own");
  const programs = [...HOSTS.map((host) => host.program), "less", "vi"];
  for (const program of programs) write(join(own, program), "#!/bin/sh\n");
  for (const program of programs) chmodSync(join(own, program), 0o755);
  const names = HOSTS.flatMap((host) => `${host.home} ${host.skills}`.match(/(?<=\$)\w+/g) ?? []);
  const environment = {
    ...Object.fromEntries(names.map((name) => [name, join(own, name)])),
    ...{ SESSION_MEMORY_HOME: join(own, "state"), OPENAI_API_KEY: own, EDITOR: "vi", PAGER: "less" },
    ...{ PATH: `${own}:${process.env.PATH}`, HOME: own, TERM: "xterm" },
  };
  const isolated = isolatedEnvironment(environment, home.root);
  expect(isolated.TERM).toBe("xterm");
  expect(
    Object.entries(isolated).filter(([, value]) => value?.includes(own) || /^(?:vi|less)$/.test(`${value}`)),
  ).toEqual([]);
  expect(programs.filter((program) => findProgram(program, isolated.PATH ?? ""))).toEqual([]);
  const { expand } = resolvePaths(isolated);
  expect(HOSTS.map(({ home }) => expand(home)).filter((place) => place.startsWith(own))).toEqual([]);
});
