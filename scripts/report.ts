#!/usr/bin/env bun
/**
 * Writes sessions as HTML pages to look at: one file each, without scripts, requests or a server.
 *
 * Every entry has an anchor for its transcript line, so a cited place is `<page>#L118`.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { replaceFile } from "../lib/base/files.ts";
import {
  each,
  filled,
  note,
  type Run,
  runScript,
  startProgress,
  time,
  toggle,
  usageError,
  warn,
} from "../lib/cli.ts";
import { expandPath, type PathsWithRules, type Settings } from "../lib/config/config.ts";
import type { Session } from "../lib/hosts/session.ts";
import { findPlace } from "../lib/index/find-place.ts";
import { foldLedger } from "../lib/observe/observations.ts";
import { readSessionMemory } from "../lib/observe/observe-session.ts";
import { type StandingRule, standingRules } from "../lib/observe/standing-rules.ts";
import { pageName } from "../lib/report/html.ts";
import {
  type LinkedPage,
  overviewPage,
  type PageStyle,
  type ReportedSession,
  sessionFacts,
  sessionPage,
} from "../lib/report/pages.ts";
import { listByLastRow } from "../lib/sessions/listing.ts";
import { metaFile, readMeta } from "../lib/sessions/meta.ts";
import { readTheirs } from "../lib/sessions/pulled.ts";
import { sessionJson } from "../lib/sessions/session-header.ts";
import { isAsWritten, isInState, recordWritten } from "../lib/store/state.ts";
import { EVERY_ROW } from "../lib/transcripts/log.ts";
import { readLastRows } from "../lib/transcripts/transcript.ts";
import { readRewound } from "../lib/transcripts/tree.ts";

const USAGE = `\
Usage: session-memory report <session>[:<line>] [--out <file>] [--open]
       session-memory report --project <folder or name> | --all [--since <t>] [--out <folder>] [--open]

Writes a session as an HTML page, or every session of a project with an overview that links them, and prints the
page's path. One file each, readable offline and without JavaScript. An entry's anchor is its line: <page>#L118.

<session>: id or its start (4+), name or part of it, transcript path, "last".

  --project <p>      All sessions of a project: a folder in it, or its name
  --all              All sessions
  --since <t>        Only sessions with a row since then: 2026-02-03, yesterday, 7d, "last week"
  --out <path>       The page's file, or with several sessions their folder (default: reports/ of the state folder)
  --open             Show it in the browser
  --sessions <path>  Read this file or folder instead of the agents' own (repeatable)
  --json             One JSON document       --quiet  No remarks on stderr

Examples:
  session-memory report last --open
  session-memory report --project . --since "last week" --out pages
`;

const FLAGS = { ...each(filled, "project", "out"), ...each(toggle, "all", "open"), since: time };

const OVERVIEW = "index.html";
type ReportRun = Run<typeof FLAGS>;

async function main(run: ReportRun): Promise<void> {
  const { values, words, paths, settings, rules } = run;
  const [reference] = words;
  const isMany = values.all || values.project !== undefined;
  if (isMany === (reference !== undefined) || (values.all && values.project !== undefined)) {
    throw usageError("Expected a session, --project or --all", "name one of them; --help has examples");
  }
  if (!isMany && values.since !== undefined) {
    throw usageError("Cannot use --since with one session", "leave it out, or use --project or --all");
  }
  const { timezone, participants } = settings;
  const standing = await standingRules(paths);
  const options = { paths, settings, timezone, participants, rules, standing };
  if (reference === undefined) await reportMany(run, options);
  else await reportOne(run, reference, options);
}

async function reportOne(run: ReportRun, reference: string, options: ReportOptions): Promise<void> {
  const found = await findPlace(reference, run.asking);
  const reported = readReported(found.session, options);
  const { session, rows } = reported;
  if (rows.length === 0) note("nothing was said yet");
  const file = choosePlace(run, pageName(session.id));
  writeSession({ ...reported, overview: findOverview(dirname(file), options.paths) }, file, options);
  if (run.values.open) await openInBrowser(file, found.lines?.[0]?.from);
  run.show({ pages: [{ session: sessionJson(session), file }], overview: null }, [file]);
}

/** Returns the name of our overview in a folder. */
function findOverview(folder: string, paths: PathsWithRules): string | undefined {
  const file = join(folder, OVERVIEW);
  return existsSync(file) && (isInState(file, paths) || isAsWritten(paths, file)) ? OVERVIEW : undefined;
}

/** Returns the file that --out names, or one of this name in the folder that it names. */
function choosePlace({ values, paths, env, cwd }: ReportRun, name: string): string {
  if (values.out === undefined) return join(paths.reports, name);
  const out = expandPath(values.out, env, cwd);
  const isFolder = /[/\\]$/.test(values.out) || statSync(out, { throwIfNoEntry: false })?.isDirectory();
  return isFolder ? join(out, name) : out;
}

async function reportMany(run: ReportRun, options: ReportOptions): Promise<void> {
  const { values, paths, env, cwd } = run;
  const { project, out } = values;
  const since = values.since?.toISOString() ?? "";
  const limit = Number.POSITIVE_INFINITY;
  const sessions = listByLastRow(paths, { project, cwd, since, limit });
  if (sessions.length === 0) {
    note("no sessions found");
    return void run.show({ pages: [], overview: null }, []);
  }
  const folder = out === undefined ? paths.reports : expandPath(out, env, cwd);
  const progress = startProgress("pages");
  const linked: LinkedPage[] = [];
  const pages = sessions.map((session, i) => {
    const file = join(folder, pageName(session.id));
    linked.push(writeSession({ ...readReported(session, options), overview: OVERVIEW }, file, options));
    progress.update(i + 1, sessions.length);
    return { session: sessionJson(session), file };
  });
  progress.end();
  const overview = join(folder, OVERVIEW);
  savePage({ file: overview, html: overviewPage(linked, options), sessionId: "" }, options);
  if (values.open) await openInBrowser(overview);
  run.show({ pages, overview }, [overview]);
}

/** Starts the browser, which outlives this process. */
async function openInBrowser(file: string, line?: number): Promise<void> {
  const command = process.platform === "darwin" ? "open" : "xdg-open";
  const address = `${pathToFileURL(file).href}${line === undefined ? "" : `#L${line}`}`;
  const child = spawn(command, [address], { detached: true, stdio: "ignore" });
  const problem = await new Promise<Error | undefined>((resolve) => {
    child.once("spawn", () => resolve(undefined));
    child.once("error", resolve);
  });
  child.unref();
  if (problem) warn(`cannot start "${command}" to show it: open the file yourself`);
}

/** A browser shows more slowly, and nobody reads them. */
const ROWS_MAX = 10_000;

interface ReportOptions extends PageStyle {
  paths: PathsWithRules;
  settings: Settings;
  /** The standing rules of every project. */
  standing: readonly StandingRule[];
}

/** Reads a session; others share no observations as records. */
function readReported(
  session: Session,
  { paths, settings, rules, standing }: ReportOptions,
): ReportedSession {
  const isShared = session.owner !== undefined;
  const { meta } = isShared ? readTheirs(session) : readMeta(metaFile(paths, session));
  const { file } = session;
  const { ledger } = isShared ? { ledger: [] } : readSessionMemory(session, { paths, settings });
  const rows = readLastRows(file, { rules, filter: EVERY_ROW, results: true, count: ROWS_MAX + 1 }).rows;
  const spans = readRewound(file);
  return {
    session,
    meta,
    standing: isShared ? [] : standing.filter(({ mark }) => isIn(session, mark)),
    memory: ledger.length > 0 ? foldLedger(ledger) : undefined,
    rows: rows.slice(-ROWS_MAX),
    isRewound: ({ line }) => spans.some(([from, to]) => from <= line && line <= to),
    isCut: rows.length > ROWS_MAX,
  };
}

function isIn({ agent, id }: Session, mark: StandingRule["mark"]): boolean {
  return mark.sessionId === id && mark.agent === agent;
}

/** Writes a session's page and returns what an overview says of it. */
function writeSession(reported: ReportedSession, file: string, options: ReportOptions): LinkedPage {
  const { id } = reported.session;
  const facts = sessionFacts(reported, options);
  savePage({ file, html: sessionPage(reported, facts, options), sessionId: id }, options);
  return { id, facts };
}

/**
 * Writes a page, recording it as ours where it is outside the state folder.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when another file is there.
 */
function savePage(
  { file, html, sessionId }: { file: string; html: string; sessionId: string },
  { paths }: ReportOptions,
): void {
  if (isInState(file, paths)) {
    replaceFile(file, html, { durable: false });
    return;
  }
  if (existsSync(file) && !isAsWritten(paths, file)) {
    throw new SessionMemoryError(
      "STORAGE_ERROR",
      `Cannot write "${file}": a file that is not a report is there`,
      {
        hint: "name another place with --out, or remove it",
      },
    );
  }
  replaceFile(file, html);
  recordWritten(paths, { path: file, content: html, sessionId });
}

if (import.meta.main)
  await runScript({ usage: USAGE, flags: FLAGS, words: [0, 1], readsAnyVolute: true }, main);
