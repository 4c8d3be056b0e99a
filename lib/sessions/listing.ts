/** Sessions as a listing shows them: by the time of their last row, with the words they began with. */

import type { Paths } from "../config/config.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { describeSession, hasConversation, type ListOptions, listSessions } from "./sessions.ts";

/** The first request is in these bytes, or is not looked for. */
const BEGINNING_BYTES = 256 * 1024;

/** The newest sessions by their last row, described; a file's own time says nothing after it was copied. */
export function listByLastRow(
  paths: Paths,
  { since, limit, ...options }: Omit<ListOptions, "described"> & { since: string; limit: number },
): Session[] {
  const dated = listSessions(paths, { ...options, dated: true }).filter(
    ({ updatedAt }) => updatedAt >= since,
  );
  const listed: Session[] = [];
  for (const session of dated) {
    if (listed.length >= limit) break;
    if (hasConversation(session)) listed.push(describeSession(session, paths));
  }
  return listed;
}

/** The session with the newest last row, other than the current one; of a project, where one is given. */
export function lastSession(
  paths: Paths,
  { cwd, current, project }: { cwd: string; current: string | undefined; project?: string },
): Session | undefined {
  return listSessions(paths, { cwd, project, dated: true }).find(
    (session) => session.id !== current && hasConversation(session),
  );
}

/** The first thing the user said in a session. */
export function firstWords(file: string, rules: Rules): string | undefined {
  try {
    for (const { kind, text } of readEntries(file, { rules, to: BEGINNING_BYTES, unterminated: "accept" })) {
      if (kind === "user") return text;
    }
  } catch {
    // gone since it was listed
  }
  return undefined;
}
