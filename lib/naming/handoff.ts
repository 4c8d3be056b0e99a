/**
 * Writes one page on which another agent can go on with a session's work: the requests, the rules in force, the work done, the
 * open threads, and the last exchange; from its observations, and from its transcript.
 */

import { ownCommand } from "../base/runtime.ts";
import { counted, onMachine, quote, quoted, quoteName, shortId } from "../base/text.ts";
import { formatMinute } from "../base/time.ts";
import { LABEL, PLACES } from "../hosts/handed.ts";
import type { Row, Said, Session } from "../hosts/session.ts";
import { isRule, readReply, sentences, spokenText } from "../language/speech.ts";
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
import { commandsIn, findProgram } from "../search/commands.ts";
import { commandOrTarget } from "../search/endings.ts";
import { findCommits, judgeCommand } from "../transcripts/outcome.ts";
import { findCommands, summarizeWork } from "./outline.ts";

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
const WORK = { chars: 700, files: 15, each: 5, command: 80 };
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
  const room = maxChars - length([...head, ...tail]);
  const fitted = (firstChars: number) =>
    fitSections(makeSections({ session, rows, ledger }, { line, firstChars }), room);
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
  { session, rows, ledger }: HandedOver,
  { line, firstChars }: { line: QuoteLine; firstChars: number },
): Section[] {
  const memory = foldLedger(ledger);
  const requests = rows.filter((row): row is Said => row.who === "user");
  const lines = new Set(requests.map(({ line }) => line));
  const said = rows.filter((row): row is Said => row.who === "user" || row.who === "assistant");
  const last = new Set(lastSaid(said).map(({ line }) => line));
  const byRule = new Set(
    ledger.flatMap((record) =>
      record.kind === "observed" && record.by === "rules" ? record.observations.map(({ id }) => id) : [],
    ),
  );
  // The last requests stand in the last exchange; of the others only a model knows whether they were settled.
  const threads = openThreads(memory).filter(
    ({ id, sources }) => !byRule.has(id) && !sources.some((each) => last.has(each)),
  );
  const forbidden = requests.filter(({ typed }) => typed !== false).flatMap(rulesIn);
  const quotedLines = new Set(forbidden.map((rule) => rule.line));
  const holds = memory.observations.filter(
    (item) =>
      isOpen(item, memory) &&
      (item.rule === true || item.thread !== true) &&
      !(byRule.has(item.id) && item.sources.some((each) => quotedLines.has(each))),
  );
  // What the user said and what was done stand in sections of their own; what a rule kept says nothing of now.
  const isNoted = ({ id, text, priority, sources }: Observation) =>
    priority !== "green" &&
    !byRule.has(id) &&
    !text.startsWith(COMMITTED) &&
    !sources.some((source) => lines.has(source));
  const observed = (item: Observation) => `- L${item.sources[0] ?? "?"} ${line(item.text)}`;
  const first = requests.find(isRequest);
  const asked = requests.filter((row) => isRequest(row) && (row === first || !last.has(row.line)));
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
        ...forbidden.map((rule) => `- L${rule.line} ${line(`User: ${rule.text}`)}`),
      ],
      most: Math.max(MOST.holds, forbidden.length),
      rank: 1,
    },
    {
      title: "Done",
      lines: doneLines(rows, session.cwd).map((each) => `- ${line(each, WORK.chars)}`),
      most: MOST.done,
      rank: 0,
    },
    { title: "Noted", lines: memory.observations.filter(isNoted).map(observed), most: MOST.noted, rank: 3 },
    {
      title: "Open, unless the last exchange settles it",
      lines: threads.map(observed),
      most: MOST.open,
      rank: 1,
    },
  ];
}

/** Returns the sentences of a message that forbid, or lay down what shall hold. */
function rulesIn({ text, line }: Said): Pick<Said, "text" | "line">[] {
  return sentences(spokenText(text))
    .filter(isRule)
    .map((rule) => ({ text: rule, line }));
}

/** Returns whether a message asks for something: no reply, and no command of the host's without a word. */
function isRequest({ text }: Said): boolean {
  return readReply(text) === undefined && !/^\/\S*$/.test(text.trim());
}

/** Returns the work, newest last, and its state since the last commit: edited files and failing commands. */
function doneLines(rows: readonly Row[], cwd: string | undefined): string[] {
  const { edited, ran, commits } = summarizeWork(rows, cwd);
  const committed = rows.findLastIndex((row) => row.who === "tool" && findCommits(row).length > 0);
  const since = rows.slice(committed + 1);
  const failing = failingLast(since);
  const changed = committed === -1 ? [] : summarizeWork(since, cwd).edited;
  return [
    ...(edited.length > 0 ? [`edited ${newest(edited, WORK.files)}`] : []),
    ...(ran > 0 ? [`ran ${counted(ran, "command")}`] : []),
    ...(commits.length > 0 ? [`committed: ${newest(commits, WORK.each, "; ")}`] : []),
    ...(changed.length > 0 ? [`edited after the last commit: ${newest(changed, WORK.files)}`] : []),
    ...(failing.length > 0 ? [`failed when run last: ${newest(failing, WORK.each)}`] : []),
  ];
}

/** Returns the commands that failed when they were run last, by program: options change from run to run. */
function failingLast(rows: readonly Row[]): string[] {
  const failing = new Map<string, string>();
  for (const row of findCommands(rows)) {
    const judged = judgeCommand(row);
    const commands = commandsIn(commandOrTarget(row));
    // A line fails with the last command that was begun. What came of a later run may be unknown, as of a server's.
    if (judged.verdict === "passed" || judged.verdict === "ran")
      for (const command of commands) failing.delete(findProgram(command));
    const last = commands.at(-1);
    if (judged.verdict !== "failed" || judged.isLooking || last === undefined) continue;
    failing.delete(findProgram(last));
    failing.set(findProgram(last), oneLine(last, WORK.command));
  }
  return [...failing.values()];
}

function newest(items: readonly string[], most: number, separator = ", "): string {
  const more = items.length - most;
  return `${items.slice(-most).join(separator)}${more > 0 ? ` and ${more} before` : ""}`;
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
  const first = said.find(isRequest);
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
      isReply = !isRequest(row) || row.text.length <= LAST.reply;
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

function length(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + [...line].length + 1, 0);
}
