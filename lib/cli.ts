/** Runs scripts: help, flags, configuration, streams, progress, exit codes. For scripts only. */

import { updateCopies } from "./archive/copies.ts";
import { asCalled, commandLine, parseStrictly, usageError } from "./base/command.ts";
import { describeError, findRefusal, SessionMemoryError } from "./base/errors.ts";
import { isDirectory, statPath, whyUnwritable } from "./base/files.ts";
import { isTerminal, type Line, type Progress, plainText, writeFully } from "./base/output.ts";
import { startQuickly } from "./base/runtime.ts";
import { nearestTo, truncate, unbroken } from "./base/text.ts";
import {
  type Config,
  defaultConfig,
  loadConfig,
  type PathsWithRules,
  pathsReading,
} from "./config/config.ts";
import { callingSession } from "./hosts/table.ts";
import { redactor } from "./redact/redact.ts";
import { type Rules, readRules } from "./transcripts/rules.ts";

const STDOUT = 1; // POSIX
const STDERR = 2; // POSIX

export { usageError };

type FlagSettings = Pick<Config["settings"], "timezone" | "participants">;

/**
 * Reads the value of a flag.
 *
 * @throws {SessionMemoryError} `USAGE` for one that it cannot use.
 */
type Read = (value: string, flag: string, settings: FlagSettings) => unknown;

/** The flags of a script by their names in camel case, each with what reads it. */
type Flags = Readonly<Record<string, Read>>;

type Values<F extends Flags> = {
  [N in keyof F]: F[N] extends typeof toggle ? boolean : Awaited<ReturnType<F[N]>> | undefined;
};

export const toggle = () => true;
export const text = (value: string) => value;
/** Reads a text that says something: scripts of a shell pass empty variables. */
export function filled(value: string, flag: string): string {
  if (value.trim() !== "") return value;
  throw usageError(`Cannot use ${flag} "": expected a value`, `name one, or leave ${flag} out`);
}
/** Reads a repeatable flag. */
export const texts = (value: string, flag: string) => [filled(value, flag)];

/** The flags of every script that reads sessions, besides `--quiet` and `--help`. */
const SHARED_FLAGS = { sessions: texts, json: toggle };

/** Returns flags of one kind. */
export function each<R extends Read, N extends string>(read: R, ...names: N[]): Record<N, R> {
  return Object.fromEntries(names.map((name) => [name, read])) as Record<N, R>;
}

export const ANY_WORDS = [0, Number.POSITIVE_INFINITY] as const;

interface Script<F extends Flags> {
  usage: string;
  flags: F;
  /** The least and the most words. @default none */
  words?: readonly [min: number, max: number];
  /** True if it reads the transcripts of a `.volute` at or above the current directory: nothing of them is kept. @default {false} */
  readsAnyVolute?: boolean;
  /** True if it runs with the defaults when config.json cannot be used. @default {false} */
  needsNoConfig?: boolean;
  /** The longest that it waits for copies of hosts' databases to be made, in milliseconds. */
  copiesMs?: number;
}

/** The argument of a script's `main`: the configuration, whose paths include what `--sessions` names, and the command line. */
export interface Run<F extends Flags> extends Config {
  args: string[];
  values: Values<F & typeof SHARED_FLAGS>;
  words: string[];
  rules: Rules;
  /** The reason that config.json cannot be used, for a script with `needsNoConfig`. */
  configError: SessionMemoryError | undefined;
  /** The context in which a reference to a session is resolved. */
  asking: { paths: PathsWithRules; cwd: string; current: string | undefined; remark: typeof note };
  /** Prints a result: the data with `--json`, else the lines. Returns false when its reader closed the pipe. */
  show(data: unknown, lines: Iterable<Line | string>): boolean;
}

/** Takes over what the version before pulled, once: its code is loaded after an update alone. */
async function takeOver(paths: PathsWithRules): Promise<void> {
  if (paths.transcripts.length > 0 || !statPath(paths.formerShared)) return;
  (await import("./share/former-shared.ts")).takeFormerShared(paths);
}

/** Parses the command line, loads the configuration and runs a script, as `runMain` does. */
export function runScript<F extends Flags>(
  { usage, flags, words: count, readsAnyVolute = false, needsNoConfig = false, copiesMs }: Script<F>,
  main: (run: Run<F>) => void | Promise<void>,
): Promise<void> {
  return runMain(usage, async (args) => {
    const known = { ...flags, ...SHARED_FLAGS };
    const { given, words } = parseFlags(args, known, count);
    const cwd = process.cwd();
    const { config: loaded, configError } = await readConfig(cwd, needsNoConfig);
    const { settings } = loaded;
    useConfig(loaded);
    const reading = pathsReading(loaded, given.sessions, cwd);
    if (!needsNoConfig) {
      warnOfState(reading.home);
      await warnOfExclusions(loaded, cwd);
    }
    const paths = readsAnyVolute ? await readingVolute(reading, cwd) : reading;
    const current = callingSession(loaded.env);
    await takeOver(paths).catch((error) => warn(describeError(error)));
    await updateCopies(paths, { ms: copiesMs }).catch((error) => warn(describeError(error)));
    const values = await readFlags(known, given, settings);
    if (!values.json) await useTerminal(args, settings);
    const show = (data: unknown, lines: Iterable<Line | string>) =>
      values.json ? printJson(data) : [...lines].every((line) => print(line));
    const asking = { paths, cwd, current, remark: note };
    const config = { ...loaded, currentSession: current, paths, cwd, rules: readRules(paths) };
    await main({ ...config, args, values, words, configError, asking, show });
  });
}

async function readingVolute(paths: PathsWithRules, cwd: string): Promise<PathsWithRules> {
  return (await import("./sessions/volute.ts")).withVoluteAt(paths, cwd); // most scripts need none of it
}

async function warnOfExclusions({ paths, settings: { exclude } }: Config, cwd: string): Promise<void> {
  if (exclude.projects.length === 0) return;
  const { unfitLine, unfitProjects } = await import("./sessions/exclusions.ts");
  for (const entry of unfitProjects({ paths, exclude, cwd })) warn(unfitLine(entry));
}

function warnOfState(home: string): void {
  const why = isDirectory(home) ? whyUnwritable(home) : undefined;
  if (why !== undefined) warn(`${why}: only what is there already can be read`);
}

async function readConfig(
  cwd: string,
  needsNone: boolean,
): Promise<{ config: Config } & Pick<Run<Flags>, "configError">> {
  try {
    return { config: await loadConfig(process.env, cwd), configError: undefined };
  } catch (error) {
    if (!needsNone || !(error instanceof SessionMemoryError)) throw error;
    return { config: defaultConfig(process.env, cwd), configError: error };
  }
}

/**
 * Runs a script: prints help, or calls `main`, and turns a known failure into `error:`/`hint:` lines and an exit code.
 *
 * Never calls `process.exit`: output still on its way to a pipe would be cut at 64 KiB.
 */
export async function runMain(usage: string, main: (args: string[]) => void | Promise<void>): Promise<void> {
  startQuickly();
  const args = commandLine();
  const flags = args.slice(0, args.includes("--") ? args.indexOf("--") : undefined);
  if (flags.includes("--help") || flags.includes("-h")) {
    print(asCalled(usage.trimEnd()));
    return;
  }
  quiet = flags.includes("--quiet");
  typed = args;
  try {
    await main(args);
  } catch (error) {
    const failure = error instanceof SessionMemoryError ? error : findRefusal(error);
    if (!failure) throw error;
    say(asCalled(failure.format().trimEnd()));
    process.exitCode = failure.exitCode;
  }
}

/**
 * Parses flags strictly. `--quiet` and `--help` are known to every script.
 *
 * @throws {SessionMemoryError} `USAGE` for an unknown flag, a missing value or too many words.
 */
function parseFlags(args: string[], flags: Flags, [min, max]: readonly [number, number] = [0, 0]) {
  const all = Object.entries<Read>({ quiet: toggle, help: toggle, ...flags });
  const known = new Map(all.map(([name, read]) => [asTyped(name), read !== toggle]));
  const { given, words } = parseStrictly(args, known);
  if (words.length < min) throw usageError("Expected more arguments", "see --help");
  if (words.length > max)
    throw usageError(`Cannot use argument "${words[max]}": one too many`, "quote words that belong together");
  return { given, words };
}

async function readFlags<F extends Flags>(
  flags: F,
  given: Record<string, string[] | undefined>,
  settings: FlagSettings,
): Promise<Values<F>> {
  const zone = given.utc ? { ...settings, timezone: "UTC" } : settings;
  const values: Record<string, unknown> = {};
  for (const [name, read] of Object.entries(flags)) {
    const written = given[asTyped(name)];
    const all = written && (await Promise.all(written.map((value) => read(value, dashed(name), zone))));
    values[name] = read === toggle ? all !== undefined : read === texts ? all?.flat() : all?.at(-1);
  }
  return values as Values<F>;
}

/** Returns a flag's name as one types it. */
function asTyped(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns a flag as one types it. */
function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${asTyped(name)}`;
}

/** Refuses flags that exclude each other. */
export function refuseTogether(values: Readonly<Record<string, unknown>>, ...flags: string[]): void {
  const given = flags.filter((flag) => values[flag] !== undefined && values[flag] !== false);
  if (given.length > 1)
    throw usageError(`Cannot use ${given.map(dashed).join(" together with ")}`, "give one of them");
}

export function integer({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}) {
  return (value: string, flag: string) => {
    const number = Number(value);
    if (/^[+-]?\d+$/.test(value) && number >= min && number <= max) return number;
    const wanted = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw usageError(
      `Cannot use ${flag} "${value}": expected a whole number ${wanted}`,
      `try ${flag} ${nearestNumber(value, { min, max, usual: Math.max(min, 1) })}`,
    );
  };
}

/** Returns the nearest number within a range; where no number stands, the usual one. */
export function nearestNumber(
  value: string,
  { min, max, usual }: Record<"min" | "max" | "usual", number>,
): number {
  const given = value.trim() === "" ? Number.NaN : Math.trunc(Number(value));
  return Number.isNaN(given) ? usual : Math.min(max, Math.max(min, given));
}

export function choice<T extends string>(choices: readonly T[]) {
  return (value: string, flag: string): T => {
    const found = choices.find((choice) => choice === value);
    if (found) return found;
    const nearest = nearestTo(value, choices);
    throw usageError(
      `Cannot use ${flag} "${value}": not one of its values`,
      nearest ? `did you mean ${flag} ${nearest}?` : `try ${flag} ${choices[0]}`,
    );
  };
}

const role = choice(["user", "assistant"]);

/** Reads the role that `--speaker` names; a participant's name does too, or a word of it that the other does not have. */
export function speaker(value: string, flag: string, { participants }: FlagSettings) {
  const given = value.toLowerCase();
  const { user, assistant } = participants;
  const isOf = (name: string) => [name, ...name.split(/\s+/)].some((word) => word.toLowerCase() === given);
  if (given === "user" || given === "assistant") return given;
  return isOf(user) === isOf(assistant) ? role(value, flag) : isOf(user) ? "user" : "assistant";
}

export async function time(
  value: string,
  flag: string,
  { timezone }: Pick<FlagSettings, "timezone">,
  edge: "start" | "end" = "start",
): Promise<Date> {
  const { parseTime } = await import("./language/times.ts"); // few runs take a time
  const time = parseTime(value, { now: new Date(), edge, timezone });
  if (time) return time;
  throw usageError(
    `Cannot use ${flag} "${value}": not a time`,
    `try ${flag} 2026-02-03, ${flag} "14 July" or ${flag} 7d`,
  );
}

let quiet = false;
/** The command line: no message repeats much of it. */
let typed: readonly string[] = [];
/** Redacts everything printed or logged: paths, ids, names, queries and messages never pass the reader. */
let clean = redactor([]);

/** Applies config.json's redaction to what is printed, and warns of our variables that a project's `.env` set. */
function useConfig({ settings, ignored }: Config): void {
  clean = redactor(settings.redact.extra);
  if (ignored.length > 0) warn(`ignored from this folder's .env: ${ignored.join(", ")}`);
}

/** Formats what is printed for a person; undefined when no terminal shows it. */
let dress: ((line: Line) => string) | undefined;

/** Formats all further output for a person, if a terminal shows it. Otherwise nothing of this is loaded. */
async function useTerminal(
  args: readonly string[],
  { timezone }: Pick<Config["settings"], "timezone">,
): Promise<void> {
  if (!isTerminal(STDOUT)) return;
  const { dresser, painter } = await import("./base/terminal.ts");
  const { wordsToMark } = await import("./language/words.ts");
  const columns = process.stdout.columns || Number.POSITIVE_INFINITY; // 0 where nobody set a size
  dress = dresser({ paint: painter(process.env), words: wordsToMark(args), timezone, columns });
}

/** Prints a result. Returns false when its reader closed the pipe; throws when not all of it can be written. */
export function print(line: Line | string): boolean {
  const text = plainText(line);
  const cleaned = clean(text);
  if (!dress || typeof line === "string") return writeFully(`${cleaned}\n`);
  // A line that held a secret is printed without colours, since nothing says which part was redacted.
  return writeFully(`${dress(cleaned === text ? line : { kind: line.kind, parts: [cleaned] })}\n`);
}

function printJson(value: unknown): boolean {
  const cleaned = (_: string, part: unknown) => (typeof part === "string" ? clean(part) : part);
  return writeFully(`${JSON.stringify(value, cleaned, 2)}\n`);
}

/** No message repeats more of an argument. */
const REPEATED_MAX = 200;

/** Shortens what a message repeats of the arguments. */
function shortenGiven(message: string, args: readonly string[]): string {
  const long = args
    .flatMap((arg) => [arg, arg.slice(arg.indexOf("=") + 1)].map(unbroken))
    .filter(({ length }) => length > REPEATED_MAX);
  const shortened = long.reduce(
    (text, given) => text.replaceAll(given, truncate(given, REPEATED_MAX)),
    message,
  );
  // a path that was made of one, or came by a variable, with what stands around it
  return shortened.replace(/\S{300,}/g, (word) => truncate(word, REPEATED_MAX));
}

/** Writes to stderr. Not by `console.error`, whose lines Bun colours red whenever FORCE_COLOR is set, even in a file. */
function say(line: string): void {
  writeFully(`${clean(shortenGiven(line, typed))}\n`, STDERR);
}

/** Prints a warning on stderr, unless `--quiet` is set. */
export function warn(message: string): void {
  if (!quiet) say(asCalled(`warning: ${message}`));
}

/** Prints a remark on stderr (freshness, omissions), unless `--quiet` is set. */
export function note(message: string): void {
  if (!quiet) say(asCalled(message));
}

/** Asks a yes-or-no question on stderr. Returns false without a terminal. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D cancel the question.
  const left = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  terminal.once("SIGINT", () => terminal.close());
  const answer = await Promise.race([terminal.question(`${question} [y/N] `), left]);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * Returns a signal that Ctrl-C or a termination request aborts, for work that stops where it can resume. A second
 * request ends the process at once.
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

/** Shows progress on stderr after one second: a live line on a terminal, else a line every few seconds. */
export function startProgress(what: string): Progress {
  const started = Date.now();
  let live: boolean | undefined;
  let last = started;
  let shown = false;
  return {
    update(done, total) {
      const now = Date.now();
      if (quiet || now - started < 1000) return;
      live ??= isTerminal(STDERR);
      if (now - last < (live ? 100 : 3000)) return;
      last = now;
      shown = true;
      const rate = done / ((now - started) / 1000);
      const left = rate > 0 ? Math.ceil((total - done) / rate) : 0;
      const line = `${what} ${done}/${total} · ${rate.toFixed(rate < 10 ? 1 : 0)}/s · ${left} s left`;
      if (live) writeFully(`\r\x1b[K${line}`, STDERR);
      else say(line);
    },
    end() {
      if (live && shown) writeFully("\r\x1b[K", STDERR);
    },
  };
}
