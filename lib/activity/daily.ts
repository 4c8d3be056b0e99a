/** The word to the person at the first session of a day: how many sessions are known, and how many are new. */

import { join } from "node:path";
import { readIfExists, replaceFile } from "../base/files.ts";
import { findProgram, ownCommand } from "../base/runtime.ts";
import { counted } from "../base/text.ts";
import { DAY_MS, formatDate } from "../base/time.ts";
import type { Paths } from "../config/config.ts";

interface DailyOptions {
  /** IANA name. */
  timezone: string | undefined;
  now: Date;
  /** The program search path of who reads it. */
  path: string;
}

/** Holds the time of the last word. */
const FILE = "daily";

/** Returns the word, with a callback for when it was shown; undefined if one was shown on this day, or nothing is known. */
export async function dailyWord(
  paths: Pick<Paths, "home" | "database">,
  { timezone, now, path }: DailyOptions,
): Promise<{ text: string; shown(): void } | undefined> {
  const file = join(paths.home, FILE);
  const last = readIfExists(file)?.trim() ?? "";
  const day = (iso: string) => formatDate(iso, timezone);
  const at = now.toISOString();
  const isKnown = !Number.isNaN(Date.parse(last));
  // a clock that was set back says nothing either
  if (isKnown && day(last) >= day(at)) return undefined;
  const { countKnown } = await import("../index/known-sessions.ts");
  const { count, fresh } = countKnown(paths, isKnown ? last : at);
  if (count === 0) return undefined;
  const yesterday = day(new Date(now.getTime() - DAY_MS).toISOString());
  const since = isKnown && day(last) === yesterday ? "yesterday" : last.slice(0, 10);
  const facts = [
    `${counted(count, "session")} known here`,
    ...(isKnown && fresh > 0 ? [`${fresh} new since ${since}`] : []),
    [
      ...(findProgram("session-memory", path) ? ["session-memory"] : ownCommand("").slice(0, 2)),
      "session-reader last",
    ].join(" "),
  ];
  return { text: `session-memory: ${facts.join(" · ")}`, shown: () => noteTold(file, at) };
}

function noteTold(file: string, at: string): void {
  try {
    replaceFile(file, `${at}\n`);
  } catch {
    // a home that takes no write says so in `health`; the word comes again
  }
}
