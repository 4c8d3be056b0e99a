/** Renders a whole session on one page: each message of the user, and under it what was done; then the last answer. */

import { countPoints, type Line, type Part } from "../base/output.ts";
import { counted, folderName, listed, truncate, unbroken } from "../base/text.ts";
import { formatMinute } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import type { Done, Row } from "../hosts/session.ts";
import { isDecision, sentences } from "../language/speech.ts";
import { contentWords } from "../language/words.ts";
import { oneLine } from "../redact/redact.ts";
import { exchangesIn } from "../transcripts/exchanges.ts";
import { findCommits, judgeCommand } from "../transcripts/outcome.ts";
import { tally } from "../transcripts/tally.ts";

interface OutlineOptions {
  /** IANA name. */
  timezone: string | undefined;
  /** Code points in all. */
  maxChars: number;
  /** The names of the two speakers. @default User and Assistant */
  participants?: Participants | undefined;
  isRewound: (row: Row) => boolean;
  /** The session's directory, which its files are named in. */
  cwd?: string | undefined;
}

const PROMPT_CHARS = 120;
const PART_CHARS = 80;
/** The most that a section's line of work takes: characters, files, and of failed commands and of commits each. */
const WORK = { chars: 300, files: 6, each: 3 };
/** The characters of a user's message if there is no room for more of each. */
const BRIEF_CHARS = 60;
/** The answer with which the session ended. */
const ANSWER_CHARS = 240;
/** The most that the count of messages between two others takes. */
const GAP_CHARS = 24;
/** Words of a message beyond which it says no more for being longer: "yes" and "go on" go first. */
const TELLING_WORDS = 6;

/** A message of the user, with what followed it until the next one. */
interface Section {
  /** Its lines in less and less room: all of it; without what is neither a commit nor a decision; the message cut short. */
  forms: readonly Line[][];
  /** The loss without it. */
  worth: number;
}

/**
 * Returns the lines of an outline, oldest first, and the last answer. Of a long session what was committed, decided and said is
 * kept, of the whole of it; other lines go first, then the messages that say least, which are counted where they stood.
 */
export function outline(rows: readonly Row[], options: OutlineOptions): Line[] {
  const answer = lastAnswer(rows, options);
  const sections = Array.from(
    exchangesIn(rows, ({ who }) => who === "user" || who === "summary"),
    ({ items }) => toSection(items, options),
  );
  return [...withGaps(sections, chooseForms(sections, options.maxChars - countPoints(answer))), ...answer];
}

/** Positions of a section's shortest form, and of the whole of it. */
const [BRIEF, WHOLE] = [2, 0];

/** Chooses the form of each section within a number of code points; undefined for one that is only counted. */
function chooseForms(sections: readonly Section[], room: number): (number | undefined)[] {
  const costs = sections.map(({ forms }) => forms.map(countPoints));
  const chosen: (number | undefined)[] = sections.map(() => undefined);
  const isHidden = (i: number) => i in chosen && chosen[i] === undefined;
  const cost = (i: number, form: number) => costs[i]?.[form] ?? 0;
  let left = room - GAP_CHARS;
  for (const i of byWorth(sections)) {
    const gaps = Number(isHidden(i - 1)) + Number(isHidden(i + 1)) - 1;
    const more = cost(i, BRIEF) + gaps * GAP_CHARS;
    if (more > left) break;
    left -= more;
    chosen[i] = BRIEF;
  }
  for (let form = BRIEF - 1; form >= WHOLE; form--) {
    for (const i of [...sections.keys()].reverse()) {
      const more = cost(i, form) - cost(i, chosen[i] ?? form);
      if (chosen[i] === undefined || more > left) continue;
      left -= more;
      chosen[i] = form;
    }
  }
  return chosen;
}

/** Returns the positions of sections: the first, the last, then the most telling. */
function byWorth(sections: readonly Section[]): number[] {
  const last = sections.length - 1;
  const worth = (i: number) => (i === 0 || i === last ? Number.POSITIVE_INFINITY : (sections[i]?.worth ?? 0));
  return [...sections.keys()].sort((a, b) => worth(b) - worth(a) || b - a);
}

/** Returns the lines of the sections in their forms, with those between them counted. */
function withGaps(sections: readonly Section[], chosen: readonly (number | undefined)[]): Line[] {
  const lines: Line[] = [];
  let left = 0;
  const count = () => {
    if (left > 0) lines.push({ kind: "text", parts: [["faint", `[${counted(left, "more message")}]`]] });
    left = 0;
  };
  for (const [i, { forms }] of sections.entries()) {
    const form = chosen[i];
    if (form === undefined) left++;
    else {
      count();
      lines.push(...(forms[form] ?? []));
    }
  }
  count();
  return lines;
}

function toSection(rows: readonly Row[], options: OutlineOptions): Section {
  const { commits } = summarizeWork(rows, options.cwd);
  const committed =
    commits.length > 0 ? [rowOf(truncate(`  committed: ${listed(commits, WORK.each)}`, WORK.chars))] : [];
  const work = workLine(rows, { cwd: options.cwd, ...WORK });
  const decision = decisionIn(rows);
  const decided: Line[] =
    decision === undefined ? [] : [rowOf("  decided ", ["place", `L${decision.line}`], `: ${decision.text}`)];
  const said = saidLines(rows, PROMPT_CHARS, options);
  const words = rows.flatMap((row) => (row.who === "user" ? contentWords(row.text) : []));
  const isTelling = commits.length > 0 || decision !== undefined || rows.some(({ who }) => who === "summary");
  return {
    forms: [
      [...said, ...(work === "" ? [] : [rowOf(`  ${work}`)]), ...decided],
      [...said, ...committed, ...decided],
      briefLines(rows, { commits, decided: decision?.text }, options),
    ],
    worth: Math.min(TELLING_WORDS, new Set(words).size) + (isTelling ? TELLING_WORDS + 1 : 0),
  };
}

function rowOf(...parts: Part[]): Line {
  return { kind: "row", parts };
}

/** Returns what the user said, and compactions, on a line each. */
function saidLines(
  rows: readonly Row[],
  most: number,
  { timezone, isRewound, participants = PARTICIPANTS }: OutlineOptions,
): Line[] {
  return rows.flatMap((row) => {
    if (row.who !== "user" && row.who !== "summary") return [];
    const rewound: Part[] = isRewound(row) ? [["bad", "(rewound)"], " "] : [];
    const said: Part[] =
      row.who === "user"
        ? [["user", `${participants.user}:`], " ", ["said", oneLine(row.text, most)]]
        : [["tool", "[Compacted]"]];
    return [rowOf(...placeParts(row, timezone), ...rewound, ...said)];
  });
}

/** Returns what the user said and the commit or decision that followed, in as little room as can be read, without the time. */
function briefLines(
  rows: readonly Row[],
  { commits, decided }: { commits: readonly string[]; decided: string | undefined },
  { participants = PARTICIPANTS, ...options }: OutlineOptions,
): Line[] {
  const said = rows.find((row) => row.who === "user");
  if (said?.who !== "user") return saidLines(rows, BRIEF_CHARS, options);
  const rewound: Part[] = options.isRewound(said) ? [["bad", "(rewound)"], " "] : [];
  const settled = commits.length > 0 ? `committed: ${listed(commits, 1)}` : decided && `decided: ${decided}`;
  const end = settled === undefined ? "" : ` -> ${oneLine(settled, BRIEF_CHARS)}`;
  const words: Part[] = [
    ["user", `${participants.user}:`],
    " ",
    ["said", oneLine(said.text, BRIEF_CHARS)],
    end,
  ];
  return [rowOf(["place", `L${said.line}`], " ", ...rewound, ...words)];
}

/** Returns the last answer of a session on one line; none where nothing was answered. */
function lastAnswer(rows: readonly Row[], { timezone, participants = PARTICIPANTS }: OutlineOptions): Line[] {
  const last = rows.findLast((row) => row.who === "assistant" && row.text.trim() !== "");
  if (last?.who !== "assistant") return [];
  const said: Part[] = [
    ["assistant", `${participants.assistant}:`],
    " ",
    ["said", oneLine(last.text, ANSWER_CHARS)],
  ];
  return [rowOf(...placeParts(last, timezone), ...said)];
}

function placeParts({ line, at }: Row, timezone: string | undefined): Part[] {
  const time = at ? formatMinute(at, timezone) : "no time";
  return [["place", `L${line}`], " ", ["time", `[${time}]`], " "];
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
  const inside = path.startsWith(cwd) ? /^[/\\](.+)/s.exec(path.slice(cwd.length))?.[1] : undefined;
  if (cwd !== "" && inside !== undefined) return unbroken(inside.replaceAll("\\", "/"));
  return unbroken(/^(?:[/\\~]|\w:|\.\.)/.test(path) ? folderName(path) : path);
}
