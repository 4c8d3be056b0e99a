/**
 * Starts programs of ours through `bin/session-memory`, which alone knows runtimes and their flags, and keeps what a project
 * folder holds from steering them.
 */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";

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
}

/** This package's folder: the one around this file that holds the scripts, at whatever depth a bundle puts the code. */
export const ROOT = findRoot(import.meta.dirname);
const SHELL = "/bin/sh";
/** Node needs tens of milliseconds to say its version. */
const SEARCH_TIMEOUT_MS = 5000;

function findRoot(folder: string): string {
  const above = dirname(folder);
  if (above === folder || existsSync(join(folder, "scripts"))) return folder.replace(/[/\\]dist$/, "");
  return findRoot(above);
}

/** Code is compiled after this many times more calls than usual: 4 and 8 save a tenth of a search's CPU time, 2 half of that. */
const PATIENCE = 4;
/** A run that is not over by then is a long one, and gains by compiled code. */
const START_MS = 200;

/** Leaves what a start runs once to the interpreter, in a process of ours, if its runtime can do so. */
export function startQuickly(): void {
  const { Bun } = globalThis as { Bun?: { unsafe: { setJITPolicy?: (scale: number) => void } } };
  const set = Bun?.unsafe.setJITPolicy;
  set?.(PATIENCE);
  if (set) setTimeout(() => set(1), START_MS).unref();
}

/** Returns the command line of a script of ours (`search`), for a reader to copy. */
export function ownCommand(name: string): string[] {
  return ["sh", join(ROOT, "bin", "session-memory"), name];
}

/** Finds the runtime of our scripts; undefined when the machine has no such runtime, and work must be done in slices in this process. */
export function findRuntime(options: StartOptions): Runtime | undefined {
  const found = askStarter("--runtime", options);
  const [, name, command] = /^(bun|node|deno) (.+)\n/.exec(found) ?? [];
  return command === undefined ? undefined : { name: name as Runtime["name"], command };
}

/**
 * Returns PATH without the project's folders, as the starter searches it: for programs of the user's that we start, and for
 * what those start in turn.
 */
export function trustedPath(options: StartOptions): string {
  return askStarter("--path", options).replace(/\n$/, "");
}

function askStarter(what: string, { env, cwd }: StartOptions): string {
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const [, ...args] = ownCommand(what);
  const { stdout } = spawnSync(SHELL, args, {
    cwd: placeToStart(cwd),
    env,
    encoding: "utf8",
    timeout: SEARCH_TIMEOUT_MS,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return stdout ?? "";
}

/**
 * Starts a program of ours (`background`) in a process group of its own and does not wait for it. Hooks do nothing in it.
 * Without a runtime nothing happens.
 */
export function startDetached(name: string, args: readonly string[], { env, cwd }: StartOptions): void {
  const { spawn } = process.getBuiltinModule("node:child_process"); // as slow to load as Bun is to start
  const [, ...words] = ownCommand(name);
  const child = spawn(SHELL, [...words, ...args], {
    cwd: placeToStart(cwd),
    env: { ...withOwnRuntime(env), SESSION_MEMORY_DISABLE: "1" },
    detached: true,
    stdio: "ignore",
  });
  child.on("error", () => {}); // no shell: a host that has none runs no hook either
  child.unref();
}

/** Adds the runtime of this process to the end of PATH, where a host's own need not be. */
export function withOwnRuntime({ PATH = "", ...env }: Environment): Environment {
  return { ...env, PATH: `${PATH}${delimiter}${dirname(process.execPath)}` };
}

/** Returns the project's folder, whose programs the starter refuses; if it was removed meanwhile, the nearest folder above it. */
function placeToStart(cwd: string): string {
  return existsSync(cwd) || dirname(cwd) === cwd ? cwd : placeToStart(dirname(cwd));
}

/** Returns the program of this name in the folders of a `trustedPath`. */
export function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
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
