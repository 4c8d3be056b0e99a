/** Runs scripts of the project, and any command. */

import { basename, isAbsolute, join } from "node:path";
import type { Environment } from "../../lib/config/config.ts";

/** The project's root folder. */
export const ROOT = join(import.meta.dir, "..", "..");

/** A PATH with Bun, the few programs of the system that tests use, and nothing else. */
export const BUN_PATH = process.env.PATH ?? "";

/** The events of Claude Code and Codex, as the starter calls them. */
export const HOOKS = [
  ...["session-start", "user-prompt-submit", "post-tool-use-failure"],
  ...["pre-compact", "stop", "session-end"],
];

export interface Finished {
  stdout: string;
  stderr: string;
  exitCode: number;
}

export interface RunOptions {
  /** The whole environment; `temporaryHome().env` has what a script needs. */
  env?: Environment;
  cwd?: string;
  stdin?: string;
}

/** Runs `scripts/<name>.ts`, or a file given with its folder (`hooks/event.ts`), in this process. */
export async function runScript(
  name: string,
  args: string[] = [],
  options: RunOptions = {},
): Promise<Finished> {
  const { runInProcess } = await import("./in-process.ts");
  return await runInProcess(scriptPath(name), args, { cwd: ROOT, env: process.env, ...options });
}

/** Runs a script in a process of its own, as hosts do: where the process is what is tested, or several at once. */
export function startScript(name: string, args: string[] = [], options: RunOptions = {}): Promise<Finished> {
  return runCommand([...starting(name), ...args], options);
}

/** The command line that starts a script or hook (`embed`, `stop`). */
export function starting(name: string): string[] {
  return ["/bin/sh", join(ROOT, "bin", "session-memory"), basename(name, ".ts")];
}

/** The file behind a script's name, or a path. */
export function scriptPath(name: string): string {
  if (isAbsolute(name)) return name;
  return name.includes("/") ? join(ROOT, name) : join(ROOT, "scripts", `${name}.ts`);
}

/** Runs any command to its end. */
export async function runCommand(command: string[], options: RunOptions = {}): Promise<Finished> {
  const child = Bun.spawn(command, {
    cwd: options.cwd ?? ROOT,
    env: options.env ?? process.env,
    stdin: new Blob([options.stdin ?? ""]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode };
}

/** A command line as a shell takes it apart, as far as pages use: words, quotes, and a trailing comment. */
export function shellWords(command: string): string[] {
  const words: string[] = [];
  for (const match of command.matchAll(/\s*(#.*$|(?:"[^"]*"|'[^']*'|[^\s"'])+)/g)) {
    const word = match[1] ?? "";
    if (word.startsWith("#")) break;
    words.push(word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
  }
  return words;
}
