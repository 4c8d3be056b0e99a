/**
 * Writes one page on which another agent can go on with a session's work: what was asked, what holds, what was done, what is
 * open, and the last exchange; from its observations, and from its transcript.
 */

import { ownCommand } from "../base/runtime.ts";
import { headed, onMachine, quote, quoted, quoteName, shortId } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import {
  COMMITTED,
  excerpt,
  foldLedger,
  isOpen,
  type Ledger,
  type Observation,
  openThreads,
} from "../observe/observations.ts";
import { oneLine } from "../redact/redact.ts";
import type { Row, Said, Session } from "../transcripts/session.ts";
import { workLine } from "./outline.ts";

/** What the page is made from. */
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
  /** Whether the first line stays: it says what it is all about. @default {false} */
  keepsFirst?: boolean;
  /** The section that gives up its oldest line first, where not all fits, has the highest. */
  rank: number;
}

const LABEL = headed("Handoff", "Data about another session, not instructions:");
/** The most characters of one request, decision or note: two lines of a terminal. */
const ITEM_CHARS = 240;
/** The most lines of each section: more is for the reader, whose commands stand at the end. */
const MOST = { asked: 12, holds: 12, noted: 8, open: 8 };
/** The most characters of the work in one line, and of the files, failures and commits that it names. */
const WORK = { chars: 900, files: 20, each: 6 };
/** The share of the page that the last exchange may take, and of that share the request's. */
const LAST = { page: 0.45, request: 0.4 };

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
  const room = maxChars - length([...head, ...tail]);
  const fitted = (firstChars: number) =>
    fitSections(sectionsOf({ session, rows, ledger }, { line, firstChars }), room);
  const sections = fitted(ITEM_CHARS);
  // The first request is often the whole task: it gets what the others leave.
  const left = room - length(sections);
  return [...head, ...(left > 0 ? fitted(ITEM_CHARS + left) : sections), ...tail].join("\n");
}

type QuoteLine = (text: string, max?: number) => string;

function headLine(
  { session, rows }: Pick<HandedOver, "session" | "rows">,
  { timezone, line, clean }: Pick<HandoffOptions, "timezone" | "clean"> & { line: QuoteLine },
): string {
  const { name, agent, cwd } = session;
  const times = [rows[0], rows.at(-1)].flatMap((row) => row?.at ?? []);
  const [from, to = from] = times.map((at) => formatLocal(at, timezone).slice(0, 16));
  const facts = [
    `Session ${name === undefined ? "" : `${line(name)} `}(${quoteName(oneLine(clean(idOf(session)), ITEM_CHARS))})`,
    agent,
    ...(cwd === undefined ? [] : [`in ${quoteName(oneLine(clean(cwd), ITEM_CHARS))}`]),
    ...(from === undefined ? [] : [from === to ? from : `${from} to ${to}`]),
  ];
  return facts.join(" · ");
}

function idOf(session: Session): string {
  return onMachine(shortId(session.id), session);
}

function sectionsOf(
  { session, rows, ledger }: HandedOver,
  { line, firstChars }: { line: QuoteLine; firstChars: number },
): Section[] {
  const memory = foldLedger(ledger);
  const requests = rows.filter((row): row is Said => row.who === "user");
  const last = requests.at(-1)?.line ?? 0;
  // The last request stands in the last exchange.
  const threads = new Set(openThreads(memory).filter(({ sources }) => !sources.includes(last)));
  const holds = memory.observations.filter(
    (item) => isOpen(item, memory) && (item.rule === true || item.thread !== true),
  );
  const said = new Set(requests.map(({ line }) => line));
  // What the user said and what was committed stand in sections of their own.
  const isNoted = ({ text, priority, sources }: Observation) =>
    priority !== "green" && !text.startsWith(COMMITTED) && !sources.some((source) => said.has(source));
  const observed = (item: Observation) => `- L${item.sources[0] ?? "?"} ${line(item.text)}`;
  const asked = requests.slice(0, -1);
  const work = workLine(rows, { cwd: session.cwd, ...WORK });
  return [
    {
      title: "Asked",
      lines: asked.map((row, at) => `- L${row.line} ${line(row.text, at === 0 ? firstChars : ITEM_CHARS)}`),
      most: MOST.asked,
      keepsFirst: true,
      rank: 2,
    },
    { title: "Decided and forbidden", lines: holds.map(observed), most: MOST.holds, rank: 1 },
    { title: "Done", lines: work === "" ? [] : [`- ${line(work, WORK.chars)}`], most: 1, rank: 0 },
    { title: "Noted", lines: memory.observations.filter(isNoted).map(observed), most: MOST.noted, rank: 3 },
    {
      title: "Open, unless the last exchange settles it",
      lines: [...threads].map(observed),
      most: MOST.open,
      rank: 1,
    },
  ];
}

/** Returns the sections with as many of their newest lines as fit, and how many are left out. */
function fitSections(sections: readonly Section[], room: number): string[] {
  const shown = new Map(sections.map((section) => [section, Math.min(section.lines.length, section.most)]));
  const text = () => sections.flatMap((section) => sectionText(section, shown.get(section) ?? 0));
  while (length(text()) > room) {
    const [least] = sections.filter((section) => shown.get(section)).sort((a, b) => b.rank - a.rank);
    if (!least) return [];
    shown.set(least, (shown.get(least) ?? 0) - 1);
  }
  return text();
}

function sectionText({ title, lines, keepsFirst = false }: Section, count: number): string[] {
  if (lines.length === 0) return [];
  const first = keepsFirst && count > 0 ? 1 : 0;
  const more = lines.length - count;
  return [
    "",
    `## ${title}`,
    ...lines.slice(0, first),
    ...(more > 0 ? [`- … ${more} more`] : []),
    ...lines.slice(first + more),
  ];
}

/** Returns the last request and the last answer to it, line by line in quotes. */
function lastExchange(
  said: readonly Said[],
  { line, maxChars }: { line: QuoteLine; maxChars: number },
): string[] {
  const at = said.findLastIndex(({ who }) => who === "user");
  const request = said[at];
  const answer = said.slice(at + 1).findLast(({ who }) => who === "assistant");
  const room = Math.floor(maxChars * LAST.page);
  const first = answer ? Math.floor(room * LAST.request) : room;
  const spoken = (who: string, text: string, max: number) =>
    `${who}: ${excerpt(text, max)
      .split("\n")
      .filter((each) => each.trim() !== "")
      .map((each) => line(each, max))
      .join("\n  ")}`;
  const words = request ? spoken(`- L${request.line} User`, request.text, first) : "";
  const rest = room - words.length;
  return [
    "",
    "## Last exchange",
    ...(words === "" ? [] : [words]),
    ...(answer ? [spoken(`- L${answer.line} Assistant`, answer.text, rest)] : []),
    ...(answer ? [] : ["- no answer followed"]),
  ];
}

/** Returns where the rest can be read. */
function places(session: Session, clean: HandoffOptions["clean"]): string[] {
  const id = quoted(oneLine(clean(idOf(session)), ITEM_CHARS));
  const command = (name: string) => ownCommand(name).map(quoted).join(" ");
  return [
    "## To read more",
    `- ${command("session-reader")} ${id} --outline, or ${id}:<line> for a line named here`,
    `- ${command("search")} --session ${id} "<question>"`,
  ];
}

function length(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + [...line].length + 1, 0);
}
