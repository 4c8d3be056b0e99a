/** Reads command lines without a shell: their commands, words and programs; and finds how a command was run here. */

import { baseName, splitWords } from "../base/text.ts";
import type { Done } from "../hosts/session.ts";
import type { Hit } from "../search/hit.ts";
import type { Store } from "../store/store.ts";
import { LOOKING } from "../transcripts/outcome.ts";
import { doneHit, type FindScope, matchDeeds, type SessionDeed, toPhrase } from "./finds.ts";

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
export const RUNS_NEXT = /^(?:(?:sudo|time|npx|bunx) )+/;

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

/** Returns the words of a command line as they are compared: without quotes and case. */
function comparedWords(line: string): string[] {
  return splitWords(line.replace(/["'`\\]/g, "").toLowerCase());
}

/** Returns whether a word of a command is the one that is asked for: a path counts by the name at its end as well. */
function isWord(part: string | undefined, word: string): boolean {
  return part === word || part?.endsWith(`/${word}`) === true;
}

/** Returns whether a command holds these words one after the other. */
function hasWords(command: string, words: readonly string[]): boolean {
  const parts = comparedWords(command);
  return parts.some((_, i) => words.every((word, j) => isWord(parts[i + j], word)));
}

/** Returns whether a command holds these words in their order, others between them. */
function hasInOrder(command: string, words: readonly string[]): boolean {
  const parts = comparedWords(command);
  let from = 0;
  return words.every((word) => {
    from = parts.findIndex((part, i) => i >= from && isWord(part, word)) + 1;
    return from > 0;
  });
}

const COMMAND_CHARS = 200;
const RESULT_CHARS = 160;

/** One run of a command. */
interface CommandRun extends SessionDeed {
  command: string;
}

/**
 * Finds the distinct commands with some words, one after the other or, where none has, in their order: the one that succeeded
 * last, then the most frequent first.
 */
export function commandHistory(store: Store, asked: string, scope: FindScope): Hit[] {
  const words = comparedWords(asked);
  const phrases = words.flatMap((word) => toPhrase(word) ?? []);
  if (phrases.length === 0) return [];
  const runsOf = (match: string, isMeant: typeof hasWords) =>
    matchDeeds(store, `{target input} : (${match})`, scope).flatMap(({ deed, session }): CommandRun[] => {
      if (deed.kind !== "command") return [];
      const commands = commandsIn(deed.input || deed.target).filter((each) => isMeant(each, words));
      return [...new Set(commands)].map((command) => ({ command, deed, session }));
    });
  const inRow = runsOf(phrases.join(" + "), hasWords);
  const runs = inRow.length > 0 ? inRow : runsOf(phrases.join(" AND "), hasInOrder);
  // the newest run is the first of its group, and groups as frequent keep that order
  const groups = [...Map.groupBy(runs, ({ command }) => command).values()];
  const done = runs.find(({ deed }) => deed.outcome === "done");
  const rank = (group: CommandRun[]) => (group[0]?.command === done?.command ? runs.length : group.length);
  return groups
    .sort((a, b) => rank(b) - rank(a))
    .map((group) => makeCommandHit(group as [CommandRun, ...CommandRun[]], done));
}

/** Makes a hit of a command's runs: at the newest one, or at the last of all commands that succeeded. */
function makeCommandHit(runs: [CommandRun, ...CommandRun[]], done: CommandRun | undefined): Hit {
  const [last] = runs;
  const shown = runs.find((run) => run === done) ?? last;
  const { command, deed, session } = shown;
  const { line, resultLine, at, outcome, result } = deed;
  const ends = last.deed.outcome === "unknown" ? "" : `, last ${last.deed.outcome}`;
  const said = result.replace(/\s+/g, " ").trim();
  const text = outcome === "failed" ? said.slice(0, RESULT_CHARS) : "";
  return doneHit({
    session,
    at,
    summary: `${runs.length}x${shown === last ? "" : ", done here"}${ends}`,
    rows: [{ line, who: "tool", tool: command.slice(0, COMMAND_CHARS), text }],
    from: line,
    to: resultLine ?? line,
    also: runs.flatMap((run) =>
      run !== shown && run.session === session ? [[run.deed.line, run.deed.line]] : [],
    ),
    elsewhere: [...new Set([shown, ...runs].map((run) => run.session.id))],
  });
}

/** Returns whether a call only looks. */
export function isLook({ kind, target }: Done): boolean {
  return kind === "command" ? isLooking(target) : kind === "read" || kind === "search";
}
