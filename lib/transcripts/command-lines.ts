/** Reads command lines without a shell: their commands, words and programs, and whether they only look. */

import { baseName } from "../base/text.ts";
import type { Done } from "../hosts/session.ts";
import { LOOKING } from "./outcome.ts";

/** One command of a line and the separator after it. */
interface ShellPart {
  text: string;
  separator: string;
}

/** A longer line is data: it is left in one part. */
const READ_MAX = 20_000;
/** The tokens that stay with their command: escapes, quotes, here-documents, joined streams; then parentheses and separators. */
const TOKEN =
  /\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"?|'[^']*'?|`[^`]*`?|<<<|<<-?\s*["']?([\w-]+)["']?[\s\S]*?\n\s*\1\s*(?=\n|$)|>&|&>|([()])|(&&|\|\||\|&|;;|[;|\n&])/g;

/** Says nothing of what is run: directories, variables, waiting. */
const PREPARING = /^(?:cd|pushd|popd|export|set|source|\.|sleep|true|echo|printf)\b|^\w+=\S*$/;
/** A shell with its command line as an argument: `bash -lc "npm test"`. */
const GIVEN = /^(?:\S*\/)?(?:ba|z)?sh -\w*c /;
const REDIRECTION = /\s*(?:\d?>&\d|\d?>>?\s*\S+|<\s*\S+|&>\s*\S+)/g;
const ASSIGNMENTS = /^(?:\w+=(?:"[^"]*"|'[^']*'|\S*)\s+)+/;
/** Asks a program about itself, or what it would do. */
const ASKING = /\s--(?:help|version|dry-run)\b|^\S+ (?:help|version)$/;

/** Splits a line into commands. Quotes, parentheses and here-documents stay with their command. */
export function shellParts(line: string): ShellPart[] {
  if (line.length > READ_MAX) return [{ text: line, separator: "" }];
  const parts: ShellPart[] = [];
  let [start, depth] = [0, 0];
  for (const { 0: token, 2: parenthesis, 3: separator, index } of line.matchAll(TOKEN)) {
    if (parenthesis) depth = Math.max(0, depth + (parenthesis === "(" ? 1 : -1));
    if (separator === undefined || depth > 0) continue;
    parts.push({ text: line.slice(start, index).trim(), separator: separator === "|&" ? "|" : separator });
    start = index + token.length;
  }
  parts.push({ text: line.slice(start).trim(), separator: "" });
  return parts.filter(({ text }) => text !== "");
}

/** Splits a command into words, without their quotes. */
export function shellWords(command: string): string[] {
  const words =
    command.slice(0, READ_MAX).match(/(?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|\\[\s\S]|[^\s"'\\])+/g) ?? [];
  return words.map((word) =>
    word.replace(/"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])/g, (_, double, single, escaped) =>
      double === undefined ? (single ?? escaped ?? "") : double.replace(/\\(["\\$`])/g, "$1"),
    ),
  );
}

/** Returns the commands of a line; of a pipe only the first, since the others look at its output. */
export function commandsIn(line: string): string[] {
  const commands: string[] = [];
  let isPiped = false;
  for (const { text, separator } of shellParts(line)) {
    const inner = GIVEN.test(text) ? shellWords(text)[2] : /^\(([\s\S]*)\)$/.exec(text)?.[1];
    if (!isPiped) commands.push(...(inner === undefined ? [plain(text)] : commandsIn(inner)));
    isPiped = separator === "|";
  }
  const telling = commands.filter((command) => command !== "" && !PREPARING.test(command));
  return telling.length > 0 ? telling : commands;
}

function plain(command: string): string {
  const [line = ""] = command.split("\n", 1);
  // Blanks first: a redirection is looked for at each one of a run.
  return line.replace(/\s+/g, " ").replace(REDIRECTION, "").replace(ASSIGNMENTS, "").trim();
}

/** Returns a key that all runs of a command share, however their output was filtered. */
export function commandKey(line: string): string {
  return commandsIn(line).join(" && ");
}

/** Subcommands that only say that what follows is run. */
const RUNNERS = /^(?:run|exec|dlx|x)$/;
/** Programs that only run the next. */
const RUNS_NEXT = /^(?:(?:sudo|time|npx|bunx) )+/;

/** Returns the program and its subcommand or file, without folders: `npm test`, `bun run lint`, `node build.js`. */
export function findProgram(line: string): string {
  const [path = "", what = "", run = ""] = (commandsIn(line)[0] ?? "").replace(RUNS_NEXT, "").split(" ");
  const program = baseName(path);
  if (!/^[\w./]/.test(what)) return program;
  return RUNNERS.test(what) ? `${program} ${what} ${run}`.trimEnd() : `${program} ${baseName(what)}`;
}

/** Returns whether a command line changes nothing. */
export function isLooking(line: string): boolean {
  return commandsIn(line).every((command) => LOOKING.test(command) || ASKING.test(command));
}

/** Returns the command line of a deed, or its target if it ran none. */
export function commandOrTarget({ input, target }: Done): string {
  return input || target;
}

/** Returns whether a call only looks. */
export function isLook({ kind, target }: Done): boolean {
  return kind === "command" ? isLooking(target) : kind === "read" || kind === "search";
}
