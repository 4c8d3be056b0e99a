/** Starts hooks/background.ts, in a process that outlives the host: after a turn, and at the start of a session. */

import { startDetached } from "../lib/base/runtime.ts";
import type { Environment } from "../lib/config/config.ts";

export interface BackgroundWork {
  id: string;
  file: string;
  cwd: string;
  /** The host. */
  source: "claude" | "pi";
  /** `--save`, `--index-only`. */
  flags: readonly string[];
}

/** Starts the work; false when there is nothing to run it on. */
export function startBackground({ id, file, cwd, source, flags }: BackgroundWork, env: Environment): boolean {
  const about = ["--session", id, "--file", file, "--cwd", cwd, "--source", source];
  return startDetached("hooks/background.ts", [...about, ...flags], { env, cwd });
}

/** Starts what is due when a session begins: sharing, and the sessions that were there before. */
export function startBeginning(cwd: string, env: Environment): void {
  startDetached("hooks/background.ts", ["--begin", "--cwd", cwd], { env, cwd });
}
