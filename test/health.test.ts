/** Where pi loads us from; all else that health says: golden/health.txt. */

import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { homePerTest, write } from "./support/home.ts";
import { ROOT } from "./support/run.ts";

const home = homePerTest();

test("names pi's model where pi loads us by a link", async () => {
  symlinkSync(ROOT, join(home.root, "clone"));
  const settings = { packages: [join("..", "..", "..", "clone")] };
  write(join(home.paths.pi, "settings.json"), JSON.stringify(settings));
  const { sends } = JSON.parse((await home.run("health", "--json")).stdout);
  expect(sends).toContain("for observing");
});
