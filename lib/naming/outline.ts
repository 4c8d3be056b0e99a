/** Renders a whole session on one page: each message of the user, and under it what was done. */

import { countPoints, type Line, type Part } from "../base/output.ts";
import { counted, folderName, listed, truncate } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import { isDecision, sentences } from "../language/speech.ts";
import { oneLine } from "../redact/redact.ts";
import { exchangesIn } from "../transcripts/exchanges.ts";
import { findCommits, judgeCommand } from "../transcripts/outcome.ts";
import type { Done, Row } from "../transcripts/session.ts";
import { tally } from "../transcripts/tally.ts";

interface OutlineOptions {
  /** IANA name. */
  timezone: string | undefined;
  /** Code points in all. */
  maxChars: number;
  /** What the two who talk are called. @default User and Assistant */
  participants?: Participants | undefined;
  isRewound: (row: Row) => boolean;
  /** The session's directory, which its files are named in. */
  cwd?: string | undefined;
  /** Whether the first sections are shown where not all fit. @default {false} */
  fromStart?: boolean | undefined;
}

const PROMPT_CHARS = 120;
const PART_CHARS = 80;
/** The most that a section's line of work takes: characters, files, and of failed commands and of commits each. */
const WORK = { chars: 300, files: 6, each: 3 };
/** For the line that counts what is not shown. */
const COUNT_CHARS = 80;

/** Returns the lines of an outline, oldest first; of a long session the oldest sections, or the newest, are counted only. */
export function outline(rows: readonly Row[], options: OutlineOptions): Line[] {
  const sections = Array.from(
    exchangesIn(rows, ({ who }) => who === "user" || who === "summary"),
    ({ items }) => items,
  );
  const lines = sections.map((section) => sectionLines(section, options));
  const room = options.maxChars;
  if (lines.reduce((sum, section) => sum + countPoints(section), 0) <= room) return lines.flat();
  let left = room - COUNT_CHARS;
  const isTooLong = (section: Line[]) => {
    left -= countPoints(section);
    return left < 0;
  };
  const lineOf = (at: number) => sections[at]?.[0]?.line ?? 0;
  const remark = (count: number, text: string): Line => ({
    kind: "text",
    parts: [["faint", `[${counted(count, "message")} ${text}]`]],
  });
  if (options.fromStart) {
    const to = lines.findIndex(isTooLong);
    return [...lines.slice(0, to).flat(), remark(lines.length - to, `after: lines ${lineOf(to)} and on`)];
  }
  const from = lines.findLastIndex(isTooLong) + 1;
  const end = from < lines.length ? `-${lineOf(from) - 1}` : " and on";
  return [remark(from, `before: lines ${lineOf(0)}${end}`), ...lines.slice(from).flat()];
}

function sectionLines(
  rows: readonly Row[],
  { timezone, isRewound, cwd, participants = PARTICIPANTS }: OutlineOptions,
): Line[] {
  const lines: Line[] = [];
  const add = (...parts: Part[]) => lines.push({ kind: "row", parts });
  for (const row of rows) {
    if (row.who !== "user" && row.who !== "summary") continue;
    const { line, at, who, text } = row;
    const time = at ? formatLocal(at, timezone).slice(0, 16) : "no time";
    const rewound: Part[] = isRewound(row) ? [["bad", "(rewound)"], " "] : [];
    const said: Part[] =
      who === "user"
        ? [["user", `${participants.user}:`], " ", ["said", oneLine(text, PROMPT_CHARS)]]
        : [["tool", "[Compacted]"]];
    add(["place", `L${line}`], " ", ["time", `[${time}]`], " ", ...rewound, ...said);
  }
  const work = workLine(rows, { cwd, ...WORK });
  if (work !== "") add(`  ${work}`);
  const decision = decisionIn(rows);
  if (decision !== undefined) add("  decided ", ["place", `L${decision.line}`], `: ${decision.text}`);
  return lines;
}

interface WorkOptions {
  /** The directory that files are named in. */
  cwd: string | undefined;
  /** The most characters. */
  chars: number;
  /** The most files, and of failed commands and of commits each. */
  files: number;
  each: number;
}

/** Returns what rows did: the files that were edited, how many commands were run, the commits' subjects. */
export function summarizeWork(
  rows: readonly Row[],
  cwd: string | undefined,
): { edited: string[]; ran: number; commits: string[] } {
  const { edited, ran } = tally(rows);
  const commits = findCommands(rows).flatMap(findCommits);
  return {
    edited: [...new Set(edited.keys().map((path) => shownPath(path, cwd)))],
    ran,
    commits: commits.map((subject) => oneLine(subject, PART_CHARS)),
  };
}

/** Lists the files edited, the commands that failed and the commits, on one line. */
function workLine(rows: readonly Row[], { cwd, chars, files, each }: WorkOptions): string {
  const { edited, ran, commits } = summarizeWork(rows, cwd);
  const failing = findCommands(rows).filter((row) => judgeCommand(row).verdict === "failed");
  const failed = new Set(failing.map(({ target }) => oneLine(target, PART_CHARS)));
  const parts = [
    ...(edited.length > 0 ? [`edited ${listed(edited, files)}`] : []),
    ...(ran > 0 ? [`ran ${counted(ran, "command")}`] : []),
    ...(failed.size > 0 ? [`failed: ${listed([...failed], each)}`] : []),
    ...(commits.length > 0 ? [`committed: ${listed(commits, each)}`] : []),
  ];
  return truncate(parts.join("; "), chars);
}

/** Returns the calls of commands. */
export function findCommands(rows: readonly Row[]): Done[] {
  return rows.filter((row) => row.who === "tool").filter(({ kind }) => kind === "command");
}

function decisionIn(rows: readonly Row[]): { line: number; text: string } | undefined {
  for (const row of rows.toReversed()) {
    if (row.who !== "assistant") continue;
    const sentence = sentences(row.text).find(isDecision);
    if (sentence !== undefined) return { line: row.line, text: oneLine(sentence, PROMPT_CHARS) };
  }
  return undefined;
}

/** Returns a path from the session's directory, whichever system's; of one outside of it the file's name. */
function shownPath(path: string, cwd = ""): string {
  const inside = path.startsWith(cwd) ? /^[/\\](.+)/.exec(path.slice(cwd.length))?.[1] : undefined;
  if (cwd !== "" && inside !== undefined) return inside.replaceAll("\\", "/");
  return /^(?:[/\\~]|\w:|\.\.)/.test(path) ? folderName(path) : path;
}
