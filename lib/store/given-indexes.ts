/** Indexes of transcripts given by path: one per list of paths, removed after 30 days without use. */

import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { namesIn, remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";

const UNUSED_MS = 30 * 24 * 3_600_000;
const PARTS = ["", "-wal", "-shm"] as const;

/** Returns the path of every index that may exist, the main one first. */
export function allIndexes({ home, indexes }: Pick<Paths, "home" | "indexes">): string[] {
  return [join(home, "memory.db"), ...givenIndexes({ indexes })];
}

/** Returns the indexes of given transcripts. */
export function givenIndexes({ indexes }: Pick<Paths, "indexes">): string[] {
  return namesIn(indexes)
    .filter((name) => name.endsWith(".db"))
    .map((name) => join(indexes, name));
}

/** Records the use of the current index and removes indexes of given transcripts that are no longer used. */
export function tendIndexes({ database, indexes }: Pick<Paths, "database" | "indexes">, now: Date): void {
  for (const index of givenIndexes({ indexes })) {
    if (index === database) utimesSync(index, now, now);
    else if (now.getTime() - lastUse(index) > UNUSED_MS) for (const part of PARTS) remove(index + part);
  }
}

/** Returns the size of an index in bytes, including its WAL files. */
export function indexBytes(index: string): number {
  const sizes = PARTS.map((part) => statSync(index + part, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

function lastUse(index: string): number {
  const times = PARTS.map((part) => statSync(index + part, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}
