/**
 * Asks a program for an answer: the prompt on its stdin, the answer on its stdout, no key of ours.
 *
 * `claude` is the host that is already there, run as a plain model: without tools, MCP servers, hooks, plugins, memory
 * files, saved session and settings, in an empty folder.
 */

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename, delimiter, isAbsolute, join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { numberOf, parseJson, recordOf, stringOf } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import { findProgram } from "../base/runtime.ts";
import type { Environment, LlmConfig } from "../config/config.ts";
import { redact } from "../redact/redact.ts";
import type { ChatMessage, SendChat } from "./answers.ts";
import { tokenUpperBound } from "./prices.ts";
import type { SpendLedger } from "./spend.ts";

/** What each keeps out, as seen on the real client; where two keep out the same, a later version may need both. */
const CLAUDE = [
  ...["claude", "-p", "--model", "haiku", "--output-format", "json"],
  // eleven tools, with 48 KB of descriptions
  ...["--tools", ""],
  // servers of ~/.claude.json and of projects
  "--strict-mcp-config",
  // hooks, plugins, output styles and CLAUDE.md of the user and of projects
  ...["--setting-sources", "", "--settings", '{"disableAllHooks":true}'],
  // a transcript in the user's list
  "--no-session-persistence",
  // skills and commands
  "--disable-slash-commands",
  // 7 KB of the client's own instructions
  ...[
    "--system-prompt",
    "Follow the instructions in the message. Answer with what they ask for and nothing else.",
  ],
];
const OWN_VARIABLES = {
  SESSION_MEMORY_DISABLE: "1",
  // a path behind @ in a prompt is a file that the client reads
  CLAUDE_CODE_DISABLE_ATTACHMENTS: "1",
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: "1",
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
};
/** Variables that tell the client of the session that it is started from. */
const SESSION_VARIABLE =
  /^(?:CLAUDECODE|CLAUDE_(?:PID|PROJECT_DIR|ENV_FILE|PLUGIN_\w+)|CLAUDE_CODE_(?:SESSION_ID|CHILD_SESSION|ENTRYPOINT|SSE_PORT))$/;
/** An answer is some thousand characters; a program that never ends would take all memory. */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024;
const ERROR_MAX_CHARS = 200;

interface CommandConnection {
  config: LlmConfig & { command: readonly string[] };
  env: Environment;
  /** Our state folder, which holds the empty folder and the lock. */
  home: string;
  spend: SpendLedger;
  /** Redacts what is sent. */
  redact?: ((text: string) => string) | undefined;
}

/** Wraps a program as a `SendChat`; one call at a time on a machine. */
export function commandSender({
  config,
  env,
  home,
  spend,
  redact: own = redact,
}: CommandConnection): SendChat {
  return async (messages, { feature, signal }) => {
    const prompt = own(toPrompt(messages)).toWellFormed();
    const tokens = { input: tokenUpperBound(prompt), output: 0 };
    const [program, args] = commandLine(config.command, env);
    const folder = join(home, "empty");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return await withLock(join(home, "command.lock"), config.timeoutMs, async () => {
      const reservation = await spend.reserve({ kind: "chat", feature, model: config.model, tokens });
      const output = await run([program, ...args], {
        env,
        folder,
        prompt,
        signal,
        timeoutMs: config.timeoutMs,
      });
      const { text, ...used } = readAnswer(output);
      const { tokens: taken, usd } = reservation.settle({ output: tokenUpperBound(text), ...used });
      return { text, cut: false, model: config.model, tokens: taken, usd };
    });
  };
}

/** Puts a conversation into one prompt; what the program answered before is quoted. */
function toPrompt(messages: readonly ChatMessage[]): string {
  return messages
    .map(({ role, content }) => (role === "assistant" ? `You answered:\n${content}` : content))
    .join("\n\n");
}

/** Returns the program's file and its arguments. */
function commandLine(
  command: readonly string[],
  env: Environment,
): [program: string, args: readonly string[]] {
  const [name = "", ...args] = command.length === 1 && command[0] === "claude" ? CLAUDE : command;
  // a project's own programs are none of the user's
  const PATH = env.PATH?.split(delimiter)
    .filter((folder) => !/\/node_modules\/\.bin\/?$/.test(folder))
    .join(delimiter);
  const program = isAbsolute(name) ? name : findProgram(name, { PATH });
  if (program === undefined) throw failed(`no ${name} on PATH`, { kind: "missing", recoverable: false });
  return [program, args];
}

interface RunOptions {
  env: Environment;
  folder: string;
  prompt: string;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Runs the program to its end and returns its output; its process group ends with the time limit. */
async function run([program, ...args]: [string, ...string[]], options: RunOptions): Promise<string> {
  const { env, folder, prompt, signal, timeoutMs } = options;
  const kept = Object.entries(env).filter(
    ([key, value]) => value !== undefined && !SESSION_VARIABLE.test(key),
  );
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...Object.fromEntries(kept), ...OWN_VARIABLES },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // it has ended
    }
  };
  let reason = "";
  const stop = (why: string) => {
    reason ||= why;
    end();
  };
  const timer = setTimeout(() => stop(`no answer within ${timeoutMs / 1000} s`), timeoutMs);
  const abort = () => stop("the call was given up");
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  process.once("exit", end);
  const streams = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      streams[stream] += text;
      if (streams[stream].length > ANSWER_MAX_BYTES) stop("the answer is too large");
    });
  }
  child.stdin.on("error", () => {}); // a program need not read its prompt
  child.stdin.end(prompt);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (reason !== "") throw failed(reason, { kind: signal?.aborted ? "aborted" : "timeout" });
    if (code === 0) return streams.stdout;
    const said = stringOf(recordOf(tryParse(streams.stdout)).result) ?? streams.stderr;
    throw failed(`${basename(program)} ended with ${code}: ${firstLine(said)}`, { kind: "status" });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    process.removeListener("exit", end);
    end();
  }
}

/** Reads an answer: the `result` of a JSON object that has one, with what it says of tokens and cost, else the text itself. */
function readAnswer(output: string): { text: string; input?: number; output?: number; usd?: number } {
  const answer = recordOf(tryParse(output));
  const result = stringOf(answer.result);
  if (result === undefined) return { text: output.trim() };
  if (answer.is_error === true) throw failed(`it answered ${firstLine(result)}`, { kind: "status" });
  const usage = recordOf(answer.usage);
  const [input, written, usd] = [usage.input_tokens, usage.output_tokens, answer.total_cost_usd].map(
    numberOf,
  );
  return {
    text: result,
    ...(input === undefined ? {} : { input }),
    ...(written === undefined ? {} : { output: written }),
    ...(usd === undefined ? {} : { usd }),
  };
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function firstLine(text: string): string {
  return redact(text.trim().split("\n", 1)[0] ?? "").slice(0, ERROR_MAX_CHARS) || "nothing";
}

function failed(
  reason: string,
  { kind, recoverable = true }: { kind: string; recoverable?: boolean },
): SessionMemoryError {
  return new SessionMemoryError("MODEL_FAILED", `Cannot ask the model: ${reason}`, {
    details: { kind },
    recoverable,
    hint: "run the program of llm.command in config.json by hand (claude: /login), or take llm out of it",
  });
}
