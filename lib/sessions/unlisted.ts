/** Sessions that no listing has: files beside transcripts that are none, and sessions whose transcript is gone. */

import { basename } from "node:path";
import { changedAt, statOf } from "../base/probe.ts";
import type { Paths } from "../config/config.ts";
import type { Session } from "../transcripts/session.ts";
import { sessionOf } from "./discovery.ts";
import { findTranscripts } from "./find.ts";
import { agentOfFile } from "./places.ts";
import type { MetaName } from "./session-name.ts";
import { sessionAt } from "./sessions.ts";

/** The files that no session could be made of, as sessions of unknown kind. */
export function unlistedTranscripts(paths: Paths, listed: readonly Session[]): Session[] {
  const files = new Set(listed.map(({ file }) => file));
  // Where a host's own places tell agent and id by name, every file is listed.
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

/** A session whose transcript the host has deleted, or keeps where we do not look. */
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
