/**
 * Finds the project of a directory: its git repository with all worktrees, else the directory itself; and what the
 * same project is called on every machine, by its normalised origin URL.
 *
 * Git is never started: a prompt hook has no time for it, and a project's git settings can run commands.
 */

import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { isFile, listEntries, readText, resolveRealPath, statPath } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import type { Head } from "../hosts/format.ts";
import type { PartlyKnown, Session } from "../hosts/session.ts";
import {
  isSameRepository,
  type KnownRepositories,
  type RepositoryNames,
  readRepositories,
} from "../store/repositories.ts";

/** A directory's place in git. */
interface Repository {
  /** Shared by all worktrees: the main one's `.git`, a bare repository, or a submodule's folder. */
  commonDirectory: string;
  /** The top of the worktree with the directory. */
  top: string;
}

/**
 * Returns the directory here that a session's transcript names. A relative path, one of another system, and one of another
 * machine that does not exist here are names only: resolving them would give a stranger's session a project of ours.
 */
export function directoryHere({ cwd, machine }: Pick<Session, "cwd" | "machine">): string | undefined {
  if (cwd === undefined || !isAbsolute(cwd)) return undefined;
  return machine === undefined || statPath(cwd) ? cwd : undefined;
}

/** The place a session says it worked in; its id, or its parent's, tells which repository was there. */
export type ProjectPlace = Pick<Session, "cwd" | "machine"> &
  PartlyKnown<"id"> &
  Partial<Pick<Head, "remote">>;

/** The names of a project: a directory, the name of its `.git`, its origin. Two places with one of them are one project. */
type ProjectNames = readonly string[];

/** Returns what a session's project is known by: of one whose folder was moved, or holds another repository now, not by that. */
export function projectNames(place: ProjectPlace, lookup: ProjectLookup): ProjectNames {
  if (directoryHere(place) === undefined || place.machine !== undefined) {
    const project = sessionProject(place, lookup);
    return project === undefined ? [] : [project];
  }
  const { folder, repository } = whereabouts(place, lookup);
  return [...(folder === undefined ? [] : [folder]), ...repositoryNames(repository)];
}

/** Returns what a session's project is known by, with the folders in which it is or was known last. */
export function projectFolders(place: ProjectPlace, lookup: ProjectLookup): string[] {
  const names = projectNames(place, lookup);
  const tops = [...lookup.known].flatMap(([top, there]) => {
    const now = repositoryNames(there.at(-1));
    return now.some((name) => names.includes(name)) ? [top] : [];
  });
  return [...names, ...tops];
}

/** Returns the origin of a session's project, as it was noted where the folder was moved. */
export function projectOrigin(place: ProjectPlace, lookup: ProjectLookup): string | undefined {
  return whereabouts(place, lookup).repository?.origin;
}

/** Returns a session's repository, and the folder that it is known by as well: none where that holds another one now. */
function whereabouts(
  place: ProjectPlace,
  lookup: ProjectLookup,
): { folder: string | undefined; repository: RepositoryNames | undefined } {
  const here = directoryHere(place);
  if (here === undefined) return { folder: undefined, repository: undefined };
  const { directory, top, live, exists } = lookup.placeOf(here);
  const there = (top === undefined ? undefined : lookup.known.get(top)) ?? [];
  const noted = there.find(({ sessions }) => place.id !== undefined && sessions.includes(place.id));
  const was = noted ?? (live || exists ? undefined : there.at(-1));
  if (!was || (live && isSameRepository(was, live)))
    return { folder: live?.key ?? directory, repository: live };
  return { folder: live ? undefined : top, repository: was };
}

/** Returns what the project of a directory of this machine is known by. */
export function namesOfDirectory(directory: string, lookup: ProjectLookup): ProjectNames {
  return [lookup.keyOf(directory), ...repositoryNames(repositoryAt(directory))];
}

function repositoryNames(repository: RepositoryNames | undefined): ProjectNames {
  if (!repository) return [];
  const { git, origin } = repository;
  return origin === undefined ? [git] : [git, origin];
}

/**
 * Returns what identifies a session's project: of another machine's the origin of its repository; the key of its directory
 * here; else the name that it gives, which names no directory here.
 */
export function sessionProject(
  place: ProjectPlace,
  { keyOf, originAt }: Pick<ProjectLookup, "keyOf" | "originAt"> = {
    keyOf: projectKey,
    originAt: readOrigin,
  },
): string | undefined {
  const here = directoryHere(place);
  const ofPath = here === undefined ? place.cwd : keyOf(here);
  if (place.machine === undefined) return ofPath;
  const noted = place.remote === undefined ? undefined : normalizeRemote(place.remote);
  return noted ?? (here === undefined ? undefined : originAt(here)) ?? ofPath;
}

/** Looks up projects, for callers with few directories and many questions. */
interface ProjectLookup {
  keyOf: (directory: string) => string;
  originAt: (directory: string) => string | undefined;
  /** The record of repositories and their places. */
  known: KnownRepositories;
  placeOf: (directory: string) => PlaceNow;
}

/** A directory of a session, as it is now. */
interface PlaceNow {
  /** With symlinks resolved. */
  directory: string;
  exists: boolean;
  /** The top of the innermost worktree around it in which sessions ran. */
  top: string | undefined;
  /** The repository that holds it, unless that only holds the folder in which its own one was. */
  live: RepositoryHere | undefined;
}

/** Returns a lookup that remembers its answers. */
export function projectLookup({ repositories }: Pick<Paths, "repositories">): ProjectLookup {
  const known = readRepositories(repositories);
  return {
    keyOf: remembering(projectKey),
    originAt: remembering(readOrigin),
    known,
    placeOf: remembering((directory) => placeNow(directory, known)),
  };
}

function placeNow(path: string, known: KnownRepositories): PlaceNow {
  const directory = realDirectory(path);
  let top: string | undefined = directory;
  while (top !== undefined && !known.has(top)) top = top === dirname(top) ? undefined : dirname(top);
  const live = repositoryAt(directory);
  const isOuter = live !== undefined && top !== undefined && live.top.length < top.length;
  return { directory, exists: statPath(directory) !== undefined, top, live: isOuter ? undefined : live };
}

/** A repository of this machine. */
interface RepositoryHere extends RepositoryNames {
  /** The top of the worktree. */
  top: string;
  /** The result of `projectKey`. */
  key: string;
}

/** Returns the repository that holds a directory. */
function repositoryAt(directory: string): RepositoryHere | undefined {
  const { repository } = locate(directory);
  const stat = repository && statPath(repository.commonDirectory);
  if (!repository || !stat) return undefined;
  // The next folder gets a removed one's number; runtimes differ in fractions of milliseconds.
  const git = `git:${stat.ino}.${Math.floor(stat.birthtimeMs) || 0}`;
  return { git, origin: findOrigin(repository), top: repository.top, key: keyFor(repository) };
}

/**
 * Returns whether a directory's repository names an origin but is not known to have held a session: any folder can name the
 * origin of a project.
 */
export function onlyClaimsOrigin(directory: string, { repositories }: Paths): boolean {
  const here = repositoryAt(directory);
  if (here?.origin === undefined) return false;
  const known = readRepositories(repositories);
  const isHere = (known.get(here.top) ?? []).some((each) => isSameRepository(each, here));
  return !isHere && ![...known.values()].flat().some(({ git }) => git === here.git);
}

/** Returns the paths at which a directory's repository was when sessions ran in it. */
export function formerTops(directory: string, { repositories }: Pick<Paths, "repositories">): string[] {
  const known = readRepositories(repositories);
  const now = known.size === 0 ? undefined : repositoryAt(directory);
  if (!now) return [];
  return [...known].flatMap(([top, there]) =>
    there.some((each) => isSameRepository(each, now)) ? [top] : [],
  );
}

/** Returns an absolute path that identifies a directory's project; a path that is only a name identifies itself. */
export function projectKey(directory: string): string {
  const { real, repository } = locate(directory);
  return repository ? keyFor(repository) : real;
}

/** Returns the directories of a project: the top of each worktree, else the directory itself. */
export function projectDirectories(directory: string): string[] {
  const { real, repository } = locate(directory);
  if (!repository) return [real];
  const key = keyFor(repository);
  const isBare = key === repository.commonDirectory;
  return [...new Set([repository.top, ...(isBare ? [] : [key]), ...linkedWorktrees(repository)])];
}

/** Returns a directory's path within its repository's worktree, empty for its top; undefined outside of a repository. */
export function folderInProject(directory: string): string | undefined {
  const { real, repository } = locate(directory);
  return repository && relative(repository.top, real).replaceAll(sep, "/");
}

/** Returns the first `url` of `[remote "origin"]` in the text of a git config file. */
function originIn(config: string): string | undefined {
  let isOrigin = false;
  for (const line of config.split("\n")) {
    const section = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)?.[1];
    if (section !== undefined) isOrigin = /^remote\s+"origin"$/i.test(section);
    const url = isOrigin ? /^\s*(?:\[[^\]]*\])?\s*url\s*=\s*(.*)$/i.exec(line)?.[1] : undefined;
    if (url !== undefined)
      return (
        url
          .replace(/\s[#;].*$/, "")
          .trim()
          .replace(/^"(.*)"$/, "$1") || undefined
      );
  }
  return undefined;
}

/** Resolves the symlinks of a directory; of one that is gone, as far as its parents exist. */
export function realDirectory(directory: string): string {
  const absolute = resolve(directory);
  const missing: string[] = [];
  for (let path = absolute; ; path = dirname(path)) {
    const real = resolveRealPath(path);
    if (real !== undefined) return join(real, ...missing);
    if (path === dirname(path)) return absolute;
    missing.unshift(basename(path));
  }
}

/** Prefers the main worktree's top, which people name the project by. */
function keyFor({ commonDirectory }: Repository): string {
  return basename(commonDirectory) === ".git" ? dirname(commonDirectory) : commonDirectory;
}

/** Returns a directory with its symlinks resolved, and the repository that holds it; a path that is only a name is in none. */
function locate(directory: string): { real: string; repository: Repository | undefined } {
  if (!isAbsolute(directory)) return { real: directory, repository: undefined };
  const real = realDirectory(directory);
  return { real, repository: findRepository(real) };
}

function findRepository(directory: string): Repository | undefined {
  for (let top = directory; ; top = dirname(top)) {
    const commonDirectory = findCommonDirectory(top);
    if (commonDirectory !== undefined) return { commonDirectory, top };
    if (top === dirname(top)) return undefined;
  }
}

/**
 * Returns what a `.git` folder, or the `.git` file of a worktree or submodule, leads to. An unpacked archive can bring a
 * `.git` that leads to any repository of the user's, so that one must list this directory; else it is a project by itself.
 */
function findCommonDirectory(top: string): string | undefined {
  const git = join(top, ".git");
  if (!isFile(git)) return statPath(join(git, "HEAD")) ? git : undefined;
  const pointer = /^gitdir: (.+)$/m.exec(readText(git))?.[1]?.trim();
  if (!pointer) return undefined;
  const own = realDirectory(resolve(top, pointer));
  return worktreeRepository(own, top) ?? (isSubmoduleAt(own, top) ? own : git);
}

/** Returns the repository that has a worktree at `top`, whose own folder in it is `own`. */
function worktreeRepository(own: string, top: string): string | undefined {
  const common = readText(join(own, "commondir")).trim();
  const listed = readText(join(own, "gitdir")).trim();
  const gitFile = resolve(own, listed);
  if (common === "" || basename(gitFile) !== ".git" || realDirectory(dirname(gitFile)) !== top)
    return undefined;
  const repository = realDirectory(resolve(own, common));
  return dirname(own) === join(repository, "worktrees") ? repository : undefined;
}

/** Returns whether `top` is what a submodule's folder inside the outer repository names as its worktree. */
function isSubmoduleAt(own: string, top: string): boolean {
  const worktree = /^\s*worktree\s*=\s*(.+)$/m.exec(readText(join(own, "config")))?.[1]?.trim();
  return worktree !== undefined && realDirectory(resolve(own, worktree.replace(/^"(.*)"$/, "$1"))) === top;
}

function linkedWorktrees({ commonDirectory }: Repository): string[] {
  const tops: string[] = [];
  for (const { name } of listEntries(join(commonDirectory, "worktrees"))) {
    const gitFile = readText(join(commonDirectory, "worktrees", name, "gitdir")).trim();
    if (gitFile) {
      tops.push(realDirectory(dirname(resolve(commonDirectory, "worktrees", name, gitFile))));
    }
  }
  return tops;
}

/** Returns the origin of the repository that holds a directory. */
export function readOrigin(directory: string): string | undefined {
  const { repository } = locate(directory);
  return repository && findOrigin(repository);
}

function findOrigin({ commonDirectory }: Repository): string | undefined {
  const remote = originIn(readText(join(commonDirectory, "config")));
  return remote === undefined ? undefined : normalizeRemote(remote);
}

/** Returns a function that remembers its answers, for callers with few directories and many questions. */
export function remembering<T>(answer: (directory: string) => T): (directory: string) => T {
  const known = new Map<string, { value: T }>();
  return (directory) => {
    const found = known.get(directory) ?? { value: answer(directory) };
    known.set(directory, found);
    return found.value;
  };
}

/** Their names do not distinguish case. */
const FOLDS_CASE = new Set(["github.com", "gitlab.com", "bitbucket.org"]);
/** `https://user@host:443/path`, or `user@host:path`; one letter before the colon is a Windows drive. */
const ADDRESS =
  /^(?:(?:git\+)?(https?|ssh|git):\/\/(?:[^@/?#]*@)?(\[[^\]]*\]|[^:/?#]+)(:\d*)?\/|(?:[^@/\s:]+@)?(\[[^\]]*\]|[^@:/\\\s]{2,}):(?!\/\/))([^?#]*)/i;
/** A server's ssh port differs from its web port, and does not identify the server. */
const USUAL_PORT = /^(?:ssh:\d*|https?:(?:80|443)?|git:(?:9418)?|)$/i;

/**
 * Returns `host/path` of a repository's address, such as `github.com/acme/shop`; undefined for a path on this machine.
 * User names and passwords are left out: addresses carry tokens.
 */
export function normalizeRemote(address: string): string | undefined {
  const [, scheme = "", ofUrl, port = "", short, rest = ""] = ADDRESS.exec(address.trim()) ?? [];
  const host = (ofUrl ?? short)?.toLowerCase();
  const path = rest
    .split("/")
    .filter(Boolean)
    .join("/")
    .replace(/\.git$/i, "");
  if (!host || path === "") return undefined;
  const server = USUAL_PORT.test(port && scheme + port) ? host : host + port;
  return `${server}/${FOLDS_CASE.has(host) ? path.toLowerCase() : path}`;
}
