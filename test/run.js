/**
 * `npm test`: lints, types and runs every test, on a Bun of its own where PATH has none of our version. Says what it runs
 * without: other runtimes and a PostgreSQL server are used where they are. With a name it runs that script of package.json.
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { INSTALLED, installBun, isBun, ROOT, refuseWindows } from "../bin/install.js";

refuseWindows();
const runtime = existsSync(join(INSTALLED, "runtime", "bun")) ? INSTALLED : join(ROOT, "test");
const folder = isBun("bun") ? undefined : dirname(installBun(join(runtime, "runtime")));
const PATH = [folder, process.env.PATH].filter(Boolean).join(delimiter);
const env = { ...process.env, PATH };
const { status } = spawnSync("bun", ["run", process.argv[2] ?? "check"], {
  cwd: ROOT,
  env,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
