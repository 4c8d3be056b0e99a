/**
 * Reads the command line as it was typed and parses it strictly, and names our commands in hints the way this process was
 * called.
 */

import { existsSync, readFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { SessionMemoryError } from "./errors.ts";
import { resolveRealPath } from "./files.ts";
import { ROOT } from "./runtime.ts";
import { nearestTo, quoted } from "./text.ts";

export type Options = NonNullable<ParseArgsConfig["options"]>;

const COMMAND = /\bsession-memory ([a-z-]+)\b/g;

/** Rewrites each `session-memory <script>` of a text into the form that this process was called in. */
export function asCalled(text: string): string {
  return text.replace(COMMAND, (words, name: string) =>
    existsSync(join(ROOT, "scripts", `${name}.ts`)) ? calledAs(name) : words,
  );
}

/** Returns how to call another script as this process was: through the starter, on PATH or by its path, or as a file. */
function calledAs(name: string): string {
  const starter = process.env.SESSION_MEMORY_COMMAND;
  if (starter) {
    const isOnPath = (process.env.PATH ?? "").split(delimiter).includes(dirname(starter));
    return `${isOnPath ? basename(starter) : `sh ${quoted(starter)}`} ${name}`;
  }
  const [, folder, suffix] = /^(.*\/scripts)\/[a-z-]+(\.[tj]s)$/.exec(process.argv[1] ?? "") ?? [];
  if (folder === undefined) return `session-memory ${name}`;
  const runtime = process.versions.bun ? "bun" : "deno" in process.versions ? "deno run -A" : "node";
  const isHere = runtime === "bun" && resolveRealPath("scripts") === resolveRealPath(folder);
  return `${runtime} ${quoted(join(isHere ? "scripts" : folder, `${name}${suffix}`))}`;
}

export function usageError(message: string, hint: string): SessionMemoryError {
  return new SessionMemoryError("USAGE", message, { hint });
}

/** Returns the arguments as they were typed: Bun drops a `--` that comes first, which makes flags of the words after it. */
export function commandLine(): string[] {
  const args = process.argv.slice(2);
  if (!process.versions.bun || !args[0]?.startsWith("-")) return args;
  let typed: string[];
  try {
    typed = readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1);
  } catch {
    return args; // only Linux has it
  }
  return typed[typed.length - args.length - 1] === "--" ? ["--", ...args] : args;
}

/** Hides from parseArgs that a word begins with a dash; no argument of a process can hold it. */
const MASK = "\0";

/**
 * Parses flags and words. What begins with a dash and has a blank in it is a word.
 *
 * @throws {SessionMemoryError} `USAGE` for an unknown flag or a missing value.
 */
export function parseStrictly<T extends Options>(args: string[], options: T) {
  try {
    const parsed = parseArgs({
      args: maskDashes(args, options),
      options,
      allowPositionals: true,
      strict: true,
    });
    return { ...parsed, positionals: parsed.positionals.map((word) => word.replace(MASK, "")) };
  } catch (error) {
    const message = firstSentence(error instanceof Error ? error.message : String(error));
    const unknown = unknownFlag(message, args);
    throw usageError(unknown ? `Unknown option '${unknown}'` : message, flagHint(unknown, options));
  }
}

/**
 * `--limit -5` is a bad number and `--error "--- FAIL: x"` a text, neither an unknown flag: parseArgs needs such a value
 * attached to see that.
 */
function maskDashes(args: string[], options: Options): string[] {
  const masked: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") return [...masked, ...args.slice(i)];
    const next = args[i + 1];
    if (findOption(arg, options)?.type === "string" && next !== undefined && /^-(?:\d|.*\s)/s.test(next)) {
      masked.push(arg.startsWith("--") ? `${arg}=${next}` : `${arg}${next}`);
      i++;
    } else masked.push(/^-(?!-[a-z-]+=).*\s/s.test(arg) ? `${MASK}${arg}` : arg);
  }
  return masked;
}

function findOption(arg: string, options: Options): Options[string] | undefined {
  if (arg.startsWith("--")) return options[arg.slice(2)];
  if (!arg.startsWith("-") || arg.length !== 2) return undefined;
  return Object.values(options).find(({ short }) => short === arg[1]);
}

function firstSentence(message: string): string {
  return message.split(/\.\s|\n/)[0]?.replace(/\.$/, "") ?? message;
}

/** Returns an unknown flag as it was typed: `-limit` is reported as `-l`, or as `l` by Bun. */
function unknownFlag(message: string, args: string[]): string | undefined {
  const [, dashes = "", name] = /^Unknown option '(-*)([^']*)'/.exec(message) ?? [];
  return name && dashes !== "--" ? args.find((arg) => arg.startsWith(`-${name}`)) : name && `--${name}`;
}

function flagHint(unknown: string | undefined, options: Options): string {
  const long = Object.keys(options).filter((name) => name.length > 1);
  const nearest = unknown && nearestTo(unknown.replace(/^-+/, ""), long);
  return nearest ? `did you mean --${nearest}?` : "--help lists the flags";
}
