/** How a program was run: its distinct commands, how often, how the last run of each ended; and reading command lines. */

import type { StoredDeed } from "../index/deed-rows.ts";
import type { Store } from "../store/store.ts";
import { deedsMatching, type Find, type FindScope, isInTime, phraseOf, sessionsInScope } from "./finds.ts";
import { shellParts, shellWords } from "./shell-words.ts";

const DEEDS_MAX = 20_000;
const RESULT_CHARS = 160;

/** One distinct command with its runs, newest first. */
interface Command {
  text: string;
  runs: StoredDeed[];
}

/** Finds the distinct commands with some words in a row, the most frequent first. */
export function commandHistory(store: Store, words: string, scope: FindScope): Find[] {
  const phrase = phraseOf(words);
  if (phrase === undefined) return [];
  const deeds = deedsMatching(store, `{target input} : ${phrase}`, DEEDS_MAX);
  const sessions = sessionsInScope(
    store,
    deeds.map(({ session }) => session),
    scope,
  );
  const commands = new Map<string, Command>();
  for (const deed of deeds) {
    if (deed.kind !== "command" || !sessions.has(deed.session) || !isInTime(deed.timestamp, scope)) continue;
    for (const text of new Set(
      commandsIn(deed.input || deed.target).filter((each) => hasWords(each, words)),
    )) {
      const command = commands.get(text) ?? { text, runs: [] };
      command.runs.push(deed);
      commands.set(text, command);
    }
  }
  return [...commands.values()]
    .sort((a, b) => b.runs.length - a.runs.length || (lastRun(a).timestamp < lastRun(b).timestamp ? 1 : -1))
    .flatMap((command) => {
      const session = sessions.get(lastRun(command).session);
      const elsewhere = command.runs.flatMap((run) => sessions.get(run.session)?.id ?? []);
      return session ? [{ ...findOf(command, session, scope), elsewhere: [...new Set(elsewhere)] }] : [];
    });
}

function lastRun({ runs }: Command): StoredDeed {
  return runs[0] as StoredDeed;
}

function findOf(command: Command, session: Find["session"], { clean }: FindScope): Find {
  const { line, resultLine, timestamp, outcome, result } = lastRun(command);
  const ending = outcome === "unknown" ? "" : `, last ${outcome}`;
  const said = clean(result).replace(/\s+/g, " ").trim();
  const also = command.runs
    .slice(1)
    .filter((run) => run.session === session.number)
    .map((run): [number, number] => [run.line, run.line]);
  return {
    session,
    timestamp,
    summary: `${command.runs.length}x${ending}`,
    rows: [
      {
        line,
        who: "tool",
        tool: clean(command.text),
        text: outcome === "failed" ? said.slice(0, RESULT_CHARS) : "",
      },
    ],
    firstLine: line,
    lastLine: resultLine ?? line,
    also,
  };
}

/** Says nothing of what is run: directories, variables, waiting. */
const PREPARING = /^(?:cd|pushd|popd|export|set|source|\.|sleep|true|echo|printf)\b|^\w+=\S*$/;
const REDIRECTION = /\s*(?:\d?>&\d|\d?>>?\s*\S+|<\s*\S+|&>\s*\S+)/g;
const ASSIGNMENTS = /^(?:\w+=(?:"[^"]*"|'[^']*'|\S*)\s+)+/;
/** Programs that only look, so that nothing is fixed by them. */
const LOOKING =
  /^(?:sudo )?(?:e?grep|rg|ag|ls|find|fd|cat|bat|head|tail|sed -n|wc|which|type|test|diff|pwd|stat|file|tree|du|df|jq|awk|sort|git (?:status|diff|log|show|branch|ls-files|grep|blame))\b/;
const TEXT_MAX = 200;

/** Returns the commands of a line; of a pipe only the first, since the others look at its output. */
export function commandsIn(line: string): string[] {
  const commands: string[] = [];
  let isPiped = false;
  for (const { text, separator } of shellParts(line)) {
    const [, inner] = /^\(([\s\S]*)\)$/.exec(text) ?? [];
    if (!isPiped) commands.push(...(inner === undefined ? [plain(text)] : commandsIn(inner)));
    isPiped = separator === "|";
  }
  const telling = commands.filter((command) => command !== "" && !PREPARING.test(command));
  return telling.length > 0 ? telling : commands;
}

function plain(command: string): string {
  const [line = ""] = command.split("\n", 1);
  return line
    .replace(REDIRECTION, "")
    .replace(ASSIGNMENTS, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, TEXT_MAX);
}

/** Returns a key that all runs of a command share, however their output was filtered. */
export function commandKey(line: string): string {
  return commandsIn(line).join(" && ");
}

/** Returns the program and its subcommand or file, without folders: `npm test`, `git push`, `node build.js`. */
export function programOf(line: string): string {
  const [program = "", what = ""] = (commandsIn(line)[0] ?? "").split(" ");
  return /^[\w./]/.test(what) ? `${program} ${what.slice(what.lastIndexOf("/") + 1)}` : program;
}

/** Returns whether a command line changes nothing. */
export function isLooking(line: string): boolean {
  return commandsIn(line).every((command) => LOOKING.test(command));
}

/** Returns whether a command holds these words one after the other; a program counts by its name without folders. */
export function hasWords(command: string, asked: string): boolean {
  const wanted = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const parts = shellWords(command).map((part) => part.toLowerCase());
  return parts.some((_, i) =>
    wanted.every((word, j) => parts[i + j] === word || parts[i + j]?.split("/").at(-1) === word),
  );
}
