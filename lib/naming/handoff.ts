/**
 * Writes one page on which another agent can go on with a session's work: the requests, the rules in force, the work done, the
 * open threads, and the last exchange; from its observations, and from its transcript.
 */

import { type Account, makeAccount } from "../account/account.ts";
import type { Words } from "../account/decided.ts";
import { failingLast, stillOpen } from "../account/open.ts";
import { type Block, fit } from "../base/fit.ts";
import { countPoints } from "../base/output.ts";
import { ownCommand } from "../base/runtime.ts";
import { counted, oneLine, onMachine, quote, quoted, quoteName, shortId } from "../base/text.ts";
import { formatMinute } from "../base/time.ts";
import { LABEL, PLACES } from "../hosts/handed.ts";
import type { Row, Said, Session } from "../hosts/session.ts";
import { isRequest } from "../language/speech.ts";
import {
  COMMITTED,
  excerpt,
  foldLedger,
  isOpen,
  type Ledger,
  type Observation,
  openThreads,
} from "../observe/observations.ts";

/** The sources of the page. */
interface HandedOver {
  session: Session;
  /** Its conversation, oldest first, without what was taken back. */
  rows: readonly Row[];
  /** Its observations. */
  ledger: Ledger;
}

interface HandoffOptions {
  /** The most characters of the page. */
  maxChars: number;
  /** IANA name. */
  timezone: string | undefined;
  /** Redacts a text. */
  clean: (text: string) => string;
}

/** A part of the page. */
interface Section {
  title: string;
  /** Oldest first. */
  lines: readonly string[];
  /** The most lines that are shown. */
  most: number;
  /** True if the first line stays: it says what it is all about. @default {false} */
  keepsFirst?: boolean;
  /** The section that gives up its oldest line first, where not all fits, has the highest. */
  rank: number;
}

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

/** Returns the page; undefined where nothing was said. */
export function handoffPage(
  { session, rows, ledger }: HandedOver,
  { maxChars, timezone, clean }: HandoffOptions,
): string | undefined {
  const said = rows.filter((row): row is Said => row.who === "user" || row.who === "assistant");
  if (said.length === 0) return undefined;
  const line = (text: string, max = ITEM_CHARS) => quote(oneLine(clean(text), max));
  const head = [LABEL, headLine({ session, rows: said }, { timezone, line, clean })];
  const tail = [...lastExchange(said, { line, maxChars }), "", ...places(session, clean)];
  const account = makeAccount(rows, { cwd: session.cwd });
  const room = maxChars - countPoints([...head, ...tail]);
  const fitted = (firstChars: number) => {
    const sections = makeSections({ account, rows, ledger }, { line, firstChars });
    return fit(sections.flatMap(sectionBlocks), { maxChars: room, gap: (count) => [`- … ${count} more`] });
  };
  const sections = fitted(ITEM_CHARS);
  // The first request is often the whole task: it gets what the others leave.
  const left = room - countPoints(sections);
  return [...head, ...(left > 0 ? fitted(ITEM_CHARS + left) : sections), ...tail].join("\n");
}

type QuoteLine = (text: string, max?: number) => string;

function headLine(
  { session, rows }: Pick<HandedOver, "session" | "rows">,
  { timezone, line, clean }: Pick<HandoffOptions, "timezone" | "clean"> & { line: QuoteLine },
): string {
  const { name, agent, cwd } = session;
  const times = [rows[0], rows.at(-1)].flatMap((row) => row?.at ?? []);
  const [from, to = from] = times.map((at) => formatMinute(at, timezone));
  const facts = [
    `Session ${name === undefined ? "" : `${line(name)} `}(${quoteName(oneLine(clean(displayId(session)), ITEM_CHARS))})`,
    agent,
    ...(cwd === undefined ? [] : [`in ${quoteName(oneLine(clean(cwd), ITEM_CHARS))}`]),
    ...(from === undefined ? [] : [from === to ? from : `${from} to ${to}`]),
  ];
  return facts.join(" · ");
}

function displayId(session: Session): string {
  return onMachine(shortId(session.id), session);
}

function makeSections(
  { account, rows, ledger }: Omit<HandedOver, "session"> & { account: Account },
  { line, firstChars }: { line: QuoteLine; firstChars: number },
): Section[] {
  // What rules observed, the account has read from the same rows.
  const memory = foldLedger(
    ledger.map((record) =>
      record.kind === "observed" && record.by === "rules" ? { ...record, observations: [] } : record,
    ),
  );
  const noted = memory.observations;
  const lines = new Set(rows.flatMap((row) => (row.who === "user" ? row.line : [])));
  const said = rows.filter((row): row is Said => row.who === "user" || row.who === "assistant");
  const last = new Set(lastSaid(said).map(({ line }) => line));
  const threads = openThreads(memory).filter(({ sources }) => !sources.some((each) => last.has(each)));
  const holds = noted.filter((item) => isOpen(item, memory) && (item.rule === true || item.thread !== true));
  // What the user said and what was done stand in sections of their own.
  const isNoted = ({ text, priority, sources }: Observation) =>
    priority !== "green" && !text.startsWith(COMMITTED) && !sources.some((source) => lines.has(source));
  const observed = (item: Observation) => `- L${item.sources[0] ?? "?"} ${line(item.text)}`;
  const isSaid = ({ line: at, text }: Words) =>
    holds.some((item) => item.sources.includes(at) && item.text.includes(text));
  const settled = [...account.decided, ...account.forbidden].filter((words) => !isSaid(words));
  const [first] = account.asked;
  const asked = account.asked.filter((row) => row === first || !last.has(row.line));
  return [
    {
      title: "Asked",
      lines: asked.map((row) => `- L${row.line} ${line(row.text, row === first ? firstChars : ITEM_CHARS)}`),
      most: MOST.asked,
      keepsFirst: true,
      rank: 2,
    },
    {
      title: "Decided and forbidden",
      lines: [
        ...holds.map(observed),
        ...settled.map(({ line: at, ...words }) => `- L${at} ${line(settledWords(words))}`),
      ],
      most: Math.max(MOST.holds, account.forbidden.length),
      rank: 1,
    },
    {
      title: "Done",
      lines: doneLines(account).map((each) => `- ${line(each, WORK.chars)}`),
      most: MOST.done,
      rank: 0,
    },
    { title: "Noted", lines: noted.filter(isNoted).map(observed), most: MOST.noted, rank: 3 },
    {
      title: "Open, unless the last exchange settles it",
      lines: stillOpen(threads, rows).map(observed),
      most: MOST.open,
      rank: 1,
    },
  ];
}

function settledWords({ text, accepted }: Omit<Words, "line">): string {
  return accepted === undefined ? `User: ${text}` : `User: ${accepted} (to: ${text})`;
}

/** Returns the work, newest last, and its state since the last commit: edited files and failing commands. */
function doneLines({ edited, ran, commits, editedSince, sinceCommit }: Account): string[] {
  const failing = failingLast(sinceCommit);
  return [
    ...(edited.length > 0 ? [`edited ${newest(edited, WORK.files)}`] : []),
    ...(ran > 0 ? [`ran ${counted(ran, "command")}`] : []),
    ...(commits.length > 0 ? [`committed: ${newest(commits, WORK.each, "; ")}`] : []),
    ...(editedSince.length > 0 ? [`edited after the last commit: ${newest(editedSince, WORK.files)}`] : []),
    ...(failing.length > 0 ? [`failed when run last: ${newest(failing, WORK.each)}`] : []),
  ];
}

function newest(items: readonly string[], most: number, separator = ", "): string {
  const more = items.length - most;
  return `${items.slice(-most).join(separator)}${more > 0 ? ` and ${more} before` : ""}`;
}

/** More lines than a section has: a line's rank is its section's before its age. */
const RANK_STEP = 1e6;

/** Returns a section as its title, which stays, and a block for each line; its oldest line is the first to go. */
function sectionBlocks({ title, lines, most, keepsFirst = false, rank }: Section): Block[] {
  if (lines.length === 0) return [];
  const blocks = lines.map((line, at) => {
    const age = keepsFirst && at === 0 ? 0 : lines.length - at;
    return {
      rank: rank * RANK_STEP + age,
      forms: age < most || (age === most && !keepsFirst) ? [[line]] : [],
    };
  });
  return [{ rank: -1, forms: [["", `## ${title}`]] }, ...blocks];
}

/** Returns the last request and the answer to it, line by line in quotes; if that says little, the words before it too. */
function lastExchange(
  said: readonly Said[],
  { line, maxChars }: { line: QuoteLine; maxChars: number },
): string[] {
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
  const first = said.find(({ who, text }) => who === "user" && isRequest(text));
  let room = Math.floor(maxChars * LAST.page);
  const asked = request ? spoken(request, isAnswered ? Math.floor(room * LAST.request) : room) : "";
  room -= asked.length;
  const shown: string[] = [];
  for (const row of lastSaid(said).toReversed()) {
    if (row === first && row !== request) continue; // it stands above, whole
    const text = row === request ? asked : spoken(row, shown.length === 0 ? room : 2 * ITEM_CHARS);
    if (row !== request) room -= text.length;
    if (room < 0 && shown.length > 0 && row !== request) break;
    shown.unshift(text);
  }
  return ["", "## Last exchange", ...shown, ...(isAnswered ? [] : ["- no answer followed"])];
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
function places(session: Session, clean: HandoffOptions["clean"]): string[] {
  const id = quoted(oneLine(clean(displayId(session)), ITEM_CHARS));
  const command = (name: string) => ownCommand(name).map(quoted).join(" ");
  return [
    PLACES,
    `- ${command("session-reader")} ${id} --outline, or ${id}:<line> for a line named here`,
    `- ${command("search")} --session ${id} "<question>"`,
  ];
}
