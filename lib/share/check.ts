/** Finds what keeps sessions from being shared, in either direction. */

import { SessionMemoryError } from "../base/errors.ts";
import { type Finding, info, warning } from "../base/findings.ts";
import { counted, listed } from "../base/text.ts";
import { refusedSessions } from "./hub-list.ts";
import { shareStatus } from "./share.ts";
import { readRefused } from "./share-state.ts";

type ShareCheck = Parameters<typeof shareStatus>[0];

export function* checkSharing(config: ShareCheck): Generator<Finding> {
  const status = readStatus(config);
  if (!status) return;
  const urlEnv = config.settings.share?.urlEnv;
  if (status.hub === null) {
    const what = `nothing is shared: ${urlEnv} is not set, or is no PostgreSQL URL`;
    yield warning(what, `set ${urlEnv} where your agents see it`);
  }
  if (status.error !== undefined) yield warning(`sharing fails: ${status.error}`, "run session-memory share");
  const unsent = readRefused(config.paths);
  const remedy = "update session-memory, or name them in exclude.sessions";
  if (unsent.length > 0) yield warning(`the hub does not take ${named(unsent)}`, remedy);
  const refused = refusedSessions(config);
  if (refused.length > 0)
    yield info(
      named(refused, " of the hub cannot be read"),
      "ask who published them to update session-memory",
    );
}

const NAMED_MAX = 3; // a line

function named(sessions: readonly string[], what = ""): string {
  return `${counted(sessions.length, "session")}${what}: ${listed(sessions, NAMED_MAX)}`;
}

/** A damaged index is a finding of its own. */
function readStatus(config: ShareCheck): ReturnType<typeof shareStatus> {
  try {
    return shareStatus(config);
  } catch (error) {
    if (error instanceof SessionMemoryError) return undefined;
    throw error;
  }
}
