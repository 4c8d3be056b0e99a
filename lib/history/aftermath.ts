/**
 * Says what came after a printed row: that its file no longer holds what was added, or that the user said no. Only what the
 * index or the file itself proves, never a guess by time alone.
 */

import { isAbsolute, join, relative } from "node:path";
import { readText, statPath } from "../base/files.ts";
import { baseName, oneLine } from "../base/text.ts";
import type { Done } from "../hosts/session.ts";
import type { IndexedSession } from "../index/index-state.ts";
import { readDone, type Stored } from "../index/stored-rows.ts";
import { takesBack } from "../language/speech.ts";
import type { ShownRow } from "../search/rows.ts";
import { projectDirectories, projectKey } from "../sessions/project.ts";
import type { Store } from "../store/store.ts";
import { isChange, onlyChanges } from "../transcripts/rows.ts";

/** The source of rows, and the asking session. */
interface AftermathOptions {
  store: Store;
  session: Pick<IndexedSession, "number" | "cwd" | "project">;
  /** The directory of who asks: only files of its project are looked at. Without it nothing is said. */
  cwd?: string | undefined;
}

/** A shorter line says nothing: `}`, `end`. */
const TELLING_MIN = 4;
const SHOWN_CHARS = 240;
/** The largest file that counts as source code. */
const FILE_MAX = 2 * 1024 * 1024;

/** Marks rows whose file changed since, and words that the user took back, these followed by the user's answer. */
export function withAftermath(rows: readonly ShownRow[], options: AftermathOptions): ShownRow[] {
  const { cwd } = options;
  if (cwd === undefined) return [...rows];
  const isChanged = changedTest({ ...options, cwd });
  return rows.flatMap((row) => {
    if (row.rewound) return [row];
    const refusal = findRefusal(row, options);
    const marked: ShownRow = {
      ...row,
      ...(findEdits(row, options).some(isChanged) && { changed: true as const }),
      ...(refusal && { takenBack: `L${refusal.line}` }),
    };
    const isNew = refusal && !rows.some(({ line, who }) => line === refusal.line && who === refusal.who);
    return isNew ? [marked, refusal] : [marked];
  });
}

/** Returns the edit that a row shows; of words that name files, the edits of these in their exchange. */
function findEdits(
  { line, who, deed, text }: ShownRow,
  { store, session }: AftermathOptions,
): Stored<Done>[] {
  const isEdit = (one: Stored<Done>) => isMade(one) && isChange(one);
  if (who === "tool") return deed && isEdit(deed) ? [deed] : [];
  return readDone(store, session.number, exchangeAt(store, session.number, line)).filter(
    (one) => isEdit(one) && one.paths.some((path) => text.includes(baseName(path))),
  );
}

function isMade({ outcome }: Done): boolean {
  return outcome === "done" || outcome === "unknown";
}

function exchangeAt(store: Store, session: number, line: number): { after: number; to: number } {
  const edge = (sql: string) => store.get(`SELECT ${sql}`, session, line)?.line;
  const from = edge("max(line) AS line FROM exchanges WHERE session = ? AND line <= ?");
  const next = edge("min(line) AS line FROM exchanges WHERE session = ? AND line > ?");
  return { after: Number(from ?? line) - 1, to: Number(next ?? Number.MAX_SAFE_INTEGER) - 1 };
}

/** Returns the telling lines that an edit added and did not only move; what the index cut is left out. */
function readAdded({ kind, input }: Done): string[] {
  const lines = (kind === "write" ? input.replace(/^/gm, "+") : onlyChanges(input)).split("\n");
  if (input.endsWith("…")) lines.pop();
  const signed = (sign: string) =>
    lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(1).trim());
  const removed = signed("-");
  const isTelling = (line: string) => line.length >= TELLING_MIN && /[\p{L}\p{N}]/u.test(line);
  return signed("+").filter((line) => isTelling(line) && !removed.includes(line));
}

/** Makes a test for edits of files of the asker's project that are newer and no longer hold what was added. */
function changedTest({ session, cwd }: AftermathOptions & { cwd: string }): (edit: Stored<Done>) => boolean {
  const files = new Map<string, { modified: string; lines: Set<string> } | undefined>();
  const fileAt = (path: string) => {
    if (!files.has(path)) files.set(path, readLines(path));
    return files.get(path);
  };
  let tops: string[] | undefined;
  return (edit) => {
    const added = readAdded(edit);
    if (added.length === 0) return false;
    tops ??= projectDirectories(cwd);
    return pathsHere(edit, session, tops).some((path) => {
      const file = fileAt(path);
      return file !== undefined && file.modified > edit.at && added.some((line) => !file.lines.has(line));
    });
  };
}

function readLines(path: string): { modified: string; lines: Set<string> } | undefined {
  const stat = statPath(path);
  if (!stat?.isFile() || stat.size > FILE_MAX) return undefined;
  const lines = readText(path, FILE_MAX).split("\n");
  return { modified: stat.mtime.toISOString(), lines: new Set(lines.map((line) => line.trim())) };
}

/** Returns where the files of an edit are in the asker's project, whichever worktree it was made in. */
function pathsHere(
  edit: Done,
  { cwd = "", project }: AftermathOptions["session"],
  tops: readonly string[],
): string[] {
  const [top] = tops;
  if (top === undefined) return [];
  const isOfProject = project === projectKey(top);
  return edit.paths.flatMap((named) => {
    const path = isAbsolute(named) ? named : join(cwd, named);
    const from = [...tops, ...(isOfProject ? [cwd] : [])].find((folder) => isInside(path, folder));
    if (from === undefined) return [];
    return [statPath(path) ? path : join(top, relative(from, path))];
  });
}

function isInside(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return inside !== "" && !inside.startsWith("..") && !isAbsolute(inside);
}

/** Returns the user's answer to an assistant's words, where it takes them back. */
function findRefusal(
  { line, who, text }: ShownRow,
  { store, session }: AftermathOptions,
): ShownRow | undefined {
  if (who !== "assistant") return undefined;
  const [next] = store.all(
    "SELECT line, who, text, tool FROM rows WHERE session = ? AND line > ? AND who <> 'tool' ORDER BY line, nth LIMIT 1",
    session.number,
    line,
  );
  if (next?.who !== "user" || next.tool !== null || !takesBack(String(next.text), text)) return undefined;
  return { line: Number(next.line), who: "user", text: oneLine(String(next.text), SHOWN_CHARS) };
}
