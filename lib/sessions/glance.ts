/**
 * Whether anything that a session's last look at the others went by has changed since: what the prompt hook asks before
 * it loads anything else.
 *
 * A look is decided by the answers of the file system, the environment, the host's input and the day. Those of a look
 * that found nothing are kept beside the cursors (lib/sessions/witness.ts). While every answer is the same, so is the outcome;
 * any difference, and whatever is not expected here, means a real look. The file's own time is when the session last
 * looked. Imports node:fs alone: each module more costs a tenth of an empty start.
 */

import { lstatSync, readFileSync, realpathSync, type Stats, statSync, utimesSync } from "node:fs";

/**
 * What a look asks of a path: all that changes with a file's content or a folder's list, only what it is, whether it is
 * a file and no link, or where it really lies.
 */
export type Question = "state" | "kind" | "plain" | "real";

/** A look that found nothing. */
export interface Glance {
  /** All it went by that is not in the file system. */
  circumstances: string;
  /** Milliseconds. */
  at: number;
  answers: readonly [question: Question, path: string, answer: string][];
}

/** The process of a hook. */
export interface Host {
  env: Record<string, string | undefined>;
  execArgv: readonly string[];
  cwd(): string;
}

/** What the host says of the session that a prompt is written in: not to be trusted to have any shape. */
export interface PromptInput {
  session_id?: unknown;
  transcript_path?: unknown;
  cwd?: unknown;
  session_title?: unknown;
}

/** Changes with the rules by which a look decides. */
const VERSION = 1;
/** All that decide where things lie. */
const VARIABLES = [
  "HOME",
  "USERPROFILE",
  "SESSION_MEMORY_HOME",
  "SESSION_MEMORY_SESSIONS",
  "CLAUDE_CONFIG_DIR",
  "PI_CODING_AGENT_DIR",
  "PI_CODING_AGENT_SESSION_DIR",
  "CODEX_HOME",
];
const FILE_NAME_MAX = 200;
const DAY_MS = 86_400_000;

/** Whether the session of a prompt needs no look: nothing has changed since its last one, which is then dated now. */
export function isAllAsItWas(stdin: string, host: Host, now: number = Date.now()): boolean {
  try {
    const input = JSON.parse(stdin);
    const { session_id, prompt } = input;
    if (typeof session_id !== "string" || typeof prompt !== "string" || isHosts(prompt)) return false;
    // Else a project folder may have put a variable there.
    if (!host.execArgv.includes("--no-env-file")) return false;
    const { env } = host;
    const home = env.SESSION_MEMORY_HOME || `${env.HOME || env.USERPROFILE}/.session-memory`;
    const file = glanceFile(cursorPath(`${home}/cursors`, session_id));
    const circumstances = circumstancesOf(input, host, now);
    if (!holds(JSON.parse(readFileSync(file, "utf8")), { circumstances, now })) return false;
    utimesSync(file, now / 1000, now / 1000);
    return true;
  } catch {
    return false; // never looked, or anything else that a real look knows how to handle
  }
}

/** Whether the host wrote a prompt: that is no look. */
function isHosts(prompt: string): boolean {
  return prompt.includes("<task-notification>");
}

function holds(glance: Glance, { circumstances, now }: { circumstances: string; now: number }): boolean {
  // What is old at one time may be young at an earlier one.
  if (glance.circumstances !== circumstances || now < glance.at) return false;
  for (const [question, path, answer] of glance.answers) {
    if (answerTo(question, path) !== answer) return false;
  }
  return true;
}

/** The cursor file of a session. Its id never leads out of the folder. */
export function cursorPath(folder: string, looker: string): string {
  return `${folder}/${encodeURIComponent(looker.toWellFormed()).slice(0, FILE_NAME_MAX)}.json`;
}

/** Where the glance is that goes with a cursor file. */
export function glanceFile(cursors: string): string {
  return `${cursors}.glance`;
}

/** What decides a look beside the file system: among it the day, by which Codex's folders are chosen. */
export function circumstancesOf(input: PromptInput, host: Pick<Host, "env" | "cwd">, now: number): string {
  const { session_id, transcript_path = null, cwd = null, session_title } = input;
  const variables = VARIABLES.map((name) => host.env[name] ?? "");
  const day = Math.floor(now / DAY_MS);
  const here = [VERSION, import.meta.url, host.cwd(), day];
  const isTitled = Boolean(session_title);
  return JSON.stringify([...here, session_id, transcript_path, cwd, isTitled, ...variables]);
}

/** What the file system says, so that two answers are equal only when a look would see the same. */
export function answerTo(question: Question, path: string): string {
  try {
    if (question === "real") return realpathSync(path);
    if (question === "plain") return String(lstatSync(path, { throwIfNoEntry: false })?.isFile() === true);
    const stat = statSync(path, { throwIfNoEntry: false });
    return question === "kind" ? kindOf(stat) : stateOf(stat);
  } catch (error) {
    return codeOf(error);
  }
}

/** What a path leads to; "" when it leads to nothing. */
export function kindOf(stat: Stats | undefined): string {
  if (!stat) return "";
  return stat.isFile() ? "file" : stat.isDirectory() ? "directory" : "other";
}

/** Changes when a file or a folder's list does; "" when there is none. */
export function stateOf(stat: Stats | undefined): string {
  return stat ? `${stat.size} ${stat.mtimeMs} ${stat.ctimeMs} ${stat.ino}` : "";
}

/** Why a path does not say. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
