/** Tests start and read nothing of whoever runs them: test/support/isolation.ts takes their programs, variables and places away. */

import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { sep } from "node:path";
import { findProgram } from "../lib/base/runtime.ts";
import { resolvePaths } from "../lib/config/config.ts";
import { HOSTS } from "../lib/hosts/hosts.ts";
import { temporaryHome } from "./support/home.ts";
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
