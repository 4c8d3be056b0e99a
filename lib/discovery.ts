/** Which files are sessions: found by place and name, told by content only where place and name do not say. */

import { statSync } from "node:fs";
import { basename } from "node:path";
import type { Paths } from "./config.ts";
import {
  claudeTranscripts,
  claudeTranscriptsOf,
  codexId,
  codexTranscripts,
  givenTranscripts,
  isClaudeSubagent,
  openclawTranscripts,
  type PlaceOptions,
  piTranscripts,
  type TranscriptFile,
} from "./places.ts";
import { projectDirectories } from "./project.ts";
import type { Agent, Session } from "./session.ts";
import { type Head, readHead } from "./transcript.ts";
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

/** What an id may look like that pi took from its user: never a path. */
const PI_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?$/;

/** Every file that is a transcript by place and name, or may be one by its content. No transcript is opened. */
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

/** A found file as a session; undefined when it is gone, no transcript, or not changed after the given time. */
export function sessionOf(
  found: TranscriptFile,
  { changedAfter = Number.NEGATIVE_INFINITY }: { changedAfter?: number | undefined } = {},
): Session | undefined {
  const stat = statOf(found.file);
  if (!stat?.isFile() || stat.mtimeMs <= changedAfter) return undefined;
  const { agent, id, parentId, name, file } = isTold(found) ? found : (identify(found) ?? found);
  if (agent === undefined || id === undefined || (found.subagent && parentId === undefined)) return undefined;
  return { id, agent, file, name, parentId, updatedAt: stat.mtime.toISOString(), size: stat.size };
}

function isTold({ agent, id, subagent, parentId }: TranscriptFile): boolean {
  return agent !== undefined && id !== undefined && (!subagent || parentId !== undefined);
}

/** What only the content tells: the agent, pi's id, the parent of a subagent that lies beside its parent. */
function identify(found: TranscriptFile): TranscriptFile | undefined {
  const head = headOf(found.file);
  if (!head || (found.agent !== undefined && head.agent !== found.agent)) return undefined;
  const id = idOf(found.file, head);
  return { ...found, agent: head.agent, id, parentId: found.parentId ?? parentOf(id, head) };
}

function idOf(file: string, head: Head): string | undefined {
  if (head.agent === "pi") return head.id !== undefined && PI_ID.test(head.id) ? head.id : undefined;
  const stem = basename(file, ".jsonl");
  return head.agent === "codex" ? (codexId(file) ?? stem) : stem;
}

/** The session that a subagent's transcript belongs to. Main ones of old versions hold sidechain rows too. */
export function parentOf(id: string | undefined, head: Head | undefined): string | undefined {
  if (head?.agent !== "claude" || !id || !isClaudeSubagent(id)) return undefined;
  return head.parentId === id ? undefined : head.parentId;
}

/** What a file's first rows say; undefined when they say nothing or cannot be read. */
export function headOf(file: string): Head | undefined {
  try {
    return readHead(file);
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

function statOf(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined; // behind a folder that we may not enter
  }
}

/** Sorts newest first, and keeps of several copies of one session the newest alone. */
export function newestCopies(sessions: Session[]): Session[] {
  sessions.sort((a, b) => order(b.updatedAt, a.updatedAt) || order(a.id, b.id) || order(a.file, b.file));
  const kept = new Map<string, Session>();
  for (const session of sessions) {
    const key = `${session.agent} ${session.id}`;
    const newer = kept.get(key);
    if (!newer) kept.set(key, session);
    // The name may hang on the older copy.
    else if (newer.name === undefined) newer.name = session.name;
  }
  return [...kept.values()];
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
