/**
 * The table of hosts whose sessions are read: a line says where the sessions of one are, and its file all else. Outside this
 * folder nothing knows a host by its name.
 *
 * Loaded by the prompt hook, which finds transcripts by it, so it loads a host's file only when that is asked for.
 */

import { join, resolve } from "node:path";
import { dashedPath, UUID } from "../base/text.ts";
import type { Environment, Paths } from "../config/config.ts";
import type { HostLine } from "./host.ts";

/** Returns how the names of the folders of a directory and those below it begin: Claude Code cuts longer ones. */
export function beginFolder({ folderBegin }: HostLine, directory: string): string {
  return folderBegin?.(directory) ?? directory.replace(/[^a-zA-Z0-9]/g, "-").slice(0, 200);
}

export const UUID_NAME = new RegExp(`^(${UUID})\\.jsonl$`);
const PI_HOME = "($PI_CODING_AGENT_DIR|~/.pi/agent)";

export const TABLE: readonly HostLine[] = [
  {
    agent: "claude",
    home: "($CLAUDE_CONFIG_DIR|~/.claude)",
    transcripts: [
      { path: "projects/<cwd>/<id>.jsonl" },
      // Old versions put subagents beside their parents.
      "projects/<cwd>/<subagent>.jsonl",
      "projects/<cwd>/<parent>/subagents/**/<subagent>.jsonl",
    ],
    subagents: "agent-",
    logs: "agent-acompact-",
    volute: "names",
    idVariable: "CLAUDE_CODE_SESSION_ID",
    moments: ["start", "prompt", "failure", "summary", "compaction", "turn", "end"],
    load: () => import("./claude.ts"),
  },
  {
    agent: "pi",
    home: PI_HOME,
    transcripts: [
      "sessions/*.jsonl",
      "sessions/<cwd>/**/*.jsonl",
      { path: "**/*.jsonl", under: piSessionsElsewhere },
      // OpenClaw wrote pi's format before it had a database.
      { path: "agents/*/sessions/*.jsonl", under: ({ expand }) => expand("~/.openclaw"), names: UUID_NAME },
    ],
    names: /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z_(.+)\.jsonl$/,
    folderBegin: piFolder,
    volute: { folder: "pi-sessions" },
    idVariable: "PI_SESSION_ID",
    moments: ["start", "prompt", "failure", "compaction", "turn", "end"],
    load: () => import("./pi.ts"),
  },
  {
    agent: "codex",
    home: "($CODEX_HOME|~/.codex)",
    transcripts: ["sessions/<day>/**/<name>", { path: "archived_sessions/**/<name>", isOver: true }],
    names: /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)\.jsonl$/,
    compresses: true,
    moments: ["start", "prompt", "failure", "compaction", "turn"],
    load: () => import("./codex.ts"),
  },
  {
    agent: "copilot",
    home: "($COPILOT_HOME|~/.copilot)",
    transcripts: ["session-state/<id>/events.jsonl"],
    idVariable: "COPILOT_AGENT_SESSION_ID",
    compacted: /"type":"session\.compaction_complete","data":\{(?!"success":false)/,
    load: () => import("./copilot.ts"),
  },
  {
    agent: "qwen",
    home: "($QWEN_HOME|~/.qwen)",
    transcripts: ["projects/<cwd>/chats/<id>.jsonl", "projects/<cwd>/subagents/<parent>/<id>.jsonl"],
    idVariable: "QWEN_CODE_SESSION_ID",
    load: () => import("./qwen.ts"),
  },
  {
    agent: "gemini",
    home: "($GEMINI_CLI_HOME|~)/.gemini",
    transcripts: ["tmp/*/chats/session-*.jsonl", "tmp/*/chats/<parent>/<id>.jsonl"],
    compacted: /^\{"\$set":\{"messages":.*"text":"<state_snapshot>/m,
    load: () => import("./gemini.ts"),
  },
  {
    agent: "opencode",
    home: "($XDG_DATA_HOME|~/.local/share)/opencode",
    idVariable: "SESSION_MEMORY_SESSION_ID",
    moments: ["start", "prompt", "failure", "summary", "compaction", "turn"],
    load: () => import("./opencode.ts"),
  },
  { agent: "openclaw", home: "~/.openclaw", load: () => import("./openclaw.ts") },
  {
    agent: "kilo",
    home: "($XDG_DATA_HOME|~/.local/share)/kilo",
    load: async () => ({ host: (await import("./opencode.ts")).kilo }),
  },
  {
    agent: "droid",
    home: "~/.factory",
    transcripts: ["sessions/<cwd>/<id>.jsonl"],
    load: () => import("./droid.ts"),
  },
  { agent: "cline", home: "($CLINE_DIR|~/.cline)", load: () => import("./cline.ts") },
  {
    agent: "kimi",
    home: "($KIMI_CODE_HOME|~/.kimi-code)",
    transcripts: [
      "sessions/*/<id>/agents/main/wire.jsonl",
      { path: "sessions/*/<parent>/agents/<child>/wire.jsonl", names: /^agent-/ },
    ],
    load: () => import("./kimi.ts"),
  },
  {
    agent: "cursor",
    home: "($CURSOR_DATA_DIR|~/.cursor)",
    transcripts: [
      "projects/<cwd>/agent-transcripts/<id>/<id>.jsonl",
      "projects/<cwd>/agent-transcripts/<parent>/subagents/<id>.jsonl",
    ],
    // It cuts longer names here.
    folderBegin: (directory) => dashedPath(resolve(directory)).slice(0, 84),
    load: () => import("./cursor.ts"),
  },
  {
    agent: "antigravity",
    home: "~/.gemini/antigravity-cli",
    transcripts: [
      "brain/<id>/.system_generated/logs/transcript_full.jsonl",
      { path: "brain/<id>/.system_generated/logs/transcript.jsonl", unless: "transcript_full.jsonl" },
    ],
    load: () => import("./antigravity.ts"),
  },
];

function piFolder(directory: string): string {
  const path = resolve(directory).replace(/^[/\\]/, "");
  return `--${path.replace(/[/\\:]/g, "-")}`;
}

/** Returns pi's folder of sessions where its user has put that elsewhere. */
function piSessionsElsewhere({ expand }: Paths): string | undefined {
  const place = expand("($PI_CODING_AGENT_SESSION_DIR|)");
  return place === "" || place === expand(`${PI_HOME}/sessions`) ? undefined : place;
}

/** The names that `--agent` takes. A folder of `{role, content}` lines is `plain`. */
export const AGENTS: readonly string[] = [...TABLE.map(({ agent }) => agent), "plain"];

/** Returns the line of a host by its name in `--agent`; undefined for `plain`, which is not a host. */
export function findLine(agent: string | undefined): HostLine | undefined {
  return TABLE.find((host) => host.agent === agent);
}

/** Returns the id of the session that a command was called in, where its host names it. */
export function callingSession(env: Environment): string | undefined {
  return TABLE.map(({ idVariable = "" }) => env[idVariable]).find(Boolean);
}

/** Returns the folder in which an earlier version had the copies of a host's sessions. */
export function copiesFolder({ home }: Paths, agent: string): string {
  return join(home, agent);
}
