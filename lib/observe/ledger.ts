/**
 * Where observation ledgers lie: a file per session in our state folder, and for pi the session's own custom entries.
 *
 * A file is only ever appended to, whole lines under a lock; a line torn by a crash is closed by the next append and
 * skipped by every reader.
 */

import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasCode } from "../base/errors.ts";
import { ensureDirectory } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import type { TreeNode } from "../transcripts/format.ts";
import { linesForward, parseLine, withFile } from "../transcripts/jsonl.ts";
import { customEntry, pi } from "../transcripts/pi.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { onPath } from "../transcripts/transcript.ts";
import { parseLedgerRecord, relocateLedger } from "./ledger-record.ts";
import type { Ledger, LedgerRecord } from "./observations.ts";

/** The type of the custom entries that hold a ledger's records in a pi session. */
export const LEDGER_ENTRY_TYPE = "session-memory:observations";

/** Returns the ledger file of a session. Ids are the host's, so what could leave the folder is spelled out. */
export function ledgerFile(paths: Pick<Paths, "observations">, sessionId: string): string {
  return join(paths.observations, `${fileStem(sessionId)}.jsonl`);
}

/** Returns a session id as the beginning of a file's name. */
export function fileStem(sessionId: string): string {
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
  const nodes = new Map<string, TreeNode>();
  let leafId: string | undefined;
  withFile(file, (descriptor) => {
    for (const { bytes } of linesForward(descriptor)) {
      for (const record of bytes ? parseLine(bytes).records : []) {
        const node = pi.treeNode(record);
        if (node && !nodes.has(node.id)) nodes.set(node.id, node);
        const declared = pi.leafOf(record);
        leafId = (declared !== undefined && nodes.has(declared) ? declared : node?.id) ?? leafId;
        const data = node && customEntry(record, LEDGER_ENTRY_TYPE);
        if (data !== undefined) found.push({ id: node?.id ?? "", data });
      }
    }
  });
  if (found.length === 0) return [];
  if (at !== undefined && nodes.has(at)) leafId = at;
  const isLive = onPath(nodes, leafId);
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
