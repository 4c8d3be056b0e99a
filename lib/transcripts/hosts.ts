/**
 * The table of hosts whose sessions are read. A new host is an element here, and a file beside this one that converts its rows
 * to entries.
 *
 * Loaded by the prompt hook, which finds transcripts by it, so it loads a format only when one is read.
 */

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { namesIn } from "../base/files.ts";
import type { Paths, PathsWithRules } from "../config/config.ts";
import type { HostDatabase } from "./database.ts";
import type { Format } from "./format.ts";

export interface Host {
  /** Its name in `--agent` and in the index. */
  agent: string;
  /** What people call it. */
  name: string;
  /** The program, as it is called. */
  program: string;
  /** Where it keeps its state: `~` is the user's home, and a variable may name another place. */
  home: string;
  /**
   * Its transcripts there, and those of subagents: `<id>` is the session's, `<parent>` its parent's, `<cwd>` its directory as
   * Claude Code encodes it, `*` any name. @default lib/sessions/places.ts knows
   */
  transcripts?: readonly string[];
  /** Its databases there, `*` any name: their sessions are copied into a folder of ours by the host's name. */
  database?: { file: string; load: () => Promise<{ database: HostDatabase }> };
  /** The command that resumes a session, with `<id>` or `<file>`. */
  resume: string;
  /** What to know before it is resumed. */
  resumeNote?: string;
  /** Where it looks for skills, for a host that no plugin of ours brings them to. */
  skills?: string;
  load: () => Promise<{ format: Format }>;
}

export const HOSTS: readonly Host[] = [
  {
    agent: "claude",
    name: "Claude Code",
    program: "claude",
    home: "($CLAUDE_CONFIG_DIR|~/.claude)",
    resume: "claude --resume <id>",
    load: () => import("./claude.ts"),
  },
  {
    agent: "pi",
    name: "pi",
    program: "pi",
    home: "($PI_CODING_AGENT_DIR|~/.pi/agent)",
    resume: "pi --session <file>",
    load: () => import("./pi.ts"),
  },
  {
    agent: "codex",
    name: "Codex",
    program: "codex",
    home: "($CODEX_HOME|~/.codex)",
    resume: "codex resume <id>",
    load: () => import("./codex.ts"),
  },
  {
    agent: "copilot",
    name: "Copilot CLI",
    program: "copilot",
    home: "($COPILOT_HOME|~/.copilot)",
    transcripts: ["session-state/<id>/events.jsonl"],
    resume: "copilot --resume <id>",
    skills: "($COPILOT_HOME|~/.copilot)/skills",
    load: () => import("./copilot.ts"),
  },
  {
    agent: "qwen",
    name: "Qwen Code",
    program: "qwen",
    home: "($QWEN_HOME|~/.qwen)",
    transcripts: ["projects/<cwd>/chats/<id>.jsonl", "projects/<cwd>/subagents/<parent>/<id>.jsonl"],
    resume: "qwen --resume <id>",
    skills: "($QWEN_HOME|~/.qwen)/skills",
    load: () => import("./qwen.ts"),
  },
  {
    agent: "gemini",
    name: "Gemini CLI",
    program: "gemini",
    home: "($GEMINI_CLI_HOME|~)/.gemini",
    transcripts: ["tmp/*/chats/session-*.jsonl", "tmp/*/chats/<parent>/<id>.jsonl"],
    resume: "gemini --resume <id>",
    resumeNote: "Gemini CLI 0.61 deletes a resumed session at its next start: copy its transcript first",
    skills: "($GEMINI_CLI_HOME|~)/.gemini/skills",
    load: () => import("./gemini.ts"),
  },
  {
    agent: "opencode",
    name: "opencode",
    program: "opencode",
    home: "($XDG_DATA_HOME|~/.local/share)/opencode",
    database: { file: "opencode.db", load: () => import("./opencode.ts") },
    resume: "opencode --session <id>",
    skills: "($XDG_CONFIG_HOME|~/.config)/opencode/skills",
    load: () => copied("opencode"),
  },
  {
    agent: "openclaw",
    name: "OpenClaw",
    program: "openclaw",
    home: "~/.openclaw",
    database: { file: "agents/*/agent/openclaw-agent.sqlite", load: () => import("./openclaw.ts") },
    resume: 'openclaw agent --local --session-id <id> -m "…"',
    load: () => copied("openclaw"),
  },
];

/** The names that `--agent` takes. A folder of `{role, content}` lines is `plain`. */
export const AGENTS: readonly string[] = [...HOSTS.map(({ agent }) => agent), "plain"];

/** Returns what to know before a session of a host is resumed. */
export function resumeNote(agent: string): string | undefined {
  return HOSTS.find((host) => host.agent === agent)?.resumeNote;
}

/** Returns what people call the host of a session. */
export function hostName(agent: string): string {
  return HOSTS.find((host) => host.agent === agent)?.name ?? agent;
}

/** Loads the format of a host of which copies are read. */
async function copied(agent: string): Promise<{ format: Format }> {
  return { format: (await import("./format.ts")).copiedFormat(agent) };
}

/**
 * Brings the copies of sessions up to date that hosts keep in databases, before any is read. Copies that another process is
 * making are left to it. A database that cannot be read affects no other host's.
 */
export async function updateCopies(paths: PathsWithRules): Promise<void> {
  if (paths.transcripts.length > 0) return;
  let failure: unknown;
  for (const { agent, home, database } of HOSTS) {
    const root = paths.expand(home);
    const files = database ? filesLike(root, database.file.split("/")) : [];
    if (!database || files.length === 0) continue;
    const [{ tryLock }, { readRules }, { copySessions }, { database: reader }] = await Promise.all([
      import("../base/locks.ts"),
      import("./rules.ts"),
      import("./database.ts"),
      database.load(),
    ]);
    const release = tryLock(join(paths.home, `${agent}.lock`));
    try {
      const rules = readRules(paths.rules);
      if (release) copySessions({ agent, reader, root, files, folder: copiesFolder(paths, agent), rules });
    } catch (error) {
      failure ??= error;
    } finally {
      release?.();
    }
  }
  if (failure !== undefined) throw failure;
}

/** Returns the files of a path in which `*` stands for any folder. */
function filesLike(folder: string, [name = "", ...rest]: readonly string[]): string[] {
  const places = (name === "*" ? namesIn(folder) : [name]).map((each) => join(folder, each));
  return rest.length > 0
    ? places.flatMap((place) => filesLike(place, rest))
    : places.filter((place) => existsSync(place));
}

/** Removes every copy: what is still wanted is copied again. */
export function removeCopies(paths: Pick<PathsWithRules, "home">): void {
  for (const { agent, database } of HOSTS) {
    if (database !== undefined) rmSync(copiesFolder(paths, agent), { recursive: true, force: true });
  }
}

/** Returns the folder of the copies of a host's sessions. */
export function copiesFolder({ home }: Pick<Paths, "home">, agent: string): string {
  return join(home, agent);
}
