/** Temporary files that killed writers leave behind: `<file>.<process>.<random>.tmp`. */

import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import { remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { metaDirectory } from "../sessions/meta.ts";

const LEFTOVER = /\.(\d+)\.[0-9a-f]{8}\.tmp$/;

/** Removes the temporary files of writers that are no longer running. */
export function removeLeftovers(paths: Paths): void {
  for (const folder of [paths.home, metaDirectory(paths, "pi")]) {
    for (const { parentPath, name } of filesUnder(folder)) {
      const writer = LEFTOVER.exec(name)?.[1];
      if (writer !== undefined && !isRunning(Number(writer))) remove(join(parentPath, name));
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // another user's process could not have written here
  }
}

function filesUnder(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  } catch {
    return []; // there is none yet
  }
}
