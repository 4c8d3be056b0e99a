/** Which sessions are kept out: what a process excluded at its start, what config.json excludes now, and copies of forgotten ones. */

import { SessionMemoryError } from "../base/errors.ts";
import { defaultSettings, type Reading, type Settings } from "../config/config.ts";
import { readHookSettings } from "../config/config-file.ts";
import { outermostEntries, readHead } from "../transcripts/head.ts";
import { readExclusion } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { givenName } from "./meta.ts";
import { projectKey } from "./project.ts";

type Exclude = Settings["exclude"];

/** Returns what the process excluded at its start together with what the file excludes now. */
export function currentExclude(paths: Pick<Reading, "config">, known: Exclude): Exclude {
  const now = readHookSettings(paths.config, defaultSettings())?.exclude;
  if (!now) return known;
  const both = (key: "sessions" | "projects" | "patterns") => [...new Set([...known[key], ...now[key]])];
  return {
    sessions: both("sessions"),
    projects: both("projects"),
    patterns: both("patterns"),
    forgotten: now.forgotten,
  };
}

/** Returns whether config.json excludes nothing beyond what a process was started with. */
export function isExclusionCurrent(paths: Pick<Reading, "config" | "rules">): boolean {
  const known = paths.rules.exclude;
  const now = currentExclude(paths, known);
  return (["sessions", "projects", "patterns"] as const).every(
    (key) => now[key].length === new Set(known[key]).size,
  );
}

/**
 * Returns whether a session is excluded by id, name or project; name and project are looked up only when they matter. Without
 * `paths` the name is not looked up.
 */
export function isExcluded(
  session: Session,
  { paths, exclude }: { paths?: Reading | undefined; exclude: Exclude },
): boolean {
  const { hasSession, needsProject, isForgotten } = readExclusion(exclude);
  if (hasSession(session) || (isForgotten && isCopy(session.file, isForgotten))) return true;
  const name = paths && exclude.sessions.length > 0 ? givenName(session, paths) : undefined;
  const cwd = needsProject ? (session.cwd ?? readHead(session.file)?.cwd) : undefined;
  if (name === undefined && cwd === undefined) return false;
  return hasSession({ id: session.id, name, cwd, project: cwd && projectKey(cwd) });
}

/** Returns whether a transcript begins and ends with rows of forgotten sessions: it holds nothing of its own. */
function isCopy(file: string, isForgotten: (entry: Pick<Entry, "id" | "at">) => boolean): boolean {
  try {
    const outermost = outermostEntries(file);
    return outermost.length > 0 && outermost.every(isForgotten);
  } catch {
    return false; // gone since it was listed, or not ours to read
  }
}

/**
 * Refuses an excluded session.
 *
 * @throws {SessionMemoryError} `NOT_FOUND`
 */
export function assertNotExcluded(session: Session, paths: Reading): void {
  if (!isExcluded(session, { paths, exclude: paths.rules.exclude })) return;
  throw new SessionMemoryError("NOT_FOUND", `Cannot use session "${session.id}": it is kept out`, {
    details: { isExcluded: true },
    hint: "take it out of exclude in config.json",
  });
}
