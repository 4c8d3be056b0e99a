/** How a program was run: its distinct commands, how often, and how the last run of each ended. */

import type { StoredDeed } from "../index/deed-rows.ts";
import type { Store } from "../store/store.ts";
import { commandsIn, hasWords } from "./commands.ts";
import { deedsMatching, type Find, type FindScope, isInTime, phraseOf, sessionsInScope } from "./finds.ts";

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
