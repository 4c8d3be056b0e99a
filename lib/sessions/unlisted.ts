/**
 * Sessions that a listing or a reference does not give: excluded ones, files that are no transcripts, sessions whose
 * transcript is gone, and the errors for references that match none or several.
 */

import { basename, resolve, sep } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { changedAt, statOf } from "../base/files.ts";
import { formatAge } from "../base/time.ts";
import { defaultSettings, type Reading, type Settings } from "../config/config.ts";
import { readHookSettings } from "../config/config-file.ts";
import { oneLine, redact } from "../redact/redact.ts";
import { readLastEntries } from "../transcripts/backward.ts";
import { readHead } from "../transcripts/head.ts";
import { copiesFolder, HOSTS } from "../transcripts/hosts.ts";
import { ownRules, readExclusion } from "../transcripts/rules.ts";
import type { Agent, Entry, Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { cleanName, identifySession, lastTime } from "./discovery.ts";
import { findTranscripts } from "./find.ts";
import { givenName, nameOf, type SessionMeta } from "./meta.ts";
import { codexId, PI_NAME } from "./places.ts";
import { projectKey } from "./project.ts";

/** Returns the files that are not transcripts as sessions of unknown kind. */
export function unlistedTranscripts(paths: Reading, listed: readonly Session[]): Session[] {
  const files = new Set(listed.map(({ file }) => file));
  // Where names give agent and id, every file is listed already.
  const agent = paths.transcripts.length > 0 ? undefined : "pi";
  return findTranscripts(paths, { agent, subagents: true }).flatMap((found) => {
    if (files.has(found.file) || found.ephemeral || identifySession(found)) return [];
    const stat = statOf(found.file);
    if (!stat?.isFile() || stat.size === 0) return [];
    const id = basename(found.file, ".jsonl");
    const modifiedAt = changedAt(stat);
    const { file, agent = "plain" } = found;
    return [{ id, agent, file, updatedAt: modifiedAt, modifiedAt, size: stat.size }];
  });
}

/** Returns a session whose transcript the host has deleted, or keeps elsewhere. */
export function withoutTranscript(meta: SessionMeta, paths: Reading): Session {
  const { sessionId: id, sessionFile: file, name, cwd } = meta;
  const there = identifySession({ file: resolve(file) });
  if (there?.id === id) return there;
  const time = Date.parse(meta.updatedAt);
  const at = new Date(Number.isNaN(time) ? 0 : time).toISOString();
  const agent = agentByPlace(file, paths);
  return { id, agent, file, name: cleanName(name), cwd, updatedAt: at, modifiedAt: at, size: 0 };
}

/** Returns the agent by a transcript's place and name, for files that are gone. */
export function agentByPlace(file: string, paths: Reading): Agent {
  if (codexId(file) !== undefined) return "codex";
  if (PI_NAME.test(basename(file)) || file.startsWith(paths.openclaw)) return "pi";
  const host = HOSTS.find(({ agent, home, database }) =>
    file.startsWith(`${database === undefined ? paths.expand(home) : copiesFolder(paths, agent)}${sep}`),
  );
  return host?.agent ?? "plain";
}

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
function isCopy(file: string, isForgotten: (entry: Entry) => boolean): boolean {
  try {
    const rules = ownRules();
    const first = readEntries(file, { rules }).next().value;
    if (!first || !isForgotten(first)) return false;
    const last = readLastEntries(file, { rules, count: 1 }).entries.at(-1);
    return last !== undefined && isForgotten(last);
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

/** A session in an error's details. */
export interface Candidate {
  id: string;
  agent: Agent;
  name: string | undefined;
  ageSeconds: number;
}

const AMBIGUOUS_SHOWN = 5;
const NAME_SHOWN = 60;
/** A truncated id would be useless. */
const ID_SHOWN = 255;
const HOW_TO_NAME = "name a session by its id, its name or the path of its .jsonl file";

/** Returns the error for a reference that matches several sessions, newest first. */
export function ambiguous(wanted: string, sessions: readonly Session[], paths: Reading): SessionMemoryError {
  const candidates = describeCandidates(sessions.slice(0, AMBIGUOUS_SHOWN), paths);
  const shown = sessions.length > AMBIGUOUS_SHOWN ? `, the newest ${AMBIGUOUS_SHOWN} are listed` : "";
  return new SessionMemoryError(
    "AMBIGUOUS",
    `Cannot tell which session "${safe(wanted)}" is: it fits ${sessions.length}${shown}`,
    { details: { reference: safe(wanted), candidates }, hint: `use an id: ${joinCandidates(candidates)}` },
  );
}

/** Returns the error for lines of a session where only a session can be meant. */
export function noPlace(wanted: string, session: string): SessionMemoryError {
  return new SessionMemoryError("USAGE", `Cannot use "${safe(wanted)}": it names lines of a session`, {
    hint: `name the session alone: ${safe(session)}`,
  });
}

/** Returns the error for a reference that matches none: with the nearest sessions, or why the named file is none. */
export function notFound(
  wanted: string,
  found?: { near: readonly Session[]; paths: Reading } | { reason: string },
): SessionMemoryError {
  const reason = found && "reason" in found ? found.reason : undefined;
  const candidates = found && "near" in found ? describeCandidates(found.near, found.paths) : [];
  const reference = oneLine(redact(wanted), reason === undefined ? NAME_SHOWN : Number.POSITIVE_INFINITY);
  const message = [`Cannot find session "${reference}"`, reason].filter(Boolean).join(": ");
  return new SessionMemoryError("NOT_FOUND", message, {
    details: { reference, candidates },
    hint: candidates.length > 0 ? `the nearest are ${joinCandidates(candidates)}` : HOW_TO_NAME,
  });
}

function describeCandidates(sessions: readonly Session[], paths: Reading): Candidate[] {
  return sessions.map((session) => {
    const name = nameOf(session, paths);
    return {
      id: oneLine(redact(session.id), ID_SHOWN),
      agent: session.agent,
      name: name === undefined ? undefined : safe(name),
      ageSeconds: Math.max(0, Math.round((Date.now() - Date.parse(readTime(session))) / 1000)),
    };
  });
}

function readTime({ file, updatedAt }: Session): string {
  return lastTime(file) ?? updatedAt;
}

function joinCandidates(candidates: readonly Candidate[]): string {
  return candidates
    .map(({ id, agent, name, ageSeconds }) => {
      const called = name === undefined ? "" : ` "${name}"`;
      return `${id}${called} (${agent}, ${formatAge(ageSeconds)} ago)`;
    })
    .join(", ");
}

function safe(text: string): string {
  return oneLine(redact(text), NAME_SHOWN);
}
