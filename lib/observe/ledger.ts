/**
 * Stores observation ledgers: a file per session in our state folder, and for pi the session's own custom entries.
 *
 * A file is only ever appended to, whole lines under a lock; a line torn by a crash is closed by the next append and
 * skipped by every reader. Records are checked shape by shape when read, since anyone can write to a file, and moved to
 * the lines of a fork.
 */

import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasCode } from "../base/errors.ts";
import { ensureDirectory } from "../base/files.ts";
import { arrayOf, isRecord, numberOf, stringOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { redactor } from "../redact/redact.ts";
import { linesForward, parseLine, withFile } from "../transcripts/jsonl.ts";
import { customEntry, format as pi } from "../transcripts/pi.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { conversationTree } from "../transcripts/tree.ts";
import type { Ledger, LedgerRecord, Observation, ObservedRecord } from "./observations.ts";

/** The type of the custom entries that hold a ledger's records in a pi session. */
export const LEDGER_ENTRY_TYPE = "session-memory:observations";

/** Returns the ledger file of a session. Ids are the host's, so what could leave the folder is spelled out. */
export function ledgerFile(paths: Pick<Paths, "observations">, sessionId: string): string {
  return join(paths.observations, `${ledgerStem(sessionId)}.jsonl`);
}

/** Returns a session id as the beginning of a file's name. */
export function ledgerStem(sessionId: string): string {
  return sessionId
    .replace(/[^A-Za-z0-9._-]/g, (character) => encodeURIComponent(character).replace(/[^A-Za-z0-9]/g, "="))
    .replace(/^\./, "=2E")
    .slice(0, 200);
}

/** Returns the records of a ledger file, and how many lines were none; empty when there is no file. */
export function readLedgerFile(file: string): { records: LedgerRecord[]; skipped: number } {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return { records: [], skipped: 0 };
    throw error;
  }
  // What no newline ends is still being written, or was torn.
  const lines = text.split("\n").slice(0, -1).filter(Boolean);
  const records = lines.flatMap((line) => parseRecord(line) ?? []);
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

/**
 * The ledger of a session: its file's records, for pi after those that the session itself holds on its active branch.
 * What the file says of lines that the session's own records cover already counts once.
 */
export function readLedger(
  session: Pick<Session, "id" | "agent" | "file">,
  {
    paths,
    entries,
    leafId,
  }: { paths: Pick<Paths, "observations">; entries: readonly Entry[]; leafId?: string | undefined },
): { ledger: Ledger; skipped: number } {
  const { records, skipped } = readLedgerFile(ledgerFile(paths, session.id));
  if (session.agent !== "pi") return { ledger: records, skipped };
  const own = ledgerFromData(customEntriesOf(session.file, leafId), entries);
  const reach = Math.max(0, ...own.map((record) => (record.kind === "observed" ? record.coversTo : 0)));
  // After starting over, the session's own records are dropped too, so nothing occurs twice.
  const restart = records.findLastIndex((record) => record.kind === "dropped" && record.ids === "all");
  const further = records.filter(
    (record, at) =>
      (restart !== -1 && at >= restart) || record.kind !== "observed" || record.coversTo > reach,
  );
  return { ledger: [...own, ...further], skipped };
}

/** Returns a ledger from the data of a pi session's custom entries, in branch order; other data is passed over. */
export function ledgerFromData(data: readonly unknown[], entries: readonly Entry[]): Ledger {
  const records = data.flatMap((item) => parseLedgerRecord(item) ?? []);
  return relocateLedger(records, entries);
}

function customEntriesOf(file: string, at: string | undefined): unknown[] {
  const found: { id: string; data: unknown }[] = [];
  const tree = conversationTree(pi);
  withFile(file, (descriptor) => {
    for (const { bytes } of linesForward(descriptor)) {
      for (const record of bytes ? parseLine(bytes).records : []) {
        const id = tree.add(record);
        const data = id === undefined ? undefined : customEntry(record, LEDGER_ENTRY_TYPE);
        if (id !== undefined && data !== undefined) found.push({ id, data });
      }
    }
  });
  const isLive = tree.liveFrom(at);
  return found.filter(({ id }) => isLive(id)).map(({ data }) => data);
}

function parseRecord(line: string): LedgerRecord | undefined {
  try {
    return parseLedgerRecord(JSON.parse(line));
  } catch {
    return undefined; // a torn line: counted by the caller
  }
}

function endsTorn(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  return last[0] !== 10;
}

/** Returns a value read from a ledger as a record; undefined when it is none. */
export function parseLedgerRecord(value: unknown): LedgerRecord | undefined {
  if (!isRecord(value)) return undefined;
  const { kind, files } = value;
  const text = (key: string) => stringOf(value[key]) ?? "";
  if (kind === "dropped") {
    return { kind, ids: value.ids === "all" ? "all" : strings(value.ids), reason: text("reason") };
  }
  const observations = arrayOf(value.observations).flatMap((item) => parseObservation(item) ?? []);
  const [by, focus, coversToId] = [text("by"), text("focus"), text("coversToId")];
  if (kind === "reflected") {
    const basis = { basis: text("basis"), tokens: numberOf(value.tokens) ?? 0 };
    const dropped = strings(value.dropped);
    return { kind, observations, dropped, ...basis, by, ...(focus ? { focus } : {}) };
  }
  const coversTo = numberOf(value.coversTo);
  if (kind !== "observed" || coversTo === undefined) return undefined;
  const record: ObservedRecord = { kind, observations, coversTo, covers: text("covers"), by };
  if (coversToId) record.coversToId = coversToId;
  if (Array.isArray(value.closes)) record.closes = strings(value.closes);
  if (isRecord(files)) record.files = { read: strings(files.read), modified: strings(files.modified) };
  return record;
}

function parseObservation(value: unknown): Observation | undefined {
  if (!isRecord(value)) return undefined;
  const { priority } = value;
  const [id, text] = [stringOf(value.id), stringOf(value.text)];
  if (!id || !text || (priority !== "red" && priority !== "yellow" && priority !== "green")) return undefined;
  const sources = arrayOf(value.sources).filter((line) => typeof line === "number");
  const observation: Observation = { id, at: stringOf(value.at) ?? null, priority, text, sources };
  for (const key of ["local", "subject"] as const) {
    const own = stringOf(value[key]);
    if (own) observation[key] = own;
  }
  for (const key of ["thread", "rule"] as const) if (value[key] === true) observation[key] = true;
  if (Array.isArray(value.sourceIds)) observation.sourceIds = strings(value.sourceIds);
  return observation;
}

function strings(value: unknown): string[] {
  return arrayOf(value).filter((item) => typeof item === "string");
}

/**
 * Moves a ledger to the line numbers of the transcript it is now in. Returns the same ledger when nothing has moved.
 *
 * In a fork the rows up to a record are one unbroken path, so a moved record covers all lines up to its place.
 */
function relocateLedger(ledger: Ledger, entries: readonly Entry[]): Ledger {
  const lineOf = new Map<string, number>();
  for (const { id, line } of entries) if (id !== undefined && !lineOf.has(id)) lineOf.set(id, line);
  const hasMoved = ledger.some((record) => record.kind === "observed" && isElsewhere(record, lineOf));
  return hasMoved ? ledger.map((record) => relocate(record, lineOf)) : ledger;
}

function isElsewhere({ coversTo, coversToId }: ObservedRecord, lineOf: ReadonlyMap<string, number>): boolean {
  const found = coversToId === undefined ? undefined : lineOf.get(coversToId);
  return found !== undefined && found !== coversTo;
}

function relocate(record: LedgerRecord, lineOf: ReadonlyMap<string, number>): LedgerRecord {
  if (record.kind === "dropped") return record;
  const observations = record.observations.map((observation) => relocateObservation(observation, lineOf));
  if (record.kind === "reflected") return { ...record, observations };
  const coversTo = lineOf.get(record.coversToId ?? "") ?? record.coversTo;
  return { ...record, observations, coversTo, covers: `1-${coversTo}` };
}

function relocateObservation(observation: Observation, lineOf: ReadonlyMap<string, number>): Observation {
  const { sourceIds } = observation;
  if (!sourceIds) return observation;
  const sources = observation.sources.map((line, index) => lineOf.get(sourceIds[index] ?? "") ?? line);
  return { ...observation, sources };
}

/** Returns a ledger redacted by the rules of today, which may be newer than what was noted. */
export function redactLedger(ledger: Ledger, extra: readonly string[]): Ledger {
  const clean = redactor(extra);
  return ledger.map((record): LedgerRecord => {
    if (record.kind === "dropped") return record;
    const observations = record.observations.map((item) => ({ ...item, text: clean(item.text) }));
    if (record.kind === "reflected" || !record.files) return { ...record, observations };
    const { read, modified } = record.files;
    return { ...record, observations, files: { read: read.map(clean), modified: modified.map(clean) } };
  });
}
