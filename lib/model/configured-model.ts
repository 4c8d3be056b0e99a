/**
 * Provides the configured model and embedder: over HTTP, or a program that is asked for an answer, the prompt on its stdin,
 * the answer on its stdout, no key of ours. For dry runs, a model that only notes what it would be sent.
 *
 * `claude` is the host that is already there, run as a plain model: without tools, MCP servers, hooks, plugins, memory
 * files, saved session and settings, in an empty folder.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { numberOf, parseRecord, recordOf, stringOf } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import { findProgram, trustedPath } from "../base/runtime.ts";
import type { Config, Environment, LlmConfig } from "../config/config.ts";
import { redact, redactor } from "../redact/redact.ts";
import {
  type ChatMessage,
  type CompleteJson,
  DEFAULT_MAX_TOKENS,
  type JsonRequest,
  jsonCompleter,
  type SendChat,
} from "./answers.ts";
import type { Embedded } from "./llm.ts";
import { makeCall, openSpendLedger, type Tokens, tokenUpperBound } from "./spend.ts";

/** Returns the configured model, or undefined when config.json names none. */
export async function configuredModel(config: Config): Promise<CompleteJson | undefined> {
  const send = await configuredSender(config);
  return send && jsonCompleter(send, redactor(config.settings.redact.extra));
}

/** Returns a sender of chats to the configured model, if there is one. Its client is loaded only then: that costs five empty starts. */
export async function configuredSender(config: Config, temperature?: number): Promise<SendChat | undefined> {
  const { llm } = config.settings;
  if (!llm) return undefined;
  const { command } = llm;
  if (command !== undefined) return commandSender({ ...llm, command }, config);
  const { chatSender } = await import("./llm.ts");
  return chatSender({ config: llm, ...readConnection(config) }, temperature);
}

/** Embeds texts in order. */
export type EmbedTexts = (texts: string[], signal?: AbortSignal) => Promise<Embedded>;

/** Returns the configured embedder, or undefined when config.json names none. */
export async function configuredEmbedder(config: Config): Promise<EmbedTexts | undefined> {
  const { embedding } = config.settings;
  if (!embedding) return undefined;
  const { embedTexts } = await import("./llm.ts");
  return (texts, signal) => embedTexts(texts, { config: embedding, signal, ...readConnection(config) });
}

function readConnection({ env, paths, settings }: Config) {
  const spend = openSpendLedger(paths.home, settings);
  return { env, spend, redact: redactor(settings.redact.extra) };
}

export interface Notes {
  calls: number;
  /** At most: of each answer as many as it may have. */
  tokens: Tokens;
}

/** Makes a model that notes each request and answers with `answerTo`, so that the work can continue. */
export function noteTaker(
  model: string,
  answerTo: (request: Pick<JsonRequest<unknown>, "feature" | "prompt">) => unknown,
): { notes: Notes; complete: CompleteJson } {
  const notes: Notes = { calls: 0, tokens: { input: 0, output: 0 } };
  return {
    notes,
    complete: async <T>(request: JsonRequest<T>) => {
      const input = tokenUpperBound(request.system) + tokenUpperBound(request.prompt);
      const output = request.maxTokens ?? DEFAULT_MAX_TOKENS;
      notes.calls++;
      notes.tokens.input += input;
      notes.tokens.output += output;
      const value = request.schema.parse(answerTo(request));
      return { value, model, usage: { input, output }, tokens: input + output, usd: 0 };
    },
  };
}

/** The flags, each with what it keeps out, as seen on the real client; if two keep out the same, a later version may need both. */
const CLAUDE = [
  "claude",
  "-p",
  "--model",
  "haiku",
  "--output-format",
  "json",
  // eleven tools, with 48 KB of descriptions
  "--tools",
  "",
  // servers of ~/.claude.json and of projects
  "--strict-mcp-config",
  // hooks, plugins, output styles and CLAUDE.md of the user and of projects
  "--setting-sources",
  "",
  "--settings",
  '{"disableAllHooks":true}',
  // a transcript in the user's list
  "--no-session-persistence",
  // skills and commands
  "--disable-slash-commands",
  // 7 KB of the client's own instructions
  "--system-prompt",
  "Follow the instructions in the message. Answer with what they ask for and nothing else.",
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
const ERROR_MAX_CHARS = 200;

/** Wraps a program as a `SendChat`; one call at a time on a machine. */
function commandSender(
  { command, model, timeoutMs }: LlmConfig & { command: readonly string[] },
  config: Config,
): SendChat {
  const { spend, redact: clean } = readConnection(config);
  const { home } = config.paths;
  const env = { ...config.env, PATH: trustedPath(config) };
  return async (messages, { feature, signal }) => {
    const prompt = clean(toPrompt(messages)).toWellFormed();
    const tokens = { input: tokenUpperBound(prompt), output: 0 };
    const line = programLine(command, env.PATH);
    const folder = join(home, "empty");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return await withLock(join(home, "command.lock"), timeoutMs, async () => {
      const reservation = await spend.reserve({ kind: "chat", feature, model, tokens });
      const output = await makeCall(reservation, {
        timeoutMs,
        signal,
        make: (within) => run(line, { env, folder, prompt, within }),
        toError: (error, over) => (over ? failed(over.reason, over.kind) : error),
      });
      const { text, ...used } = readOutput(output);
      const paid = reservation.settle({ output: tokenUpperBound(text), ...used });
      return { text, cut: false, model, ...paid };
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
function programLine(command: readonly string[], path: string): [program: string, ...args: string[]] {
  const [name = "", ...args] = command.length === 1 && command[0] === "claude" ? CLAUDE : command;
  const program = isAbsolute(name) ? name : findProgram(name, path);
  if (program === undefined) throw failed(`no ${name} on PATH`, "missing");
  return [program, ...args];
}

/** The most that is waited for output which the program wrote before it ended, and which is here already. */
const DRAIN_MS = 250;

interface Running {
  env: Environment;
  folder: string;
  prompt: string;
  within: AbortSignal;
}

/** Runs the program to its end and returns its output; its process group ends with the time limit. */
async function run(
  [program, ...args]: [string, ...string[]],
  { env, folder, prompt, within }: Running,
): Promise<string> {
  const kept = Object.entries(env).filter(
    ([key, value]) => value !== undefined && !SESSION_VARIABLE.test(key),
  );
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...Object.fromEntries(kept), ...OWN_VARIABLES },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const end = () => endGroup(child);
  process.once("exit", end);
  try {
    const { code, stdout, stderr } = await readToEnd(child, within, prompt);
    if (code === 0) return stdout;
    const said = stringOf(parseRecord(stdout)?.result) ?? stderr;
    throw failed(`${basename(program)} ended with ${code}: ${firstLine(said)}`, "status");
  } finally {
    process.removeListener("exit", end);
    end();
    for (const stream of child.stdio) stream?.destroy();
    child.unref();
  }
}

/**
 * Gives a program its input and reads what it writes until it ends. A grandchild may have left its group and keep the output
 * open: neither the end nor a signal waits for that.
 */
async function readToEnd(child: ChildProcessWithoutNullStreams, within: AbortSignal, input: string) {
  const { promise: ended, resolve, reject } = Promise.withResolvers<number | null>();
  within.addEventListener("abort", reject, { once: true });
  const streams = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      streams[stream] += text;
    });
  }
  child.stdin.on("error", () => {}); // a program need not read its prompt
  child.stdin.end(input);
  child.once("error", (error) => reject(failed(describeError(error), "missing")));
  child.once("close", resolve);
  child.once("exit", (code) => setTimeout(resolve, DRAIN_MS, code).unref());
  return { code: await ended, ...streams };
}

function endGroup({ pid }: { pid?: number | undefined }): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

/** Reads an answer: the `result` of a JSON object that has one, with what it says of tokens and cost, else the text itself. */
function readOutput(output: string): { text: string; input?: unknown; output?: unknown; usd?: unknown } {
  const { result, is_error: isError, usage, total_cost_usd: usd } = parseRecord(output) ?? {};
  if (typeof result !== "string") return { text: output.trim() };
  if (isError === true) throw failed(`it answered ${firstLine(result)}`, "status");
  const { input_tokens: input, output_tokens: written } = recordOf(usage);
  return { text: result, input, ...(numberOf(written) ? { output: written } : {}), usd };
}

function firstLine(text: string): string {
  return redact(text.trim().split("\n", 1)[0] ?? "").slice(0, ERROR_MAX_CHARS) || "nothing";
}

/**
 * A program that is missing or ends with an error, as one that nobody logged in to does, fails the next call too: it is not
 * asked again in a run. One that was slow may be in time.
 */
function failed(reason: string, kind: "missing" | "status" | "timeout" | "aborted"): SessionMemoryError {
  return new SessionMemoryError("MODEL_FAILED", `Cannot ask the model: ${reason}`, {
    details: { kind },
    recoverable: kind === "timeout" || kind === "aborted",
    hint: "run the program of llm.command in config.json by hand (claude: /login), or take llm out of it",
  });
}
