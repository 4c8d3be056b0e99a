/** Finds the notes that save-session wrote, where it is known to have written any. */

import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRecord, stringOf } from "../base/json.ts";
import { readIfExists } from "../base/read.ts";
import { sessionOfNote } from "../naming/note.ts";

export interface SavedNote {
  file: string;
  sessionId: string;
  text: string;
}

/** Where notes go unless told otherwise. */
const USUAL_FOLDER = "memory";

/** The notes in the folders that the log knows, in the usual folder of some directories, and in folders given. */
export function savedNotes(
  log: string,
  { directories, folders }: { directories: Iterable<string>; folders: readonly string[] },
): SavedNote[] {
  const usual = Array.from(directories, (directory) => join(directory, USUAL_FOLDER));
  const places = new Set([...folders, ...usual, ...loggedFolders(log)]);
  return [...places].flatMap((folder) =>
    namesIn(folder).flatMap((name) => {
      const file = join(folder, name);
      const text = readIfExists(file) ?? "";
      const sessionId = sessionOfNote(text);
      return sessionId === undefined ? [] : [{ file, sessionId, text }];
    }),
  );
}

function loggedFolders(log: string): string[] {
  const lines = [`${log}.1`, log].flatMap((file) => (readIfExists(file) ?? "").split("\n"));
  return lines.flatMap((line) => {
    if (!line.includes('"save-session"')) return [];
    const path = pathIn(line);
    return path === undefined ? [] : [dirname(path)];
  });
}

function pathIn(line: string): string | undefined {
  try {
    const event: unknown = JSON.parse(line);
    return isRecord(event) && event.event === "save-session" ? stringOf(event.path) : undefined;
  } catch {
    return undefined; // torn
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
      .map(({ name }) => name)
      .sort();
  } catch {
    return []; // no note was ever saved there
  }
}
