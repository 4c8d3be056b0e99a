/**
 * The hosts whose sessions are read. A new one is a line here and a file beside it that turns its rows into entries; what
 * it needs beyond that is the house's fault.
 *
 * Data alone: the prompt hook finds transcripts by it, and formats are loaded by who reads one.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Paths } from "../config/config.ts";
import type { Format } from "./format.ts";
import type { Rules } from "./rules.ts";

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
  /** Its database there, of which sessions are copied into a folder of ours by that name. */
  database?: string;
  /** The command that goes on with a session: `<id>`, `<file>`. */
  resume: string;
  /** Where it looks for skills, for a host that no plugin of ours brings them to. */
  skills?: string;
  load: () => Promise<{ format: Format; copySessions?: CopySessions }>;
}

/** Brings the copies of a database's sessions in a folder up to date, redacted and without those left out. */
type CopySessions = (database: string, folder: string, rules: Rules) => Promise<void>;

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
    transcripts: ["projects/<cwd>/chats/<id>.jsonl"],
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
    skills: "($GEMINI_CLI_HOME|~)/.gemini/skills",
    load: () => import("./gemini.ts"),
  },
  {
    agent: "opencode",
    name: "opencode",
    program: "opencode",
    home: "($XDG_DATA_HOME|~/.local/share)/opencode",
    database: "opencode.db",
    resume: "opencode --session <id>",
    skills: "($XDG_CONFIG_HOME|~/.config)/opencode/skills",
    load: () => import("./opencode.ts"),
  },
];

/** The names that `--agent` takes. A folder of `{role, content}` lines is `plain`. */
export const AGENTS: readonly string[] = [...HOSTS.map(({ agent }) => agent), "plain"];

/** Returns what people call the host of a session. */
export function hostName(agent: string): string {
  return HOSTS.find((host) => host.agent === agent)?.name ?? agent;
}

/** Returns whether a host's sessions are in a database, and are to be copied. */
export function needsCopies(paths: Pick<Paths, "expand" | "transcripts">): boolean {
  return paths.transcripts.length === 0 && HOSTS.some((host) => databaseFile(host, paths) !== undefined);
}

/** Returns a host's database; undefined where there is none. */
export function databaseFile({ home, database }: Host, paths: Pick<Paths, "expand">): string | undefined {
  const file = database === undefined ? undefined : join(paths.expand(home), database);
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** Returns the folder of the copies of a host's sessions. */
export function copiesFolder({ home }: Pick<Paths, "home">, agent: string): string {
  return join(home, agent);
}
