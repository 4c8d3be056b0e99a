/**
 * The table of hosts whose sessions are read. A new host is an element here, and a file beside this one that converts its rows
 * to entries. Outside this folder nothing knows a host by its name.
 *
 * Loaded by the prompt hook, which finds transcripts by it, so it loads a format only when one is read.
 */

import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { dashedPath } from "../base/text.ts";
import type { Environment, Paths, PathsWithRules } from "../config/config.ts";
import type { Format } from "./format.ts";
import type { HostStore } from "./store.ts";

/**
 * A moment of a session at which a host calls us: it starts or is gone on with, a prompt comes, a command failed, a compaction
 * begins (what is said then goes to who writes its summary) or is over, a turn or the session is over.
 */
export type Moment = "start" | "resume" | "prompt" | "failure" | "summary" | "compaction" | "turn" | "end";

export interface Host {
  /** Its name in `--agent` and in the index. */
  agent: string;
  /** What people call it. */
  name: string;
  /** The program, as it is called. */
  program: string;
  /** Where it keeps its state: `~` is the user's home, and a variable may name another place. */
  home: string;
  /** Its transcripts, and those of subagents. @default the copies that are made of its stores */
  transcripts?: readonly (TranscriptPattern | string)[];
  /** File names that no other host gives, the session's id in the first group. */
  names?: RegExp;
  /** Whether the id is in the file's name alone. @default {false}, its rows have it */
  isNamedById?: true;
  /** Whether extensions put other files into its folders, so that a file may be no transcript. @default {false} */
  hasOtherFiles?: true;
  /** Whether it compresses sessions that are over. @default {false} */
  compresses?: true;
  /** How the ids of subagents begin. @default as any other */
  subagents?: string;
  /** How the names of files begin that repeat a session and are none. */
  logs?: string;
  /** How a directory begins the name of the folder of its sessions. @default as in Claude Code */
  folderBegin?: (directory: string) => string;
  /** Returns the name of the folder of a directory's sessions, where those stay that move on to another directory. */
  folderName?: (directory: string) => string;
  /** The folder for its transcripts in a `.volute` folder; `names`: that folder names sessions in the host's own. */
  volute?: { folder: string } | "names";
  /** The folder below `home` that the meta files of its sessions are in. @default ours */
  metas?: string;
  /** The moments at which it hears us, or we work. @default those of the hooks that set-up writes */
  moments?: readonly Moment[];
  /** A row of its transcripts that a compaction leaves, for a host that calls us at none. */
  compacted?: RegExp;
  /** How it calls us by hooks. */
  hooks?: Hooks;
  /** Whether the model of a session observes it, without any setting. @default {false} */
  observesItself?: true;
  /** The setting that says after how many days without a change it deletes a transcript, and its own default. */
  retention?: { settings: string; key: string; days: number };
  /** The folder of outputs that are too long for a row, in the one that is called as the transcript is. */
  outputs?: string;
  /** What befalls sessions with several files, which have the first group of their names in common. */
  severalFiles?: { names: RegExp; shown: string; what: string; remedy: string };
  /** Its databases or documents there, `*` any name: their sessions are copied into a folder of ours by the host's name. */
  store?: StoredElsewhere;
  /** Its file of all prompts, which outlives transcripts: for those that are gone the copies of their prompts stand in. */
  prompts?: StoredElsewhere;
  /** Why transcripts without a byte are no sessions in which nothing was said, where that is so. */
  emptiedWhy?: string;
  /** The command that resumes a session, with `<id>` or `<file>`. */
  resume: string;
  /** What to know before it is resumed. */
  resumeNote?: string;
  /** The variable that tells the commands of a session whose they are; opencode's is set by our plugin. */
  idVariable?: string;
  /** Where it looks for skills, for a host that no plugin of ours brings them to. */
  skills?: string;
  /** Where it looks for a plugin, for one that ours in `hooks/<agent>/` tells what hooks tell elsewhere. */
  plugin?: string;
  load: () => Promise<{ format: Format }>;
}

interface Hooks {
  /** The file below `home` that names us where they are installed, and what else they may wait for. */
  installedIn: string;
  remedy: string;
  /** Whether it shows a person what a hook says to them. @default {false} */
  showsPerson?: true;
  /** What set-up writes into that file, for a host without a command that installs us. */
  written?: WrittenHooks;
}

/** Hooks in a host's settings, in the form of Claude Code's. */
export interface WrittenHooks {
  /** Its events by their names. */
  events: Readonly<Record<string, HookEvent>>;
  /** What its time limits count a second as. */
  second: 1 | 1000;
  /** What stands around `hooks` in a file that is ours alone. @default the host's own settings do */
  ownFile?: Readonly<Record<string, unknown>>;
  /** Whether what is said to the model stands in the answer itself too. @default {false} */
  saysAtTop?: true;
}

interface HookEvent {
  /** The calls of tools that it is for. @default all */
  matcher?: string;
  /** The moment that it is, by the source that it names where it is several. */
  moment: Moment | Readonly<Record<string, Moment>>;
}

/** Files below a host's `home` that its sessions are copied from. */
interface StoredElsewhere {
  files: string;
  load: () => Promise<{ store: HostStore }>;
}

/**
 * Transcripts by their path below the host's `home`: `<id>` is the session's, `<parent>` its parent's, `<cwd>` begins as its
 * directory does, `<subagent>` is an id like those of subagents, `<child>` what a parent alone calls one of its own, `<name>` one
 * of the host's `names`, `<day>` three folders or, for a caller in a hurry, those of the last month; `*` is any name, `**` any
 * number of folders.
 */
export interface TranscriptPattern {
  path: string;
  /** The folder that it is below, if that is not the host's home; undefined where the user has none. */
  under?: (paths: Paths) => string | undefined;
  /** File names with an id in the first group, or the names of `<child>`. @default the host's */
  names?: RegExp;
  /** A file that holds the same and more: one is left out that has it beside it. */
  unless?: string;
  /** Whether sessions there are over, so that a caller in a hurry passes over them. @default {false} */
  isOver?: true;
}

/** Claude Code truncates folder names here. */
const CLAUDE_FOLDER_MAX = 200;

/** Returns Claude Code's folder name for a directory. Several directories may share one. */
export function encodeClaudeCwd(directory: string): string {
  const name = dashed(directory);
  if (name.length <= CLAUDE_FOLDER_MAX) return name;
  let hash = 0;
  for (let i = 0; i < directory.length; i++) hash = ((hash << 5) - hash + directory.charCodeAt(i)) | 0;
  return `${name.slice(0, CLAUDE_FOLDER_MAX)}-${Math.abs(hash).toString(36)}`;
}

/** Returns what hosts call the folders of a directory's sessions. */
export function folderNames(directory: string): string[] {
  return HOSTS.flatMap(({ folderName }) => folderName?.(directory) ?? []);
}

/** Returns how the names of the folders of a directory and those below it begin. */
export function beginFolder({ folderBegin }: Host, directory: string): string {
  return folderBegin?.(directory) ?? dashed(directory).slice(0, CLAUDE_FOLDER_MAX);
}

function dashed(directory: string): string {
  return directory.replace(/[^a-zA-Z0-9]/g, "-");
}

export const UUID_NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

export const HOSTS: readonly Host[] = [
  {
    agent: "claude",
    name: "Claude Code",
    program: "claude",
    home: "($CLAUDE_CONFIG_DIR|~/.claude)",
    transcripts: [
      { path: "projects/<cwd>/<id>.jsonl" },
      // Old versions put subagents beside their parents.
      { path: "projects/<cwd>/<subagent>.jsonl" },
      { path: "projects/<cwd>/<parent>/subagents/**/<subagent>.jsonl" },
    ],
    isNamedById: true,
    subagents: "agent-",
    logs: "agent-acompact-",
    folderName: encodeClaudeCwd,
    volute: "names",
    outputs: "tool-results",
    prompts: { files: "history.jsonl", load: () => import("./claude-prompts.ts") },
    retention: { settings: "settings.json", key: "cleanupPeriodDays", days: 30 },
    moments: ["start", "prompt", "failure", "summary", "compaction", "turn", "end"],
    hooks: {
      installedIn: "plugins/installed_plugins.json",
      remedy: "check that it is enabled",
      showsPerson: true,
    },
    idVariable: "CLAUDE_CODE_SESSION_ID",
    resume: "claude --resume <id>",
    load: () => import("./claude.ts"),
  },
  {
    agent: "pi",
    name: "pi",
    program: "pi",
    home: "($PI_CODING_AGENT_DIR|~/.pi/agent)",
    transcripts: [
      { path: "sessions/*.jsonl" },
      { path: "sessions/<cwd>/**/*.jsonl" },
      {
        path: "**/*.jsonl",
        under: ({ pi, piSessions }) => (piSessions === join(pi, "sessions") ? undefined : piSessions),
      },
      // OpenClaw wrote pi's format before it had a database.
      { path: "agents/*/sessions/*.jsonl", under: ({ openclaw }) => openclaw, names: UUID_NAME },
    ],
    names: /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z_(.+)\.jsonl$/,
    hasOtherFiles: true,
    folderBegin: (directory) =>
      `--${resolve(directory)
        .replace(/^[/\\]/, "")
        .replace(/[/\\:]/g, "-")}`,
    volute: { folder: "pi-sessions" },
    metas: "sessions-meta",
    moments: ["start", "prompt", "failure", "compaction", "turn", "end"],
    hooks: { installedIn: "settings.json", remedy: "check that it is enabled" },
    observesItself: true,
    idVariable: "PI_SESSION_ID",
    resume: "pi --session <file>",
    load: () => import("./pi.ts"),
  },
  {
    agent: "codex",
    name: "Codex",
    program: "codex",
    home: "($CODEX_HOME|~/.codex)",
    transcripts: [
      { path: "sessions/<day>/**/<name>" },
      { path: "archived_sessions/**/<name>", isOver: true },
    ],
    names: /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)\.jsonl$/,
    isNamedById: true,
    compresses: true,
    moments: ["start", "prompt", "failure", "compaction", "turn"],
    hooks: { installedIn: "config.toml", remedy: "trust the hooks of session-memory with /hooks" },
    resume: "codex resume <id>",
    load: () => import("./codex.ts"),
  },
  {
    agent: "copilot",
    name: "Copilot CLI",
    program: "copilot",
    home: "($COPILOT_HOME|~/.copilot)",
    transcripts: ["session-state/<id>/events.jsonl"],
    hooks: {
      installedIn: "hooks/session-memory.json",
      remedy: "check that its hooks are on",
      written: {
        second: 1,
        ownFile: { version: 1 },
        saysAtTop: true,
        events: {
          // what was said at the start is replaced when a session is resumed
          SessionStart: { moment: { new: "start", startup: "start", resume: "resume" } },
          UserPromptSubmit: { moment: "prompt" },
          PostToolUse: { matcher: "bash|Bash|powershell", moment: "failure" },
          Stop: { moment: "turn" },
        },
      },
    },
    compacted: /"type":"session\.compaction_complete","data":\{(?!"success":false)/,
    idVariable: "COPILOT_AGENT_SESSION_ID",
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
    hooks: {
      installedIn: "settings.json",
      remedy: "check that its hooks are on",
      written: {
        second: 1000,
        events: {
          SessionStart: {
            // it keeps of the start's text what the last one said
            moment: { startup: "start", clear: "start", resume: "resume", compact: "compaction" },
          },
          UserPromptSubmit: { moment: "prompt" },
          PostToolUseFailure: { matcher: "run_shell_command", moment: "failure" },
          PreCompact: { moment: "summary" },
          Stop: { moment: "turn" },
        },
      },
    },
    idVariable: "QWEN_CODE_SESSION_ID",
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
    hooks: {
      installedIn: "settings.json",
      remedy: "check that its hooks are on",
      written: {
        second: 1000,
        events: {
          // a session that is resumed has lost what hooks said
          SessionStart: { moment: { startup: "start", clear: "start", resume: "resume" } },
          BeforeAgent: { moment: "prompt" },
          AfterTool: { matcher: "run_shell_command", moment: "failure" },
          AfterAgent: { moment: "turn" },
        },
      },
    },
    compacted: /^\{"\$set":\{"messages":.*"text":"<state_snapshot>/m,
    resume: "gemini --resume <id>",
    resumeNote: "Gemini CLI 0.61 deletes a resumed session at its next start: copy its transcript first",
    severalFiles: {
      names: /^session-.+-([0-9a-f]{8})\.jsonl$/,
      shown: "session-*-$1.jsonl",
      what: "Gemini CLI 0.61 deletes a session that was resumed when it next starts in that project",
      remedy: "copy these files to another folder before",
    },
    skills: "($GEMINI_CLI_HOME|~)/.gemini/skills",
    load: () => import("./gemini.ts"),
  },
  {
    agent: "opencode",
    name: "opencode",
    program: "opencode",
    home: "($XDG_DATA_HOME|~/.local/share)/opencode",
    store: { files: "opencode.db", load: () => import("./opencode.ts") },
    idVariable: "SESSION_MEMORY_SESSION_ID",
    resume: "opencode --session <id>",
    moments: ["start", "prompt", "failure", "summary", "compaction", "turn"],
    skills: "($XDG_CONFIG_HOME|~/.config)/opencode/skills",
    plugin: "($XDG_CONFIG_HOME|~/.config)/opencode/plugin/session-memory.js",
    load: () => copied("opencode"),
  },
  {
    agent: "openclaw",
    name: "OpenClaw",
    program: "openclaw",
    home: "~/.openclaw",
    store: { files: "agents/*/agent/openclaw-agent.sqlite", load: () => import("./openclaw.ts") },
    resume: 'openclaw agent --local --session-id <id> -m "…"',
    load: () => copied("openclaw"),
  },
  {
    agent: "kilo",
    name: "Kilo Code",
    program: "kilo",
    home: "($XDG_DATA_HOME|~/.local/share)/kilo",
    // A fork of opencode, with its tables.
    store: { files: "kilo.db", load: () => import("./opencode.ts") },
    resume: "kilo --session <id>",
    skills: "($XDG_CONFIG_HOME|~/.config)/kilo/skills",
    load: () => copied("kilo"),
  },
  {
    agent: "droid",
    name: "Factory Droid",
    program: "droid",
    home: "~/.factory",
    transcripts: ["sessions/<cwd>/<id>.jsonl"],
    resume: "droid --resume <id>",
    load: () => import("./droid.ts"),
  },
  {
    agent: "cline",
    name: "Cline",
    program: "cline",
    home: "($CLINE_DIR|~/.cline)",
    store: { files: "data/sessions/*/*.messages.json", load: () => import("./cline.ts") },
    resume: "cline --id <id>",
    skills: "($CLINE_DIR|~/.cline)/skills",
    load: () => copied("cline"),
  },
  {
    agent: "kimi",
    name: "Kimi Code",
    program: "kimi",
    home: "($KIMI_CODE_HOME|~/.kimi-code)",
    transcripts: [
      "sessions/*/<id>/agents/main/wire.jsonl",
      { path: "sessions/*/<parent>/agents/<child>/wire.jsonl", names: /^agent-/ },
    ],
    resume: "kimi -r <id>",
    skills: "($KIMI_CODE_HOME|~/.kimi-code)/skills",
    load: () => import("./kimi.ts"),
  },
  {
    agent: "cursor",
    name: "Cursor",
    program: "cursor-agent",
    home: "($CURSOR_DATA_DIR|~/.cursor)",
    transcripts: [
      "projects/<cwd>/agent-transcripts/<id>/<id>.jsonl",
      "projects/<cwd>/agent-transcripts/<parent>/subagents/<id>.jsonl",
    ],
    // It cuts longer names here.
    folderBegin: (directory) => dashedPath(resolve(directory)).slice(0, 84),
    resume: "cursor-agent --resume <id>",
    load: () => import("./cursor.ts"),
  },
  {
    agent: "antigravity",
    name: "Antigravity CLI",
    program: "agy",
    home: "~/.gemini/antigravity-cli",
    transcripts: [
      "brain/<id>/.system_generated/logs/transcript_full.jsonl",
      { path: "brain/<id>/.system_generated/logs/transcript.jsonl", unless: "transcript_full.jsonl" },
    ],
    emptiedWhy:
      "nothing can be read of it: what was said is only in conversations/, in the client's own form",
    resume: "agy --conversation <id>",
    load: () => import("./antigravity.ts"),
  },
];

/** Returns a host by its name in `--agent`; undefined for `plain`, which is none. */
export function findHost(agent: string | undefined): Host | undefined {
  return HOSTS.find((host) => host.agent === agent);
}

/** Returns the moments of a session at which a host hears us, or we work. */
export function listMoments({ moments, hooks }: Host): readonly Moment[] {
  const events = Object.values(hooks?.written?.events ?? {});
  return (
    moments ?? [
      ...new Set(
        events.flatMap(({ moment }) => (typeof moment === "string" ? moment : Object.values(moment))),
      ),
    ]
  );
}

/** The names that `--agent` takes. A folder of `{role, content}` lines is `plain`. */
export const AGENTS: readonly string[] = [...HOSTS.map(({ agent }) => agent), "plain"];

/** Returns the id of the session that a command was called in, where its host names it. */
export function callingSession(env: Environment): string | undefined {
  return HOSTS.map(({ idVariable = "" }) => env[idVariable]).find(Boolean);
}

/** Returns what to know before a session of a host is resumed. */
export function resumeNote(agent: string): string | undefined {
  return findHost(agent)?.resumeNote;
}

/** Returns what people call the host of a session. */
export function hostName(agent: string): string {
  return findHost(agent)?.name ?? agent;
}

/** Returns what people call the host in which a session's own model observes it, and answers questions and names it. */
export function observingHost(): string | undefined {
  return HOSTS.find(({ observesItself }) => observesItself)?.name;
}

/** Loads the format of a host of which copies are read. */
async function copied(agent: string): Promise<{ format: Format }> {
  return { format: (await import("./format.ts")).copiedFormat(agent) };
}

/** Removes every copy: what is still wanted is copied again. */
export function removeCopies(paths: Pick<PathsWithRules, "home">): void {
  for (const { agent, store, prompts } of HOSTS) {
    if ((store ?? prompts) !== undefined)
      rmSync(copiesFolder(paths, agent), { recursive: true, force: true });
  }
}

/** Returns the folder of the copies of a host's sessions. */
export function copiesFolder({ home }: Pick<Paths, "home">, agent: string): string {
  return join(home, agent);
}
