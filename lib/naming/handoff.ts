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
import { isRequest } from "../language/speech.ts";
import { readLedger } from "../observe/ledger.ts";
import {
  COMMITTED,
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
  /** True if the first line stays: it says what it is all about. @default {false} */
  keepsFirst?: boolean;
  /** The section that gives up its oldest line first, where not all fits, has the highest. */
  rank: number;
}

/** The most characters of the lines under a description: a prompt may mention other sessions too. */
const LINES_CHARS = 4000;
/** The most characters of one request, decision or note: two lines of a terminal. */
const ITEM_CHARS = 240;
/** The most lines of each section: more is for the reader, whose commands stand at the end. */
const MOST = { asked: 12, holds: 12, done: 5, noted: 8, open: 8 };
/** The most characters of each line of work, and of the files, failures and commits that it names. */
const WORK = { chars: 700, files: 15, each: 5 };
/**
 * The share of the page that the last exchange may take, and of that share the request's. Where fewer characters were
 * answered, or the request is a reply of at most `reply` characters, earlier words are shown too, `exchanges` in all.
 */
const LAST = { page: 0.45, request: 0.4, enough: 400, exchanges: 3, reply: 40 };

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
  const last = lastExchange(said, { first, maxChars });
  const tail = [...last.lines, "", ...places(session)];
  const sections = makeSections(handed, last.rows);
  const room = maxChars - countPoints([...head, ...tail]);
  const lines = fitSections(sections, room, ({ title }) => ({ head: ["", `## ${title}`], lead: "- " }));
  // The first request is often the whole task: it gets what the others leave.
  const left = room - countPoints(lines);
  const [short, long] = [0, Math.max(0, left)].map((more) => first && `- ${at(first, ITEM_CHARS + more)}`);
  const whole = lines.map((each) => (each === short ? (long ?? each) : each));
  return [...head, ...whole, ...tail].join("\n");
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
  // What rules observed, the account has read from the same rows.
  const memory = foldLedger(
    ledger.map((record) =>
      record.kind === "observed" && record.by === "rules" ? { ...record, observations: [] } : record,
    ),
  );
  const noted = memory.observations;
  const said = new Set(rows.flatMap((row) => (row.who === "user" ? row.line : [])));
  const shown = new Set(elsewhere.map(({ line }) => line));
  const threads = openThreads(memory).filter(({ sources }) => !sources.some((each) => shown.has(each)));
  const holds = noted.filter((item) => isOpen(item, memory) && (item.rule === true || item.thread !== true));
  // What the user said and what was done stand in sections of their own.
  const isNoted = ({ text, priority, sources }: Observation) =>
    priority !== "green" && !text.startsWith(COMMITTED) && !sources.some((source) => said.has(source));
  const observed = (item: Observation) => `L${item.sources[0] ?? "?"} ${line(item.text)}`;
  const isHeld = ({ line: at, text }: Words) =>
    holds.some((item) => item.sources.includes(at) && item.text.includes(text));
  const settled = [...account.decided, ...account.forbidden].filter((words) => !isHeld(words));
  const { asked, unanswered } = account;
  return [
    {
      ...{ title: "Asked", label: "asked", most: MOST.asked, keepsFirst: true, rank: 2 },
      lines: asked.filter((row, i) => i === 0 || !shown.has(row.line)).map((row) => at(row)),
    },
    {
      ...{ title: "Decided and forbidden", label: "holds", rank: 1 },
      most: Math.max(MOST.holds, account.forbidden.length),
      lines: [...holds.map(observed), ...settled.map((words) => at({ ...words, text: settledWords(words) }))],
    },
    {
      ...{ title: "Done", label: "done", most: MOST.done, rank: 0 },
      lines: doneLines(account).map((each) => line(each, WORK.chars)),
    },
    {
      ...{ title: "Noted", label: "noted", most: MOST.noted, rank: 3 },
      lines: noted.filter(isNoted).map(observed),
    },
    {
      ...{ title: "Open, unless the last exchange settles it", label: "open", most: MOST.open, rank: 1 },
      lines: [
        ...stillOpen(threads, rows).map(observed),
        ...(unanswered && !shown.has(unanswered.line) ? [`${at(unanswered)}, which no answer followed`] : []),
      ],
    },
  ];
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
    const { lines, most, keepsFirst = false, rank } = section;
    const { head, lead } = style(section);
    const told = lines.map((each, i) => {
      const age = keepsFirst && i === 0 ? 0 : lines.length - i;
      const isShown = age < most || (age === most && !keepsFirst);
      return { rank: rank * RANK_STEP + age, forms: isShown ? [[lead + each]] : [] };
    });
    return lines.length === 0 ? [] : [{ rank: -1, forms: [head] }, ...told];
  });
  return fit(blocks, { maxChars, gap: (count) => [`- … ${count} more`] });
}

/** Returns the last request and the answer to it, line by line in quotes; if that says little, the words before it too. */
function lastExchange(
  said: readonly Said[],
  { first, maxChars }: { first: Said | undefined; maxChars: number },
): { lines: string[]; rows: Said[] } {
  const spoken = ({ line: at, who, text }: Said, max: number) => {
    const lines = (chars: number) =>
      excerpt(text, chars)
        .split("\n")
        .filter((each) => each.trim() !== "")
        .map((each) => line(each, chars))
        .join("\n  ");
    // Quotes take room too.
    const over = Math.max(0, lines(max).length - max);
    return `- L${at} ${who === "user" ? "User" : "Assistant"}: ${lines(max - over)}`;
  };
  const isAnswered = said.at(-1)?.who === "assistant";
  const request = said.findLast(({ who }) => who === "user");
  let room = Math.floor(maxChars * LAST.page);
  const asked = request ? spoken(request, isAnswered ? Math.floor(room * LAST.request) : room) : "";
  room -= asked.length;
  const shown: string[] = [];
  const rows: Said[] = [];
  for (const row of lastSaid(said).toReversed()) {
    if (row === first && row !== request) continue; // it stands above, whole
    const text = row === request ? asked : spoken(row, shown.length === 0 ? room : 2 * ITEM_CHARS);
    if (row !== request) room -= text.length;
    if (room < 0 && shown.length > 0 && row !== request) break;
    shown.unshift(text);
    rows.unshift(row);
  }
  const lines = ["", "## Last exchange", ...shown, ...(isAnswered ? [] : ["- no answer followed"])];
  return { lines, rows };
}

/** Returns the last words of both, until enough was answered; before a short reply what it replies to. */
function lastSaid(said: readonly Said[]): Said[] {
  const shown: Said[] = [];
  let [answered, exchanges, isReply] = [0, 0, false];
  for (const row of said.toReversed()) {
    const isEnough = answered >= LAST.enough && !isReply;
    if (row.who === "user") {
      shown.unshift(row);
      isReply = !isRequest(row.text) || row.text.length <= LAST.reply;
      if (++exchanges >= LAST.exchanges || (isEnough && !isReply)) break;
    } else if (!isEnough) {
      shown.unshift(row);
      answered += row.text.length;
      isReply = false;
    }
  }
  return shown;
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
