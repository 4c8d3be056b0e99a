/** The world that tests see: a few programs of the system, and nothing of whoever runs them. */

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../lib/config/config.ts";

/** The programs of this machine that tests may use: no other one is on PATH, be it an agent, a browser or an editor. */
const PROGRAMS =
  "awk bash basename cat chmod chown cp cut date deno diff dirname echo env expr false find git grep gzip head id kill ln ls mkdir mkfifo mktemp mount mv node nohup npm npx od openssl printf ps pwd readlink realpath rm rmdir script sed seq setpriv setsid sh sleep sort stat stty tail tar tee test timeout touch tr true uname uniq unshare wc which xargs";
/** The variables that tests keep; others may name places, programs or keys of the user's. */
const VARIABLES =
  /^(?:SESSION_MEMORY_TEST_\w+|BUN_\w+|JEST_WORKER_ID|NODE_ENV|CI|TERM|USER|npm_config_registry|(?:https?|no)_proxy)$/i;

/** Returns the environment of tests in place of this one; every place that it names is in a folder, which gets its programs. */
export function isolatedEnvironment(environment: Environment, root: string): Environment {
  const bin = join(root, "bin");
  mkdirSync(bin);
  for (const name of PROGRAMS.split(" ")) {
    const program = Bun.which(name, { PATH: environment.PATH ?? "" });
    if (program) symlinkSync(program, join(bin, name));
  }
  // What starts a process of ours needs a `bun` on PATH, which is not how every machine starts the tests.
  symlinkSync(process.execPath, join(bin, "bun"));
  // No test opens a browser: this machine may have none, or a person before it.
  for (const opener of ["xdg-open", "open"]) writeFileSync(join(bin, opener), "#!/bin/sh\n", { mode: 0o755 });
  return {
    ...Object.fromEntries(Object.entries(environment).filter(([name]) => VARIABLES.test(name))),
    PATH: bin,
    HOME: join(root, "home"),
    CLAUDE_CONFIG_DIR: join(root, "claude"),
    PI_CODING_AGENT_DIR: join(root, "pi"),
    CODEX_HOME: join(root, "codex"),
    SESSION_MEMORY_HOME: join(root, "state"),
    // Whatever a test leaves in the temp folder goes with it.
    TMPDIR: root,
    TZ: "UTC",
  };
}
