/** Reads what agents were told: the event log keeps every text that was injected, with its session and time. */

import { readIfExists } from "../base/files.ts";
import { parseRecord, stringOf } from "../base/json.ts";
import { formatDate } from "../base/time.ts";

/** One text that was injected. */
export interface Told {
  /** ISO time. */
  at: string;
  session: string;
  text: string;
}

/** Every such line holds this; others are not parsed. */
const MARK = '"event":"injected"';

/** Returns what was told, oldest first, as far back as the log reaches. */
export function readTold(log: string): Told[] {
  const lines = [`${log}.1`, log].flatMap((file) => (readIfExists(file) ?? "").split("\n"));
  return lines.flatMap((line) => {
    const row = line.includes(MARK) ? parseRecord(line) : undefined;
    const [at, text] = [stringOf(row?.at), stringOf(row?.text)];
    if (at === undefined || text === undefined || row?.ok !== true) return [];
    return [{ at, session: stringOf(row.session) ?? "", text }];
  });
}

/** Returns what was told on a local day. */
export function toldOn(told: readonly Told[], now: Date, timezone: string | undefined): Told[] {
  const day = (iso: string) => formatDate(iso, timezone);
  const today = day(now.toISOString());
  return told.filter(({ at }) => day(at) === today);
}
