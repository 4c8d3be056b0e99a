/** No test can see this machine's agents: every home is a fresh temp folder that is removed at the end. */

import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import os, { tmpdir } from "node:os";
import { join } from "node:path";
import { isolatedEnvironment } from "./support/isolation.ts";

const root = mkdtempSync(join(tmpdir(), "session-memory-test-"));
const env = isolatedEnvironment(process.env, root);
for (const name of Object.keys(process.env)) delete process.env[name];
Object.assign(process.env, env);
// Bun asks the system once, for the home it was started with.
os.homedir = () => process.env.HOME ?? "/";

afterAll(() => rmSync(root, { recursive: true, force: true }), 60_000);
