/**
 * Stores observation ledgers: a file per session in our state folder, and the entries of ours that a session itself holds.
 *
 * A file is only ever appended to, whole lines under a lock; a line torn by a crash is closed by the next append and
 * skipped by every reader. Records are checked shape by shape when read, since anyone can write to a file, and moved to
 * the lines of a fork.
 */

import { closeSync, fstatSync, fsyncSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  changedAt,
  cutStem,
  ensureDirectory,
  namesIn,
  readIfExists,
  remove,
  replaceFile,
} from "../base/files.ts";
import {
  arrayOf,
  isRecord,
  type JsonRecord,
  numberOf,
  parseRecord,
  recordsOf,
  type Scrubbed,
  scrub,
  stringOf,
  stringsOf,
} from "../base/json.ts";
import { WRITER_WAIT_MS, withLock } from "../base/locks.ts";
import type { Paths } from "../config/config.ts";
import type { Entry, Session } from "../hosts/session.ts";
import type { Held } from "../sessions/resolve.ts";
import { type ForgetIn, type Forgetting, type Found, withExistingState, withState } from "../store/state.ts";
import type { Rules } from "../transcripts/rules.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { readKept } from "../transcripts/tree.ts";
import type { Ledger, LedgerRecord, Observation, ObservedRecord } from "./observations.ts";

/** The type of the entries that hold a ledger's records in a session whose host keeps entries of extensions. */
export const LEDGER_ENTRY_TYPE = "session-memory:observations";

/** Returns the ledger file of a session. Ids are the host's, so what could leave the folder is spelled out. */
export function ledgerFile(paths: Pick<Paths, "observations">, sessionId: string): string {
  return join(paths.observations, `${ledgerStem(sessionId)}.jsonl`);
}

/** Returns a session id as the beginning of a file's name. */
function ledgerStem(sessionId: string): string {
  return cutStem(
    sessionId
      .replace(/[^A-Za-z0-9._-]/g, (character) => encodeURIComponent(character).replace(/[^A-Za-z0-9]/g, "="))
      .replace(/^\./, "=2E"),
  );
}

/** Returns the sessions that have a ledger as references know them: of some no transcript is left. */
export function ledgersHeld({ observations }: Paths, wanted: string): Held[] {
  const stem = ledgerStem(wanted);
  return namesIn(observations).flatMap((name) => {
    const id = /^(.+)\.jsonl$/.exec(name)?.[1];
    // A file's name spells out what an id could leave the folder by.
    if (id === undefined || !id.startsWith(stem)) return [];
    const modifiedAt = changedAt(statSync(join(observations, name)));
    const session: Session = { id, agent: "plain", file: "", updatedAt: modifiedAt, modifiedAt, size: 0 };
    return [{ session, ids: [wanted + id.slice(stem.length)], names: [] }];
  });
}

/** Returns the records of a ledger file, and the number of damaged lines; empty without a file. */
export function readLedgerFile(
  file: string,
  parse: (value: unknown) => LedgerRecord | undefined = parseLedgerRecord,
): { records: LedgerRecord[]; skipped: number } {
  const text = readIfExists(file) ?? "";
  // What no newline ends is still being written, or was torn.
  const lines = text.split("\n").slice(0, -1).filter(Boolean);
  const records = lines.flatMap((line) => parse(parseRecord(line)) ?? []);
  return { records, skipped: lines.length - records.length };
}

/** Appends one record and forces it to disk. The caller holds the ledger's lock. */
export function appendLedgerFile(file: string, record: LedgerRecord): void {
  ensureDirectory(dirname(file));
  const descriptor = openSync(file, "a+", 0o600);
  try {
    const line = Buffer.from(`${endsTorn(descriptor) ? "\n" : ""}${JSON.stringify(record)}\n`);
    for (let written = 0; written < line.length; ) written += writeSync(descriptor, line, written);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

interface Reading {
  paths: Pick<Paths, "observations">;
  rules: Rules;
  /** The conversation, to whose lines the records of a fork move. @default none */
  entries?: readonly Entry[];
  leafId?: string | undefined;
}

/**
 * Returns the ledger of a session: its file's records, after the ones that the session itself holds on its active branch; redacted
 * by the rules of today and by what the session has since announced, without the texts that config.json keeps out. What the file
 * says of lines that the session's own records cover already counts once.
 */
export function readLedger(
  session: Pick<Session, "id" | "agent" | "file">,
  { paths, rules, entries = [], leafId }: Reading,
): { ledger: Ledger; skipped: number } {
  const redacted = sessionCleaner(session.file, rules);
  const parse = (value: unknown) =>
    parseLedgerRecord(redacted(rules.hasPatterns ? scrub(value, rules.hasText).value : value));
  const { records, skipped } = readLedgerFile(ledgerFile(paths, session.id), parse);
  const own = relocateLedger(
    readKept(session, LEDGER_ENTRY_TYPE, { rules, leafId }).flatMap((data) => parse(data) ?? []),
    entries,
  );
  const reach = Math.max(0, ...own.map((record) => (record.kind === "observed" ? record.coversTo : 0)));
  // After starting over, the session's own records are dropped too, so nothing occurs twice.
  const restart = records.findLastIndex((record) => record.kind === "dropped" && record.ids === "all");
  const further = records.filter(
    (record, at) =>
      (restart !== -1 && at >= restart) || record.kind !== "observed" || record.coversTo > reach,
  );
  return { ledger: [...own, ...further], skipped };
}

function endsTorn(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  return last[0] !== 10;
}

/** Returns a value read from a ledger as a record; undefined for another value. */
function parseLedgerRecord(value: unknown): LedgerRecord | undefined {
  if (!isRecord(value)) return undefined;
  const { kind, files } = value;
  const text = (key: string) => stringOf(value[key]) ?? "";
  if (kind === "dropped") {
    return { kind, ids: value.ids === "all" ? "all" : stringsOf(value.ids), reason: text("reason") };
  }
  const observations = arrayOf(value.observations).flatMap((item) => parseObservation(item) ?? []);
  const [by, focus, coversToId] = [text("by"), text("focus"), text("coversToId")];
  if (kind === "reflected") {
    const tokens = numberOf(value.tokens) ?? 0;
    const dropped = stringsOf(value.dropped);
    return { kind, observations, dropped, tokens, by, ...(focus ? { focus } : {}) };
  }
  const coversTo = numberOf(value.coversTo);
  if (kind !== "observed" || coversTo === undefined) return undefined;
  const record: ObservedRecord = { kind, observations, coversTo, covers: text("covers"), by };
  if (coversToId) record.coversToId = coversToId;
  if (Array.isArray(value.closes)) record.closes = stringsOf(value.closes);
  if (isRecord(files)) record.files = { read: stringsOf(files.read), modified: stringsOf(files.modified) };
  return record;
}

function parseObservation(value: unknown): Observation | undefined {
  if (!isRecord(value)) return undefined;
  const { priority } = value;
  const [id, text] = [stringOf(value.id), stringOf(value.text)];
  if (!id || !text || (priority !== "red" && priority !== "yellow" && priority !== "green")) return undefined;
  const sources = arrayOf(value.sources).filter((line) => typeof line === "number");
  const observation: Observation = {
    id,
    at: stringOf(value.at) ?? null,
    priority,
    text,
    sources,
  };
  for (const key of ["local", "subject"] as const) {
    const own = stringOf(value[key]);
    if (own) observation[key] = own;
  }
  for (const key of ["thread", "rule", "standing"] as const) if (value[key] === true) observation[key] = true;
  for (const key of ["sourceIds", "repeats", "replaces"] as const)
    if (Array.isArray(value[key])) observation[key] = stringsOf(value[key]);
  return observation;
}

/**
 * Moves a ledger to the line numbers of the transcript it is now in. Returns the same ledger when nothing has moved.
 *
 * In a fork the rows up to a record are one unbroken path, so a moved record covers all lines up to its place.
 */
function relocateLedger(ledger: Ledger, entries: readonly Entry[]): Ledger {
  const lineOf = new Map<string, number>();
  for (const { id, line } of entries) if (id !== undefined && !lineOf.has(id)) lineOf.set(id, line);
  const endOf = ({ coversTo, coversToId = "" }: ObservedRecord) => lineOf.get(coversToId) ?? coversTo;
  const hasMoved = ledger.some((record) => record.kind === "observed" && endOf(record) !== record.coversTo);
  if (!hasMoved) return ledger;
  const relocated = (item: Observation) => {
    const at = (line: number, index: number) => lineOf.get(item.sourceIds?.[index] ?? "") ?? line;
    return { ...item, sources: item.sources.map(at) };
  };
  return ledger.map((record): LedgerRecord => {
    if (record.kind === "dropped") return record;
    const observations = record.observations.map(relocated);
    if (record.kind === "reflected") return { ...record, observations };
    const coversTo = endOf(record);
    return { ...record, observations, coversTo, covers: `1-${coversTo}` };
  });
}

type LedgerPaths = Pick<Paths, "observations" | "state">;

/** A minute, doubled with each failure up to six hours. */
const BACKOFF_MS = { first: 60_000, most: 6 * 3_600_000 };

/** Failed attempts in a row, and when the next one may be made. */
interface Backoff {
  failures: number;
  /** Milliseconds since 1970. */
  notBefore: number;
  reason: string;
}

/** Returns the failures of a session's observer; undefined when the last attempt was fine. */
export function readBackoff(paths: LedgerPaths, sessionId: string): Backoff | undefined {
  return withExistingState(paths, (db) => {
    const row = db.get("SELECT * FROM observer_backoffs WHERE session_id = ?", sessionId);
    if (!row) return undefined;
    const [failures, notBefore] = [Number(row.failures), Number(row.not_before)];
    return { failures, notBefore, reason: String(row.reason) };
  });
}

/** Notes how an attempt went: a failure doubles the wait, a success ends it. */
export function noteAttempt(paths: LedgerPaths, sessionId: string, failure: string | undefined): void {
  const before = readBackoff(paths, sessionId);
  withState(paths, (db) => {
    if (failure === undefined) {
      db.run("DELETE FROM observer_backoffs WHERE session_id = ?", sessionId);
      return;
    }
    const failures = (before?.failures ?? 0) + 1;
    const wait = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** Math.min(20, failures - 1));
    db.run(
      "INSERT OR REPLACE INTO observer_backoffs VALUES (?, ?, ?, ?)",
      sessionId,
      failures,
      Date.now() + wait,
      failure,
    );
  });
}

/** Forgets in each ledger, under its writers' lock, and returns how many it was found in. */
export async function forgetLedgers(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<Pick<Found, "ledgers" | "observations">> {
  const counts = { ledgers: 0, observations: 0 };
  const all = namesIn(paths.observations).filter((name) => name.endsWith(".jsonl"));
  const isText = "hasText" in forgetting;
  const names = new Map(
    isText ? [] : [...forgetting.ids].map((id) => [`${ledgerStem(id)}.jsonl`, forgetting.lines?.get(id)]),
  );
  for (const name of isText ? all : all.filter((each) => names.has(each))) {
    const file = join(paths.observations, name);
    const lines = names.get(name);
    const part = isText
      ? (record: JsonRecord) => scrub(record, forgetting.hasText)
      : lines && ((record: JsonRecord) => withoutLines(record, lines));
    const found = part ? await scrubLedger(file, part, dryRun) : observationsIn(file);
    counts.observations += found;
    if (!part || found > 0) counts.ledgers++;
    if (!part && !dryRun) await withLock(`${file}.lock`, WRITER_WAIT_MS, () => remove(file));
  }
  // A reason may quote what an observer failed on; without it, it is asked again.
  if (!dryRun) withExistingState(paths, (db) => db.exec("DELETE FROM observer_backoffs"));
  return counts;
}

function observationsIn(file: string): number {
  const { records } = readLedgerFile(file);
  return records.flatMap((record) => ("observations" in record ? record.observations : [])).length;
}

/** Removes the observations of some lines, and the files, which name no line. */
function withoutLines({ files, ...record }: JsonRecord, lines: ReadonlySet<number>): Scrubbed {
  const all = recordsOf(record.observations);
  const observations = all.filter(({ sources }) => !arrayOf(sources).some((line) => lines.has(Number(line))));
  return { value: { ...record, observations }, removed: all.length - observations.length + (files ? 1 : 0) };
}

/** Removes parts of records but not the records, so that nothing is observed twice. Returns how many it removed. */
async function scrubLedger(
  file: string,
  part: (record: JsonRecord) => Scrubbed,
  dryRun: boolean,
): Promise<number> {
  return await withLock(`${file}.lock`, WRITER_WAIT_MS, () => {
    let all = 0;
    const lines = (readIfExists(file) ?? "").split("\n").filter(Boolean);
    const kept = lines.flatMap((line) => {
      const record = parseRecord(line);
      const { value, removed } = part(record ?? { line });
      all += removed;
      return removed === 0 ? line : record ? JSON.stringify(value) : [];
    });
    if (all > 0 && !dryRun) replaceFile(file, kept.map((line) => `${line}\n`).join(""));
    return all;
  });
}
