/** Named sessions of a Volute mind: the nearest `.volute` folder at or above a directory. */

import { dirname, join, resolve } from "node:path";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { piTranscript, type TranscriptFile, transcriptsUnder } from "./places.ts";
import { entriesOf, isDirectory, statOf, textOf } from "./witness.ts";

export interface VoluteSessions {
  /** Names of Claude Code sessions by their id. */
  names: Map<string, string>;
  /** Ids of sessions that are not meant to be seen again. */
  ephemeral: Set<string>;
  /** The mind's pi sessions, which lie in its own folder. */
  transcripts: TranscriptFile[];
}

/** What the mind that a directory belongs to calls its sessions; nothing outside of one. */
export function voluteSessions(directory: string): VoluteSessions {
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
  for (const entry of entriesOf(join(folder, "pi-sessions"))) {
    if (!entry.isDirectory() || isEphemeral(entry.name)) continue;
    const file = newestTranscript(join(folder, "pi-sessions", entry.name));
    if (file !== undefined) sessions.transcripts.push({ ...piTranscript(file), name: entry.name });
  }
  return sessions;
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
    // Names begin with the time, so they decide between files of the same moment.
    if (!newest || changed > newest.changed || (changed === newest.changed && file > newest.file)) {
      newest = { file, changed };
    }
  }
  return newest?.file;
}

function recordIn(file: string): JsonRecord {
  try {
    return recordOf(JSON.parse(textOf(file)));
  } catch {
    return {}; // half written, or no JSON at all
  }
}
