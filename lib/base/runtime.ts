/**
 * Finds the runtime for our scripts, and starts one in the background so that it outlives its caller.
 *
 * Nothing in a project folder decides this: its `node_modules/.bin` may be on PATH, its `.env` and `bunfig.toml` in the
 * working directory.
 */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { realPathOf, statOf } from "./files.ts";

/** Environment variables. */
export type Environment = Record<string, string | undefined>;

export interface Runtime {
  name: "bun" | "node" | "deno";
  /** Absolute path. */
  command: string;
  /** Arguments before the script's path. */
  flags: string[];
}

interface RuntimeOptions {
  env: Environment;
  /** The project folder: nothing in it is trusted except what is ours. */
  cwd: string;
  /** Our own root folder. @default the one this file is in */
  root?: string | undefined;
}

interface DetachOptions extends RuntimeOptions {
  /** @default the one `findRuntime` finds */
  runtime?: Runtime | undefined;
}

/** This package's folder, also for the build in its `dist/`. */
export const ROOT = resolve(import.meta.dirname, "..", "..").replace(/[/\\]dist$/, "");
/** The first Node that strips types by itself. */
const NODE_MIN = [22, 18];
const DENO_FLAGS = ["run", "-A", "--quiet"];
const VERSION_TIMEOUT_MS = 2000;

/** Finds the runtime for our scripts; undefined when there is none, and work must be done in slices in this process. */
export function findRuntime({ env, cwd, root = ROOT }: RuntimeOptions): Runtime | undefined {
  const path = trustedPath(env, cwd, root);
  const home = env.HOME || env.USERPROFILE;
  const bun = firstProgram("bun", [
    ...path,
    ...(home ? [join(home, ".bun", "bin")] : []),
    join(root, "node_modules", ".bin"),
  ]);
  if (bun) return { name: "bun", command: bun, flags: bunFlags(root) };
  // Node and Deno strip no types below a node_modules: there they need the build.
  if (root.split(sep).includes("node_modules") && !existsSync(join(root, "dist"))) return undefined;
  const node = nodeProgram(path);
  if (node) return { name: "node", command: node, flags: [] };
  const deno = firstProgram("deno", path);
  return deno ? { name: "deno", command: deno, flags: DENO_FLAGS } : undefined;
}

/** Returns the program that a shell would start by this name, ignoring relative folders of PATH. */
export function findProgram(name: string, env: Environment): string | undefined {
  return firstProgram(name, (env.PATH ?? "").split(delimiter).filter(isAbsolute));
}

/** Returns the flags with which nothing in the working directory is loaded or run. */
export function bunFlags(root: string = ROOT): string[] {
  return ["--no-env-file", "--no-install", `--config=${join(root, "bunfig.toml")}`];
}

/** Returns the command line with which this process's runtime runs a script of ours (`scripts/search.ts`), for a reader to copy. */
export function ownCommand(script: string): string[] {
  const name = process.versions.bun ? "bun" : "deno" in process.versions ? "deno" : "node";
  const flags = { bun: bunFlags(), deno: DENO_FLAGS, node: [] }[name];
  return [name, ...flags, programFile({ name, command: name, flags }, ROOT, script)];
}

/**
 * Starts a script of ours (`scripts/embed.ts`) in a process group of its own and does not wait for it. Hooks do
 * nothing in it, and its working directory is ours.
 *
 * @returns false when there is no runtime for it.
 */
export function startDetached(script: string, args: readonly string[], options: DetachOptions): boolean {
  const { env, root = ROOT } = options;
  const runtime = options.runtime ?? findRuntime(options);
  if (!runtime) return false;
  const { spawn } = process.getBuiltinModule("node:child_process"); // as slow to load as Bun is to start
  const child = spawn(runtime.command, [...runtime.flags, programFile(runtime, root, script), ...args], {
    cwd: root,
    env: { ...env, SESSION_MEMORY_DISABLE: "1" },
    detached: true,
    stdio: "ignore",
    windowsHide: true,
  });
  child.on("error", () => {}); // gone since it was found: the next turn tries again
  child.unref();
  return true;
}

/** Returns the file that a runtime runs for a script: Bun the source, the others the build if there is one. */
function programFile({ name }: Runtime, root: string, script: string): string {
  const built = join(root, "dist", script.replace(/\.ts$/, ".js"));
  return name !== "bun" && existsSync(built) ? built : join(root, script);
}

/** Returns the folders of PATH that are absolute and not the project's, or are ours. */
function trustedPath(env: Environment, cwd: string, root: string): string[] {
  const isOfProject = projectCheck(cwd, env.HOME || env.USERPROFILE);
  return (env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && (!isOfProject(folder) || isWithin(folder, root)));
}

/**
 * Returns a check whether a folder of PATH belongs to the project: it lies in the project, or in a `node_modules` of a
 * folder above, since `npx` and the like add those of every folder up to the root.
 */
function projectCheck(cwd: string, home: string | undefined): (folder: string) => boolean {
  const directory = realPathOf(cwd) ?? cwd;
  const top = projectTop(directory, home && (realPathOf(home) ?? home));
  const isInside = (path: string) => {
    const owner = path.split(`${sep}node_modules`)[0] || sep;
    const isModule = path !== owner && isWithin(directory, owner);
    return isModule || (top !== undefined && isWithin(path, top));
  };
  return (folder) => isInside(folder) || isInside(realPathOf(folder) ?? folder);
}

/** Returns the repository around a directory, else the directory; undefined for one that holds the user's home. */
function projectTop(directory: string, home: string | undefined): string | undefined {
  const isProject = (path: string) => home === undefined || !isWithin(home, path);
  for (let path = directory; isProject(path); path = dirname(path)) {
    if (statOf(join(path, ".git"))) return path;
    if (path === dirname(path)) break;
  }
  return isProject(directory) ? directory : undefined;
}

function isWithin(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return inside === "" || (inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside));
}

/** Returns this process's Node if it is one, since its version is known; else the one on PATH, asked for its version. */
function nodeProgram(path: readonly string[]): string | undefined {
  const own = process.versions;
  if (!own.bun && !("deno" in own) && isRecent(own.node)) return process.execPath;
  const found = firstProgram("node", path);
  if (!found) return undefined;
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const { stdout } = spawnSync(found, ["--version"], { encoding: "utf8", timeout: VERSION_TIMEOUT_MS });
  return isRecent(String(stdout).trim().replace(/^v/, "")) ? found : undefined;
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = NODE_MIN;
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

function firstProgram(name: string, folders: readonly string[]): string | undefined {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  return folders.map((folder) => join(folder, file)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // not there, or not ours to run
  }
}
