/** The words of a command line: as they were typed, and parsed strictly. */

import { readFileSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { SessionMemoryError } from "./errors.ts";

export type Options = NonNullable<ParseArgsConfig["options"]>;

/** Returns a failure of wrong usage. */
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

/**
 * Parses flags and words.
 *
 * @throws {SessionMemoryError} `USAGE` for an unknown flag or a missing value.
 */
export function parseStrictly<T extends Options>(args: string[], options: T) {
  try {
    return parseArgs({
      args: joinNegative(args, options),
      options,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    throw usageError(
      firstSentence(error instanceof Error ? error.message : String(error)),
      flagHint(options),
    );
  }
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
