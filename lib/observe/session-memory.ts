/**
 * Reads a session's conversation and ledger: all of it, or only what is not observed yet where the session's record says
 * where that begins.
 */

import { statSync } from "node:fs";
import { scrub } from "../base/json.ts";
import type { Reading, Settings } from "../config/config.ts";
import { currentExclude } from "../config/config.ts";
import { placeAt, readAppended } from "../index/appended.ts";
import { saveObserved, storedRecord } from "../sessions/record.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { readActiveBranch } from "../transcripts/tree.ts";
import { ledgerFile, parseLedgerRecord, readLedger, readLedgerFile, redactLedger } from "./ledger.ts";
import { foldLedger, type Ledger } from "./observations.ts";
import type { ObserveSettings } from "./observe.ts";
import { observeSettings } from "./observe-state.ts";
import { uncovered } from "./observe-step.ts";

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
  /** Whether what is not observed is enough, where its beginning is known. @default {false} */
  onlyTail?: boolean;
}

/** Of larger transcripts only the ends of results are held, so that gigabytes of output fit into memory. */
const LARGE_BYTES = 128 * 1024 * 1024;

/** Reads a session and its ledger, without the texts that config.json keeps out. */
export function readSessionMemory(
  session: Session,
  { paths, settings, leafId, onlyTail = false }: ReadingOptions,
): SessionMemoryState {
  const rules = readRules({ ...settings, exclude: currentExclude(paths, settings.exclude) });
  const tail = onlyTail ? readTail(session, { paths, rules }) : undefined;
  const entries = tail ?? readConversation(session, { leafId, rules });
  const { ledger: stored, skipped } = readLedger(session, { paths, entries, leafId });
  // What pi holds in its own file is not ours to take out there.
  const shown = rules.hasPatterns
    ? stored.flatMap((record) => parseLedgerRecord(scrub(record, rules.hasText).value) ?? [])
    : stored;
  const ledger = redactLedger(shown, settings.redact.extra);
  const observing = observeSettings(paths, settings.observe);
  return { session, entries, ledger, skipped, isTail: tail !== undefined, settings: observing };
}

function readConversation(
  { file }: Session,
  { leafId, rules }: Pick<ReadingOptions, "leafId"> & { rules: Rules },
): Entry[] {
  if (file === "") return []; // the host deleted it, the ledger is left
  const results = statSync(file).size > LARGE_BYTES ? "ends" : true;
  return readActiveBranch(file, { rules, results, leafId }).entries;
}

/**
 * Reads what is not observed; undefined where the whole must be read. pi's ledger is part of the transcript, which is read
 * for it.
 */
function readTail(session: Session, { paths, rules }: { paths: Reading; rules: Rules }): Entry[] | undefined {
  const observed = session.agent === "pi" ? undefined : storedRecord(paths, session)?.observedTo;
  if (!observed) return undefined;
  const { coversTo } = foldLedger(readLedgerFile(ledgerFile(paths, session.id)).records);
  // Somebody else may have observed it, or begun anew.
  return observed.note.coversTo === coversTo ? readAppended(session, observed, rules)?.entries : undefined;
}

/** Saves where what is not observed begins. */
export function noteObserved(
  { session, entries }: SessionMemoryState,
  { paths, ledger }: { paths: Reading; ledger: Ledger },
): void {
  const last = entries.at(-1);
  if (!last || session.agent === "pi") return;
  const memory = foldLedger(ledger);
  const first = beginningOf(uncovered(entries, memory), entries);
  const from = first ? { offset: first.offset, line: first.line - 1 } : { offset: last.end, line: last.line };
  const { size, modifiedAt: modified } = session;
  const note = { coversTo: memory.coversTo };
  saveObserved(paths, session, { ...placeAt(session.file, from), size, modified, note });
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
