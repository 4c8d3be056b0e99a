/**
 * `bun run archive`: writes the package as one file, `session-memory-<version>.tgz`, which npm and Bun install on Linux and
 * macOS without a network.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { buildPackage, ROOT } from "./install.js";

/** Packs a built package; the libraries that are native go beside the build, where npm asks for nothing that they may need. */
export function pack(stage, folder) {
  renameSync(join(stage, "node_modules"), join(stage, "dist", "node_modules"));
  const file = join(stage, "package.json");
  const { dependencies, scripts, ...rest } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, `${JSON.stringify(rest, null, 2)}\n`);
  const archive = join(folder, `session-memory-${rest.version}.tgz`);
  const words = ["czf", archive, "-C", dirname(stage), basename(stage)];
  const { status } = spawnSync("tar", words, { stdio: "inherit" });
  if (status !== 0) throw new Error(`Cannot write ${archive}`);
  return archive;
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), "session-memory-"));
  const stage = join(folder, "package");
  buildPackage(process.execPath, stage, "--os=*", "--cpu=*");
  rmSync(join(stage, "node_modules", "sqlite-vec-windows-x64"), { recursive: true, force: true });
  console.log(pack(stage, ROOT));
  rmSync(folder, { recursive: true });
}
