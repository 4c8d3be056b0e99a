/** What observing remembers beside the ledgers: the user's own thresholds and mode, and when to try again after failures. */

import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { readJson, remove, replaceFile } from "../base/files.ts";
import { isRecord, numberOf, stringOf } from "../base/json.ts";
import type { Paths, Settings } from "../config/config.ts";
import { fileStem } from "./ledger.ts";

type ObserveSettings = Settings["observe"];
type Places = Pick<Paths, "observations">;

const OVERRIDES = "settings.json";
const BACKOFF_FIRST_MS = 60_000;
const BACKOFF_MAX_MS = 6 * 3_600_000;

/** Failed attempts in a row, and when the next one may be made. */
export interface Backoff {
  failures: number;
  /** Milliseconds since 1970. */
  notBefore: number;
  reason: string;
}

/** config.json's settings with what was set at run time, which persists across reloads and sessions. */
export function observeSettings(paths: Places, settings: ObserveSettings): ObserveSettings {
  const file = readJson(join(paths.observations, OVERRIDES));
  const merged: Record<string, unknown> = { ...settings };
  for (const [key, value] of Object.entries(isRecord(file) ? file : {})) {
    // A file that anyone can edit: what no longer fits is passed over.
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
  const overrides: Record<string, unknown> = isRecord(file) ? { ...file } : {};
  for (const [key, text] of Object.entries(changes)) {
    const value = typed(text);
    const wrong = fault(key, value, settings);
    if (wrong) {
      const keys = Object.keys(settings).join(", ");
      throw new SessionMemoryError("USAGE", `Cannot set ${key}=${text}: ${wrong}`, {
        hint: `known keys: ${keys}`,
      });
    }
    overrides[key] = value;
  }
  replaceFile(path, `${JSON.stringify(overrides, null, 2)}\n`);
  return observeSettings(paths, settings);
}

/** The failures of a session's observer; undefined when the last attempt was fine. */
export function readBackoff(paths: Places, sessionId: string): Backoff | undefined {
  const file = readJson(backoffFile(paths, sessionId));
  if (!isRecord(file)) return undefined;
  const failures = numberOf(file.failures);
  const notBefore = numberOf(file.notBefore);
  if (!failures || notBefore === undefined) return undefined;
  return { failures, notBefore, reason: stringOf(file.reason) ?? "" };
}

/** Notes how an attempt went: a failure doubles the wait, a success ends it. */
export function noteAttempt(
  paths: Places,
  { sessionId, failure, now }: { sessionId: string; failure: string | undefined; now: number },
): void {
  const path = backoffFile(paths, sessionId);
  if (failure === undefined) {
    remove(path);
    return;
  }
  const failures = (readBackoff(paths, sessionId)?.failures ?? 0) + 1;
  const wait = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(20, failures - 1));
  const backoff: Backoff = { failures, notBefore: now + wait, reason: failure };
  replaceFile(path, `${JSON.stringify(backoff)}\n`, { durable: false });
}

function backoffFile(paths: Places, sessionId: string): string {
  return join(paths.observations, `${fileStem(sessionId)}.backoff.json`);
}

function typed(text: string): unknown {
  if (text === "true" || text === "on") return true;
  if (text === "false" || text === "off") return false;
  return /^\d+$/.test(text) ? Number(text) : text;
}

/** Why a value does not fit a key. */
function fault(key: string, value: unknown, settings: ObserveSettings): string | undefined {
  if (!Object.hasOwn(settings, key)) return "there is no such key";
  if (key === "mode")
    return value === "buffered" || value === "blocking" ? undefined : "expected buffered or blocking";
  if (key === "auto" || key === "rules")
    return typeof value === "boolean" ? undefined : "expected true or false";
  const least = key === "retainTokens" ? 0 : 1;
  return typeof value === "number" && Number.isInteger(value) && value >= least
    ? undefined
    : `expected a whole number of at least ${least}`;
}
