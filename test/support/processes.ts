/** Processes that a test starts, directly or through what it started: counted, timed, killed at random, found again. */

import { spawnSync } from "node:child_process";
import type { Random } from "./random.ts";

export interface Ended {
  stdout: string;
  stderr: string;
  /** Null when a signal ended it. */
  exitCode: number | null;
  killed: boolean;
  tookMs: number;
}

export interface Processes {
  /** Runs one to its end. One that is not `mortal` is never killed. */
  run(
    command: string[],
    options: { env: NodeJS.ProcessEnv; cwd: string; stdin?: string; mortal?: boolean },
  ): Promise<Ended>;
  /** Ends one of those that run now by SIGKILL, started by us or by one of ours; false when there is none. */
  killOne(random: Random): boolean;
  /** Process ids of all that still run. */
  alive(): number[];
}

/** `mark` is a text that stands in the arguments of whatever our processes start themselves. */
export function processes(mark: string): Processes {
  const running = new Map<number, { mortal: boolean; kill: () => void }>();
  return {
    async run(command, { env, cwd, stdin = "", mortal = true }) {
      const started = performance.now();
      let killed = false;
      const child = Bun.spawn(command, {
        env,
        cwd,
        stdin: new Blob([stdin]),
        stdout: "pipe",
        stderr: "pipe",
      });
      const kill = () => {
        killed = true;
        child.kill("SIGKILL");
      };
      running.set(child.pid, { mortal, kill });
      const output = [new Response(child.stdout).text(), new Response(child.stderr).text()];
      await child.exited;
      const tookMs = performance.now() - started;
      running.delete(child.pid);
      const [stdout = "", stderr = ""] = await Promise.all(output);
      return { stdout, stderr, exitCode: child.exitCode, killed, tookMs };
    },
    killOne(random) {
      const own = [...running.values()].filter(({ mortal }) => mortal).map(({ kill }) => kill);
      // Asking for them takes longer than all else here.
      const theirs = random.chance(0.75) && own.length > 0 ? [] : startedByOurs(mark);
      const others = theirs.filter((pid) => !running.has(pid));
      const all = [
        ...(others.length > 0 ? [] : own),
        ...others.map((pid) => () => process.kill(pid, "SIGKILL")),
      ];
      if (all.length === 0) return false;
      try {
        random.pick(all)();
        return true;
      } catch {
        return false; // it ended by itself meanwhile
      }
    },
    alive: () => [...new Set([...running.keys(), ...startedByOurs(mark)])],
  };
}

function startedByOurs(mark: string): number[] {
  const { stdout } = spawnSync("ps", ["-eo", "pid=,stat=,args="], { encoding: "utf8" });
  return stdout
    .split("\n")
    .filter((line) => line.includes(mark) && !/^\s*\d+\s+Z/.test(line))
    .map((line) => Number.parseInt(line, 10))
    .filter((pid) => pid !== process.pid);
}
