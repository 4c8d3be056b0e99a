/** How a script talks: help, flags, streams, progress, exit codes. For scripts only. */

import { readFileSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { asCalled, isDispatched } from "./base/command.ts";
import { SessionMemoryError } from "./base/errors.ts";
import { handOver } from "./base/output.ts";
import { refusalOf } from "./base/refusals.ts";
import { parseTime } from "./base/time.ts";
import type { Config } from "./config/config.ts";
import { compilePatterns, redact } from "./redact/redact.ts";

const STDERR = 2;

type Options = NonNullable<ParseArgsConfig["options"]>;

/**
 * Runs a script: prints help, or calls `main`, and turns a known failure into `error:`/`hint:` lines and an exit code.
 *
 * Never calls `process.exit`: output still on its way to a pipe would be cut at 64 KiB.
 */
export async function runMain(usage: string, main: (args: string[]) => void | Promise<void>): Promise<void> {
  const args = commandLine();
  const flags = args.slice(0, args.includes("--") ? args.indexOf("--") : undefined);
  if (flags.includes("--help") || flags.includes("-h")) {
    print(isDispatched ? asCalled(usage.trimEnd()) : usage.trimEnd());
    return;
  }
  quiet = flags.includes("--quiet");
  try {
    await main(args);
  } catch (error) {
    const failure = error instanceof SessionMemoryError ? error : refusalOf(error);
    if (!failure) throw error;
    say(asCalled(failure.format().trimEnd()));
    process.exitCode = failure.exitCode;
  }
}

/** The arguments as they were typed: Bun drops a `--` that comes first, which makes flags of the words after it. */
function commandLine(): string[] {
  const args = process.argv.slice(2);
  if (!process.versions.bun || !args[0]?.startsWith("-")) return args;
  let typed: string[];
  try {
    typed = readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1);
  } catch {
    return args; // told by Linux alone
  }
  return typed[typed.length - args.length - 1] === "--" ? ["--", ...args] : args;
}

/**
 * Parses flags strictly. `--quiet` and `--help` are known to every script.
 *
 * @throws {SessionMemoryError} `USAGE` for an unknown flag, a missing value or too many words.
 */
export function parseFlags<T extends Options>(
  args: string[],
  options: T,
  words: { min?: number; max?: number } = {},
) {
  const known = { ...options, quiet: { type: "boolean" }, help: { type: "boolean", short: "h" } } as T &
    Options;
  let parsed: ReturnType<typeof parseArgs<{ args: string[]; options: T & Options; allowPositionals: true }>>;
  try {
    parsed = parseArgs({
      args: joinNegative(args, known),
      options: known,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    throw usageError(firstSentence(error instanceof Error ? error.message : String(error)), flagHint(known));
  }
  const { min = 0, max = Number.POSITIVE_INFINITY } = words;
  if (parsed.positionals.length < min) throw usageError("Expected more arguments", "see --help");
  if (parsed.positionals.length > max) {
    throw usageError(
      `Cannot use argument "${parsed.positionals[max]}": one too many`,
      "quote words that belong together",
    );
  }
  return { values: parsed.values, words: parsed.positionals };
}

/** A whole number given with a flag, or the default. */
export function integerFlag(
  flag: string,
  value: string | undefined,
  otherwise: number,
  { min = 0, max = Number.MAX_SAFE_INTEGER } = {},
): number {
  if (value === undefined) return otherwise;
  const number = Number(value);
  if (!/^[+-]?\d+$/.test(value) || number < min || number > max) {
    const wanted = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw usageError(
      `Cannot use ${flag} "${value}": expected a whole number ${wanted}`,
      `try ${flag} ${Math.max(min, 1)}`,
    );
  }
  return number;
}

/** One of a few words given with a flag, or the default. */
export function choiceFlag<T extends string>(
  flag: string,
  value: string | undefined,
  choices: readonly T[],
): T | undefined {
  if (value === undefined) return undefined;
  const found = choices.find((choice) => choice === value);
  if (!found)
    throw usageError(
      `Cannot use ${flag} "${value}": expected ${choices.join(" or ")}`,
      `try ${flag} ${choices[0]}`,
    );
  return found;
}

/** A time given with a flag. */
export function timeFlag(
  flag: string,
  value: string,
  timezone: string,
  edge: "start" | "end" = "start",
): Date {
  const time = parseTime(value, { now: new Date(), edge, timezone });
  if (time) return time;
  throw usageError(
    `Cannot use ${flag} "${value}": not a time`,
    `try ${flag} 2026-02-03, ${flag} yesterday or ${flag} 7d`,
  );
}

export function usageError(message: string, hint: string): SessionMemoryError {
  return new SessionMemoryError("USAGE", message, { hint });
}

let quiet = false;
/** Redacts all that is printed: paths, ids, names, queries and messages never pass the reader. */
let clean = (text: string) => redact(text);

/** Prints by config.json from here on, and warns of variables of ours that the project folder's `.env` had set. */
export function useConfig({ settings, ignored }: Pick<Config, "settings" | "ignored">): void {
  const patterns = compilePatterns(settings.redact.extra);
  clean = (text) => redact(text, patterns);
  if (ignored.length > 0) warn(`ignored from this folder's .env: ${ignored.join(", ")}`);
}

/** Prints a result: all of it, or it fails (a full disk); a reader that left wants no more. */
export function print(text: string): void {
  handOver(`${clean(text)}\n`);
}

/** Prints the one JSON document of `--json`. */
export function printJson(value: unknown): void {
  const cleaned = (_: string, part: unknown) => (typeof part === "string" ? clean(part) : part);
  handOver(`${JSON.stringify(value, cleaned, 2)}\n`);
}

/** Not `console.error`: Bun paints its lines red wherever FORCE_COLOR stands, also in a file. */
function say(line: string): void {
  handOver(`${clean(line)}\n`, STDERR);
}

/** A warning on stderr; nothing with `--quiet`. */
export function warn(message: string): void {
  if (!quiet) say(asCalled(`warning: ${message}`));
}

/** A remark on stderr (freshness, what was left out); nothing with `--quiet`. */
export function note(message: string): void {
  if (!quiet) say(asCalled(message));
}

/** Asks a question on stderr; anything but a yes is a no. Without a terminal nobody can answer: a no. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D end the question without an answer.
  const left = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  terminal.once("SIGINT", () => terminal.close());
  const answer = await Promise.race([terminal.question(`${question} [y/N] `), left]);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * A signal that is aborted by Ctrl-C or a termination request, for work that stops at a place it can go on from. The
 * second one ends the process at once.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const [name, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    process.once(name, () => {
      process.exitCode = code;
      stop.abort();
    });
  }
  return stop.signal;
}

/** Progress on stderr once work takes over a second: one live line on a terminal, else a line every few seconds. */
export function startProgress(what: string): {
  update: (done: number, total: number) => void;
  end: () => void;
} {
  const started = Date.now();
  let live: boolean | undefined;
  let last = started;
  let shown = false;
  return {
    update(done, total) {
      const now = Date.now();
      if (quiet || now - started < 1000) return;
      live ??= isTerminal();
      if (now - last < (live ? 100 : 3000)) return;
      last = now;
      shown = true;
      const rate = done / ((now - started) / 1000);
      const left = rate > 0 ? Math.ceil((total - done) / rate) : 0;
      const line = `${what} ${done}/${total} · ${rate.toFixed(rate < 10 ? 1 : 0)}/s · ${left} s left`;
      if (live) handOver(`\r\x1b[K${line}`, STDERR);
      else say(line);
    },
    end() {
      if (live && shown) handOver("\r\x1b[K", STDERR);
    },
  };
}

/** Loaded only for work that takes long: the module costs more than starting Bun. */
function isTerminal(): boolean {
  return process.getBuiltinModule("node:tty").isatty(STDERR);
}

/** `--limit -5` is a bad number, not an unknown flag: parseArgs needs the value attached to see that. */
function joinNegative(args: string[], options: Options): string[] {
  const joined: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") return [...joined, ...args.slice(i)];
    const next = args[i + 1];
    if (optionOf(arg, options)?.type === "string" && next !== undefined && /^-\d/.test(next)) {
      joined.push(arg.startsWith("--") ? `${arg}=${next}` : `${arg}${next}`);
      i++;
    } else joined.push(arg);
  }
  return joined;
}

function optionOf(arg: string, options: Options): Options[string] | undefined {
  if (arg.startsWith("--")) return options[arg.slice(2)];
  if (!arg.startsWith("-") || arg.length !== 2) return undefined;
  return Object.values(options).find(({ short }) => short === arg[1]);
}

function firstSentence(message: string): string {
  return message.split(/\.\s|\n/)[0]?.replace(/\.$/, "") ?? message;
}

function flagHint(options: Options): string {
  return `known flags: ${Object.keys(options)
    .map((name) => (name.length === 1 ? `-${name}` : `--${name}`))
    .join(" ")}`;
}
