/** Reads what a page shows and writes it: into the state folder, or elsewhere without replacing anybody's file. */

import { existsSync } from "node:fs";
import { SessionMemoryError } from "../base/errors.ts";
import { replaceFile } from "../base/files.ts";
import type { Reading, Settings } from "../config/config.ts";
import type { IndexedPlace } from "../index/held-sessions.ts";
import { foldLedger } from "../observe/observations.ts";
import { readSessionMemory } from "../observe/observe-session.ts";
import { metaFile, readMeta } from "../sessions/meta.ts";
import { isInState } from "../store/forgetting.ts";
import { isAsWritten, recordWritten } from "../store/state.ts";
import type { Rules } from "../transcripts/rules.ts";
import { EVERY_STEP } from "../transcripts/steps.ts";
import { readLastSteps } from "../transcripts/transcript.ts";
import { readRewound } from "../transcripts/tree.ts";
import { type LinkedPage, overviewPage } from "./overview-page.ts";
import { type PageStyle, type ReportedSession, sessionFacts, sessionPage } from "./session-page.ts";

/** A browser shows more slowly, and nobody reads them. */
const STEPS_MAX = 10_000;

export interface ReportOptions extends PageStyle {
  paths: Reading;
  settings: Settings;
}

/** Reads a session from its transcript, or from the steps that the index has of one that is gone. */
export function readReported(
  { session, indexed }: Pick<IndexedPlace, "session"> & Partial<Pick<IndexedPlace, "indexed">>,
  { paths, settings, rules }: ReportOptions,
): ReportedSession {
  const { meta } = readMeta(metaFile(paths, session));
  const file = indexed ? "" : session.file;
  const { ledger } = readSessionMemory({ ...session, file }, { paths, settings });
  const memory = ledger.length > 0 ? foldLedger(ledger) : undefined;
  const steps = indexed ?? readAllSteps(file, rules);
  const spans = indexed ? [] : readRewound(file);
  return {
    ...{ session, meta, memory },
    steps: steps.slice(-STEPS_MAX),
    isRewound: ({ entry: { line } }) => spans.some(([from, to]) => from <= line && line <= to),
    isCut: steps.length > STEPS_MAX,
  };
}

function readAllSteps(file: string, rules: Rules) {
  return readLastSteps(file, { rules, filter: EVERY_STEP, count: STEPS_MAX + 1 }).steps;
}

/** Writes a session's page and returns what an overview says of it. */
export function writeSessionPage(
  reported: ReportedSession,
  file: string,
  options: ReportOptions,
): LinkedPage {
  const { id } = reported.session;
  const facts = sessionFacts(reported, options);
  writePage({ file, html: sessionPage(reported, facts, options), sessionId: id }, options);
  return { id, facts };
}

/** Writes the overview of pages in the same folder. */
export function writeOverview(pages: readonly LinkedPage[], file: string, options: ReportOptions): void {
  writePage({ file, html: overviewPage(pages, options), sessionId: "" }, options);
}

/**
 * Writes a page, recording it as ours where it is outside the state folder.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when another file is there.
 */
function writePage(
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
