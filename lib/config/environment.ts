/** Removes from the environment what a project folder put there: Bun loads its `.env` files by itself. */

import { join } from "node:path";
import { textOf } from "../base/files.ts";
import type { Environment } from "../base/runtime.ts";

/** The variables we read. One set by the project folder's `.env` was not set by the user. */
const OWN_VARIABLE =
  /^(SESSION_MEMORY_\w+|OPENAI_\w+|CLAUDE_CONFIG_DIR|CLAUDE_CODE_SESSION_ID|PI_CODING_AGENT_\w+|PI_SESSION_ID|CODEX_HOME)$/;

/**
 * Returns the environment without those variables of ours whose value is the one in a `.env*` file of `cwd`: Bun loads
 * such files by itself, and a project folder must not redirect our state, our reading or our key.
 */
export function trustedEnvironment(env: Environment, cwd: string): { env: Environment; ignored: string[] } {
  const own = Object.keys(env).filter((name) => env[name] && OWN_VARIABLE.test(name));
  if (own.length === 0) return { env, ignored: [] };
  const planted = plantedValues(cwd, env.NODE_ENV);
  const ignored = own.filter((name) => planted.get(name)?.includes(env[name] ?? ""));
  if (ignored.length === 0) return { env, ignored };
  const trusted = { ...env };
  for (const name of ignored) delete trusted[name];
  return { env: trusted, ignored };
}

/** Returns whether the starter started this very process, so that no project folder's `.env` set a variable in it. */
export function ignoresEnvFiles(): boolean {
  return process.env.SESSION_MEMORY_STARTED === String(process.pid);
}

/** Returns the environment of a hook or script of ours; the current directory is not trusted. */
export function hookEnvironment(): { env: Environment; ignored: string[] } {
  if (ignoresEnvFiles()) return { env: process.env, ignored: [] };
  return trustedEnvironment(process.env, currentDirectory());
}

/** Returns the current directory, or the root where it was removed meanwhile, as worktrees are. */
export function currentDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return "/";
  }
}

/** Larger than any `.env` file written by a person, smaller than a device. */
const ENV_FILE_MAX_BYTES = 16 * 1024 * 1024;

/** Returns the values that `.env` files set, of all files that Bun or Deno would load. */
function plantedValues(cwd: string, mode = "development"): Map<string, string[]> {
  const values = new Map<string, string[]>();
  const names = [".env", ".env.local", `.env.${mode}`, `.env.${mode}.local`];
  for (const usual of ["development", "production", "test"])
    names.push(`.env.${usual}`, `.env.${usual}.local`);
  for (const name of new Set(names)) {
    const text = textOf(join(cwd, name), ENV_FILE_MAX_BYTES);
    for (const match of text.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*[=:]\s*(.*?)\s*$/gm)) {
      const raw = match[2] ?? "";
      const unquoted = raw.replace(/^(["'`])(.*?)\1.*$/, "$2");
      const uncommented = raw.replace(/\s+#.*$/, "");
      const known = values.get(match[1] ?? "") ?? [];
      values.set(match[1] ?? "", [...known, raw, unquoted, uncommented, unquoted.replaceAll("\\n", "\n")]);
    }
  }
  return values;
}
