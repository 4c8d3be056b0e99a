/** The instruction files that agents read by themselves. */

import { dirname, join } from "node:path";
import { readText } from "../base/files.ts";

const FILES = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md"];
/** The longest one: a longer file is not a page of instructions, and a session waits for it. */
const MAX_BYTES = 256 * 1024;

/** Returns the instructions that lie in a directory and in a number of folders above it. */
export function readInstructions(directory: string, above: number): string {
  const folders = [directory];
  for (let left = above; left > 0; left--) folders.push(dirname(folders.at(-1) ?? directory));
  return folders.flatMap((folder) => FILES.map((name) => readText(join(folder, name), MAX_BYTES))).join("\n");
}
