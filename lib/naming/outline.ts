/** Renders the account of a session on one page: each message of the user, and under it what was done; then the last answer. */

import { makeAccount, type Part } from "../account/account.ts";
import { fit } from "../base/fit.ts";
import type { Line, Part as Piece } from "../base/output.ts";
import { counted, listed, oneLine, truncate } from "../base/text.ts";
import { formatMinute } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import type { Row, Said } from "../hosts/session.ts";
import { contentWords } from "../language/words.ts";

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

/** The most characters of a user's message, in all room and in little, and of the answer with which the session ended. */
const CHARS = { prompt: 120, brief: 60, answer: 240 };
/** The most that a part's line of work takes: characters, files, and of failed commands and of commits each. */
const WORK = { chars: 300, files: 6, each: 3 };
/** Words of a message beyond which it says no more for being longer: "yes" and "go on" go first. */
const TELLING_WORDS = 6;

/**
 * Returns the lines of an outline with the last answer, oldest first. A long session keeps its commits, decisions and
 * messages; other lines go first, then the messages that say least, which are counted where they stood.
 */
export function outline(rows: readonly Row[], options: OutlineOptions): Line[] {
  const { parts, answer } = makeAccount(rows, options);
  const first = Number.NEGATIVE_INFINITY;
  const blocks = parts.map((part, at) => ({
    line: part.opening?.line ?? 0,
    forms: partForms(part, options),
    rank: at === 0 || at === parts.length - 1 ? first : -worth(part) - at / parts.length,
  }));
  if (answer)
    blocks.push({ line: answer.line, forms: [[saidLine(answer, CHARS.answer, options)]], rank: first });
  const gap = (count: number): Line[] => [
    { kind: "text", parts: [["faint", `[${counted(count, "more message")}]`]] },
  ];
  blocks.sort((a, b) => a.line - b.line); // the user may have spoken since
  return fit(blocks, { maxChars: options.maxChars, gap });
}

/** Returns the loss without a part. */
function worth({ opening, commits, decided }: Part): number {
  const words = opening?.who === "user" ? new Set(contentWords(opening.text)).size : 0;
  const isTelling = commits.length > 0 || decided.length > 0 || opening?.who === "summary";
  return Math.min(TELLING_WORDS, words) + (isTelling ? TELLING_WORDS + 1 : 0);
}

/** Returns a part in less and less room: all of it; without what is neither a commit nor a decision; on one short line. */
function partForms(part: Part, options: OutlineOptions): Line[][] {
  const { opening, edited, ran, failed, commits, decided } = part;
  const said = opening ? [saidLine(opening, CHARS.prompt, options)] : [];
  const committed = commits.length > 0 ? [`committed: ${listed(commits, WORK.each)}`] : [];
  const work = [
    ...committed, // a long line is cut at its end
    ...(edited.length > 0 ? [`edited ${listed(edited, WORK.files)}`] : []),
    ...(ran > 0 ? [`ran ${counted(ran, "command")}`] : []),
    ...(failed.length > 0 ? [`failed: ${listed(failed, WORK.each)}`] : []),
  ];
  // A short message says itself what it decides.
  const shown = opening ? oneLine(opening.text, CHARS.prompt) : "";
  const choices = decided
    .map(({ line, text }) => ({ line, text: oneLine(text, CHARS.prompt) }))
    .filter(({ text }) => !shown.includes(text))
    .map(({ line, text }) => rowOf("  decided ", ["place", `L${line}`], `: ${text}`));
  return [
    [...said, ...workLine(work), ...choices],
    [...said, ...workLine(committed), ...choices],
    [briefLine(part, options)],
  ];
}

function workLine(parts: readonly string[]): Line[] {
  return parts.length > 0 ? [rowOf(`  ${truncate(parts.join("; "), WORK.chars)}`)] : [];
}

function rowOf(...parts: Piece[]): Line {
  return { kind: "row", parts };
}

/** Returns a message or a compaction on a line. */
function saidLine(said: Said, most: number, options: OutlineOptions): Line {
  const { line, at } = said;
  const time = at ? formatMinute(at, options.timezone) : "no time";
  return rowOf(["place", `L${line}`], " ", ["time", `[${time}]`], " ", ...words(said, most, options));
}

function words(
  said: Said,
  most: number,
  { isRewound, participants = PARTICIPANTS }: Pick<OutlineOptions, "isRewound" | "participants">,
): Piece[] {
  const rewound: Piece[] = isRewound(said) ? [["bad", "(rewound)"], " "] : [];
  if (said.who === "summary") return [...rewound, ["tool", "[Compacted]"]];
  return [...rewound, [said.who, `${participants[said.who]}:`], " ", ["said", oneLine(said.text, most)]];
}

/** Returns what the user said and the commit or decision that followed, without the time. */
function briefLine({ opening, commits, decided }: Part, options: OutlineOptions): Line {
  const settled = commits.length > 0 ? `committed: ${listed(commits, 1)}` : undefined;
  const chosen = decided.find(({ accepted }) => accepted !== undefined);
  const told = settled ?? (chosen && `decided: ${chosen.text}`);
  const end = told === undefined ? "" : oneLine(told, CHARS.brief);
  if (!opening) return rowOf(end === "" ? "(before the first message)" : `  ${end}`);
  const said = words(opening, CHARS.brief, options);
  return rowOf(["place", `L${opening.line}`], " ", ...said, end === "" ? "" : ` -> ${end}`);
}
