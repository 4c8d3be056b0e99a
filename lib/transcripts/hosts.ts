/**
 * The hosts whose sessions are read. A new one is a line here and a file beside it that turns its rows into entries; what
 * it needs beyond that is the house's fault.
 *
 * Data alone: the prompt hook finds transcripts by it, and formats are loaded by who reads one.
 */

import type { Format } from "./format.ts";

export interface Host {
  /** Its name in `--agent` and in the index. */
  agent: string;
  /** What people call it. */
  name: string;
  /** Where it keeps its state below the user's home, and the variable that moves that. */
  home: readonly [folder: string, variable?: string];
  /** Its transcripts below that folder: `*` is any name, `<id>` the session's. @default lib/sessions/places.ts knows */
  transcripts?: string;
  /** Its subagents' transcripts, whose sessions are the parents' `<parent>`. */
  subagents?: string;
  /** The command that goes on with a session: `<id>`, `<file>`. */
  resume: string;
  /** The program, as it is called. */
  program: string;
  /** Where it looks for skills below the user's home, for a host that no plugin of ours brings them to. */
  skills?: string;
  load: () => Promise<{ format: Format }>;
}

export const HOSTS: readonly Host[] = [
  {
    agent: "claude",
    name: "Claude Code",
    program: "claude",
    home: [".claude", "CLAUDE_CONFIG_DIR"],
    resume: "claude --resume <id>",
    load: () => import("./claude.ts"),
  },
  {
    agent: "pi",
    name: "pi",
    program: "pi",
    home: [".pi/agent", "PI_CODING_AGENT_DIR"],
    resume: "pi --session <file>",
    load: () => import("./pi.ts"),
  },
  {
    agent: "codex",
    name: "Codex",
    program: "codex",
    home: [".codex", "CODEX_HOME"],
    resume: "codex resume <id>",
    load: () => import("./codex.ts"),
  },
];

/** The names that `--agent` takes. A folder of `{role, content}` lines is `plain`. */
export const AGENTS: readonly string[] = [...HOSTS.map(({ agent }) => agent), "plain"];
