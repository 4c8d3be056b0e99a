/** No test can see this machine's agents: every home is a fresh temp folder that is removed at the end. */

import { afterAll } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os, { tmpdir } from "node:os";
import { join } from "node:path";

const root = mkdtempSync(join(tmpdir(), "session-memory-test-"));
for (const name of Object.keys(process.env)) {
  if (/^(SESSION_MEMORY_(?!TEST_)|OPENAI_|ANTHROPIC_|CLAUDE|PI_|CODEX_)/.test(name)) delete process.env[name];
}
process.env.HOME = join(root, "home");
// Bun asks the system once, for the home it was started with.
os.homedir = () => process.env.HOME ?? "/";
process.env.CLAUDE_CONFIG_DIR = join(root, "claude");
process.env.PI_CODING_AGENT_DIR = join(root, "pi");
process.env.CODEX_HOME = join(root, "codex");
process.env.SESSION_MEMORY_HOME = join(root, "state");
// Whatever a test leaves in the temp folder goes with it.
process.env.TMPDIR = root;
process.env.TZ = "UTC";
// What starts a process of ours needs a `bun` on PATH, which is not how every machine starts the tests.
mkdirSync(join(root, "bin"));
symlinkSync(process.execPath, join(root, "bin", "bun"));
// No test opens a browser: this machine may have none, or a person before it.
for (const opener of ["xdg-open", "open"])
  writeFileSync(join(root, "bin", opener), "#!/bin/sh\n", { mode: 0o755 });
process.env.PATH = `${join(root, "bin")}:${process.env.PATH}`;

afterAll(() => rmSync(root, { recursive: true, force: true }), 60_000);
