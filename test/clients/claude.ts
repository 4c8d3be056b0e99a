/** Runs the real Claude Code as a user's shell would, with a clean environment, a home of its own and a made-up key. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeClaudeCwd } from "../../lib/sessions/places.ts";
import { ROOT } from "../support/run.ts";

export interface ClaudeHome {
  root: string;
  project: string;
  config: string;
  /** Our own state. */
  state: string;
  env: Record<string, string>;
  remove(): void;
}

interface ClaudeRun {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** A fresh home and project for the client, whose requests go to `url`. */
export function claudeHome(url: string): ClaudeHome {
  const root = mkdtempSync(join(tmpdir(), "session-memory-claude-"));
  const [home, project, bin] = [join(root, "home"), join(root, "shop"), join(root, "bin")];
  const config = join(home, ".claude");
  for (const folder of [config, join(project, ".git"), bin]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(project, ".git", "HEAD"), "ref: refs/heads/main\n");
  symlinkSync(process.execPath, join(bin, "bun"));
  const env = {
    PATH: `${bin}:/usr/bin:/bin`,
    HOME: home,
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    TZ: "UTC",
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "fake-made-up-key",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
  };
  const remove = () => rmSync(root, { recursive: true, force: true });
  return { root, project, config, state: join(home, ".session-memory"), env, remove };
}

/** `claude -p <prompt>` with this repository as its plugin, run to its end. */
export async function runClaude(
  binary: string,
  home: ClaudeHome,
  options: { args: string[]; env?: Record<string, string>; plugin?: boolean; cwd?: string | undefined },
): Promise<ClaudeRun> {
  const plugin = options.plugin === false ? [] : ["--plugin-dir", ROOT];
  const child = Bun.spawn([binary, ...plugin, ...options.args], {
    cwd: options.cwd ?? home.project,
    env: { ...home.env, ...options.env },
    stdin: "ignore",
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

/** Where the client keeps a session's transcript. */
export function transcriptOf(home: ClaudeHome, id: string): string {
  return join(home.config, "projects", encodeClaudeCwd(home.project), `${id}.jsonl`);
}

/** A file's text, or "" while it is not there. */
export function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
