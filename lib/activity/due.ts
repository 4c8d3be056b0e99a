/**
 * Notes for a session's next prompt, or for the next session that starts in a folder: in a file beside the marks of a viewer
 * of that id or path, so that a prompt looks at one name where nothing is due.
 */

import { remove, replaceFile } from "../base/files.ts";
import { stringsOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { dueFile, readMarksFile } from "./look.ts";

/** Due where a folder only claims its project: the words otherwise said when a session starts. All other notes are ids of rules. */
export const START = "start";

type Places = Pick<Paths, "cursors">;

/** Reads what is due to a session or a folder. */
export function readDue(paths: Places, key: string): string[] {
  return stringsOf(readMarksFile(dueFile(paths, key))[key]);
}

/** Adds notes to the due ones. */
export function leaveDue(paths: Places, key: string, notes: readonly string[]): void {
  const due = [...new Set([...readDue(paths, key), ...notes])];
  replaceFile(dueFile(paths, key), JSON.stringify({ [key]: due }), { durable: false });
}

/** Removes what was said. */
export function clearDue(paths: Places, key: string): void {
  remove(dueFile(paths, key));
}
