/** Errors for references that match no session, or several. */

import { SessionMemoryError } from "../base/errors.ts";
import { formatAge } from "../base/time.ts";
import type { Paths } from "../config/config.ts";
import { oneLine, redact } from "../redact/redact.ts";
import type { Agent, Session } from "../transcripts/session.ts";
import { lastTime } from "./ends.ts";
import { nameOf } from "./session-name.ts";

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
export function ambiguous(wanted: string, sessions: readonly Session[], paths: Paths): SessionMemoryError {
  const candidates = candidatesOf(sessions.slice(0, AMBIGUOUS_SHOWN), paths);
  const shown = sessions.length > AMBIGUOUS_SHOWN ? `, the newest ${AMBIGUOUS_SHOWN} are listed` : "";
  return new SessionMemoryError(
    "AMBIGUOUS",
    `Cannot tell which session "${safe(wanted)}" is: it fits ${sessions.length}${shown}`,
    { details: { reference: safe(wanted), candidates }, hint: `use an id: ${listOf(candidates)}` },
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
  found?: { near: readonly Session[]; paths: Paths } | { reason: string },
): SessionMemoryError {
  const reason = found && "reason" in found ? found.reason : undefined;
  const candidates = found && "near" in found ? candidatesOf(found.near, found.paths) : [];
  const reference = oneLine(redact(wanted), reason === undefined ? NAME_SHOWN : Number.POSITIVE_INFINITY);
  const message = [`Cannot find session "${reference}"`, reason].filter(Boolean).join(": ");
  return new SessionMemoryError("NOT_FOUND", message, {
    details: { reference, candidates },
    hint: candidates.length > 0 ? `the nearest are ${listOf(candidates)}` : HOW_TO_NAME,
  });
}

function candidatesOf(sessions: readonly Session[], paths: Paths): Candidate[] {
  return sessions.map((session) => {
    const name = nameOf(session, paths);
    return {
      id: oneLine(redact(session.id), ID_SHOWN),
      agent: session.agent,
      name: name === undefined ? undefined : safe(name),
      ageSeconds: Math.max(0, Math.round((Date.now() - Date.parse(timeOf(session))) / 1000)),
    };
  });
}

function timeOf({ file, updatedAt }: Session): string {
  return lastTime(file) ?? updatedAt;
}

function listOf(candidates: readonly Candidate[]): string {
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
