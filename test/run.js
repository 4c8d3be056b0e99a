/**
 * `npm test`: lints, types and runs every test, with a Bun of its own where PATH has none of the right version. Says what
 * it runs without: other runtimes and a PostgreSQL server are used where they are.
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { INSTALLED, installBun, ROOT, refuseWindows } from "../bin/install.js";

refuseWindows();
const runtime = existsSync(join(INSTALLED, "runtime", "bun")) ? INSTALLED : join(ROOT, "test");
const bun = installBun(join(runtime, "runtime"));
const env = { ...process.env, PATH: `${dirname(bun)}${delimiter}${process.env.PATH}` };
const { status } = spawnSync(bun, ["run", "check"], { cwd: ROOT, env, stdio: "inherit" });
process.exitCode = status ?? 1;
