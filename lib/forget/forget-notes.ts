/**
 * Finds the notes about what is forgotten. Other programs write notes under the same header into the same folders, so
 * only those in the state folder, and those that still have the bytes we wrote, are ours to remove.
 */

import { dirname, join, sep } from "node:path";
import { readIfExists } from "../base/files.ts";
import { entriesOf, textOf } from "../base/probe.ts";
import type { Paths } from "../config/config.ts";
import { sessionOfNote } from "../naming/note.ts";
import { writtenFiles } from "../store/written-files.ts";
import type { Forgetting } from "./forget-files.ts";

/** Where save-session puts notes by default. */
const USUAL_FOLDER = "memory";

/** The notes in the state folder, those that were recorded, and others in the same folders or in `memory` of these. */
export function findNotes(
  forgetting: Forgetting,
  { paths, directories }: { paths: Paths; directories: Iterable<string> },
): string[] {
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

/** Whether a file lies in the state folder, where all is ours. */
export function isInState(file: string, { home }: Pick<Paths, "home">): boolean {
  return file.startsWith(`${home}${sep}`);
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
