/** No test can see this machine's agents: every home is in a fresh temp folder that goes with the process. */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, statfsSync } from "node:fs";
import os, { tmpdir } from "node:os";
import { join } from "node:path";
import { isolatedEnvironment } from "./support/isolation.ts";

/** In memory where there is enough of it: a new database waits ten times as long for a disk as it works. */
const place = isRoomy("/dev/shm") ? "/dev/shm" : tmpdir();
// Paths are of one length, since what is printed is cut and counted.
const root = mkdtempSync(join(place, "session-memory-test-".slice(place.length - "/tmp".length)));
const env = isolatedEnvironment(process.env, root);
for (const name of Object.keys(process.env)) delete process.env[name];
Object.assign(process.env, env);
// Bun asks the system once, for the home it was started with.
os.homedir = () => process.env.HOME ?? "/";

// Removed by a process that waits for this one to end, however it does (a worker runs many files, and tells of no end), and
// once more for what worked on in the background.
const waits = `while kill -0 ${process.pid} 2>/dev/null; do sleep 1; done; rm -rf '${root}'; sleep 9; rm -rf '${root}'`;
spawn("/bin/sh", ["-c", waits], { detached: true, stdio: "ignore" }).unref();

/** Returns whether a folder is a file system in memory with 4 GiB to spare, on which programs run. */
function isRoomy(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    const [mount] = readFileSync("/proc/mounts", "utf8").match(new RegExp(`^tmpfs ${folder} .*`, "m")) ?? [];
    return bavail * bsize > 4 * 1024 ** 3 && mount !== undefined && !mount.includes("noexec");
  } catch {
    return false; // not Linux
  }
}
