/** Tells what is open: commands that fail, and requests that no later deed does and no later word of the user ends. */

import { oneLine } from "../base/text.ts";
import type { Row } from "../hosts/session.ts";
import { contentWords } from "../language/words.ts";
import { commandOrTarget, commandsIn, findProgram, shellParts } from "../transcripts/command-lines.ts";
import { findCommits, judgeCommand } from "../transcripts/outcome.ts";

/** A request as something noted it. */
interface Thread {
  text: string;
  /** Lines of the transcript. */
  sources: readonly number[];
}

/** Shared words by which a deed or a word is about a thread: one alone is shared by chance. */
const SHARED = 2;
const COMMAND_CHARS = 80;

/** Returns the threads that neither a later deed does nor the user's next word on them ends. */
export function stillOpen<T extends Thread>(threads: readonly T[], rows: readonly Row[]): T[] {
  return threads.filter(({ text, sources }) => {
    const words = new Set(contentWords(text));
    const from = Math.max(0, ...sources);
    const isAbout = (said: string) => {
      const shared = new Set(contentWords(said)).intersection(words).size;
      return shared >= Math.min(SHARED, words.size);
    };
    return !rows.some((row) => row.line > from && endings(row).some(isAbout));
  });
}

/** Returns the words of a row that may end a thread: the user's, and those of an edit, a commit or a command that passed. */
function endings(row: Row): string[] {
  if (row.who === "user") return [row.text];
  if (row.who !== "tool" || row.outcome === "failed" || row.outcome === "rejected") return [];
  if (row.kind === "edit" || row.kind === "write") return row.paths.map((path) => path.replace(/\W+/g, " "));
  if (row.kind !== "command") return [];
  return [...findCommits(row), ...(judgeCommand(row).verdict === "passed" ? [row.target] : [])];
}

/** Returns the commands that failed when they were run last, by program: options change from run to run. */
export function failingLast(rows: readonly Row[]): string[] {
  const failing = new Map<string, string>();
  const forget = (command: string) => {
    failing.delete(findProgram(command));
    // What was tried with a wrapper in front is run without it then.
    for (const [program, failed] of failing) if (failed.endsWith(` ${command}`)) failing.delete(program);
  };
  for (const row of rows) {
    if (row.who !== "tool" || row.kind !== "command") continue;
    const judged = judgeCommand(row);
    const line = commandOrTarget(row);
    const commands = commandsIn(line);
    // A later run may end unknown, as that of a server does.
    if (judged.verdict === "passed" || judged.verdict === "ran") commands.forEach(forget);
    // A line fails with the last command that was begun; beside one in the background that may be any.
    const last = shellParts(line).some(({ separator }) => separator === "&") ? undefined : commands.at(-1);
    if (judged.verdict !== "failed" || judged.isLooking || last === undefined) continue;
    forget(last);
    failing.set(findProgram(last), last);
  }
  return [...failing.values()].map((command) => oneLine(command, COMMAND_CHARS));
}
