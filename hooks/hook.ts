/**
 * Runs hooks, reads what a host gives a hook (session, prompt, settings), and starts work in the background.
 *
 * Loaded by every prompt hook, so what only a failure or a start in the background needs is imported there.
 */

import { readFileSync } from "node:fs";
import type { ReportedFailure } from "../lib/activity/seen.ts";
import { describeError } from "../lib/base/errors.ts";
import { type JsonRecord, recordOf, stringOf } from "../lib/base/json.ts";
import {
  currentDirectory,
  type Environment,
  type PathsWithRules,
  readHookSettings,
  resolvePaths,
  type Settings,
  trustedEnvironment,
  withFolders,
} from "../lib/config/config.ts";
import type { Agent, Viewer } from "../lib/hosts/session.ts";
import type { Answer, Asked } from "./asked.ts";

/** The input of a hook, with our paths and the trusted environment. */
export interface HookCall {
  paths: PathsWithRules;
  env: Environment;
  input: JsonRecord;
}

const STDIN = 0; // POSIX
/** Prefix of prompts that the host writes itself. */
const NOT_TYPED = "<task-notification>";

interface Run {
  /** The host that calls. @default as the input says */
  host?: Agent | undefined;
  env?: Environment;
  /** Returns the input. @default it is read from stdin, as JSON */
  read?: () => unknown;
}

/** Runs a hook's work on its input; the current directory is not trusted. No failure reaches the host. */
export async function runHook<T>(
  name: string,
  work: (call: HookCall) => T | Promise<T>,
  { host, env: given = process.env, read = () => JSON.parse(readFileSync(STDIN, "utf8")) }: Run = {},
): Promise<T | undefined> {
  if (given.SESSION_MEMORY_DISABLE === "1") return undefined;
  const { env, ignored } = trustedEnvironment(given, currentDirectory());
  const paths = resolvePaths(env);
  let source = host;
  try {
    const input = recordOf(read());
    // Codex runs hooks in sessions of its own making too, which tidy its memory and are written nowhere.
    if (input.transcript_path === null) return undefined;
    source ??= stringOf(input.host) ?? hostByFile(stringOf(input.transcript_path));
    if (ignored.length > 0)
      await logFailure(paths, name, `ignored from this folder's .env: ${ignored.join(", ")}`, { source });
    return await work({ paths, env, input });
  } catch (error) {
    await logFailure(paths, name, error, { source });
    return undefined;
  }
}

/** Logs a failure, and in which host or session it happened where that is known. */
export async function logFailure(
  paths: PathsWithRules,
  hook: string,
  error: unknown,
  about: { source?: string | undefined; session?: string | undefined } = {},
): Promise<void> {
  const { log } = await import("../lib/transcripts/event-log.ts");
  log(paths.log, { event: `hook.${hook}`, ok: false, ...about, error: describeError(error) });
}

/** Reads the session that a hook is about. */
export function readSession({ session_id, transcript_path, cwd }: JsonRecord): Viewer {
  const id = stringOf(session_id);
  if (id === undefined) throw new Error("Cannot identify the session: the input has no session_id");
  return { id, file: stringOf(transcript_path), cwd: stringOf(cwd) ?? currentDirectory() };
}

/** Reads a prompt; undefined for one of the host's own. */
export function readPrompt(input: JsonRecord): string | undefined {
  const text = stringOf(input.prompt) ?? "";
  return text.trimStart().startsWith(NOT_TYPED) ? undefined : text;
}

/** Reads which command a hook is about; undefined for anything but a command that ran. */
export function readCommand(input: JsonRecord): Omit<ReportedFailure, "output"> | undefined {
  const { id, cwd } = readSession(input);
  const command = stringOf(recordOf(input.tool_input).command);
  if (command === undefined || input.is_interrupt === true) return undefined;
  // a subagent does not see what was added to its session
  return { sessionId: id, viewer: stringOf(input.agent_id) ?? id, cwd, command };
}

/** Reads the settings, and the places that may be read for the session with this transcript. */
export function requireSettings(
  places: PathsWithRules,
  { env, transcript }: { env: Environment; transcript: string | undefined },
): { settings: Settings; paths: PathsWithRules } {
  const settings = readHookSettings(places);
  if (!settings) throw new Error(`Cannot use "${places.config}": session-memory health says why`);
  return { settings, paths: withFolders(places, { settings, env, transcript }) };
}

/** Returns the host of a hook's transcript: Codex runs the same hooks as Claude Code. */
function hostByFile(file: string | undefined): "claude" | "codex" {
  return file !== undefined && /[/\\]rollout-[^/\\]+$/.test(file) ? "codex" : "claude";
}

/** The work that is due when a session begins: sharing, and catching up on older sessions. */
export const BEGIN = "--begin";

/** Starts background.ts in a process that outlives its host; of a session without a transcript only what is due when it begins. */
export async function startBackground(
  { host, session: { id, file, cwd }, env }: Pick<Asked, "host" | "session" | "env">,
  ...flags: string[]
): Promise<undefined> {
  if (file === undefined && !flags.includes(BEGIN)) return;
  const { startDetached } = await import("../lib/base/runtime.ts");
  const about = ["--session", id, "--file", file ?? "", "--source", host, ...flags, "--cwd", cwd];
  startDetached("background", about, { env, cwd });
}

/** Reads the session that an event is about, of Claude Code or Codex where no host is named. */
export function readAsked({ env, input, paths }: HookCall, host?: Agent): Asked {
  const session = readSession(input);
  const settled = requireSettings(paths, { env, transcript: session.file });
  return { host: host ?? hostByFile(session.file), session, env, ...settled };
}

/** Joins the answers of one moment. */
export function together(...answers: (Answer | undefined)[]): Answer {
  const join = (to: "text" | "toPerson", by: string) =>
    answers.flatMap((answer) => answer?.[to] ?? []).join(by) || undefined;
  return {
    text: join("text", "\n\n"),
    toPerson: join("toPerson", "\n"),
    delivered() {
      for (const answer of answers) answer?.delivered();
    },
  };
}

/** Prints what is to be said, as a line or as JSON; nothing where nothing is. */
export async function printAnswer(
  answer: Answer | undefined,
  form: (said: Answer) => unknown,
): Promise<void> {
  if (!answer) return;
  if (answer.text === undefined && answer.toPerson === undefined) return void answer.delivered();
  const { writeFully } = await import("../lib/base/output.ts");
  const said = form(answer);
  if (writeFully(`${typeof said === "string" ? said : JSON.stringify(said)}\n`)) answer.delivered();
}
