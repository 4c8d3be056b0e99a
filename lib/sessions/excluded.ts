/**
 * Checks whether config.json excludes a session now: it may have changed since the process started, and hosts name a
 * session by its file alone.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { defaultSettings, type Paths, type Settings } from "../config/config.ts";
import { readHookSettings } from "../config/config-file.ts";
import { readHead } from "../transcripts/head.ts";
import { readExclusion } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { projectKey } from "./project.ts";
import { givenName } from "./session-name.ts";

type Exclude = Settings["exclude"];

/** Returns what the process excluded at its start together with what the file excludes now. */
export function currentExclude(paths: Pick<Paths, "config">, known: Exclude): Exclude {
  const now = readHookSettings(paths.config, defaultSettings())?.exclude;
  if (!now) return known;
  const both = (key: keyof Exclude) => [...new Set([...known[key], ...now[key]])];
  return { sessions: both("sessions"), projects: both("projects"), patterns: both("patterns") };
}

/** Returns whether config.json excludes nothing beyond what a process was started with. */
export function isExclusionCurrent(paths: Pick<Paths, "config" | "rules">): boolean {
  const known = paths.rules.exclude;
  const now = currentExclude(paths, known);
  return (["sessions", "projects", "patterns"] as const).every(
    (key) => now[key].length === new Set(known[key]).size,
  );
}

/**
 * Whether a session is excluded by id, name or project; name and project are looked up only when they matter. Without
 * `paths` the name is not looked up.
 */
export function isExcluded(
  session: Session,
  { paths, exclude }: { paths?: Paths | undefined; exclude: Exclude },
): boolean {
  const { hasSession, needsProject } = readExclusion(exclude);
  if (hasSession(session)) return true;
  const name = paths && exclude.sessions.length > 0 ? givenName(session, paths) : undefined;
  const cwd = needsProject ? (session.cwd ?? readHead(session.file)?.cwd) : undefined;
  if (name === undefined && cwd === undefined) return false;
  return hasSession({ id: session.id, name, cwd, project: cwd && projectKey(cwd) });
}

/** @throws {SessionMemoryError} `NOT_FOUND` for an excluded session. */
export function assertNotExcluded(session: Session, paths: Paths): void {
  if (!isExcluded(session, { paths, exclude: paths.rules.exclude })) return;
  throw new SessionMemoryError("NOT_FOUND", `Cannot use session "${session.id}": it is kept out`, {
    details: { isExcluded: true },
    hint: "take it out of exclude in config.json",
  });
}
