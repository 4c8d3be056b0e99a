/**
 * Reads a session's conversation and ledger: all of it, or only what is not observed yet where the index knows how far
 * the last look came.
 */

import { statSync } from "node:fs";
import { numberOf, scrub } from "../base/json.ts";
import type { Reading, Settings } from "../config/config.ts";
import { placeAt, readAppended } from "../index/appended.ts";
import { currentExclude } from "../sessions/exclusion.ts";
import { saveObserved, storedRecord } from "../sessions/record.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import type { Cursor, Entry, Session } from "../transcripts/session.ts";
import { readActiveBranch } from "../transcripts/transcript.ts";
import { ledgerFile, parseLedgerRecord, readLedger, readLedgerFile, redactLedger } from "./ledger.ts";
import { foldLedger, type Ledger } from "./observations.ts";
import type { ObserveSettings } from "./observe.ts";
import { observeSettings } from "./observe-state.ts";
import { rawTokens, uncovered } from "./observe-step.ts";

/** A session with everything that its memory is made of. */
export interface SessionMemoryState {
  session: Session;
  /** The conversation with tool results. */
  entries: Entry[];
  ledger: Ledger;
  /** Lines of the ledger file that were no records. */
  skipped: number;
  /** Whether `entries` begin with the first that is not observed. */
  isTail: boolean;
  settings: ObserveSettings;
}

interface ReadingOptions {
  paths: Reading;
  settings: Settings;
  /** The row that the host is at, where that may be another than the file's last. */
  leafId?: string | undefined;
  /** Where what is not observed begins. @default the whole conversation */
  from?: Cursor | undefined;
}

/** Of larger transcripts only the ends of results are held, so that gigabytes of output fit into memory. */
const LARGE_BYTES = 128 * 1024 * 1024;

/** Reads a session and its ledger, without the texts that config.json keeps out. */
export function readSessionMemory(
  session: Session,
  { paths, settings, leafId, from }: ReadingOptions,
): SessionMemoryState {
  const exclude = currentExclude(paths, settings.exclude);
  const rules = readRules({ ...settings, exclude });
  const entries = readConversation(session, { leafId, from, rules });
  const { ledger: stored, skipped } = readLedger(session, { paths, entries, leafId });
  // What pi holds in its own file is not ours to take out there.
  const shown = rules.hasPatterns
    ? stored.flatMap((record) => parseLedgerRecord(scrub(record, rules.hasText).value) ?? [])
    : stored;
  const ledger = redactLedger(shown, settings.redact.extra);
  const [isTail, observing] = [from !== undefined, observeSettings(paths, settings.observe)];
  return { session, entries, ledger, skipped, isTail, settings: observing };
}

function readConversation(
  session: Session,
  { leafId, from, rules }: Pick<ReadingOptions, "leafId" | "from"> & { rules: Rules },
): Entry[] {
  if (session.file === "") return []; // the host deleted it, the ledger is left
  const isLarge = statSync(session.file).size - (from?.offset ?? 0) > LARGE_BYTES;
  return readActiveBranch(session.file, { rules, results: isLarge ? "ends" : true, leafId, from }).entries;
}

/** What a session has grown by since the last look. */
export interface Growth {
  /** Tokens that are not observed, by the estimate. */
  tokens: number;
  /** Where what is not observed begins. */
  from: Cursor;
  /** Where the transcript ended when it was read. */
  cursor: Cursor;
  coversTo: number;
}

/**
 * Reads what was appended since the last look; undefined where the whole must be read. pi's ledger is part of the
 * transcript, which is read for it.
 */
export function growthOf(
  session: Session,
  { paths, settings }: { paths: Reading; settings: Settings },
): Growth | undefined {
  const observed = session.agent === "pi" ? undefined : storedRecord(paths, session)?.observedTo;
  if (!observed) return undefined;
  const noted = (key: string) => numberOf(observed.note[key]) ?? 0;
  const { coversTo } = foldLedger(readLedgerFile(ledgerFile(paths, session.id)).records);
  const rules = readRules({ ...settings, exclude: currentExclude(paths, settings.exclude) });
  const appended = noted("coversTo") === coversTo ? readAppended(session, observed, rules) : undefined;
  if (!appended) return undefined;
  const from = { offset: noted("offset"), line: noted("line") };
  return { tokens: noted("tokens") + rawTokens(appended.entries), from, cursor: appended.end, coversTo };
}

/** Saves how far a session was read. */
export function noteGrowth(session: Session, { paths, growth }: { paths: Reading; growth: Growth }): void {
  const { tokens, from, cursor, coversTo } = growth;
  const { size, modifiedAt: modified } = session;
  const note = { tokens, coversTo, offset: from.offset, line: from.line };
  saveObserved(paths, session, { ...placeAt(session.file, cursor), size, modified, note });
}

/** Returns what is left to observe after reading a conversation; undefined for one that cannot be resumed. */
export function growthAfter({ session, entries }: SessionMemoryState, ledger: Ledger): Growth | undefined {
  const last = entries.at(-1);
  if (!last || session.agent === "pi") return undefined;
  const memory = foldLedger(ledger);
  const left = uncovered(entries, memory);
  const cursor = { offset: last.end, line: last.line };
  const first = beginningOf(left, entries);
  return {
    tokens: rawTokens(left),
    from: first ? { offset: first.offset, line: first.line - 1 } : cursor,
    cursor,
    coversTo: memory.coversTo,
  };
}

/** Returns the first entry to read again: what is left may begin with a result whose call is observed. */
function beginningOf(left: readonly Entry[], entries: readonly Entry[]): Entry | undefined {
  const [first] = left;
  if (!first) return undefined;
  const results = new Set(left.flatMap(({ kind, callId }) => (kind === "result" && callId ? [callId] : [])));
  return entries.find(
    (entry) =>
      entry === first ||
      (entry.tool !== undefined && entry.callId !== undefined && results.has(entry.callId)),
  );
}
