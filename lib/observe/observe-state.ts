/** Keeps what observing remembers beside the ledgers, settings and failures, and forgets in both. */

import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { namesIn, readIfExists, readJson, remove, replaceFile } from "../base/files.ts";
import { isRecord, parseRecord, scrub } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { Paths, Settings } from "../config/config.ts";
import { type ForgetIn, type Forgetting, isForgotten, WRITER_WAIT_MS } from "../store/forgetting.ts";
import { withExistingState, withState } from "../store/state.ts";
import type { Store } from "../store/store.ts";
import { ledgerStem, readLedgerFile } from "./ledger.ts";

type ObserveSettings = Settings["observe"];
type Places = Pick<Paths, "observations" | "state">;

/** The file of settings made at run time. */
export const OVERRIDES = "settings.json";
/** A minute, doubled with each failure up to six hours. */
const BACKOFF_MS = { first: 60_000, most: 6 * 3_600_000 };

/** Failed attempts in a row, and when the next one may be made. */
export interface Backoff {
  failures: number;
  /** Milliseconds since 1970. */
  notBefore: number;
  reason: string;
}

/** Returns the settings of config.json with those set at run time, which persist across sessions. */
export function observeSettings(paths: Places, settings: ObserveSettings): ObserveSettings {
  const file = readJson(join(paths.observations, OVERRIDES));
  const merged: Record<string, unknown> = { ...settings };
  for (const [key, value] of Object.entries(isRecord(file) ? file : {})) {
    // Anyone can edit the file: what does not fit is ignored.
    if (fault(key, value, settings) === undefined) merged[key] = value;
  }
  return merged as unknown as ObserveSettings;
}

/**
 * Sets thresholds, mode or switches for good: `{retainTokens: "4000"}`. Text is read as the key's type.
 *
 * @throws {SessionMemoryError} `USAGE` for an unknown key or a value that does not fit.
 */
export function setObserveSettings(
  paths: Places,
  { settings, changes }: { settings: ObserveSettings; changes: Readonly<Record<string, string>> },
): ObserveSettings {
  const path = join(paths.observations, OVERRIDES);
  const file = readJson(path);
  const overrides = { ...(isRecord(file) ? file : {}), ...parseChanges(settings, changes) };
  replaceFile(path, `${JSON.stringify(overrides, null, 2)}\n`);
  return observeSettings(paths, settings);
}

/**
 * Reads what is to be set.
 *
 * @throws {SessionMemoryError} `USAGE` for an unknown key or a value that does not fit.
 */
export function parseChanges(
  settings: ObserveSettings,
  changes: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const values = Object.entries(changes).map(([key, text]) => {
    const value = typed(text);
    const wrong = fault(key, value, settings);
    if (wrong === undefined) return [key, value];
    const hint = `known keys: ${Object.keys(settings).join(", ")}`;
    throw new SessionMemoryError("USAGE", `Cannot set ${key}=${text}: ${wrong}`, { hint });
  });
  return Object.fromEntries(values);
}

/** Returns the failures of a session's observer; undefined when the last attempt was fine. */
export function readBackoff(paths: Places, sessionId: string): Backoff | undefined {
  return withExistingState(paths, ({ db }) => {
    const row = db.prepare("SELECT * FROM observer_backoffs WHERE session_id = ?").get(sessionId);
    if (!row) return undefined;
    const [failures, notBefore] = [Number(row.failures), Number(row.not_before)];
    return { failures, notBefore, reason: String(row.reason) };
  });
}

/** Notes how an attempt went: a failure doubles the wait, a success ends it. */
export function noteAttempt(
  paths: Places,
  { sessionId, failure, now }: { sessionId: string; failure: string | undefined; now: number },
): void {
  const before = readBackoff(paths, sessionId);
  withState(paths, (store) => {
    if (failure === undefined) {
      store.db.prepare("DELETE FROM observer_backoffs WHERE session_id = ?").run(sessionId);
      return;
    }
    const failures = (before?.failures ?? 0) + 1;
    const wait = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** Math.min(20, failures - 1));
    keepBackoff(store, sessionId, { failures, notBefore: now + wait, reason: failure });
  });
}

/** Forgets the failures of these sessions, or those whose reason, which may quote what it failed on, holds a text. */
function forgetBackoffs(
  paths: Places,
  isForgotten: (backoff: { sessionId: string; reason: string }) => boolean,
): void {
  withExistingState(paths, ({ db }) => {
    const drop = db.prepare("DELETE FROM observer_backoffs WHERE session_id = ?");
    for (const row of db.prepare("SELECT session_id, reason FROM observer_backoffs").all()) {
      const sessionId = String(row.session_id);
      if (isForgotten({ sessionId, reason: String(row.reason) })) drop.run(sessionId);
    }
  });
}

function keepBackoff({ db }: Store, sessionId: string, { failures, notBefore, reason }: Backoff): void {
  const insert = db.prepare("INSERT OR REPLACE INTO observer_backoffs VALUES (?, ?, ?, ?)");
  insert.run(sessionId, failures, notBefore, reason);
}

function typed(text: string): unknown {
  if (text === "true" || text === "on") return true;
  if (text === "false" || text === "off") return false;
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

const EXPECTED: Record<string, [expected: string, fits: (value: unknown) => boolean]> = {
  mode: ["buffered or blocking", (value) => value === "buffered" || value === "blocking"],
  auto: ["true or false", (value) => typeof value === "boolean"],
  rules: ["true or false", (value) => typeof value === "boolean"],
  model: [
    "active, none or provider/model",
    (value) => typeof value === "string" && /^(?:active|none|[^/\s]+\/\S+)$/.test(value),
  ],
  dailyBudgetUsd: ["an amount of USD", (value) => typeof value === "number" && value >= 0],
  retainTokens: ["a whole number of at least 0", (value) => Number.isInteger(value) && Number(value) >= 0],
};
const POSITIVE: (typeof EXPECTED)[string] = [
  "a whole number of at least 1",
  (value) => Number.isInteger(value) && Number(value) >= 1,
];

/** Returns why a value does not fit a key; undefined when it does. */
function fault(key: string, value: unknown, settings: ObserveSettings): string | undefined {
  if (!Object.hasOwn(settings, key)) return "there is no such key";
  const [expected, fits] = EXPECTED[key] ?? POSITIVE;
  return fits(value) ? undefined : `expected ${expected}`;
}

/** Forgets in each ledger, under its writers' lock, and returns how many it was found in. */
export async function forgetLedgers(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<{ ledgers: number; observations: number }> {
  const counts = { ledgers: 0, observations: 0 };
  const all = namesIn(paths.observations).filter((name) => name.endsWith(".jsonl"));
  const stems = "ids" in forgetting ? [...forgetting.ids].map(ledgerStem) : undefined;
  const names = stems ? all.filter((name) => stems.includes(name.slice(0, -".jsonl".length))) : all;
  for (const file of names.map((name) => join(paths.observations, name))) {
    const isText = "hasText" in forgetting;
    const found = isText ? await scrubLedger(file, forgetting.hasText, dryRun) : countObservations(file);
    counts.observations += found;
    if (!isText || found > 0) counts.ledgers++;
    if (!isText && !dryRun) await withLock(`${file}.lock`, WRITER_WAIT_MS, () => remove(file));
  }
  if (!dryRun) forgetBackoffs(paths, ({ sessionId, reason }) => isForgotten(forgetting, sessionId, [reason]));
  return counts;
}

function countObservations(file: string): number {
  const { records } = readLedgerFile(file);
  return records.flatMap((record) => ("observations" in record ? record.observations : [])).length;
}

/** Removes matching texts but not their records, so that nothing is observed twice. Returns how many texts it removed. */
async function scrubLedger(
  file: string,
  hasText: (text: string) => boolean,
  dryRun: boolean,
): Promise<number> {
  const scrubbed = () => {
    let removed = 0;
    const lines = (readIfExists(file) ?? "").split("\n").filter(Boolean);
    const kept = lines.flatMap((line) => {
      const record = parseRecord(line);
      if (!record) return hasText(line) ? [] : [line];
      const result = scrub(record, hasText);
      removed += result.removed;
      return [result.removed > 0 ? JSON.stringify(result.value) : line];
    });
    return { removed, text: kept.map((line) => `${line}\n`).join("") };
  };
  if (dryRun || scrubbed().removed === 0) return scrubbed().removed;
  return await withLock(`${file}.lock`, WRITER_WAIT_MS, () => {
    const { removed, text } = scrubbed();
    replaceFile(file, text);
    return removed;
  });
}
