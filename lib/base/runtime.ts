/**
 * Starts programs of ours through `bin/session-memory`, which alone knows runtimes and their flags, and keeps what a project
 * folder holds from steering them.
 */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";

export type Environment = Record<string, string | undefined>;

export interface Runtime {
  name: "bun" | "node" | "deno";
  /** Absolute path. */
  command: string;
}

interface StartOptions {
  env: Environment;
  /** The project folder: no program in it is started. */
  cwd: string;
  /** Our own root folder. @default {ROOT} */
  root?: string | undefined;
}

/** This package's folder, also for the build in its `dist/`. */
export const ROOT = resolve(import.meta.dirname, "..", "..").replace(/[/\\]dist$/, "");
const SHELL = "/bin/sh";
/** Node needs tens of milliseconds to say its version. */
const SEARCH_TIMEOUT_MS = 5000;

/** Returns the command line of a script of ours (`search`), for a reader to copy. */
export function ownCommand(name: string, root: string = ROOT): string[] {
  return ["sh", join(root, "bin", "session-memory"), name];
}

/** Finds the runtime of our scripts; undefined when there is none, and work must be done in slices in this process. */
export function findRuntime({ env, cwd, root }: StartOptions): Runtime | undefined {
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const [, ...args] = ownCommand("--runtime", root);
  const { stdout } = spawnSync(SHELL, args, {
    ...{ cwd: placeToStart(cwd), env, encoding: "utf8", timeout: SEARCH_TIMEOUT_MS },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [, name, command] = /^(bun|node|deno) (.+)\n/.exec(stdout ?? "") ?? [];
  return command === undefined ? undefined : { name: name as Runtime["name"], command };
}

/**
 * Starts a program of ours (`background`) in a process group of its own and does not wait for it. Hooks do nothing in it.
 * Where there is no runtime, nothing happens.
 */
export function startDetached(name: string, args: readonly string[], { env, cwd, root }: StartOptions): void {
  const { spawn } = process.getBuiltinModule("node:child_process"); // as slow to load as Bun is to start
  const [, ...words] = ownCommand(name, root);
  const child = spawn(SHELL, [...words, ...args], {
    cwd: placeToStart(cwd),
    env: { ...withOwnRuntime(env), SESSION_MEMORY_DISABLE: "1" },
    detached: true,
    stdio: "ignore",
    windowsHide: true,
  });
  child.on("error", () => {}); // no shell: a host that has none runs no hook either
  child.unref();
}

/** Adds the runtime of this process to the end of PATH, where a host's own need not be. */
export function withOwnRuntime({ PATH = "", ...env }: Environment): Environment {
  return { ...env, PATH: `${PATH}${delimiter}${dirname(process.execPath)}` };
}

/** Returns the project's folder, whose programs the starter refuses; the root if it was removed meanwhile. */
function placeToStart(cwd: string): string {
  return existsSync(cwd) ? cwd : "/";
}

/** Returns the program that a shell would start by this name, ignoring relative folders of PATH. */
export function findProgram(name: string, { PATH = "" }: Environment): string | undefined {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  return PATH.split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, file))
    .find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // not there, or not ours to run
  }
}
