/** Finds the transcripts that their host is about to delete. */

import { join } from "node:path";
import { readJson } from "../base/files.ts";
import { isRecord } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import type { Session } from "../transcripts/session.ts";

const DAY_MS = 24 * 3_600_000;
/** Claude Code's own default. */
const CLEANUP_DAYS = 30;

/** After how many days without a change Claude Code deletes a transcript, by its user's settings. */
export function claudeCleanupDays({ claude }: Paths): number {
  const settings = readJson(join(claude, "settings.json"));
  const days = isRecord(settings) ? settings.cleanupPeriodDays : undefined;
  return typeof days === "number" && days >= 0 ? days : CLEANUP_DAYS;
}

/** Returns the sessions whose transcript will be deleted within `days`. Only Claude Code deletes any. */
export function deletedWithin(
  days: number,
  { sessions, paths, now }: { sessions: readonly Session[]; paths: Paths; now: Date },
): Session[] {
  if (paths.transcripts.length > 0) return [];
  const last = now.getTime() - (claudeCleanupDays(paths) - days) * DAY_MS;
  return sessions.filter(({ agent, modifiedAt }) => agent === "claude" && Date.parse(modifiedAt) < last);
}
