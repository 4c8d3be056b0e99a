/** Makes the account of a session from its rows, in one pass: requests, decisions, prohibitions and work. */

import { folderName, oneLine, pathWithin, unbroken } from "../base/text.ts";
import type { Row, Said, ToolCall } from "../hosts/session.ts";
import { exchangesIn } from "../transcripts/exchanges.ts";
import { findCommits, judgeCommand } from "../transcripts/outcome.ts";
import { tally } from "../transcripts/tally.ts";
import { decisionsIn, isAsked, rulesIn, type Words } from "./decided.ts";

/** A message of the user, or a compaction, with what followed it until the next one. */
export interface Part {
  /** The message; undefined before the first one. */
  opening: Said | undefined;
  /** Files that were edited, as paths from the session's directory. */
  edited: string[];
  /** Commands that were begun, and those of them that failed. */
  ran: number;
  failed: string[];
  /** The commits' subjects. */
  commits: string[];
  decided: Words[];
}

export interface Account {
  parts: Part[];
  /** The messages of the user that ask for something. */
  asked: Said[];
  decided: Words[];
  /** Sentences of the user that forbid, or lay down what shall hold. */
  forbidden: Words[];
  edited: string[];
  ran: number;
  commits: string[];
  /** The rows after the last commit, and the files that were edited in them; all rows where nothing was committed. */
  sinceCommit: readonly Row[];
  editedSince: string[];
  /** The last answer. */
  answer: Said | undefined;
  /** The last message of the user, where nothing was said or done after it. */
  unanswered: Said | undefined;
}

interface AccountOptions {
  /** The session's directory, which files are named in. */
  cwd?: string | undefined;
  /** Tells rows that were taken back: nothing in them is decided. */
  isRewound?: (row: Row) => boolean;
}

/** Characters of a command and of a commit's subject. */
const DEED_CHARS = 80;

/** Returns whether an account asks what a call gave back: it judges commands by that. */
export function isJudged({ kind }: ToolCall): boolean {
  return kind === "command";
}

/** Makes the account of a session from its rows, oldest first. */
export function makeAccount(
  rows: readonly Row[],
  { cwd, isRewound = () => false }: AccountOptions = {},
): Account {
  const [parts, asked, forbidden]: [Part[], Said[], Words[]] = [[], [], []];
  const committed = rows.findLastIndex((row) => row.who === "tool" && findCommits(row).length > 0);
  const sinceCommit = rows.slice(committed + 1);
  let answer: Said | undefined;
  for (const { items } of exchangesIn(rows, ({ who }) => who === "user" || who === "summary")) {
    const [first] = items;
    const opening = first?.who === "user" || first?.who === "summary" ? first : undefined;
    const counts = opening?.who === "user" && !isRewound(opening);
    if (counts && isAsked(opening.text)) asked.push(opening);
    const isTheirs = counts && opening.typed !== false;
    const rules = isTheirs ? rulesIn(opening) : [];
    forbidden.push(...rules);
    const isRuled = ({ text }: Words) => rules.some((rule) => rule.text === text);
    const decided = isTheirs ? decisionsIn(opening, answer).filter((words) => !isRuled(words)) : [];
    parts.push({ opening, ...workIn(items, cwd), decided });
    // What was proposed before another message of the user is not what the next one answers.
    const last = items.findLast((row) => row.who === "assistant" && row.text.trim() !== "");
    answer = last?.who === "assistant" ? last : opening?.who === "user" ? undefined : answer;
  }
  const last = rows.at(-1);
  return {
    parts,
    asked,
    forbidden,
    decided: parts.flatMap((part) => part.decided),
    edited: [...new Set(parts.flatMap(({ edited }) => edited))],
    ran: parts.reduce((sum, { ran }) => sum + ran, 0),
    commits: [...new Set(parts.flatMap(({ commits }) => commits))],
    sinceCommit,
    editedSince: committed === -1 ? [] : workIn(sinceCommit, cwd).edited,
    answer: rows.findLast((row): row is Said => row.who === "assistant" && row.text.trim() !== ""),
    unanswered: last?.who === "user" ? last : undefined,
  };
}

/** Returns the work of some rows. */
function workIn(
  rows: readonly Row[],
  cwd: string | undefined,
): Pick<Part, "edited" | "ran" | "failed" | "commits"> {
  const { edited, ran } = tally(rows);
  const commands = rows.filter((row) => row.who === "tool").filter(({ kind }) => kind === "command");
  const failed = commands.filter((row) => judgeCommand(row).verdict === "failed");
  return {
    edited: [...new Set(edited.keys().map((path) => shownPath(path, cwd)))],
    ran,
    failed: [...new Set(failed.map(({ target }) => oneLine(target, DEED_CHARS)))],
    // an amended commit is printed again
    commits: [...new Set(commands.flatMap(findCommits).map((subject) => oneLine(subject, DEED_CHARS)))],
  };
}

/** Returns a path from the session's directory, whichever system's; of one outside of it the file's name. */
function shownPath(path: string, cwd: string | undefined): string {
  const inside = pathWithin(path, cwd)?.replaceAll("\\", "/");
  return unbroken(inside ?? (/^(?:[/\\~]|\w:|\.\.)/.test(path) ? folderName(path) : path));
}
