#!/usr/bin/env bun

/**
 * Prints what was said and done in another session, each entry with its line of the transcript.
 *
 * Reads the transcript from its end, so a huge one takes no longer than a small one.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { countPoints, isTerminal, type Line, plainText } from "../lib/base/output.ts";
import { splitWords } from "../lib/base/text.ts";
import {
  choice,
  each,
  filled,
  integer,
  note,
  type Run,
  refuseTogether,
  runScript,
  speaker,
  time,
  toggle,
  usageError,
} from "../lib/cli.ts";
import type { Config, Participants } from "../lib/config/config.ts";
import type { Agent, Row } from "../lib/hosts/session.ts";
import { findPlace } from "../lib/index/find-place.ts";
import type { KnownLines } from "../lib/index/held-sessions.ts";
import { AGENTS, resumeNote } from "../lib/sessions/hosts.ts";
import { sharedBy, shortReference } from "../lib/sessions/pulled.ts";
import { linesIn } from "../lib/sessions/references.ts";
import type { Place } from "../lib/sessions/resolve.ts";
import { sessionHeader, sessionJson } from "../lib/sessions/session-header.ts";
import { statUnpacked } from "../lib/transcripts/files.ts";
import type { Head } from "../lib/transcripts/head.ts";
import { readHead } from "../lib/transcripts/head.ts";
import {
  cutRow,
  EVERY_ROW,
  fitRows,
  formatRow,
  type LogStyle,
  type RowRequest,
  rowJson,
} from "../lib/transcripts/log.ts";
import { ownRules } from "../lib/transcripts/rules.ts";
import { hasLine, type ReadOptions, readLastRows, readRowsAt } from "../lib/transcripts/transcript.ts";
import { readRewound } from "../lib/transcripts/tree.ts";

const USAGE = `\
Usage: session-memory session-reader <session>[:<line>|:<from>-<to>[,…]] [options]
       session-memory session-reader --list [--agent <a>] [--project <folder or name>] [--since <t>] [-n <count>]

<session>: id or its start (4+), name or part of it, transcript path, "last"; with lines as search prints them.

  --lines <n>        Last entries to print (default: 50)
  --line <l|l-m,…>   Entries at these lines; --around <k> more on both sides (default: 10, of ranges 0); 2,000
                     characters in all, 4,000 with --tools, the nearest entries first
  --outline          One page: what the user said, what was done, failed, committed, decided
  --speaker <who>    Only what user or assistant said, also by a name in participants
  --grep <words>     Only entries that hold all the words; in inputs and results too with --tools
  --tools, --no-tools  Whole inputs and results of tool calls; no tool calls
  --since, --until <t>  2026-02-03, yesterday, 7d, "last week"
  --max-chars <n>    Only as many entries as fit: the newest, or the nearest to the lines
  --full             Nothing is cut: compaction summaries, inputs, results
  --utc              Times in UTC (default: the configured or system's time zone)
  --list             Sessions by their last row, newest first (default: -n 20; --agent claude|pi|codex|…)
  --resume           Only the command that goes on with it in its host; with --list below each session
  --subagents        Subagents' sessions too; --shared with --list: those that others share, too
  --sessions <path>  Read this file or folder instead of the agents' own (repeatable)
  --json             One JSON document       --quiet  No remarks on stderr

Examples:
  session-memory session-reader 8463c716:1329-1363 --tools
  session-memory session-reader discord --grep "deploy" --speaker user
`;

const FLAGS = {
  line: readLines,
  around: integer(),
  ...each(integer({ min: 1 }), "lines", "maxChars", "n"),
  speaker,
  since: time,
  until: endTime,
  agent: choice(AGENTS),
  ...each(filled, "grep", "project"),
  ...each(toggle, "outline", "tools", "noTools", "utc", "full", "list", "resume", "shared", "subagents"),
};

const OUTLINE_CHARS = 4000; // promised
/** Characters of all that is printed of a place. */
const PLACE_CHARS = { rows: 2000, tools: 4000 }; // promised
/** In larger files the index knows where lines begin; opening it takes as long as counting lines in this many bytes. */
const SMALL_BYTES = 16 * 1024 * 1024;

type ReaderRun = Run<typeof FLAGS>;

/**
 * Returns a transcript's last `lines` entries as text.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` when there is no such file.
 */
export function readSessionLog(options: {
  jsonlPath: string;
  format: "agent-sdk" | "pi" | "codex" | "plain";
  /** @default {50} */
  lines?: number;
}): string {
  const agent: Agent = options.format === "agent-sdk" ? "claude" : options.format;
  const file = options.jsonlPath;
  if (!statUnpacked(file)?.isFile()) {
    const hint = "see session-memory session-reader --list";
    throw new SessionMemoryError("NOT_FOUND", `Cannot read "${file}": there is no such file`, { hint });
  }
  const filter = EVERY_ROW;
  const head: Head = { ...readHead(file), agent };
  const { rows } = readLastRows(file, { rules: ownRules(), filter, head, count: options.lines ?? 50 });
  const style = {
    timezone: undefined,
    full: false,
    tools: false,
    isRewound: rewoundIn(file, statUnpacked(file)?.size ?? 0),
  };
  return rows.map((row) => plainText(formatRow(row, style))).join("\n");
}

/** A request. */
interface Request extends RowRequest, Pick<ReadOptions, "results"> {
  style: Pick<LogStyle, "timezone" | "full" | "tools" | "participants">;
  /** @default all, of a place as many as promised */
  maxChars: number | undefined;
}

function toRequest(
  values: ReaderRun["values"],
  timezone: string | undefined,
  participants: Participants,
): Request {
  const { around, maxChars, since, until } = values;
  const tools = values.tools || (values.full && !values.noTools);
  return {
    lines: values.line,
    around,
    count: values.lines ?? 50,
    maxChars,
    filter: {
      speaker: values.speaker,
      words: splitWords((values.grep ?? "").toLowerCase()),
      tools: !values.noTools,
      insideTools: tools,
      since: since?.toISOString(),
      until: until?.toISOString(),
    },
    style: { timezone, full: values.full, tools, participants },
  };
}

function endTime(value: string, ...about: [flag: string, settings: Pick<Config["settings"], "timezone">]) {
  return time(value, ...about, "end");
}

function readLines(value: string): Request["lines"] {
  const lines = linesIn(value);
  if (lines) return lines;
  throw usageError(`Cannot use --line "${value}": expected lines or ranges`, "try --line 118 or 118-140,150");
}

/** The printed facts of a session. */
interface Log {
  rows: readonly Row[];
  isRewound: LogStyle["isRewound"];
  skipped: number;
}

async function readLog({ session }: Place, request: Request, { paths, rules }: ReaderRun): Promise<Log> {
  const { lines, around, count, filter, results } = request;
  const { file, size } = session;
  // Opening SQLite costs as much as reading a small file whole.
  const known =
    size > SMALL_BYTES
      ? (await import("../lib/index/held-sessions.ts")).knownLines(paths.database, session)
      : undefined;
  const isRewound = rewoundIn(file, size, known);
  if (!lines) return { ...readLastRows(file, { rules, filter, results, count, known }), isRewound };
  const places = lines.flatMap((span) => {
    const rows = readRowsAt(file, { rules, filter, results, ...span, around: around ?? span.around });
    if (rows) return rows;
    throw new SessionMemoryError("NOT_FOUND", `Cannot show line ${span.from}: "${file}" has fewer lines`, {
      hint: "leave out the line to see its end",
    });
  });
  // near each other they may have rows in common
  const rows = [...new Map(places.map((row) => [`${row.line} ${row.nth}`, row])).values()];
  const short = lines.find(({ to }) => to > (rows.at(-1)?.line ?? 0) && !hasLine(file, to));
  if (short) note(`the session ends before line ${short.to}`);
  return { rows, isRewound, skipped: 0 };
}

function rewoundIn(file: string, size: number, known?: KnownLines): LogStyle["isRewound"] {
  const spans = known?.rewound ?? (size > SMALL_BYTES ? [] : readRewound(file));
  return ({ line }) => spans.some(([from, to]) => line >= from && line <= to);
}

async function printSession(run: ReaderRun, reference: string, request: Request): Promise<void> {
  const { values, asking, show } = run;
  const found = await findPlace(reference, { ...asking, subagents: values.subagents });
  const { session } = found;
  const shared = sharedBy(session);
  if (!shared && values.resume) {
    const { howToResume } = await import("../lib/sessions/listing.ts");
    const resume = howToResume(session);
    const about = resumeNote(session.agent);
    if (about !== undefined) note(about);
    return void show({ resume }, [resume]);
  }
  request.lines ??= found.lines;
  if (request.around !== undefined && !request.lines)
    throw usageError("Cannot use --around without a line", "add --line 118");
  if (values.outline) Object.assign(request, { count: Number.MAX_SAFE_INTEGER, results: true });
  const { rows, isRewound, skipped } = await readLog(found, request, run);
  if (skipped > 0) note(`${skipped} damaged ${skipped === 1 ? "line" : "lines"} skipped`);
  if (rows.length === 0) note("no entry to show");
  const style = { ...request.style, isRewound, cwd: found.session.cwd };
  if (values.json) {
    const from = shared && { owner: shared.owner, machine: shared.machine };
    const about = { ...sessionJson(session), ...(shared && { id: shared.id, file: null, from }) };
    return void show({ session: about, entries: rows.map((row) => rowJson(row, style)), skipped }, []);
  }
  const head = sessionHeader(session);
  const page = { request, style, found, headChars: countPoints([head]) };
  show(undefined, [head, ...(values.outline ? await outlineOf(rows, page) : fitPage(rows, page))]);
}

/** A page of rows: how it is asked for and printed, and the characters above it. */
interface Page {
  request: Request;
  style: LogStyle & { cwd: string | undefined };
  found: Place;
  headChars: number;
}

async function outlineOf(rows: readonly Row[], { request, style, headChars }: Page): Promise<Line[]> {
  const { outline } = await import("../lib/naming/outline.ts");
  const maxChars = Math.min(request.maxChars ?? placeChars(request), OUTLINE_CHARS) - headChars;
  return outline(rows, { ...style, maxChars });
}

/** Returns the most characters of a place; of anything else there is no most. */
function placeChars({ lines, style }: Request): number {
  return lines === undefined ? Number.MAX_SAFE_INTEGER : PLACE_CHARS[style.tools ? "tools" : "rows"];
}

function fitPage(rows: readonly Row[], { request, style, found, headChars }: Page): Line[] {
  const { lines: asked, filter } = request;
  const isPlace = asked !== undefined && request.maxChars === undefined;
  const texts = rows.map((row) => {
    const text = formatRow(row, style);
    return isPlace && !style.full ? cutRow(text, row.line) : text;
  });
  // Its name in the hint to go on.
  const id = shortReference(found.session);
  return fitRows(texts, {
    asked,
    id,
    words: filter.words,
    full: style.full && isPlace,
    maxChars: (request.maxChars ?? placeChars(request)) - headChars,
    lines: rows.map(({ line }) => line),
  });
}

/** Prints the sessions by their last row. */
async function printList(
  { values, paths, rules, cwd, show }: ReaderRun,
  timezone: string | undefined,
): Promise<void> {
  const { listByLastRow, listedJson, listingLines } = await import("../lib/sessions/listing.ts");
  const { agent, project, subagents, shared, n: limit = 20 } = values;
  const wanted = { agent, project, subagents, shared, limit, cwd, since: values.since?.toISOString() };
  const sessions = listByLastRow(paths, wanted);
  if (sessions.length === 0) note("no sessions found");
  const columns = isTerminal() ? process.stdout.columns || 80 : undefined;
  const style = { rules, timezone, resume: values.resume, columns };
  show({ sessions: sessions.map((each) => listedJson(each, style)) }, listingLines(sessions, style));
}

async function main(run: ReaderRun): Promise<void> {
  const { values, words, settings } = run;
  const [reference] = words;
  const timezone = values.utc ? "UTC" : settings.timezone;
  const request = toRequest(values, timezone, settings.participants);
  refuseTogether(values, "tools", "noTools");
  if (values.list) {
    if (reference === undefined) return await printList(run, timezone);
    throw usageError(`Cannot use argument "${reference}" with --list`, "leave out one of them");
  }
  if (reference === undefined) {
    throw usageError("Expected a session", 'name one, or see them with --list; "last" is the most recent');
  }
  await printSession(run, reference, request);
}

if (import.meta.main)
  await runScript({ usage: USAGE, flags: FLAGS, words: [0, 1], readsAnyVolute: true }, main);
