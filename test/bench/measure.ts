/** How benchmarks measure: ratios of medians within one run, contestants taking turns, and what came of a bar. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../lib/config/config.ts";
import { ROOT } from "../support/run.ts";

/** One line of the table that `bun run bench` prints. */
export interface BenchRow {
  figure: string;
  /** As it is printed: `1.8 x (9.4 ms / 5.2 ms)`. */
  measured: string;
  /** As it is printed: `<= 3 x`; empty for a figure without one. */
  bar: string;
  /** Undefined without a bar. */
  met: boolean | undefined;
}

/** A figure that must not exceed its bar. */
export function atMost(
  figure: string,
  value: number,
  bar: number,
  { unit = "x", detail = "" } = {},
): BenchRow {
  return row(figure, value, `<= ${bar} ${unit}`, { met: value <= bar, unit, detail });
}

/** A figure that must reach its bar. */
export function atLeast(
  figure: string,
  value: number,
  bar: number,
  { unit = "%", detail = "" } = {},
): BenchRow {
  return row(figure, value, `>= ${bar} ${unit}`, { met: value >= bar, unit, detail });
}

/** A figure without a bar. */
export function figure(name: string, value: number, { unit = "", detail = "" } = {}): BenchRow {
  return row(name, value, "", { met: undefined, unit, detail });
}

function row(
  figure: string,
  value: number,
  bar: string,
  { met, unit, detail }: { met: boolean | undefined; unit: string; detail: string },
): BenchRow {
  const rounded = value >= 100 ? value.toFixed(0) : value.toFixed(2);
  return { figure, measured: `${rounded} ${unit}${detail ? ` (${detail})` : ""}`.trim(), bar, met };
}

interface ProcessRun {
  /** From spawning it until it has ended. */
  ms: number;
  stdout: string;
}

/** Runs a command to its end; throws when it fails. */
export async function timeProcess(
  command: string[],
  { env = process.env, cwd = tmpdir(), stdin = "" }: { env?: Environment; cwd?: string; stdin?: string } = {},
): Promise<ProcessRun> {
  const started = performance.now();
  const child = Bun.spawn(command, { env, cwd, stdin: new Blob([stdin]), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const ms = performance.now() - started;
  if (exitCode !== 0) throw new Error(`Cannot measure "${command.join(" ")}": exit ${exitCode}\n${stderr}`);
  return { ms, stdout };
}

/**
 * The most memory a Bun process had, in MiB. It tells itself: what the system reports of a child also counts the
 * process that started it.
 */
export async function peakMemory(
  command: string[],
  { env = process.env, cwd = tmpdir() }: { env?: Environment; cwd?: string } = {},
): Promise<number> {
  return await inTemporaryFolder(async (folder) => {
    const preload = join(folder, "peak.ts");
    const answer = join(folder, "peak");
    writeFileSync(preload, PEAK.replace("ANSWER", JSON.stringify(answer)));
    const [executable = "", ...args] = command;
    await timeProcess([executable, `--preload=${preload}`, ...args], { env, cwd });
    return Number(readFileSync(answer, "utf8")) / 1024;
  });
}

const PEAK = `\
import { existsSync, readFileSync, writeFileSync } from "node:fs";
process.on("exit", () => {
  const status = existsSync("/proc/self/status") ? readFileSync("/proc/self/status", "utf8") : "";
  writeFileSync(ANSWER, /VmHWM:\\s+(\\d+)/.exec(status)?.[1] ?? String(process.resourceUsage().maxRSS));
});
`;

/** A Bun process that reads nothing of the working directory, without the starter: `file` may be of another version. */
export function bun(file: string, ...args: string[]): string[] {
  return [process.execPath, "--no-env-file", `--config=${join(ROOT, "bunfig.toml")}`, file, ...args];
}

/** The median of each contestant's milliseconds; they take turns, so a slow moment of the machine hits all. */
export async function interleaved<Name extends string>(
  contestants: Record<Name, () => Promise<number>>,
  repetitions: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(contestants) as Name[];
  const samples = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (const name of names) await contestants[name](); // the first run pays for cold caches
  for (let i = 0; i < repetitions; i++) {
    for (const name of names) samples.get(name)?.push(await contestants[name]());
  }
  return Object.fromEntries(names.map((name) => [name, median(samples.get(name) ?? [])])) as Record<
    Name,
    number
  >;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Calls `use` with a fresh folder and removes it afterwards. */
export async function inTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "session-memory-bench-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A script that does nothing: what starting Bun costs. */
export function emptyScript(folder: string): string {
  const file = join(folder, "empty.ts");
  writeFileSync(file, "export {};\n");
  return file;
}

/** `9.4 ms / 5.2 ms` */
export function times(a: number, b: number): string {
  return `${a.toFixed(1)} ms / ${b.toFixed(1)} ms`;
}
