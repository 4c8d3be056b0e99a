/** What every Claude Code hook but the prompt's does alike: reads its input, and fails open with a line in the log. */

import { readFileSync } from "node:fs";
import { recordOf, stringOf } from "../../lib/base/json.ts";
import { type Environment, type Paths, resolvePaths } from "../../lib/config/config.ts";
import { currentDirectory, hookEnvironment } from "../../lib/config/environment.ts";
import { logFailure } from "../failure.ts";

/** A hook's call, as far as we use it. */
export interface HookCall {
  paths: Paths;
  env: Environment;
  session: { id: string; file: string; cwd: string };
  /** Why a session started (`source`) or ended (`reason`). */
  cause: string;
}

const STDIN = 0;

/** Runs a hook's work. Nothing it does can fail the host's turn. */
export async function runHook(name: string, work: (call: HookCall) => void | Promise<void>): Promise<void> {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return;
  const { env, ignored } = hookEnvironment();
  const paths = resolvePaths(env);
  try {
    if (ignored.length > 0) logFailure(paths, name, `ignored from this folder's .env: ${ignored.join(", ")}`);
    const input = recordOf(JSON.parse(readFileSync(STDIN, "utf8")));
    const [id, file] = [stringOf(input.session_id), stringOf(input.transcript_path)];
    if (id === undefined || file === undefined) {
      throw new Error("Cannot tell which session this is: the input has no session_id or transcript_path");
    }
    const cwd = stringOf(input.cwd) ?? currentDirectory();
    const cause = stringOf(input.source) ?? stringOf(input.reason) ?? stringOf(input.trigger) ?? "";
    await work({ paths, env, session: { id, file, cwd }, cause });
  } catch (error) {
    logFailure(paths, name, error);
  }
}
