/**
 * Which files are transcripts, by place and name. Opens none of them, and imports nothing that could: a prompt hook
 * with nothing to say pays for this alone.
 */

import type { Paths } from "./config.ts";
import {
  claudeTranscripts,
  claudeTranscriptsOf,
  codexTranscripts,
  givenTranscripts,
  openclawTranscripts,
  type PlaceOptions,
  piTranscripts,
  type TranscriptFile,
} from "./places.ts";
import { projectDirectories } from "./project.ts";
import type { Agent } from "./session.ts";
import { type VoluteSessions, voluteSessions } from "./volute.ts";

export interface FindOptions {
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

/** Every file that is a transcript by place and name, or may be one by its content. */
export function* findTranscripts(paths: Paths, options: FindOptions = {}): Generator<TranscriptFile> {
  if (paths.transcripts.length > 0) {
    yield* givenTranscripts(paths.transcripts);
    return;
  }
  const { agent, directory, subagents = false, recent = false } = options;
  const places: PlaceOptions = {
    subagents,
    recent,
    directories: directory === undefined ? undefined : directoriesOf(directory),
  };
  const volute = voluteSessions(options.cwd ?? directory ?? process.cwd());
  if (agent === undefined || agent === "claude") yield* findClaude(paths, { places, volute });
  if (agent === undefined || agent === "pi") {
    yield* volute.transcripts;
    yield* piTranscripts(paths, places);
    yield* openclawTranscripts(paths);
  }
  if (agent === undefined || agent === "codex") yield* codexTranscripts(paths, places);
}

function* findClaude(
  paths: Paths,
  { places, volute }: { places: PlaceOptions; volute: VoluteSessions },
): Generator<TranscriptFile> {
  const unseen = new Set(volute.names.keys());
  for (const found of claudeTranscripts(paths, places)) {
    const id = found.id ?? "";
    if (unseen.delete(id) || volute.names.has(id)) yield { ...found, name: volute.names.get(id) };
    else yield volute.ephemeral.has(id) ? { ...found, ephemeral: true } : found;
  }
  // A mind's sessions are its own wherever they work.
  for (const id of places.directories ? unseen : []) {
    for (const found of claudeTranscriptsOf(paths, id)) yield { ...found, name: volute.names.get(id) };
  }
}

/** The directory as it was given stays beside the real ones: hosts differ in resolving symlinks. */
export function directoriesOf(directory: string): string[] {
  return [...new Set([directory, ...projectDirectories(directory)])];
}
