/** Sessions outside of listings: unreadable files beside transcripts, and sessions whose transcript is gone. */

import { basename } from "node:path";
import { changedAt, statOf } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import type { Session } from "../transcripts/session.ts";
import { sessionOf } from "./discovery.ts";
import { findTranscripts } from "./find.ts";
import { agentOfFile } from "./places.ts";
import type { MetaName } from "./session-name.ts";
import { sessionAt } from "./sessions.ts";

/** Returns the files that are not transcripts as sessions of unknown kind. */
export function unlistedTranscripts(paths: Paths, listed: readonly Session[]): Session[] {
  const files = new Set(listed.map(({ file }) => file));
  // Where names give agent and id, every file is listed already.
  const agent = paths.transcripts.length > 0 ? undefined : "pi";
  return findTranscripts(paths, { agent, subagents: true }).flatMap((found) => {
    if (files.has(found.file) || found.ephemeral || sessionOf(found)) return [];
    const stat = statOf(found.file);
    if (!stat?.isFile() || stat.size === 0) return [];
    const id = basename(found.file, ".jsonl");
    const modifiedAt = changedAt(stat);
    const { file, agent = "plain" } = found;
    return [{ id, agent, file, updatedAt: modifiedAt, modifiedAt, size: stat.size }];
  });
}

/** Returns a session whose transcript the host has deleted, or keeps elsewhere. */
export function withoutTranscript(meta: MetaName, paths: Paths): Session | undefined {
  if (meta.sessionFile === undefined) return undefined;
  const there = sessionAt(meta.sessionFile);
  if (there?.id === meta.id) return there;
  const time = Date.parse(meta.updatedAt ?? "");
  const modifiedAt = new Date(Number.isNaN(time) ? 0 : time).toISOString();
  return {
    id: meta.id,
    agent: agentOfFile(meta.sessionFile, paths),
    file: meta.sessionFile,
    name: meta.name,
    cwd: meta.cwd,
    updatedAt: modifiedAt,
    modifiedAt,
    size: 0,
  };
}
