/** Checks by a listing and one statement whether the index has every transcript as it is now: mostly nothing is new. */

import { statSync } from "node:fs";
import { changedAt } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { findTranscripts } from "../sessions/find.ts";
import { isCarriedOver, readFact, type Store, writeFact } from "../store/store.ts";

/** Returns whether each transcript found was read to its end; false also where only a closer look can show it. */
export function isAllIndexed(store: Store, paths: Paths, recipe: string): boolean {
  if (isCarriedOver(store)) return false;
  const known = readFiles(store, recipe);
  for (const { file, ephemeral } of findTranscripts(paths, { subagents: true })) {
    if (ephemeral) continue;
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat && !known.has(`${stat.size} ${changedAt(stat)} ${file}`)) return false;
  }
  return true;
}

/** Reads size, time and path of each file as it was read, in one value: thousands of rows cost more than their text. */
function readFiles(store: Store, recipe: string): Set<string> {
  const row = store.db
    .prepare(
      `SELECT group_concat(size || ' ' || modified || ' ' || file_path, char(10)) AS files
       FROM index_state WHERE recipe = $recipe`,
    )
    .get({ recipe });
  return new Set(String(row?.files ?? "").split("\n"));
}

const LEFT_OUT = "left_out";
/** Raised with every change of what is left out of the index. */
const LEFT_OUT_VERSION = "1";

/** Returns whether the main index may hold what is left out by now (left-out.ts). */
export function hasLeftOut(store: Store, { transcripts }: Pick<Paths, "transcripts">): boolean {
  return transcripts.length === 0 && readFact(store, LEFT_OUT) !== LEFT_OUT_VERSION;
}

/** Notes that it holds none. */
export function noteLeftOut(store: Store): void {
  writeFact(store, LEFT_OUT, LEFT_OUT_VERSION);
}
