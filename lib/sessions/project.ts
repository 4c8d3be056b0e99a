/**
 * Which project a directory belongs to: its git repository with all worktrees, else the directory itself.
 *
 * Git is never started: a prompt hook has no time for it, and a project folder's git settings can run commands.
 */

import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { entriesOf, isFile, realPathOf, statOf, textOf } from "../base/probe.ts";

/** A directory's place in git. */
interface Repository {
  /** What all worktrees share: `.git` of the main one, a bare repository, or a submodule's folder. */
  commonDirectory: string;
  /** The top of the worktree that holds the directory. */
  top: string;
}

/** What is the same for all directories of one project, and for no others: an absolute path. */
export function projectKey(directory: string): string {
  const real = realDirectory(directory);
  const repository = findRepository(real);
  return repository ? keyOf(repository) : real;
}

/** The directories in or under which agents work on the same project: the top of each worktree, or the directory. */
export function projectDirectories(directory: string): string[] {
  const real = realDirectory(directory);
  const repository = findRepository(real);
  if (!repository) return [real];
  const key = keyOf(repository);
  const isBare = key === repository.commonDirectory;
  return [...new Set([repository.top, ...(isBare ? [] : [key]), ...linkedWorktrees(repository)])];
}

/** Remembers keys, for callers that ask about the same few directories many times. */
export function projectKeys(): (directory: string) => string {
  const known = new Map<string, string>();
  return (directory) => {
    const key = known.get(directory) ?? projectKey(directory);
    known.set(directory, key);
    return key;
  };
}

/** A directory's path within its repository's worktree, empty for its top; undefined outside of a repository. */
export function folderInProject(directory: string): string | undefined {
  const real = realDirectory(directory);
  const repository = findRepository(real);
  return repository && relative(repository.top, real).replaceAll(sep, "/");
}

/** The address that git fetches a directory's project from, as its settings have it; undefined where there is none. */
export function remoteOf(directory: string): string | undefined {
  const repository = findRepository(realDirectory(directory));
  if (!repository) return undefined;
  return originIn(textOf(join(repository.commonDirectory, "config")));
}

/** The first `url` of `[remote "origin"]` in the text of a git config file. */
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

/** The directory with symlinks resolved; of one that is gone, as far as its parents still exist. */
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

/** The main worktree's top where there is one, since that is what people call the project by. */
function keyOf({ commonDirectory }: Repository): string {
  return basename(commonDirectory) === ".git" ? dirname(commonDirectory) : commonDirectory;
}

function findRepository(directory: string): Repository | undefined {
  for (let top = directory; ; top = dirname(top)) {
    const commonDirectory = commonDirectoryOf(join(top, ".git"));
    if (commonDirectory !== undefined) return { commonDirectory, top };
    if (top === dirname(top)) return undefined;
  }
}

/** What a `.git` folder, or a `.git` file of a worktree or submodule, leads to. */
function commonDirectoryOf(git: string): string | undefined {
  if (!isFile(git)) return statOf(join(git, "HEAD")) ? realDirectory(git) : undefined;
  const gitDirectory = /^gitdir: (.+)$/m.exec(textOf(git))?.[1]?.trim();
  if (!gitDirectory) return undefined;
  const own = resolve(dirname(git), gitDirectory);
  // A submodule has no commondir: its own folder inside the outer repository is its identity.
  const common = textOf(join(own, "commondir")).trim();
  return realDirectory(common ? resolve(own, common) : own);
}

function linkedWorktrees({ commonDirectory }: Repository): string[] {
  const tops: string[] = [];
  for (const { name } of entriesOf(join(commonDirectory, "worktrees"))) {
    const gitFile = textOf(join(commonDirectory, "worktrees", name, "gitdir")).trim();
    if (gitFile) {
      tops.push(realDirectory(dirname(resolve(commonDirectory, "worktrees", name, gitFile))));
    }
  }
  return tops;
}
