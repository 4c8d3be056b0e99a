/**
 * Reads the command line as it was typed and parses it strictly, and names our commands in hints the way this process was
 * called.
 */

import { existsSync, readFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { SessionMemoryError } from "./errors.ts";
import { resolveRealPath } from "./files.ts";
import { ROOT } from "./runtime.ts";
import { nearestTo, quoted } from "./text.ts";

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

/** The flags of a command by their names, and for each whether it takes a value. */
type KnownFlags = ReadonlyMap<string, boolean>;

/**
 * Parses flags and words.
 *
 * @throws {SessionMemoryError} `USAGE` for an unknown flag, a missing value, or one too many.
 */
export function parseStrictly(args: readonly string[], known: KnownFlags) {
  const given: Record<string, string[] | undefined> = {};
  const words: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") return { given, words: [...words, ...args.slice(i + 1)] };
    const flag = readFlag(arg);
    if (!flag) words.push(arg);
    else {
      const { typed, name, attached } = flag;
      const takesValue = known.get(name);
      if (takesValue === undefined) throw usageError(`Unknown option '${typed}'`, flagHint(typed, known));
      if (attached !== undefined && !takesValue)
        throw usageError(`Cannot use ${typed} with a value`, `try ${typed}`);
      const value = attached ?? (takesValue && isValue(args[i + 1]) ? args[++i] : undefined);
      if (takesValue && value === undefined)
        throw usageError(`Cannot use ${typed} without a value`, `name one, or leave ${typed} out`);
      given[name] = [...(given[name] ?? []), value ?? ""];
    }
  }
  return { given, words };
}

/** Returns the parts of a flag: `--limit`, `--limit=5`, `-n`, `-n5`. What begins with a dash and has a blank in it is a word. */
function readFlag(arg: string) {
  const [, long, given] = /^--([a-z-]+)=(.*)$/s.exec(arg) ?? [];
  if (long !== undefined) return { typed: `--${long}`, name: long, attached: given };
  if (!/^-\S+$/.test(arg)) return undefined;
  if (arg.startsWith("--")) return { typed: arg, name: arg.slice(2), attached: undefined };
  return { typed: arg, name: arg.charAt(1), attached: arg.slice(2) || undefined };
}

/** Returns whether an argument may be the value of the flag before it: `-5` is a bad number and `--- FAIL: x` a text, neither a flag. */
function isValue(arg: string | undefined): boolean {
  return arg !== undefined && (/^-\d/.test(arg) || (arg !== "--" && readFlag(arg) === undefined));
}

function flagHint(unknown: string, known: KnownFlags): string {
  const long = [...known.keys()].filter((name) => name.length > 1);
  const nearest = nearestTo(unknown.replace(/^-+/, ""), long);
  return nearest ? `did you mean --${nearest}?` : "--help lists the flags";
}
