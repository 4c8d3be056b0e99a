/** Starts hooks/background.ts, in a process that outlives the host: after a turn, and at the start of a session. */

import { startDetached } from "../lib/base/runtime.ts";
import type { Environment, Paths } from "../lib/config/config.ts";
import { isSharing } from "../lib/config/hook-settings.ts";

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

/** Starts sharing at the start of a session, where config.json shares anything. */
export function startSharing({ cwd, paths }: { cwd: string; paths: Paths }, env: Environment): void {
  if (isSharing(paths)) startDetached("hooks/background.ts", ["--share-only", "--cwd", cwd], { env, cwd });
}
