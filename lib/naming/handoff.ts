/**
 * Writes what another agent needs to go on with a session's work, from its observations and its transcript: as one page, with
 * the last exchange and places for the rest, or as lines that stand under its description.
 */

import { type Account, isJudged, makeAccount } from "../account/account.ts";
import type { Words } from "../account/decided.ts";
import { failingLast, stillOpen } from "../account/open.ts";
import { type Block, fit } from "../base/fit.ts";
import { countPoints } from "../base/output.ts";
import { ownCommand } from "../base/runtime.ts";
import { counted, oneLine, onMachine, quote, quoted, quoteName, shortId } from "../base/text.ts";
import { formatMinute } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import { LABEL, PLACES } from "../hosts/handed.ts";
import type { Row, Said, Session } from "../hosts/session.ts";
import { readLedger } from "../observe/ledger.ts";
import {
  excerpt,
  foldLedger,
  isOpen,
  type Ledger,
  type Observation,
  openThreads,
} from "../observe/observations.ts";
import { toRows } from "../transcripts/calls.ts";
import type { Rules } from "../transcripts/rules.ts";
import { readActiveBranch } from "../transcripts/tree.ts";

/** The sources of the page. Rows and observations are redacted. */
interface HandedOver {
  session: Session;
  /** Its conversation, oldest first, without what was taken back. */
  rows: readonly Row[];
  account: Account;
  /** Its observations. */
  ledger: Ledger;
}

interface HandoffOptions {
  /** The most characters of the page. */
  maxChars: number;
  /** IANA name. */
  timezone: string | undefined;
}

/** A part of the account, with its heading on the page and the word before each of its lines elsewhere. */
interface Section {
  title: string;
  label: string;
  /** Oldest first. */
  lines: readonly string[];
  /** The most lines that are shown. */
  most: number;
  /** The line that says what it is all about, in less and less room: it stands first, and stays. */
  opening?: readonly string[];
  /** The section that gives up its oldest line first, where not all fits, has the highest. */
  rank: number;
}

/** The most characters of the lines under a description: a prompt may mention other sessions too. */
const LINES_CHARS = 4000;
/** The most characters of one request, decision or note: two lines of a terminal. */
const ITEM_CHARS = 240;
/** The sections by their labels. The reader, whose commands stand at the end, has all beyond the most lines of each. */
const SECTIONS = {
  asked: { title: "Asked", label: "asked", most: 11, rank: 2 },
  holds: { title: "Decided and forbidden", label: "holds", most: 12, rank: 1 },
  done: { title: "Done", label: "done", most: 5, rank: 0 },
  noted: { title: "Noted", label: "noted", most: 8, rank: 3 },
  open: { title: "Open, unless the last exchange settles it", label: "open", most: 8, rank: 1 },
};
/** The most characters of each line of work, and of the files, failures and commits that it names. */
const WORK = { chars: 700, files: 15, each: 5 };
/**
 * The share of the page that the end may take. Where fewer characters were answered, or the message has at most `reply`, the
 * exchange before it is shown too.
 */
const LAST = { page: 0.45, exchanges: 3, enough: 400, reply: 40 };
/** The lengths of the words that matter most, the first request and the last exchange, as there is room. */
const LENGTHS = [Number.POSITIVE_INFINITY, 2000, 1000, 500, ITEM_CHARS];

/** Reads the conversation, unless its transcript is larger than `maxBytes`, and the observations. */
export function readHandedOver(
  session: Session,
  { paths, rules, maxBytes }: { paths: PathsWithRules; rules: Rules; maxBytes: number },
): HandedOver {
  const { file, parentId, size } = session;
  const read = () => readActiveBranch(file, { rules, results: isJudged, parentId });
  const rows = size > maxBytes ? [] : toRows(read());
  const account = makeAccount(rows, { cwd: session.cwd });
  return { session, rows, account, ledger: readLedger(session, { paths, rules }).ledger };
}

/** Returns the page; undefined where nothing was said. */
export function handoffPage(handed: HandedOver, options: HandoffOptions): string | undefined {
  const { session, rows, account } = handed;
  const { maxChars } = options;
  const said = rows.filter((row): row is Said => row.who === "user" || row.who === "assistant");
  if (said.length === 0) return undefined;
  const head = [LABEL, headLine({ session, rows: said }, options)];
  const [first] = account.asked;
  const end = lastExchange(said, { first, maxChars: Math.floor(maxChars * LAST.page) });
  const tail = [...end.lines, "", ...places(session)];
  const sections = makeSections(handed, end.rows);
  const room = maxChars - countPoints([...head, ...tail]);
  const lines = fitSections(sections, room, ({ title }) => ({ head: ["", `## ${title}`], lead: "- " }));
  return [...head, ...lines, ...tail].join("\n");
}

/** Returns what was decided, done and noted, and what is open, on a line each. */
export function handoffLines(handed: HandedOver): string[] {
  const [, ...sections] = makeSections(handed, []);
  return fitSections(sections, LINES_CHARS, ({ label }) => ({ head: [], lead: `- ${label}: ` }));
}

/** Returns a text in quotes. */
function line(text: string, max = ITEM_CHARS): string {
  return quote(oneLine(text, max));
}

/** Returns words with their line of the transcript. */
function at({ line: number, text }: Pick<Said, "line" | "text">, max?: number): string {
  return `L${number} ${line(text, max)}`;
}

function headLine(
  { session, rows }: Pick<HandedOver, "session" | "rows">,
  { timezone }: HandoffOptions,
): string {
  const { name, agent, cwd } = session;
  const times = [rows[0], rows.at(-1)].flatMap((row) => row?.at ?? []);
  const [from, to = from] = times.map((at) => formatMinute(at, timezone));
  const shown = (text: string) => quoteName(oneLine(text, ITEM_CHARS));
  const facts = [
    `Session ${name === undefined ? "" : `${line(name)} `}(${shown(displayId(session))})`,
    agent,
    ...(cwd === undefined ? [] : [`in ${shown(cwd)}`]),
    ...(from === undefined ? [] : [from === to ? from : `${from} to ${to}`]),
  ];
  return facts.join(" · ");
}

function displayId(session: Session): string {
  return onMachine(shortId(session.id), session);
}

/** Returns the parts of the account, the requests first, without what is shown elsewhere. */
function makeSections({ rows, account, ledger }: HandedOver, elsewhere: readonly Row[]): Section[] {
  const { holds, noted, threads } = readNoted(ledger, rows);
  const shown = new Set(elsewhere.map(({ line }) => line));
  const open = threads.filter(({ sources }) => !sources.some((each) => shown.has(each)));
  const isHeld = ({ line: at, text }: Words) =>
    holds.some((item) => item.sources.includes(at) && item.text.includes(text));
  const settled = [...account.decided, ...account.forbidden].filter((words) => !isHeld(words));
  const { unanswered } = account;
  const [first, ...asked] = account.asked;
  const last = unanswered && !shown.has(unanswered.line) ? `${at(unanswered)}, which no answer followed` : [];
  return [
    {
      ...SECTIONS.asked,
      opening: first ? LENGTHS.map((max) => at(first, max)) : [],
      lines: asked.filter((row) => !shown.has(row.line)).map((row) => at(row)),
    },
    {
      ...SECTIONS.holds,
      most: Math.max(SECTIONS.holds.most, account.forbidden.length),
      lines: [...holds.map(observed), ...settled.map((words) => at({ ...words, text: settledWords(words) }))],
    },
    { ...SECTIONS.done, lines: doneLines(account).map((each) => line(each, WORK.chars)) },
    { ...SECTIONS.noted, lines: noted.map(observed) },
    { ...SECTIONS.open, lines: stillOpen(open, rows).map(observed).concat(last) },
  ];
}

/** Returns the observations that hold, the others that say something, and the open threads. */
function readNoted(ledger: HandedOver["ledger"], rows: readonly Row[]) {
  // What rules observed, the account has read from the same rows.
  const memory = foldLedger(ledger.filter((record) => record.kind !== "observed" || record.by !== "rules"));
  // What the user said and what was done stand in sections of their own.
  const said = new Set(rows.flatMap((row) => (row.who === "user" ? row.line : [])));
  const isNoted = ({ priority, sources }: Observation) =>
    priority !== "green" && !sources.some((source) => said.has(source));
  const holds = (item: Observation) => isOpen(item, memory) && (item.rule === true || item.thread !== true);
  const { observations } = memory;
  return {
    holds: observations.filter(holds),
    noted: observations.filter(isNoted),
    threads: openThreads(memory),
  };
}

function observed({ sources, text }: Observation): string {
  return `L${sources[0] ?? "?"} ${line(text)}`;
}

function settledWords({ text, accepted }: Words): string {
  return accepted === undefined ? `User: ${text}` : `User: ${accepted} (to: ${text})`;
}

/** Returns the work, newest last, and its state since the last commit: edited files and failing commands. */
function doneLines({ edited, ran, commits, editedSince, sinceCommit }: Account): string[] {
  const told = (what: string, items: readonly string[], most: number, separator = ", ") => {
    const more = items.length - most;
    const before = more > 0 ? ` and ${more} before` : "";
    return items.length > 0 ? [`${what} ${items.slice(-most).join(separator)}${before}`] : [];
  };
  return [
    ...told("edited", edited, WORK.files),
    ...(ran > 0 ? [`ran ${counted(ran, "command")}`] : []),
    ...told("committed:", commits, WORK.each, "; "),
    ...told("edited after the last commit:", editedSince, WORK.files),
    ...told("failed when run last:", failingLast(sinceCommit), WORK.each),
  ];
}

/** More lines than a section has: a line's rank is its section's before its age. */
const RANK_STEP = 1e6;

/** Returns sections in some characters: a heading stays, and the oldest line goes first. */
function fitSections(
  sections: readonly Section[],
  maxChars: number,
  style: (section: Section) => { head: string[]; lead: string },
): string[] {
  const blocks = sections.flatMap((section): Block[] => {
    const { lines, most, opening = [], rank } = section;
    const { head, lead } = style(section);
    const first = { rank: rank * RANK_STEP, forms: opening.map((each) => [lead + each]) };
    const told = lines.map((each, i) => {
      const age = lines.length - i;
      return { rank: rank * RANK_STEP + age, forms: age <= most ? [[lead + each]] : [] };
    });
    const all = opening.length > 0 ? [first, ...told] : told;
    return all.length > 0 ? [{ rank: -1, forms: [head] }, ...all] : [];
  });
  return fit(blocks, { maxChars, gap: (count) => [`- … ${count} more`] });
}

/**
 * Returns the last exchange, line by line in quotes, after the ones without which it says little, and the messages that are
 * shown: the last request first, then the answer, then what came before. The session's first request stands above.
 */
function lastExchange(
  said: readonly Said[],
  { first, maxChars }: { first: Said | undefined; maxChars: number },
): { lines: string[]; rows: Said[] } {
  const told: Said[] = [];
  let [exchanges, left] = [0, LAST.enough];
  for (const row of said.toReversed()) {
    if (row.who === "assistant") {
      if (left > 0) told.push(row);
      left -= row.text.length;
      continue;
    }
    if (row === first && exchanges > 0) break;
    told.push(row);
    if (++exchanges === LAST.exchanges || (left <= 0 && row.text.length > LAST.reply)) break;
    left = 1; // of what it answers the last words
  }
  const request = told.find(({ who }) => who === "user");
  const blocks = told.map((row, rank) => {
    const lengths = row === request || rank === 0 ? LENGTHS : LENGTHS.slice(-2);
    return { rank: row === request ? -1 : rank, forms: lengths.map((max) => [spoken(row, max)]) };
  });
  const lines = fit(blocks.reverse(), { maxChars, gap: () => [] });
  const rows = told.filter((row) => lines.some((each) => each.startsWith(spokenBy(row))));
  const end = told[0] === request ? ["- no answer followed"] : [];
  return { lines: ["", "## Last exchange", ...lines, ...end], rows };
}

function spokenBy({ line: at, who }: Said): string {
  return `- L${at} ${who === "user" ? "User" : "Assistant"}: `;
}

function spoken(said: Said, max: number): string {
  const lines = excerpt(said.text, max).split("\n");
  const told = lines.filter((each) => each.trim() !== "").map((each) => line(each, max));
  return spokenBy(said) + told.join("\n  ");
}

/** Returns where the rest can be read. */
function places(session: Session): string[] {
  const id = quoted(oneLine(displayId(session), ITEM_CHARS));
  const command = (name: string) => ownCommand(name).map(quoted).join(" ");
  return [
    PLACES,
    `- ${command("session-reader")} ${id} --outline, or ${id}:<line> for a line named here`,
    `- ${command("search")} --session ${id} "<question>"`,
  ];
}
