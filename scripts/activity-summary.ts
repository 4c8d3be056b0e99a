#!/usr/bin/env bun
/**
 * Tells what the other sessions did since this one last looked.
 *
 * Needs to know which session is looking: from the host's environment, or `--current`.
 *
 * @module
 */

import { FIRST_LOOK_MS, type Looker } from "../lib/activity/look.ts";
import { readMarks } from "../lib/activity/marks.ts";
import { readUpdates } from "../lib/activity/news.ts";
import { updatesOf } from "../lib/activity/updates.ts";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { changedAt, isFile, namesIn, statOf } from "../lib/base/probe.ts";
import { choiceFlag, integerFlag, note, type Run, runScript, timeFlag, warn } from "../lib/cli.ts";
import {
  type Config,
  defaultSettings,
  readingAnyVolute,
  seeingExcluded,
  withFolders,
} from "../lib/config/config.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { readHead } from "../lib/transcripts/head.ts";
import type { Agent, Session } from "../lib/transcripts/session.ts";

const USAGE = `\
Usage: bun scripts/activity-summary.ts [options]

Prints what the other sessions did since the current one last looked, or nothing. What is printed is marked as told.

Options:
  --current <session>  The session that looks (default: the one that runs this)
  --scope <scope>      project: sessions of the same git repository or directory; all (default: project, or config)
  --max-chars <n>      Length of the digest at most (default: 500, or config)
  --since <t>          Tell what is newer than t (2026-02-03, yesterday, 7d), whatever was told; marks nothing
  --peek               Mark nothing as told
  --sessions <path>    Read this file or folder instead of the agents' own (repeatable)
  --json               One JSON document       --quiet  No remarks on stderr
  -h, --help           Show this help

Environment: CLAUDE_CODE_SESSION_ID, PI_SESSION_ID name the current session; SESSION_MEMORY_HOME holds the marks.

Examples:
  bun scripts/activity-summary.ts --peek
  bun scripts/activity-summary.ts --current discord --since 2h --scope all
`;

export { readUpdates, type UpdateOptions } from "../lib/activity/news.ts";

export interface SessionUpdateOptions {
  /** Name of the session that looks. */
  currentSession: string;
  /** Folder with an entry `<name>` or `<name>.json` per session. */
  sessionsDir: string;
  /** Where the marks of all sessions are kept. */
  cursorFile: string;
  /** Path of a session's transcript; null when it has none yet. */
  jsonlResolver: (sessionName: string) => string | null;
  format: "agent-sdk" | "pi" | "codex" | "plain";
}

/** The digest of a folder of named sessions, marked as told on return; null when there is nothing new. */
export function getSessionUpdates(options: SessionUpdateOptions): string | null {
  const { currentSession, sessionsDir, cursorFile, jsonlResolver, format } = options;
  if (!currentSession) return null;
  const agent: Agent = format === "agent-sdk" ? "claude" : format;
  const cursors = { path: cursorFile, looker: currentSession };
  const named = jsonlResolver(currentSession);
  const own = named !== null && isFile(named) ? named : undefined; // it is not there before its first message
  const sessions = sessionNames(sessionsDir)
    .filter((name) => name !== currentSession)
    .flatMap((name) => namedSession(name, agent, jsonlResolver(name)));
  const now = Date.now();
  const recent = sessions.filter(({ modifiedAt }) => Date.parse(modifiedAt) > now - FIRST_LOOK_MS);
  const cwd = (own !== undefined && readHead(own)?.cwd) || process.cwd();
  const settings = defaultSettings();
  const updates = updatesOf(
    {
      looker: { id: currentSession, file: own, cwd },
      now,
      cursors,
      marks: readMarks(cursors),
      recent: recent.map(({ file }) => file),
      sessions,
      describe: (session) => session,
    },
    { settings, maxChars: settings.activity.maxChars },
  );
  updates.commit();
  return updates.text;
}

/** Names that begin with `new-` are of sessions for the moment only. */
function sessionNames(folder: string): string[] {
  const names = namesIn(folder).map((name) => name.replace(/\.jsonl?$/, ""));
  return [...new Set(names)].filter((name) => !name.startsWith("new-") && !name.startsWith("."));
}

function namedSession(name: string, agent: Agent, file: string | null): Session[] {
  const stat = file === null ? undefined : statOf(file);
  if (file === null || !stat?.isFile()) return [];
  const modifiedAt = changedAt(stat);
  return [{ id: name, name, agent, file, updatedAt: modifiedAt, modifiedAt, size: stat.size }];
}

/** The session that `--current` or the host names; undefined when neither does, or when there is none of that name. */
function currentSession(flag: string | undefined, config: Config, cwd: string): Looker | undefined {
  const reference = flag ?? config.currentSession;
  if (reference === undefined) return undefined;
  try {
    // An excluded session may look at the others.
    const paths = seeingExcluded(readingAnyVolute(config.paths));
    const session = resolveSession(reference, { paths, cwd, current: config.currentSession });
    return { id: session.id, file: session.file, cwd: session.cwd ?? cwd };
  } catch (error) {
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
    // The host's own word is true before it has written a line.
    return flag === undefined ? { id: reference, cwd } : undefined;
  }
}

const SCRIPT = {
  usage: USAGE,
  flags: {
    current: { type: "string" },
    scope: { type: "string" },
    "max-chars": { type: "string" },
    since: { type: "string" },
    peek: { type: "boolean" },
  },
  words: { max: 0 },
} as const;

function main({ values, config, cwd, show }: Run<typeof SCRIPT.flags>): void {
  const { settings, env } = config;
  const scope = choiceFlag("--scope", values.scope, ["project", "all"] as const);
  const length = values["max-chars"];
  const maxChars = length === undefined ? undefined : integerFlag("--max-chars", length, 1, { min: 1 });
  const since = values.since === undefined ? undefined : timeFlag("--since", values.since, settings.timezone);
  const current = currentSession(values.current, config, cwd);
  if (!current) {
    warn("Cannot tell which session is looking, so nothing is told: name it with --current");
    show({ sessions: [], overlaps: [] }, []);
    return;
  }
  const paths = withFolders(config.paths, { settings, env, transcript: current.file });
  const updates = readUpdates({ paths, settings, current, scope, maxChars, since });
  for (const problem of updates.problems) warn(problem);
  if (updates.skipped > 0) note(`${updates.skipped} damaged lines skipped`);
  if (!show(updates.report, updates.text === null ? [] : [updates.text])) return;
  if (!values.peek && !updates.commit()) warn("Cannot mark this as told: the cursor file is locked");
}

if (import.meta.main) await runScript(SCRIPT, main);
