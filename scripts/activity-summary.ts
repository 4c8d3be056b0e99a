#!/usr/bin/env bun
/**
 * Shows what other sessions did since this one last looked.
 *
 * The current session comes from the host's environment or `--current`.
 *
 * @module
 */

import { FIRST_LOOK_MS, readMarks } from "../lib/activity/look.ts";
import { readUpdates, renderUpdates } from "../lib/activity/updates.ts";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { changedAt, isFile, namesIn, statPath } from "../lib/base/files.ts";
import { isTerminal } from "../lib/base/output.ts";
import { choice, integer, note, type Run, runScript, text, time, toggle, warn } from "../lib/cli.ts";
import { defaultSettings, resolvePaths, seeingExcluded, withFolders } from "../lib/config/config.ts";
import type { Agent, Session, Viewer } from "../lib/hosts/session.ts";
import { exclusionBy } from "../lib/sessions/gate.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { withVoluteAt } from "../lib/sessions/volute.ts";
import { readHead } from "../lib/transcripts/head.ts";

const USAGE = `\
Usage: session-memory activity-summary [options]

Prints what the other sessions did since the current one last looked, or nothing. What is printed is marked as seen.

Options:
  --current <session>  The session that asks (default: the one that runs this)
  --scope <scope>      project: sessions of the same git repository or directory; all (default: project, or config)
  --max-chars <n>      Length of the digest at most (default: 500, or config)
  --since <t>          Only what is newer than t (2026-02-03, yesterday, 7d), seen or not; marks nothing
  --peek               Mark nothing as seen
  --sessions <path>    Read this file or folder instead of the agents' own (repeatable)
  --json               One JSON document       --quiet  No remarks on stderr

Environment: CLAUDE_CODE_SESSION_ID, PI_SESSION_ID name the current session; SESSION_MEMORY_HOME holds the marks.

Examples:
  session-memory activity-summary --current last --since 7d
  session-memory activity-summary --current discord --since 2h --scope all
`;

export { readUpdates, type UpdateOptions } from "../lib/activity/updates.ts";

export interface SessionUpdateOptions {
  /** The viewer's name. */
  currentSession: string;
  /** A folder with an entry `<name>` or `<name>.json` per session. */
  sessionsDir: string;
  /** The file with the marks of all viewers. */
  cursorFile: string;
  /** Returns the path of a session's transcript; null when it has none yet. */
  jsonlResolver: (sessionName: string) => string | null;
  format: "agent-sdk" | "pi" | "codex" | "plain";
}

/** Returns the digest of a folder of named sessions and marks it as seen; null without news. */
export function getSessionUpdates(options: SessionUpdateOptions): string | null {
  const { currentSession, sessionsDir, cursorFile, jsonlResolver, format } = options;
  if (!currentSession) return null;
  const agent: Agent = format === "agent-sdk" ? "claude" : format;
  const marksFile = { path: cursorFile, viewerId: currentSession };
  const named = jsonlResolver(currentSession);
  const own = named !== null && isFile(named) ? named : undefined; // created with the first message
  const sessions = sessionNames(sessionsDir)
    .filter((name) => name !== currentSession)
    .flatMap((name) => namedSession(name, agent, jsonlResolver(name)));
  const now = Date.now();
  const recent = sessions.filter(({ modifiedAt }) => Date.parse(modifiedAt) > now - FIRST_LOOK_MS);
  const cwd = (own !== undefined && readHead(own)?.cwd) || process.cwd();
  const settings = defaultSettings();
  const updates = renderUpdates(
    {
      viewer: { id: currentSession, file: own, cwd },
      now,
      marksFile,
      marks: readMarks(marksFile),
      recent: recent.map(({ file }) => file),
      sessions,
      describe: (found) => [...found],
    },
    { rules: exclusionBy(resolvePaths(process.env)), maxChars: settings.activity.maxChars },
  );
  updates.commit();
  return updates.text;
}

/** Lists the named sessions; names that begin with `new-` are temporary. */
function sessionNames(folder: string): string[] {
  const names = namesIn(folder).map((name) => name.replace(/\.jsonl?$/, ""));
  return [...new Set(names)].filter((name) => !name.startsWith("new-") && !name.startsWith("."));
}

function namedSession(name: string, agent: Agent, file: string | null): Session[] {
  const stat = file === null ? undefined : statPath(file);
  if (file === null || !stat?.isFile()) return [];
  const modifiedAt = changedAt(stat);
  return [{ id: name, name, agent, file, updatedAt: modifiedAt, modifiedAt, size: stat.size }];
}

/** Returns the session that `--current` or the host names; undefined when neither does, or no session has that name. */
function currentSession(
  flag: string | undefined,
  { asking, cwd }: Pick<Run<typeof SCRIPT.flags>, "asking" | "cwd">,
): Viewer | undefined {
  const reference = flag ?? asking.current;
  if (reference === undefined) return undefined;
  try {
    // An excluded session may still look at the others.
    const paths = seeingExcluded(asking.paths);
    const session = resolveSession(reference, { ...asking, paths });
    return { id: session.id, file: session.file, cwd: session.cwd ?? cwd };
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
    // The host names a session before it writes its first line.
    return flag === undefined ? { id: reference, cwd } : undefined;
  }
}

const SCRIPT = {
  usage: USAGE,
  flags: {
    current: text,
    scope: choice(["project", "all"]),
    maxChars: integer({ min: 1 }),
    since: time,
    peek: toggle,
  },
  readsAnyVolute: true,
} as const;

function main(run: Run<typeof SCRIPT.flags>): void {
  const { values, settings, env, cwd, show } = run;
  const { scope, maxChars, since } = values;
  const current = currentSession(values.current, run);
  if (!current) {
    warn(
      "Cannot identify the current session, so nothing is shown: name it, as in --current last --since 7d",
    );
    show({ sessions: [], overlaps: [] }, []);
    return;
  }
  const paths = withVoluteAt(withFolders(run.paths, { settings, env, transcript: current.file }), cwd);
  const updates = readUpdates({ paths, settings, current, scope, maxChars, since });
  for (const problem of updates.problems) warn(problem);
  if (updates.skipped > 0) note(`${updates.skipped} damaged lines skipped`);
  if (updates.text === null && isTerminal()) note("nothing new from other sessions");
  if (!show(updates.report, updates.text === null ? [] : [updates.text])) return;
  if (!values.peek && !updates.commit()) warn("Cannot mark this as seen: the cursor file is locked");
}

if (import.meta.main) await runScript(SCRIPT, main);
