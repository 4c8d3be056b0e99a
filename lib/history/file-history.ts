/** The sessions that edited, read or discussed a file, under its name and those it had before. */

import { basename, dirname, isAbsolute, join, normalize as normalizePosix, relative } from "node:path";
import { statPath } from "../base/files.ts";
import { baseName, rangesOf } from "../base/text.ts";
import type { Done } from "../hosts/session.ts";
import { isChange, onlyChanges } from "../hosts/tool-call.ts";
import type { Stored } from "../index/stored-rows.ts";
import type { Hit } from "../search/hit.ts";
import { matchProject } from "../search/own-project.ts";
import type { ShownRow } from "../search/rows.ts";
import { WINDOWS_PATH } from "../search/search-filters.ts";
import { projectDirectories, realDirectory } from "../sessions/project.ts";
import type { Store } from "../store/store.ts";
import { isLooking, shellParts, shellWords } from "./commands.ts";
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
  const hits = bySession.map((own) => makeFileHit(store, unique(own), scope));
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

/**
 * Returns a file's names, and what was done to it under each of them; for a whole path, nothing that was
 * done to a file of its name elsewhere.
 */
export function findTouches(
  store: Store,
  path: string,
  scope: FindScope,
): { names: string[]; touched: Touched[]; file: FilePlace | undefined } {
  const file = isAbsolute(path) ? placeFile(path, scope) : undefined;
  const names = findNames(store, file?.path ?? path, { ...scope, cwd: file?.tops[0] ?? scope.cwd });
  const touched = names.flatMap((name) => touchedAs(store, name, scope));
  return {
    names,
    touched: file ? touched.flatMap((touch) => judgeTouch(touch, file, names)) : touched,
    file,
  };
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

/** Returns a touch if it was, or may have been, one of a file at its place. */
function judgeTouch(touch: Touched, file: FilePlace, names: readonly string[]): Touched[] {
  const { project = "/", cwd = "/" } = touch.session;
  const isCommand = touch.how === "ran";
  const given = isCommand ? commandWords(touch.deed) : touch.deed.paths;
  const paths = given.map((path) => (isAbsolute(path) ? path : join(cwd, path)));
  if (paths.includes(file.path)) return [touch];
  if (file.isNear(touch.session)) {
    const tops = [...file.tops, project, cwd];
    const places = names.flatMap((name) => (isAbsolute(name) ? name : tops.map((top) => join(top, name))));
    // a command may run in a folder below
    const isTail = (word: string) => isCommand && names.some((name) => name.endsWith(`/${word}`));
    return paths.some((path) => places.includes(path)) || given.some(isTail) ? [touch] : [];
  }
  // its folder was moved since, or is another machine's
  if (statPath(cwd) || !statPath(file.path)) return [];
  const tails = paths.filter((path) => path.startsWith(`${cwd}/`)).map((path) => path.slice(cwd.length));
  const sure = tails.some((tail) => file.path.endsWith(`/${basename(cwd)}${tail}`));
  return tails.some((tail) => file.path.endsWith(tail)) ? [{ ...touch, isUnsure: !sure }] : [];
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
  const everywhere = { clean: (text: string) => text, subagents: true };
  return matchDeeds(store, `{target input} : (mv AND ${phrase})`, everywhere).flatMap(
    ({ deed: { input, target, outcome } }) => (outcome === "failed" ? [] : movedTo(name, input || target)),
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

function touchedAs(store: Store, name: string, scope: FindScope): Touched[] {
  const phrase = toPhrase(baseName(name));
  if (phrase === undefined) return [];
  return matchDeeds(store, `{target input} : ${phrase}`, scope).flatMap(({ deed, session }) => {
    const how = readTouch(deed, name, session.cwd);
    return how ? [{ deed, session, how }] : [];
  });
}

function readTouch(deed: Stored<Done>, name: string, cwd = ""): Touched["how"] | undefined {
  const { kind, paths, input, target, outcome } = deed;
  const isPath = (path: string) => {
    const whole = normalize(isAbsolute(path) || WINDOWS_PATH.test(path) ? path : join(cwd, path));
    return whole === name || whole.endsWith(`/${name}`);
  };
  const hasFailed = outcome === "failed" || outcome === "rejected";
  if (kind === "edit" || kind === "write") return !hasFailed && paths.some(isPath) ? "edited" : undefined;
  if (kind === "read") return !hasFailed && paths.some(isPath) ? "read" : undefined;
  if (kind !== "command" || (hasFailed && isLooking(input || target))) return undefined;
  const base = baseName(name);
  const words = commandWords({ input, target }, cwd);
  return words.some((word) => word.endsWith(base) && isSameFile(normalize(word), name)) ? "ran" : undefined;
}

function commandWords({ input, target }: Pick<Done, "input" | "target">, cwd = ""): string[] {
  const command = WINDOWS_PATH.test(cwd) ? (input || target).replaceAll("\\", "/") : input || target;
  return command.split(/[\s"'`=:;|&()<>]+/);
}

function unique(touched: readonly Touched[]): Touched[] {
  const byId = new Map(touched.map((each) => [each.deed.id, each]));
  return [...byId.values()].sort((a, b) => a.deed.line - b.deed.line);
}

function makeFileHit(store: Store, touched: readonly Touched[], scope: FindScope): Hit {
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
    rows: withoutRepeats(shown.flatMap((each) => shownRows(store, each, scope))),
    from: first.deed.line,
    to: last.deed.line,
    also: rangesOf(
      touched.filter((each) => !shown.includes(each)).map(({ deed }) => deed.line),
      REASON_LINES,
    ),
  });
}

/** Returns a deed's row, and before it the last message up to its line, which mostly gives the reason. */
function shownRows(store: Store, { deed, session }: SessionDeed, { clean }: FindScope): ShownRow[] {
  const before = { from: deed.line - REASON_LINES, to: deed.line };
  const reason = messagesWithin(store, session.number, before).at(-1);
  const text = isChange(deed) ? (onlyChanges(deed.input) || deed.input).slice(0, CHANGE_CHARS) : "";
  const row = deedRow(deed, { text, cwd: session.cwd, clean });
  return reason ? [{ ...reason, text: clean(reason.text) }, row] : [row];
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
  return spokenHits(spoken, { summary: "discussed", scope });
}
