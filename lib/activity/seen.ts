/**
 * Decides whether to say how earlier sessions ended the errors of a command that failed: once for each error and session.
 *
 * Most errors are new. For those, only what looks up their lines in the index is loaded.
 */

import { existsSync } from "node:fs";
import { errorKeys } from "../base/error-lines.ts";
import { DAY_MS } from "../base/time.ts";
import { INDEX_VERSION, type PathsWithRules, type Settings } from "../config/config.ts";
import type { FailedCommand } from "../history/seen-before.ts";
import { isOfVersion } from "../store/carry-over.ts";
import { openDatabase } from "../store/sqlite.ts";
import type { ForgetIn, Forgetting, Found } from "../store/state.ts";
import type { Store } from "../store/store.ts";

/** A command that failed, and the session or subagent that is informed. */
export interface ReportedFailure extends FailedCommand {
  viewer: string;
  /** Asked before anything is said, where the host reports other calls too. */
  hasFailed?: () => Promise<boolean>;
}

export interface SeenSources {
  paths: PathsWithRules;
  settings: Settings;
  /** @default now */
  now?: Date;
}

/** Returns what to say about a failure; undefined if no end of its errors is known, or if all was said before. */
export async function seenText(
  failed: ReportedFailure,
  { paths, settings, now = new Date() }: SeenSources,
): Promise<string | undefined> {
  if (!settings.activity.seenBefore || failed.output === "") return undefined;
  const keys = await indexedKeys(failed.output, paths);
  if (!holdsAny(paths.database, keys) || (await failed.hasFailed?.()) === false) return undefined;
  const { newlySeen } = await import("./newly-seen.ts");
  return await newlySeen(failed, { paths, settings, now });
}

/** Matches what is redacted in the index: long runs with a digit, and logins. */
const LOOKS_SECRET = /(?=[a-z_+=-]*\d)[\w+=-]{16,}|:\/\/[^\s/]*@/i;
/** Names a secret where a digit is near. */
const NAMES_SECRET = /pass|pwd|secret|token|key|auth|cred|bearer/i;

/** Returns whether an error's line may hold what is redacted in the index. Word by word: a pattern over all takes cubic time. */
function mayHoldSecret(line: string): boolean {
  const words = line.split(/\s+/);
  const isNamed = (word: string, i: number) =>
    NAMES_SECRET.test(word) && /\d/.test(words.slice(i, i + 3).join(""));
  return LOOKS_SECRET.test(line) || words.some(isNamed);
}

/** Returns the keys of an output's error lines as the index has them; the rules of redaction are loaded only for secrets. */
async function indexedKeys(output: string, paths: PathsWithRules): Promise<number[]> {
  const lines = errorKeys(output, { hasFailed: true });
  if (![...lines.values()].some(mayHoldSecret)) return [...lines.keys()];
  const { readRules } = await import("../transcripts/rules.ts");
  return [...errorKeys(readRules(paths).clean(output), { hasFailed: true }).keys()];
}

/** Returns whether an index holds an error's line. */
function holdsAny(file: string, keys: readonly number[]): boolean {
  if (keys.length === 0 || !existsSync(file)) return false;
  const db = openDatabase(file, { create: false });
  try {
    const find = "SELECT 1 FROM error_lines WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1";
    return isOfVersion(db, INDEX_VERSION) && db.get(find, JSON.stringify(keys)) !== undefined;
  } finally {
    db.close();
  }
}

/** Forgets the errors that sessions or their subagents were informed about, and counts them. */
export async function forgetTold(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<Partial<Found>> {
  if (!("ids" in forgetting)) return {};
  const { withExistingState } = await import("../store/state.ts");
  // hosts name a subagent without the prefix of its transcript
  const viewers = Array.from(forgetting.ids).flatMap((id) => [id, id.replace(/^agent-/, "")]);
  const those = "FROM seen_before WHERE viewer IN (SELECT value FROM json_each(?))";
  const told = withExistingState(paths, (db) => {
    const row = db.get(`SELECT count(*) AS n ${those}`, JSON.stringify(viewers));
    if (!dryRun) db.run(`DELETE ${those}`, JSON.stringify(viewers));
    return Number(row?.n);
  });
  return { cursors: told ?? 0 };
}

/** Counts how often a session was informed within the last day. */
export function countSeen(db: Store, now: Date): number {
  const since = new Date(now.getTime() - DAY_MS).toISOString();
  const row = db.get("SELECT count(DISTINCT viewer || at) AS n FROM seen_before WHERE at >= ?", since);
  return Number(row?.n);
}
