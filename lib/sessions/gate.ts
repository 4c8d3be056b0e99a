/**
 * Decides which sessions may be read: not those that config.json excludes by id, name or project, nor copies of forgotten
 * ones. Whoever lists, opens or resolves sessions asks here, once, and hands on what may be read.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { currentExclude, type PathsWithRules, type Settings } from "../config/config.ts";
import { countRedactions } from "../redact/redact.ts";
import { outermostEntries, tryHead } from "../transcripts/head.ts";
import { type Rules, readExclusion, readRules } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { readName } from "./meta.ts";
import { projectKey } from "./project.ts";
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

/** Returns the gate of a run, by what was excluded when it started. */
export function openGate(paths: PathsWithRules): Gate {
  return gate(paths.rules.exclude, paths);
}

/** Returns a gate that knows what was excluded since the run started: its work may have taken a while. */
export function reopenGate(paths: PathsWithRules, known: Settings["exclude"]): Gate {
  return gate(currentExclude(paths, known), paths);
}

/** Returns a gate that opens no meta file and no transcript for a name: what it lets through is asked again. */
export function openQuickGate(exclude: Settings["exclude"]): Gate {
  return gate(exclude);
}

function gate(exclude: Settings["exclude"], paths?: PathsWithRules): Gate {
  const exclusion = readExclusion(exclude);
  const looksUpNames = paths !== undefined && exclude.sessions.length > 0;
  const findName = (session: Session) =>
    looksUpNames ? (session.name ?? readName(session, paths) ?? hostTitle(session)) : undefined;
  const admits = (session: Session) => {
    const { hasSession, needsProject, isForgotten } = exclusion;
    if (hasSession(session) || (isForgotten && isCopy(session.file, isForgotten))) return false;
    const name = findName(session);
    const cwd = needsProject ? (session.cwd ?? tryHead(session.file)?.cwd) : undefined;
    if (name === undefined && cwd === undefined) return true;
    return !hasSession({ id: session.id, name, cwd, project: cwd && projectKey(cwd) });
  };
  return {
    admits,
    visible: (sessions) => sessions.filter(admits),
    assert(session) {
      // of one that only the index holds, the path is redacted
      const isKnown = paths !== undefined && readRules(paths.rules).hasSession(session);
      if (!isKnown && admits(session)) return;
      throw new SessionMemoryError("NOT_FOUND", `Cannot use session "${session.id}": it is kept out`, {
        details: { isExcluded: true },
        hint: "take it out of exclude in config.json",
      });
    },
  };
}

type StoredFacts = Pick<Session, "id" | "file" | "name" | "cwd" | "parentId"> & {
  project?: string | undefined;
  hostId?: string | undefined;
};

/**
 * Returns a test for stored sessions that may be read by now. Where rules hide a stored path, the transcript decides, as long
 * as it is there.
 */
export function storedGate({
  hasSession,
  hasPatterns,
  needsProject,
}: Rules): (session: StoredFacts) => boolean {
  const isHidden = (path: string | undefined) =>
    path === undefined ? hasPatterns : countRedactions(path) > 0;
  return (session) => {
    const isUnsure = needsProject && (isHidden(session.cwd) || isHidden(session.project));
    const cwd = isUnsure ? tryHead(session.file)?.cwd : undefined;
    if (cwd === undefined) return !hasSession(session);
    const project = isHidden(session.project) ? projectKey(cwd) : session.project;
    return !hasSession({ ...session, cwd, project });
  };
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
