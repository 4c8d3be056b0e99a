/**
 * Finds transcripts by place and name. Opens none of them and imports nothing that could: this runs before every prompt.
 */

import type { Paths } from "../config/config.ts";
import type { Agent } from "../transcripts/session.ts";
import {
  claudeTranscripts,
  claudeTranscriptsOf,
  codexTranscripts,
  givenTranscripts,
  openclawTranscripts,
  type PlaceOptions,
  piTranscripts,
  syncedTranscripts,
  type TranscriptFile,
} from "./places.ts";
import { projectDirectories } from "./project.ts";
import { type VoluteSessions, voluteSessions } from "./volute.ts";

interface FindOptions {
  agent?: Agent | undefined;
  /** Whether subagent transcripts are found too. @default {false} */
  subagents?: boolean | undefined;
  /** Only sessions that may belong to this directory's project. @default all */
  directory?: string | undefined;
  /** Whether files started more than a month ago may be missing, where that saves time. @default {false} */
  recent?: boolean | undefined;
  /** Where to look for Volute's folder from. @default `directory`, else the process's directory */
  cwd?: string | undefined;
}

/** Returns every file that is a transcript by place and name, or may be one by content. */
export function findTranscripts(paths: Paths, options: FindOptions = {}): TranscriptFile[] {
  if (paths.transcripts.length > 0) return givenTranscripts(paths.transcripts);
  const { agent, directory, subagents = false, recent = false } = options;
  const directories = directory === undefined ? undefined : directoriesOf(directory);
  const places: PlaceOptions = { subagents, recent, directories };
  const volute = voluteSessions(options.cwd ?? directory ?? process.cwd(), paths.volute);
  const isWanted = (candidate: Agent) => agent === undefined || agent === candidate;
  const synced = paths.synced.length > 0 ? syncedTranscripts(paths, places) : [];
  return [
    ...synced.filter((found) => found.agent === undefined || isWanted(found.agent)),
    ...(isWanted("claude") ? findClaude(paths, { places, volute }) : []),
    ...(isWanted("pi") ? volute.transcripts : []),
    ...(isWanted("pi") ? piTranscripts(paths, places) : []),
    ...(isWanted("pi") ? openclawTranscripts(paths) : []),
    ...(isWanted("codex") ? codexTranscripts(paths, places) : []),
  ];
}

function findClaude(
  paths: Paths,
  { places, volute }: { places: PlaceOptions; volute: VoluteSessions },
): TranscriptFile[] {
  const found = claudeTranscripts(paths, places);
  const { names, ephemeral } = volute;
  if (names.size + ephemeral.size === 0) return found;
  const unseen = new Set(names.keys());
  for (const transcript of found) {
    const { id = "" } = transcript;
    unseen.delete(id);
    if (names.has(id)) transcript.name = names.get(id);
    else if (ephemeral.has(id)) transcript.ephemeral = true;
  }
  // A mind's sessions belong to it wherever they work.
  for (const id of places.directories ? unseen : []) {
    for (const elsewhere of claudeTranscriptsOf(paths, id)) found.push({ ...elsewhere, name: names.get(id) });
  }
  return found;
}

/** Returns the given directory too: hosts differ in resolving symlinks. */
export function directoriesOf(directory: string): string[] {
  return [...new Set([directory, ...projectDirectories(directory)])];
}
