/**
 * Decides which sessions may be read: not those that config.json excludes by id, name or project, nor copies of forgotten
 * ones. Whoever lists, opens or stores sessions asks here, once, and hands on what may be read.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { currentExclude, type PathsWithRules, type Settings } from "../config/config.ts";
import { countRedactions } from "../redact/redact.ts";
import { outermostEntries, tryHead } from "../transcripts/head.ts";
import { type Excludable, type Rules, readExclusion, readRules } from "../transcripts/rules.ts";
import type { Entry, PartlyKnown, Session } from "../transcripts/session.ts";
import { readName } from "./meta.ts";
import { projectKey, remembering } from "./project.ts";
import { hostTitle } from "./titles.ts";

/** Hands out the sessions that may be read. */
interface Gate {
  /** Returns whether a session with a transcript may be read; its name and project are looked up only when they matter. */
  admits(session: Session): boolean;
  /** Returns those that may be read. */
  visible<T extends Session>(sessions: readonly T[]): T[];
  /**
   * Refuses a session that may not be read.
   *
   * @throws {SessionMemoryError} `NOT_FOUND`
   */
  assert(session: Session): void;
}

/** Returns the gate by what is excluded at this moment: a run may have waited for whoever was excluding something. */
export function openGate(paths: PathsWithRules): Gate {
  const { rules } = paths;
  const exclude = rules.seesExcluded ? rules.exclude : currentExclude(paths, rules.exclude);
  const { hasSession, needsProject } = readExclusion({ ...rules, exclude });
  const { isForgotten } = readRules({ ...rules, exclude });
  const looksUpNames = exclude.sessions.length > 0;
  const findName = (session: Session) =>
    looksUpNames ? (session.name ?? readName(session, paths) ?? hostTitle(session)) : undefined;
  const keyOf = remembering(projectKey);
  const admits = (session: Session) => {
    if (hasSession(session) || (isForgotten && isCopy(session.file, isForgotten))) return false;
    const name = findName(session);
    const cwd = needsProject ? (session.cwd ?? tryHead(session.file)?.cwd) : undefined;
    if (name === undefined && cwd === undefined) return true;
    return !hasSession({ id: session.id, name, cwd, project: cwd && keyOf(cwd) });
  };
  return {
    admits,
    visible: (sessions) => sessions.filter(admits),
    assert(session) {
      if (admits(session)) return;
      throw new SessionMemoryError("NOT_FOUND", `Cannot use session "${session.id}": it is kept out`, {
        details: { isExcluded: true },
        hint: "take it out of exclude in config.json",
      });
    },
  };
}

/** The facts that a store has of a session: an index, the replica or the hub. */
export type StoredFacts = Excludable & PartlyKnown<"file">;

type ExcludingSettings = Pick<Settings, "redact" | "exclude">;

/**
 * Returns a test for stored sessions that may be read. Where a store does not say where one worked, or rules hide
 * it, the transcript decides, as long as it is there.
 */
export function storedGate(settings: ExcludingSettings): (session: StoredFacts) => boolean {
  const { hasSession, needsProject } = readExclusion(settings);
  const isHidden = (path: string) => countRedactions(path) > 0;
  const keyOf = remembering(projectKey);
  return (session) => {
    if (!needsProject) return !hasSession(session);
    const { file = "", project } = session;
    const isUnsure = session.cwd === undefined || isHidden(session.cwd) || isHidden(project ?? "");
    const found = isUnsure && file !== "" ? tryHead(file)?.cwd : undefined;
    const cwd = found ?? session.cwd;
    const isKnown = project !== undefined && (found === undefined || !isHidden(project));
    return !hasSession({ ...session, cwd, project: isKnown ? project : cwd && keyOf(cwd) });
  };
}

/** What config.json keeps out of an exchange with a store. */
export interface Exclusion extends Pick<Rules, "hasText" | "hasPatterns"> {
  admits: ReturnType<typeof storedGate>;
}

/** Returns what is kept out of an exchange that begins now. */
export function currentExclusion({
  paths,
  settings,
}: {
  paths: PathsWithRules;
  settings: ExcludingSettings;
}): Exclusion {
  const now = { redact: settings.redact, exclude: currentExclude(paths, settings.exclude) };
  const { hasText, hasPatterns } = readRules(now);
  return { admits: storedGate(now), hasText, hasPatterns };
}

/** Returns a test for sessions that an entry of `exclude.projects` fits. */
export function fitting(project: string, settings: ExcludingSettings): (session: Excludable) => boolean {
  const { home } = settings.exclude;
  const exclude = { sessions: [], projects: [project], patterns: [], home };
  return readExclusion({ redact: settings.redact, exclude }).hasSession;
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
