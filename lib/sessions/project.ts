/**
 * Finds the project of a directory: its git repository with all worktrees, else the directory itself; and what the
 * same project is called on every machine, by its normalised origin URL.
 *
 * Git is never started: a prompt hook has no time for it, and a project's git settings can run commands.
 */

import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { entriesOf, isFile, readText, realPathOf, statOf } from "../base/files.ts";
import type { Session } from "../transcripts/session.ts";

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
  return machine === undefined || statOf(cwd) ? cwd : undefined;
}

/** What a session says of the place it worked in. */
interface Place extends Pick<Session, "cwd" | "machine"> {
  /** The address of its repository, where its host noted it. */
  remote?: string | undefined;
}

/**
 * Returns what identifies a session's project: of another machine's the origin of its repository; the key of its directory
 * here; else the name that it gives, which is no directory of ours.
 */
export function sessionProject(
  place: Place,
  { keyOf, originAt }: ProjectLookup = { keyOf: projectKey, originAt: readOrigin },
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
}

/** Returns a lookup that remembers its answers. */
export function projectLookup(): ProjectLookup {
  return { keyOf: remembering(projectKey), originAt: remembering(readOrigin) };
}

/** Returns an absolute path that identifies a directory's project; a path that is only a name identifies itself. */
export function projectKey(directory: string): string {
  if (!isAbsolute(directory)) return directory;
  const real = realDirectory(directory);
  const repository = findRepository(real);
  return repository ? keyOf(repository) : real;
}

/** Returns the directories of a project: the top of each worktree, else the directory itself. */
export function projectDirectories(directory: string): string[] {
  if (!isAbsolute(directory)) return [directory];
  const real = realDirectory(directory);
  const repository = findRepository(real);
  if (!repository) return [real];
  const key = keyOf(repository);
  const isBare = key === repository.commonDirectory;
  return [...new Set([repository.top, ...(isBare ? [] : [key]), ...linkedWorktrees(repository)])];
}

/** Returns a directory's path within its repository's worktree, empty for its top; undefined outside of a repository. */
export function folderInProject(directory: string): string | undefined {
  if (!isAbsolute(directory)) return undefined;
  const real = realDirectory(directory);
  const repository = findRepository(real);
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
    const real = realPathOf(path);
    if (real !== undefined) return join(real, ...missing);
    if (path === dirname(path)) return absolute;
    missing.unshift(basename(path));
  }
}

/** Prefers the main worktree's top, which people name the project by. */
function keyOf({ commonDirectory }: Repository): string {
  return basename(commonDirectory) === ".git" ? dirname(commonDirectory) : commonDirectory;
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
  if (!isFile(git)) return statOf(join(git, "HEAD")) ? git : undefined;
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
  for (const { name } of entriesOf(join(commonDirectory, "worktrees"))) {
    const gitFile = readText(join(commonDirectory, "worktrees", name, "gitdir")).trim();
    if (gitFile) {
      tops.push(realDirectory(dirname(resolve(commonDirectory, "worktrees", name, gitFile))));
    }
  }
  return tops;
}

/** Returns the origin of the repository that holds a directory. */
export function readOrigin(directory: string): string | undefined {
  if (!isAbsolute(directory)) return undefined;
  const repository = findRepository(realDirectory(directory));
  const remote = repository && originIn(readText(join(repository.commonDirectory, "config")));
  return remote === undefined ? undefined : normalizeRemote(remote);
}

/** Returns a function that remembers its answers, for callers with few directories and many questions. */
function remembering<T>(answer: (directory: string) => T): (directory: string) => T {
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
/** A server's ssh port is another one than its web port, and says nothing of which server it is. */
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
