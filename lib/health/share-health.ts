/** How sharing is: failures, and how far behind what is published and pulled. */

import { SessionMemoryError } from "../base/errors.ts";
import type { Config } from "../config/config.ts";
import { shareStatus } from "../share/share-status.ts";
import type { Finding } from "./finding.ts";

const DAY_MS = 24 * 3_600_000;
/** A hub that was away for a night is nothing to worry about. */
const STALE_DAYS = 3;

export function checkSharing(config: Pick<Config, "env" | "paths" | "settings">, now: Date): Finding[] {
  const status = readStatus(config);
  if (!status) return [];
  const { hub, projects, lastPull, error } = status;
  const findings: Finding[] = [];
  if (hub === null) {
    const { urlEnv } = config.settings.share ?? { urlEnv: "" };
    const what = `nothing is shared: ${urlEnv} is not set, or is no PostgreSQL URL`;
    findings.push({ level: "warning", what, remedy: `set ${urlEnv} where your agents see it` });
  }
  if (error !== undefined) {
    findings.push({ level: "warning", what: `sharing fails: ${error}`, remedy: "run bun scripts/share.ts" });
  }
  const age = lastPull === null ? undefined : (now.getTime() - Date.parse(lastPull)) / DAY_MS;
  if (age !== undefined && age > STALE_DAYS) {
    const what = `what others share was last read ${Math.floor(age)} days ago`;
    findings.push({ level: "warning", what, remedy: "run bun scripts/share.ts" });
  }
  const behind = projects.reduce((sum, project) => sum + project.behind, 0);
  if (behind > 0) {
    const what = `${behind} session${behind === 1 ? "" : "s"} not shared yet with ${hub ?? "the hub"}`;
    findings.push({ level: "info", what, remedy: "the next turn shares them, or bun scripts/share.ts" });
  }
  return findings;
}

/** A damaged index is a finding of its own. */
function readStatus(config: Parameters<typeof shareStatus>[0]): ReturnType<typeof shareStatus> {
  try {
    return shareStatus(config);
  } catch (error) {
    if (error instanceof SessionMemoryError) return undefined;
    throw error;
  }
}
