/** Files that lie where transcripts do and are none: no session is listed for them, but somebody should be told. */

import { basename } from "node:path";
import { changedAt, statOf } from "../base/probe.ts";
import type { Paths } from "../config/config.ts";
import type { Session } from "../transcripts/session.ts";
import { sessionOf } from "./discovery.ts";
import { findTranscripts } from "./find.ts";

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
    const updatedAt = changedAt(stat);
    return [{ id, agent: found.agent ?? "plain", file: found.file, updatedAt, size: stat.size }];
  });
}
