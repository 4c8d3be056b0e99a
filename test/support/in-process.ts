/**
 * Runs a script of the project inside the test process: its module is evaluated anew, with `import.meta.main` true and
 * the arguments, environment, directory and streams of a process of its own, while `lib/` is loaded once. A twentieth
 * of the cost of a process. One script at a time.
 */

import { mock } from "bun:test";
import * as fs from "node:fs";
import type { Finished, RunOptions } from "./run.ts";

interface Streams {
  stdin: string;
  stdout: string;
  stderr: string;
}

/** The streams of the script that is running. */
let streams: Streams | undefined;

const { writeSync, fstatSync, readFileSync } = fs;
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

const replaced = {
  writeSync: ((descriptor: number, data: string | Buffer, ...rest: number[]) => {
    if (!streams || (descriptor !== STDOUT && descriptor !== STDERR)) {
      return (writeSync as (...all: unknown[]) => number)(descriptor, data, ...rest);
    }
    const [offset = 0, length] = rest;
    const bytes = Buffer.from(data as string).subarray(
      offset,
      length === undefined ? undefined : offset + length,
    );
    streams[descriptor === STDOUT ? "stdout" : "stderr"] += bytes.toString();
    return bytes.length;
  }) as typeof writeSync,
  fstatSync: ((descriptor: number, options?: fs.StatOptions) => {
    if (!streams || descriptor > STDERR) return fstatSync(descriptor, options);
    const isNo = () => false;
    return { isCharacterDevice: isNo, isFile: isNo, isFIFO: () => true };
  }) as typeof fstatSync,
  readFileSync: ((file: fs.PathOrFileDescriptor, options: BufferEncoding) =>
    streams && file === STDIN ? streams.stdin : readFileSync(file, options)) as typeof readFileSync,
};
mock.module("node:fs", () => ({ ...fs, ...replaced, default: { ...fs, ...replaced } }));

let last: Promise<unknown> = Promise.resolve();
let number = 0;

/** Runs a script's file to its end, or `work` in its place, after those that were asked for before. */
export function runInProcess(
  file: string,
  args: string[],
  options: RunOptions,
  work?: () => Promise<unknown>,
): Promise<Finished> {
  const finished = last.then(() => runWithin(file, args, options, work));
  last = finished.catch(() => {});
  return finished;
}

/** Runs a script's file to its end, within one that is running or alone. */
export async function runWithin(
  file: string,
  args: string[],
  { env = {}, cwd, stdin = "" }: RunOptions,
  work?: () => Promise<unknown>,
): Promise<Finished> {
  const outer = streams;
  const own = { env: { ...process.env }, cwd: process.cwd(), argv: process.argv, main: Bun.main };
  const { exitCode } = process;
  const isTerminal = process.stdin.isTTY;
  const heard = new Map(SIGNALS.map((signal) => [signal, process.listeners(signal)]));
  const written: Streams = { stdin, stdout: "", stderr: "" };
  try {
    setEnvironment(env);
    if (cwd !== undefined) process.chdir(cwd);
    process.argv = [process.execPath, file, ...args];
    process.exitCode = 0;
    process.stdin.isTTY = false;
    if (work === undefined) setMain(file);
    streams = written;
    let failed: unknown;
    await (work?.() ?? import(`${file}?run=${++number}`)).catch((error) => {
      failed = error;
    });
    if (failed !== undefined) written.stderr += `${Bun.inspect(failed)}\n`;
    return {
      stdout: written.stdout,
      stderr: written.stderr,
      exitCode: failed ? 1 : Number(process.exitCode),
    };
  } finally {
    streams = outer;
    process.exitCode = exitCode ?? 0; // undefined would leave it as the script set it
    process.stdin.isTTY = isTerminal;
    process.argv = own.argv;
    setMain(own.main);
    process.chdir(own.cwd);
    setEnvironment(own.env);
    for (const [signal, before] of heard) {
      for (const listener of process.listeners(signal)) {
        if (!before.includes(listener)) process.removeListener(signal, listener);
      }
    }
  }
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Each variable that is set costs a call of the system. */
function setEnvironment(env: NodeJS.ProcessEnv): void {
  const own = { ...process.env };
  for (const name of Object.keys(own)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && value !== own[name]) process.env[name] = value;
}

/** What `import.meta.main` compares with. */
function setMain(file: string): void {
  (Bun as { main: string }).main = file;
}
