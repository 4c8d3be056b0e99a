/**
 * Says what came after a row that is printed: that its file has changed since, and what took it back. Only what is proven by
 * the index or by the file itself, never a guess by time alone.
 */

import { isAbsolute, join, relative } from "node:path";
import { readText, statPath } from "../base/files.ts";
import { baseName } from "../base/text.ts";
import { type IndexedSession, SESSION_COLUMNS, toIndexedSession } from "../index/index-state.ts";
import { ROW_COLUMNS, readDone, type Stored, toDone } from "../index/stored-rows.ts";
import { takesBack } from "../language/speech.ts";
import { oneLine } from "../redact/redact.ts";
import { projectDirectories, projectKey } from "../sessions/project.ts";
import type { Store } from "../store/store.ts";
import { commitLines } from "../transcripts/outcome.ts";
import type { Done } from "../transcripts/session.ts";
import { isChange, namesCommit, onlyChanges } from "../transcripts/tool-call.ts";
import { commandsIn } from "./commands.ts";
import { uniquePrefix } from "./corpus.ts";
import { deedRow, type FindScope, toPhrase } from "./finds.ts";
import type { ShownRow } from "./rows.ts";

/** Where rows are from, and who asks. */
interface AftermathOptions extends Pick<FindScope, "clean"> {
  store: Store;
  session: Pick<IndexedSession, "number" | "cwd" | "project">;
  /** The directory of who asks: only files of its project are looked at. Without it nothing is said. */
  cwd?: string | undefined;
  /** Returns whether a session may not be named. */
  isHidden?: ((session: IndexedSession) => boolean) | undefined;
}

/** A shorter line says nothing: `}`, `end`. */
const TELLING_MIN = 4;
/** One line at least must be as long, or the same may stand anywhere. */
const TELLING_LONG = 12;
/** Later edits of files of one name that are looked at. */
const LATER_MAX = 200;
const SHOWN_CHARS = 240;
/** A larger file is no source. */
const FILE_MAX = 2 * 1024 * 1024;

/** Marks rows whose file changed since and rows that were taken back, these followed by the row that did it. */
export function withAftermath(rows: readonly ShownRow[], options: AftermathOptions): ShownRow[] {
  const { cwd } = options;
  if (cwd === undefined) return [...rows];
  const isChanged = changedTest({ ...options, cwd });
  return rows.flatMap((row) => {
    if (row.rewound) return [row];
    const edits = findEdits(row, options);
    const back = row.who === "tool" ? editTakenBack(edits, options) : findRefusal(row, options);
    const marked: ShownRow = {
      ...row,
      ...(edits.some(isChanged) && { changed: true as const }),
      ...(back && { [back.how]: back.place }),
    };
    const isNew = back?.row && !rows.some(({ line, who }) => line === back.row?.line && who === back.row.who);
    return isNew && back.row ? [marked, back.row] : [marked];
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
  const edge = (sql: string) => store.db.prepare(`SELECT ${sql}`).get(session, line)?.line;
  const from = edge("max(line) AS line FROM exchanges WHERE session = ? AND line <= ?");
  const next = edge("min(line) AS line FROM exchanges WHERE session = ? AND line > ?");
  return { after: Number(from ?? line) - 1, to: Number(next ?? Number.MAX_SAFE_INTEGER) - 1 };
}

interface ChangedLines {
  added: string[];
  removed: string[];
}

/** Returns the telling lines that an edit added, and those that it removed; what the index cut is left out. */
function readChangedLines({ kind, input }: Done): ChangedLines {
  const lines = (kind === "write" ? input.replace(/^/gm, "+") : onlyChanges(input)).split("\n");
  if (input.endsWith("…")) lines.pop();
  const signed = (sign: string) =>
    lines
      .filter((line) => line.startsWith(sign))
      .map((line) => line.slice(1).trim())
      .filter((line) => line.length >= TELLING_MIN && /[\p{L}\p{N}]/u.test(line));
  const [added, removed] = [signed("+"), signed("-")];
  return {
    added: added.filter((line) => !removed.includes(line)),
    removed: removed.filter((line) => !added.includes(line)),
  };
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
    const { added } = readChangedLines(edit);
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

/** What took a row back. */
interface TakenBack {
  how: "takenBack" | "replaced";
  /** As it is printed: `L1400`, or the place in another session. */
  place: string;
  /** Its row, where it is of the same session. */
  row?: ShownRow;
}

/** Returns the later call that removed what an edit added, or took the file back to what it was. */
function editTakenBack(edits: readonly Stored<Done>[], options: AftermathOptions): TakenBack | undefined {
  for (const edit of edits) {
    const later = laterDeeds(edit, options);
    const own = later.filter(({ session }) => session === edit.session);
    const found = findRemoval(edit, later, options.store) ?? findReversal(edit, own);
    const back = found && toTakenBack(found, edit, options);
    if (back) return back;
  }
  return undefined;
}

function toTakenBack(
  found: Stored<Done>,
  edit: Stored<Done>,
  { store, session: { cwd }, clean, isHidden }: AftermathOptions,
): TakenBack | undefined {
  const { line, kind, input, session } = found;
  const how = isReplacement(found, edit) ? "replaced" : "takenBack";
  if (session !== edit.session) {
    const other = store.db.prepare(`SELECT ${SESSION_COLUMNS} FROM sessions WHERE number = ?`).get(session);
    if (!other || isHidden?.(toIndexedSession(other))) return undefined;
    return { how, place: `${uniquePrefix(store, String(other.id))}:${line}` };
  }
  const text = kind === "command" ? "" : onlyChanges(input).slice(0, SHOWN_CHARS);
  return { how, place: `L${line}`, row: deedRow(found, { text, cwd, clean }) };
}

/** Returns whether a later edit put something else in place of what an edit added, not what was there before. */
function isReplacement(later: Done, edit: Done): boolean {
  if (later.kind === "command") return false;
  const { removed } = readChangedLines(edit);
  return readChangedLines(later).added.some((line) => !removed.includes(line));
}

/** Reads what was done later to the file of an edit, and the commands of its session that may have taken it back. */
function laterDeeds(
  { id, session, line, at, paths }: Stored<Done>,
  { store }: AftermathOptions,
): Stored<Done>[] {
  const phrase = toPhrase(baseName(paths[0] ?? ""));
  if (phrase === undefined) return [];
  const named = store.db
    .prepare(
      `SELECT ${ROW_COLUMNS} FROM deeds_fts JOIN rows r ON r.id = deeds_fts.rowid
       WHERE deeds_fts MATCH ? AND r.kind IN ('edit', 'write') AND r.at >= ? AND r.id <> ? ORDER BY r.at LIMIT ?`,
    )
    .all(`{target} : ${phrase}`, at, id, LATER_MAX)
    .map(toDone);
  const git = store.db
    .prepare(
      `SELECT ${ROW_COLUMNS} FROM rows r WHERE r.session = ? AND r.line > ? AND r.kind = 'command'
         AND (instr(r.target, 'git') OR instr(r.input, 'git')) ORDER BY r.line LIMIT ?`,
    )
    .all(session, line, LATER_MAX)
    .map(toDone);
  const isLater = (deed: Stored<Done>) => isMade(deed) && (deed.session !== session || deed.line > line);
  return [...named, ...git].filter(isLater);
}

/** Returns the later edit of the same file that removed all telling lines of an edit, and put them nowhere else. */
function findRemoval(
  edit: Stored<Done>,
  later: readonly Stored<Done>[],
  store: Store,
): Stored<Done> | undefined {
  const { added } = readChangedLines(edit);
  if (!added.some((line) => line.length >= TELLING_LONG)) return undefined;
  const isSame = ({ paths }: Done) => paths.some((path) => edit.paths.includes(path));
  const edits = later.filter(isChange);
  const found = edits.find((deed) => {
    if (!isSame(deed)) return false;
    if (deed.kind === "write" && !deed.input.endsWith("…"))
      return !added.some((line) => squash(deed.input).includes(squash(line)));
    const now = readChangedLines(deed);
    const kept = squash(now.added.join(""));
    return added.every((line) => now.removed.includes(line) && !kept.includes(squash(line)));
  });
  return found && isMoved(added, [edit, found], store) ? undefined : found;
}

/** Leaves out what a formatter changes: blanks, line ends, a comma before a bracket, and what closes it all. */
function squash(text: string): string {
  return text.replace(/\s+|,(?=\s*[)\]}])|[)\]};,]+$/g, "");
}

/** Returns whether another edit of the two sessions added one of the lines: they were put elsewhere. */
function isMoved(
  lines: readonly string[],
  [edit, removal]: readonly [Stored<Done>, Stored<Done>],
  store: Store,
): boolean {
  return store.db
    .prepare(
      `SELECT DISTINCT ${ROW_COLUMNS} FROM rows r, json_each(?) l WHERE r.session IN (?, ?) AND r.kind IN ('edit', 'write')
         AND r.id <> ? AND r.at >= ? AND instr(r.input, l.value)`,
    )
    .all(JSON.stringify(lines), edit.session, removal.session, edit.id, edit.at)
    .some((row) => readChangedLines(toDone(row)).added.some((line) => lines.includes(line)));
}

/** Not a new branch, a side of a merge, or what is only no longer staged. */
const FILES_BACK = /^git (?:checkout|restore)\b(?!.*\s(?:-[bB]|--(?:theirs|ours|staged|orphan))\b)/;
const ALL_BACK = /^git (?:reset --hard|(?:checkout|restore)(?: --)? \.$)/;
const REVERT = /^git revert\b.*?\b([0-9a-f]{7,40}|HEAD)\b/;

/** Returns the command by which git took an edit back: its file or all, before it was committed, or its commit. */
function findReversal(edit: Stored<Done>, later: readonly Stored<Done>[]): Stored<Done> | undefined {
  const names = edit.paths.map(baseName);
  const commits: string[] = [];
  for (const deed of later) {
    if (deed.kind !== "command") continue;
    for (const command of commandsIn(deed.input || deed.target)) {
      const isBack =
        ALL_BACK.test(command) || (FILES_BACK.test(command) && names.some((name) => command.includes(name)));
      if (isBack && commits.length === 0) return deed;
      const [, reverted = ""] = REVERT.exec(command) ?? [];
      const [first] = commits;
      const isOwn =
        reverted === "HEAD" ? commits.length === 1 : reverted !== "" && isSameHash(first, reverted);
      if (isOwn) return deed;
    }
    if (namesCommit(deed.target)) commits.push(...commitLines(deed.result).map(hashIn));
  }
  return undefined;
}

function hashIn(line: string): string {
  return /([0-9a-f]{7,40})\]/.exec(line)?.[1] ?? "";
}

function isSameHash(hash: string | undefined, named: string): boolean {
  return hash !== undefined && hash !== "" && (named.startsWith(hash) || hash.startsWith(named));
}

/** Returns the user's answer to an assistant's words, where it takes them back. */
function findRefusal(
  { line, who, text }: ShownRow,
  { store, session, clean }: AftermathOptions,
): TakenBack | undefined {
  if (who !== "assistant") return undefined;
  const [next] = store.db
    .prepare(
      "SELECT line, who, text FROM rows WHERE session = ? AND line > ? AND who <> 'tool' ORDER BY line, nth LIMIT 1",
    )
    .all(session.number, line);
  if (next?.who !== "user" || !takesBack(String(next.text), text)) return undefined;
  const said = oneLine(clean(String(next.text)), SHOWN_CHARS);
  return {
    how: "takenBack",
    place: `L${next.line}`,
    row: { line: Number(next.line), who: "user", text: said },
  };
}
