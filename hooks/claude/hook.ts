/** Runs every Claude Code hook except the prompt's: reads the input, and fails open with a line in the log. */

import { readFileSync } from "node:fs";
import { recordOf, stringOf } from "../../lib/base/json.ts";
import { type Environment, type Paths, resolvePaths } from "../../lib/config/config.ts";
import { currentDirectory, hookEnvironment } from "../../lib/config/environment.ts";
import { logFailure } from "../failure.ts";

/** The part of a hook's input that we use. */
export interface HookCall {
  paths: Paths;
  env: Environment;
  session: { id: string; file: string; cwd: string };
  /** Why a session started (`source`) or ended (`reason`). */
  cause: string;
}

const STDIN = 0;

/** Runs a hook's work. No failure reaches the host. */
export async function runHook(name: string, work: (call: HookCall) => void | Promise<void>): Promise<void> {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return;
  const { env, ignored } = hookEnvironment();
  const paths = resolvePaths(env);
  try {
    if (ignored.length > 0) logFailure(paths, name, `ignored from this folder's .env: ${ignored.join(", ")}`);
    const input = recordOf(JSON.parse(readFileSync(STDIN, "utf8")));
    const [id, file] = [stringOf(input.session_id), stringOf(input.transcript_path)];
    if (id === undefined || file === undefined) {
      throw new Error("Cannot identify the session: the input has no session_id or transcript_path");
    }
    const cwd = stringOf(input.cwd) ?? currentDirectory();
    const cause = stringOf(input.source) ?? stringOf(input.reason) ?? stringOf(input.trigger) ?? "";
    await work({ paths, env, session: { id, file, cwd }, cause });
  } catch (error) {
    logFailure(paths, name, error);
  }
}
