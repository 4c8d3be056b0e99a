/**
 * Finds transcripts by place and name, and the named sessions of a Volute mind from the nearest `.volute` folder. Opens no
 * transcript and imports nothing that could: this runs before every prompt.
 */

import { dirname, join, resolve } from "node:path";
import { entriesOf, isDirectory, readText, realPathOf, statOf } from "../base/files.ts";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { HOSTS } from "../transcripts/hosts.ts";
import type { Agent } from "../transcripts/session.ts";
import {
  claudeTranscripts,
  codexTranscripts,
  findClaudeTranscripts,
  givenTranscripts,
  hostTranscripts,
  openclawTranscripts,
  type PlaceOptions,
  piTranscript,
  piTranscripts,
  syncedTranscripts,
  type TranscriptFile,
  transcriptsUnder,
} from "./places.ts";
import { projectDirectories } from "./project.ts";

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
  const directories = directory === undefined ? undefined : listDirectories(directory);
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
    ...HOSTS.flatMap((host) => (isWanted(host.agent) ? hostTranscripts(host, paths, places) : [])),
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
    for (const elsewhere of findClaudeTranscripts(paths, id))
      found.push({ ...elsewhere, name: names.get(id) });
  }
  return found;
}

/** Returns the given directory too: hosts differ in resolving symlinks. */
export function listDirectories(directory: string): string[] {
  return [...new Set([directory, ...projectDirectories(directory)])];
}

interface VoluteSessions {
  /** Names of Claude Code sessions by their id. */
  names: Map<string, string>;
  /** Ids of temporary sessions. */
  ephemeral: Set<string>;
  /** The mind's pi sessions in its own folder. */
  transcripts: TranscriptFile[];
}

/**
 * Returns the sessions of the mind that a directory belongs to; none outside of one. Its own transcripts are among them
 * where its folder is `taken`, or where no list is given.
 */
export function voluteSessions(directory: string, taken?: Paths["volute"]): VoluteSessions {
  const sessions: VoluteSessions = { names: new Map(), ephemeral: new Set(), transcripts: [] };
  const folder = findVolute(directory);
  if (folder === undefined) return sessions;
  for (const entry of entriesOf(join(folder, "sessions"))) {
    if (!entry.isFile() || !entry.name.endsWith(".json")) continue;
    const id = stringOf(recordIn(join(folder, "sessions", entry.name)).sessionId);
    const name = entry.name.slice(0, -".json".length);
    if (id !== undefined && isEphemeral(name)) sessions.ephemeral.add(id);
    else if (id !== undefined) sessions.names.set(id, name);
  }
  if (!taken || isTaken(folder, taken)) sessions.transcripts.push(...ownTranscripts(folder));
  return sessions;
}

/** Returns a directory's `.volute` folder with transcripts that are not taken, and their number. */
export function untakenVolute(
  directory: string,
  taken: Paths["volute"],
): { folder: string; transcripts: number } | undefined {
  const folder = findVolute(directory);
  if (folder === undefined || isTaken(folder, taken)) return undefined;
  const transcripts = ownTranscripts(folder).length;
  return transcripts > 0 ? { folder, transcripts } : undefined;
}

function isTaken(folder: string, taken: Paths["volute"]): boolean {
  if (taken.length === 0) return false;
  const real = realPathOf(folder);
  return taken.some((path) => path === folder || (real !== undefined && realPathOf(path) === real));
}

function ownTranscripts(folder: string): TranscriptFile[] {
  return entriesOf(join(folder, "pi-sessions")).flatMap((entry) => {
    if (!entry.isDirectory() || isEphemeral(entry.name)) return [];
    const file = newestTranscript(join(folder, "pi-sessions", entry.name));
    return file === undefined ? [] : [{ ...piTranscript(file), name: entry.name }];
  });
}

/** Returns the paths for a command that a user or an agent runs in a folder: it reads the `.volute` there, whoever made it. */
export function withVoluteAt<T extends Paths>(paths: T, directory: string): T {
  const folder = findVolute(directory);
  return folder === undefined ? paths : { ...paths, volute: [...paths.volute, folder] };
}

function findVolute(directory: string): string | undefined {
  for (let path = resolve(directory); ; path = dirname(path)) {
    if (isDirectory(join(path, ".volute"))) return join(path, ".volute");
    if (path === dirname(path)) return undefined;
  }
}

function isEphemeral(name: string): boolean {
  return name.startsWith("new-");
}

function newestTranscript(folder: string): string | undefined {
  let newest: { file: string; changed: number } | undefined;
  for (const file of transcriptsUnder(folder)) {
    const changed = statOf(file)?.mtimeMs ?? 0;
    // Names begin with the time and decide between files of the same moment.
    if (!newest || changed > newest.changed || (changed === newest.changed && file > newest.file)) {
      newest = { file, changed };
    }
  }
  return newest?.file;
}

function recordIn(file: string): JsonRecord {
  try {
    return recordOf(JSON.parse(readText(file)));
  } catch {
    return {}; // half written, or not JSON
  }
}
