/** Processes of ours that are ended by kill -9 while they work. */

import { SOAK } from "./random.ts";
import { type RunOptions, starting } from "./run.ts";

/** The moments at which processes are killed, as parts of the time of a run that nobody disturbs. */
export function killPoints(count: number): number[] {
  return Array.from({ length: count * SOAK }, (_, i) => (i + 0.5) / (count * SOAK));
}

/** Runs a script or hook in a process of its own, killed after a while unless it has ended. */
export async function runKilled(
  [name = "", ...args]: readonly string[],
  options: Pick<RunOptions, "env" | "cwd">,
  afterMs?: number,
): Promise<{ ms: number; isKilled: boolean }> {
  const started = performance.now();
  const child = Bun.spawn([...starting(name), ...args], { ...options, stdout: "ignore", stderr: "ignore" });
  const timer = afterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), afterMs);
  const exitCode = await child.exited;
  clearTimeout(timer);
  const isKilled = child.signalCode === "SIGKILL";
  if (!isKilled && exitCode !== 0) throw new Error(`Expected ${name} to end with 0 but found ${exitCode}`);
  return { ms: performance.now() - started, isKilled };
}
