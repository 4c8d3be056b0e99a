/** Finds how a command was run here. */

import { splitWords } from "../base/text.ts";
import type { Hit } from "../search/hit.ts";
import type { Store } from "../store/store.ts";
import { commandsIn } from "../transcripts/command-lines.ts";
import { doneHit, type FindScope, matchDeeds, type SessionDeed, toPhrase } from "./finds.ts";

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
