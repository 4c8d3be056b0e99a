/**
 * Finds the notes about what is forgotten. Other programs write notes under the same header into the same folders, so
 * only those in the state folder, and those that still have the bytes we wrote, are ours to remove.
 */

import { dirname, join } from "node:path";
import { entriesOf, readIfExists, remove, textOf } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { type ForgetIn, type Forgetting, isForgotten, isInState } from "../store/forgetting.ts";
import { isAsWritten, removeWritten, writtenFiles } from "../store/written-files.ts";
import { forgetMetaStates } from "./meta-state.ts";
import { sessionOfNote } from "./note.ts";

/** Where save-session puts notes by default. */
const USUAL_FOLDER = "memory";

/**
 * Removes the notes that are ours, and returns them and the others that are about the same: those in the state folder,
 * those recorded, and those beside them or in `memory` of these directories.
 */
export function forgetNotes(
  forgetting: Forgetting,
  { paths, dryRun, directories }: ForgetIn & { directories: Iterable<string> },
): { ours: string[]; others: string[] } {
  const files = findNotes(forgetting, paths, directories);
  const isOurs = (file: string) => isInState(file, paths) || isAsWritten(paths, file);
  const found = { ours: files.filter(isOurs), others: files.filter((file) => !isOurs(file)) };
  if (dryRun) return found;
  for (const file of found.ours) if (isInState(file, paths)) remove(file);
  removeWritten(paths, found.ours);
  forgetMetaStates(paths, ({ sessionId, texts }) => isForgotten(forgetting, sessionId, texts));
  return found;
}

function findNotes(forgetting: Forgetting, paths: Paths, directories: Iterable<string>): string[] {
  const written = writtenFiles(paths).filter(({ path }) => path.endsWith(".md"));
  const own = entriesOf(paths.notes).filter((entry) => entry.isDirectory());
  const folders = [
    ...own.map(({ name }) => join(paths.notes, name)),
    ...written.map(({ path }) => dirname(path)),
    ...Array.from(directories, (directory) => join(directory, USUAL_FOLDER)),
  ];
  const found = [...new Set(folders)].flatMap(notesIn).filter((file) => isMeant(file, forgetting));
  const recorded = written.filter(({ path, sessionId }) =>
    "ids" in forgetting ? forgetting.ids.has(sessionId) && readIfExists(path) !== undefined : false,
  );
  return [...new Set([...found, ...recorded.map(({ path }) => path)])];
}

function isMeant(file: string, forgetting: Forgetting): boolean {
  const text = textOf(file);
  const id = sessionOfNote(text);
  if (id === undefined) return false;
  return "ids" in forgetting ? forgetting.ids.has(id) : forgetting.hasText(text);
}

function notesIn(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map(({ name }) => join(folder, name))
    .sort();
}
