import { afterAll, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectDirectories, projectKey } from "../lib/sessions/project.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "session-memory-project-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function folder(...parts: string[]): string {
  const path = join(root, ...parts);
  mkdirSync(path, { recursive: true });
  return path;
}

function file(path: string, text: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
}

/** A repository as `git init` leaves it, as far as a directory's project depends on it. */
function repository(name: string): string {
  const top = folder(name);
  file(join(top, ".git", "HEAD"), "ref: refs/heads/main\n");
  return top;
}

/** A linked worktree as `git worktree add` leaves it. */
function worktree(top: string, name: string): string {
  const path = folder(name);
  const own = join(top, ".git", "worktrees", name);
  file(join(own, "gitdir"), `${path}/.git\n`);
  file(join(own, "commondir"), "../..\n");
  file(join(path, ".git"), `gitdir: ${own}\n`);
  return path;
}

test("projectKey() of a bare repository's worktrees is the bare repository", () => {
  const bare = folder("bare.git");
  file(join(bare, "HEAD"), "ref: refs/heads/main\n");
  const keys = ["one", "two"].map((name) => {
    const own = join(bare, "worktrees", name);
    file(join(own, "commondir"), "../..\n");
    file(join(own, "gitdir"), `${join(root, name, ".git")}\n`);
    file(join(root, name, ".git"), `gitdir: ${own}\n`);
    return projectKey(join(root, name));
  });
  expect(keys).toEqual([bare, bare]);
});

test.each([
  ["its folder", (top: string) => join(top, ".git")],
  ["a worktree's folder in it", (top: string) => join(top, ".git", "worktrees", "taken")],
  ["a submodule's folder in it", (top: string) => join(top, ".git", "modules", "lib")],
])(
  "projectKey() does not follow a `.git` file into a repository that does not list the folder: %s",
  (what, own) => {
    const top = repository("victim");
    worktree(top, "taken");
    file(join(top, ".git", "modules", "lib", "config"), `[core]\n\tworktree = ${join(top, "lib")}\n`);
    const evil = folder(`evil ${what}`);
    file(join(evil, ".git"), `gitdir: ${own(top)}\n`);
    expect(projectKey(join(evil, "src"))).toBe(evil);
    expect(projectDirectories(evil)).toEqual([evil]);
  },
);

test("projectKey() believes no folder outside of a repository that it is a worktree of it", () => {
  const top = repository("victim");
  const evil = folder("evil beside");
  file(join(evil, "own", "commondir"), `${join(top, ".git")}\n`);
  file(join(evil, "own", "gitdir"), `${join(evil, ".git")}\n`);
  file(join(evil, ".git"), "gitdir: own\n");
  expect(projectKey(evil)).toBe(evil);
});

test("projectKey() does not follow a `.git` that is a symlink to another repository's", () => {
  const evil = folder("evil link");
  symlinkSync(join(repository("victim"), ".git"), join(evil, ".git"));
  expect(projectKey(evil)).toBe(evil);
});

test("projectKey() without git is the directory itself, not the one around it", () => {
  const outer = folder("notes");
  const inner = folder("notes", "2026");
  expect([outer, inner].map(projectKey)).toEqual([outer, inner]);
});

test("projectKey() does not take an empty `.git` folder or an unreadable `.git` file for a repository", () => {
  const empty = folder("empty");
  folder("empty", ".git");
  const broken = folder("broken");
  file(join(broken, ".git"), "this is no pointer\n");
  expect([empty, broken].map(projectKey)).toEqual([empty, broken]);
});

test("projectKey() accepts a path below a file and a loop of symlinks", () => {
  const top = repository("odd");
  file(join(top, "README"), "text");
  symlinkSync("b", join(root, "a"));
  symlinkSync("a", join(root, "b"));
  expect(projectKey(join(top, "README", "x"))).toBe(top);
  expect(projectKey(join(root, "a", "x"))).toBe(join(root, "a", "x"));
});

const hasGit = Bun.which("git") !== null;
test.skipIf(!hasGit)("projectKey() agrees with what git itself lays out", () => {
  const top = folder("by-git");
  const git = (...args: string[]) =>
    execFileSync(
      "git",
      ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", ...args],
      {
        cwd: top,
        stdio: "ignore",
        env: { PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: "1" },
      },
    );
  git("init");
  git("commit", "--allow-empty", "-m", "first");
  git("worktree", "add", "../by-git-linked");
  git("worktree", "add", ".worktrees/nested");
  const places = [join(root, "by-git-linked"), join(top, ".worktrees", "nested"), top];
  mkdirSync(join(top, "src"));
  expect([...places, join(top, "src")].map(projectKey)).toEqual(Array(4).fill(top));
  for (const from of places) expect(projectDirectories(from).sort()).toEqual(places.toSorted());
  git("-c", "protocol.file.allow=always", "submodule", "add", top, "vendor/lib");
  expect(projectKey(join(top, "vendor", "lib"))).toBe(join(top, ".git", "modules", "vendor", "lib"));
  git("clone", "--separate-git-dir", join(root, "apart.git"), top, join(root, "apart"));
  expect(projectKey(join(root, "apart"))).toBe(join(root, "apart"));
});
if (!hasGit) console.log("skipped: git is not installed, so its own layout is not compared");
