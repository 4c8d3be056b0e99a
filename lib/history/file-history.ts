/** The sessions that edited, read or discussed a file, under its name and those it had before. */

import { basename, dirname, isAbsolute, join, normalize as normalizePosix, relative } from "node:path";
import { statPath } from "../base/files.ts";
import { baseName, rangesOf } from "../base/text.ts";
import type { Done } from "../hosts/session.ts";
import { matchProject } from "../index/own-project.ts";
import type { Hit } from "../search/hit.ts";
import type { ShownRow } from "../search/rows.ts";
import { WINDOWS_PATH } from "../search/search-filters.ts";
import { projectDirectories, realDirectory } from "../sessions/project.ts";
import type { Store } from "../store/store.ts";
import { commandOrTarget, isLooking, shellParts, shellWords } from "../transcripts/command-lines.ts";
import { isChange, onlyChanges } from "../transcripts/rows.ts";
import {
  deedRow,
  doneHit,
  type FindScope,
  matchDeeds,
  matchMessages,
  messagesWithin,
  type SessionDeed,
  spokenHits,
  toPhrase,
} from "./finds.ts";

const NAMES_MAX = 8;
const ROWS_MAX = 4;
const CHANGE_CHARS = 220;
/** The number of lines before an edit in which its reason is looked for. */
const REASON_LINES = 40;

export interface Touched extends SessionDeed {
  how: "edited" | "read" | "ran";
  /** True if its folder is gone, so that it may have been this file under another path. */
  isUnsure?: boolean;
}

/** Finds the sessions that touched a file: first the ones that edited it, then all others, each newest first. */
export function fileHistory(store: Store, path: string, scope: FindScope): Hit[] {
  const { names, touched, file } = findTouches(store, path, scope);
  const sure = touched.filter(({ isUnsure }) => !isUnsure);
  const bySession = [...Map.groupBy(sure, ({ session }) => session.number).values()];
  const hits = bySession.map((own) => makeFileHit(store, own));
  const editors = new Set(sure.flatMap(({ how, session }) => (how === "edited" ? session.id : [])));
  const known = new Set(hits.map(({ session }) => session.id));
  hits.push(
    ...discussions(store, names, scope).filter(
      ({ session }) => !known.has(session.id) && (!file || file.isNear(session)),
    ),
  );
  const hasEdited = ({ session }: Hit) => Number(editors.has(session.id));
  return hits.sort((a, b) => hasEdited(b) - hasEdited(a) || (a.at < b.at ? 1 : -1));
}

/** Returns a file's names, and what was done to it under each of them; for a whole path, only what was done to the file there. */
export function findTouches(
  store: Store,
  path: string,
  scope: FindScope,
): { names: string[]; touched: Touched[]; file: FilePlace | undefined } {
  const file = isAbsolute(path) ? placeFile(path, scope) : undefined;
  const names = findNames(store, file?.path ?? path, { ...scope, cwd: file?.tops[0] ?? scope.cwd });
  const phrases = names.flatMap((name) => toPhrase(baseName(name)) ?? []);
  const match = `{target input} : (${phrases.join(" OR ")})`;
  const found = phrases.length === 0 ? [] : matchDeeds(store, match, scope);
  const touched = found.flatMap((did) => readTouch(did, names, file));
  return { names, touched: touched.sort((a, b) => a.deed.line - b.deed.line), file };
}

/** A file with its whole path. */
interface FilePlace {
  /** Without symlinks. */
  path: string;
  /** The tops of all worktrees, its own first; its folder outside a repository. */
  tops: string[];
  /** Returns whether a session is of the file's project, or ran in a folder around the file. */
  isNear: (session: SessionDeed["session"]) => boolean;
}

function placeFile(given: string, { paths }: FindScope): FilePlace {
  const folder = realDirectory(dirname(given));
  const path = join(folder, basename(given));
  const isOfProject = matchProject(folder, paths);
  return {
    path,
    tops: projectDirectories(folder),
    isNear: (session) => isOfProject(session) || path.startsWith(`${session.cwd}/`),
  };
}

/** The ways in which kinds of deeds touch a file. */
const HOW: Partial<Record<Done["kind"], Touched["how"]>> = {
  edit: "edited",
  write: "edited",
  read: "read",
  command: "ran",
};

/** Returns what a deed did to a file of these names, or may have done to the one at a place; nothing where it failed. */
function readTouch(did: SessionDeed, names: readonly string[], file: FilePlace | undefined): Touched[] {
  const { deed, session } = did;
  const how = HOW[deed.kind];
  const isCommand = how === "ran";
  const hasFailed = deed.outcome === "failed" || deed.outcome === "rejected";
  if (how === undefined || (hasFailed && (!isCommand || isLooking(commandOrTarget(deed))))) return [];
  const { project = "/", cwd = "/" } = session;
  const named = pathsNamed(deed, names, cwd);
  const paths = named.map(({ path }) => path);
  const touch: Touched = { ...did, how };
  if (named.length === 0) return [];
  if (file === undefined || paths.includes(file.path)) return [touch];
  if (file.isNear(session)) {
    const tops = [...file.tops, project, cwd];
    const places = names.flatMap((name) => (isAbsolute(name) ? name : tops.map((top) => join(top, name))));
    // a command may run in a folder below
    const isTail = ({ word }: { word: string }) =>
      isCommand && names.some((name) => name.endsWith(`/${word}`));
    return paths.some((path) => places.includes(path)) || named.some(isTail) ? [touch] : [];
  }
  // its folder was moved since, or is another machine's
  if (statPath(cwd) || !statPath(file.path)) return [];
  const tails = paths.filter((path) => path.startsWith(`${cwd}/`)).map((path) => path.slice(cwd.length));
  const sure = tails.some((tail) => file.path.endsWith(`/${basename(cwd)}${tail}`));
  return tails.some((tail) => file.path.endsWith(tail)) ? [{ ...touch, isUnsure: !sure }] : [];
}

/** Returns the paths of a deed that some name fits, as they stand there and whole. */
function pathsNamed(
  deed: SessionDeed["deed"],
  names: readonly string[],
  cwd: string,
): { word: string; path: string }[] {
  const isCommand = HOW[deed.kind] === "ran";
  const isWhole = (path: string) => isAbsolute(path) || WINDOWS_PATH.test(path);
  return (isCommand ? commandWords(deed, cwd) : deed.paths)
    .filter((path) => names.some((name) => path.endsWith(baseName(name))))
    .map((path) => ({ word: normalize(path), path: normalize(isWhole(path) ? path : join(cwd, path)) }))
    .filter(({ word, path }) =>
      names.some((name) => (isCommand ? isSameFile(word, name) : path === name || path.endsWith(`/${name}`))),
    );
}

/** Returns a file's name relative to the asker's directory, and the names it had before moves. */
function findNames(store: Store, path: string, scope: FindScope): string[] {
  const names = [normalName(path, scope.cwd)];
  for (let i = 0; i < names.length && names.length < NAMES_MAX; i++) {
    for (const former of formerNames(store, names[i] as string))
      if (!names.includes(former)) names.push(former);
  }
  return names;
}

function normalName(path: string, cwd: string): string {
  const plain = normalize(path.trim());
  if (WINDOWS_PATH.test(plain)) return plain;
  const inside = isAbsolute(plain) ? relative(cwd, plain) : plain;
  if (!inside.startsWith("..") && !isAbsolute(inside) && inside !== "") return inside;
  return isAbsolute(plain) ? plain : normalize(join(cwd, plain));
}

/** Returns what was moved to this name, in any session: `mv old new`, `git mv old new`, or into a directory. */
function formerNames(store: Store, name: string): string[] {
  const phrase = toPhrase(baseName(name));
  if (phrase === undefined) return [];
  const everywhere = { subagents: true };
  return matchDeeds(store, `{target input} : (mv AND ${phrase})`, everywhere).flatMap(({ deed }) =>
    deed.outcome === "failed" ? [] : movedTo(name, commandOrTarget(deed)),
  );
}

function movedTo(name: string, command: string): string[] {
  const former: string[] = [];
  let folder = "";
  for (const { text } of shellParts(command)) {
    const words = shellWords(text).filter((word) => !/^-/.test(word));
    if (words[0] === "cd") folder = words[1] ?? "";
    const at =
      words[0] === "mv" ? 1 : words[0] === "git" && words.includes("mv") ? words.indexOf("mv") + 1 : -1;
    if (at === -1) continue;
    const target = words.at(-1) ?? "";
    for (const source of words.slice(at, -1)) {
      const moved = target.endsWith("/") ? `${target}${baseName(source)}` : target;
      const places = [moved, `${moved}/${baseName(source)}`, join(folder, moved)];
      if (places.some((place) => isSameFile(normalize(place), name))) former.push(normalize(source));
    }
  }
  return former;
}

/** Returns whether two paths may be one file: one ends with the other. */
export function isSameFile(path: string, name: string): boolean {
  return path === name || path.endsWith(`/${name}`) || name.endsWith(`/${path}`);
}

/** Returns a path without `.` and `..`; one of Windows with slashes, whichever system reads it. */
function normalize(path: string): string {
  return normalizePosix(WINDOWS_PATH.test(path) ? path.replaceAll("\\", "/") : path);
}

function commandWords(deed: Done, cwd: string): string[] {
  const line = commandOrTarget(deed);
  const command = WINDOWS_PATH.test(cwd) ? line.replaceAll("\\", "/") : line;
  return command.split(/[\s"'`=:;|&()<>]+/);
}

function makeFileHit(store: Store, touched: readonly Touched[]): Hit {
  const counts = (["edited", "read", "ran"] as const).flatMap((how) => {
    const count = touched.filter((each) => each.how === how).length;
    return count === 0 ? [] : [`${how === "ran" ? "in commands" : how} ${count}x`];
  });
  const edits = touched.filter(({ how }) => how === "edited");
  const shown = (edits.length > 0 ? edits : touched).filter(
    (_, i, all) => i < 1 || i > all.length - ROWS_MAX,
  );
  const [first, last] = [shown[0] as Touched, shown.at(-1) as Touched];
  return doneHit({
    session: first.session,
    at: (touched.at(-1) as Touched).deed.at,
    summary: counts.join(", "),
    rows: withoutRepeats(shown.flatMap((each) => shownRows(store, each))),
    from: first.deed.line,
    to: last.deed.line,
    also: rangesOf(
      touched.filter((each) => !shown.includes(each)).map(({ deed }) => deed.line),
      REASON_LINES,
    ),
  });
}

/** Returns a deed's row, and before it the last message up to its line, which mostly gives the reason. */
function shownRows(store: Store, { deed, session }: SessionDeed): ShownRow[] {
  const before = { from: deed.line - REASON_LINES, to: deed.line };
  const reason = messagesWithin(store, session.number, before).at(-1);
  const text = isChange(deed) ? (onlyChanges(deed.input) || deed.input).slice(0, CHANGE_CHARS) : "";
  const row = deedRow(deed, { text, cwd: session.cwd });
  return reason ? [reason, row] : [row];
}

function withoutRepeats(rows: readonly ShownRow[]): ShownRow[] {
  return rows.filter(
    ({ line, who }, i) =>
      who === "tool" || rows.findIndex((row) => row.line === line && row.who === who) === i,
  );
}

/** Finds the sessions in which the file was spoken of. */
function discussions(store: Store, names: readonly string[], scope: FindScope): Hit[] {
  const spoken = names.flatMap((path) => {
    const name = baseName(path);
    const phrase = toPhrase(name);
    const found = phrase ? matchMessages(store, phrase, scope, (text) => text.includes(name)) : [];
    return found.map((each) => ({ ...each, name }));
  });
  return spokenHits(spoken, "discussed");
}
