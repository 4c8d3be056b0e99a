/** How a program was run: its distinct commands, how often, and how the last run of each ended. */

import type { Store } from "../store/store.ts";
import { commandsIn, hasWords } from "./commands.ts";
import { type Find, type FindScope, matchDeeds, phraseOf, type SessionDeed } from "./finds.ts";

const RESULT_CHARS = 160;

/** One run of a command. */
interface Run extends SessionDeed {
  command: string;
}

/** Finds the distinct commands with some words in a row, the most frequent first. */
export function commandHistory(store: Store, words: string, scope: FindScope): Find[] {
  const phrase = phraseOf(words);
  if (phrase === undefined) return [];
  const runs = matchDeeds(store, `{target input} : ${phrase}`, scope).flatMap(({ deed, session }): Run[] => {
    if (deed.kind !== "command") return [];
    const commands = new Set(commandsIn(deed.input || deed.target).filter((each) => hasWords(each, words)));
    return [...commands].map((command) => ({ command, deed, session }));
  });
  // the newest run is the first of its group, and groups as frequent keep that order
  return [...Map.groupBy(runs, ({ command }) => command).values()]
    .sort((a, b) => b.length - a.length)
    .map((group) => findOf(group as [Run, ...Run[]], scope));
}

function findOf([last, ...earlier]: [Run, ...Run[]], { clean }: FindScope): Find {
  const { command, deed, session } = last;
  const { line, resultLine, timestamp, outcome, result } = deed;
  const said = clean(result).replace(/\s+/g, " ").trim();
  const text = outcome === "failed" ? said.slice(0, RESULT_CHARS) : "";
  return {
    session,
    timestamp,
    summary: `${earlier.length + 1}x${outcome === "unknown" ? "" : `, last ${outcome}`}`,
    rows: [{ line, who: "tool", tool: clean(command), text }],
    firstLine: line,
    lastLine: resultLine ?? line,
    also: earlier.flatMap((run) => (run.session === session ? [[run.deed.line, run.deed.line]] : [])),
    elsewhere: [...new Set([last, ...earlier].map((run) => run.session.id))],
  };
}
