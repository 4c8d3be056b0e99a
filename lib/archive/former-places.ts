/** Says where an earlier version had copies: every command looks whether any are left there. */

import { join } from "node:path";
import { isDirectory, namesIn } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { copiesFolder, TABLE } from "../hosts/table.ts";

/** Returns the folders in which an earlier version left copies, with the host of each. */
export function formerFolders(paths: Paths): { folder: string; agent: string }[] {
  const packed = namesIn(paths.archive).map((agent) => ({ folder: join(paths.archive, agent), agent }));
  const unpacked = TABLE.map(({ agent }) => ({ folder: copiesFolder(paths, agent), agent }));
  return [...unpacked, ...packed].filter(({ folder }) => isDirectory(folder));
}

/** Returns the file that says under which rules these copies were taken over. */
export function takenOver({ home }: Paths): string {
  return join(home, "taken-over");
}
