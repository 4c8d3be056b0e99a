/** Names of the files that sessions are in: packed, copied by us, or left by a sync tool. On the prompt hook's silent path. */

import type { Stats } from "node:fs";
import { remove, statPath, unsortedNamesIn } from "../base/files.ts";
import { UUID } from "../base/text.ts";

/** The end of a compressed file's name. */
export const PACKED = ".zst";
/** The end of the name of a file that we wrote in compressed blocks (blocks.ts). */
export const BLOCKED = ".gz";

/** Returns the path under which a file is known that is packed where this one leads. */
export function unpackedName(place: string): string {
  const end = [PACKED, BLOCKED].find((packing) => place.endsWith(packing)) ?? "";
  return place.slice(0, place.length - end.length);
}

/** Returns the stat of a file as it lies there: at its own path, or in blocks of ours. */
export function statStored(file: string): Stats | undefined {
  return statPath(file) ?? statPath(file + BLOCKED);
}

/** Returns the names of the files in a folder that are in blocks of ours, as the system gives them. */
export function storedNames(folder: string): string[] {
  const packed = unsortedNamesIn(folder).filter((name) => name.endsWith(BLOCKED));
  return packed.map((name) => name.slice(0, -BLOCKED.length));
}

/** Removes a file, in blocks of ours or not. */
export function removeStored(file: string): void {
  remove(file);
  remove(file + BLOCKED);
}

/**
 * The name of a copy that a sync tool left where two machines changed one file, or of an old version that it keeps: behind an
 * id, which ends an own name, a mark, a number or a machine's name; or a tool's own mark.
 */
const CONFLICT_COPY = new RegExp(
  [
    `${UUID}[ ._(~-].*\\.jsonl$`,
    "\\.sync-conflict-\\d{8}-|~\\d{8}-\\d{6}\\.jsonl$|^~|^\\.syncthing\\.", // Syncthing
    "\\([^()]*(?:conflicted copy|SFConflict)[^()]*\\)", // Dropbox, Nextcloud, Seafile
    "_conflict-\\d{8}-\\d{6}|\\d_Conflict\\.jsonl$", // ownCloud, Synology
    "\\.conflict\\d*\\.jsonl$| \\(\\d+\\)\\.jsonl$", // Resilio, rclone, Google Drive
  ].join("|"),
  "i",
);

/**
 * Returns the name under which a file of lines is known; undefined for any other file, and for a sync tool's copy of one.
 * `mayBePacked` says whether its host packs a file of that name.
 */
export function linesName(name: string, mayBePacked = (_: string) => false): string | undefined {
  const isPacked = name.endsWith(PACKED);
  const known = isPacked ? name.slice(0, -PACKED.length) : name;
  const isOfLines = isPacked ? mayBePacked(known) : name.endsWith(".jsonl");
  return isOfLines && !CONFLICT_COPY.test(known) ? known : undefined;
}
