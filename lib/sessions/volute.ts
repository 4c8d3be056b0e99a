/** Finds the named sessions of a Volute mind in the nearest `.volute` folder. Runs before every prompt: opens no transcript. */

import { dirname, join, resolve } from "node:path";
import { changedMs, isDirectory, listEntries, readText, resolveRealPath, statPath } from "../base/files.ts";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { linesName } from "../hosts/names.ts";
import type { Agent } from "../hosts/session.ts";
import { TABLE } from "../hosts/table.ts";

interface VoluteSessions {
  /** Names of sessions in a host's own places, by their id. */
  names: Map<string, string>;
  /** Ids of temporary sessions. */
  ephemeral: Set<string>;
  /** The mind's sessions in its own folder. */
  transcripts: { agent: Agent; file: string; name: string }[];
}

/**
 * Returns the sessions of the mind that a directory belongs to; none outside of one. Its own transcripts are among them
 * if its folder is `taken`, or without a list.
 */
export function voluteSessions(directory: string, taken?: Paths["volute"]): VoluteSessions {
  const sessions: VoluteSessions = { names: new Map(), ephemeral: new Set(), transcripts: [] };
  const folder = findVolute(directory);
  if (folder === undefined) return sessions;
  for (const entry of listEntries(join(folder, "sessions"))) {
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
  const real = resolveRealPath(folder);
  return taken.some((path) => path === folder || (real !== undefined && resolveRealPath(path) === real));
}

function ownTranscripts(folder: string): VoluteSessions["transcripts"] {
  return TABLE.flatMap(({ agent, volute }) => {
    if (typeof volute !== "object") return [];
    const place = join(folder, volute.folder);
    return listEntries(place).flatMap((entry) => {
      if (!entry.isDirectory() || isEphemeral(entry.name)) return [];
      const file = newestTranscript(join(place, entry.name));
      return file === undefined ? [] : [{ agent, file, name: entry.name }];
    });
  });
}

/** Returns the paths for a command that a user or an agent runs in a folder: it reads the `.volute` there, whoever made it. */
export function withVoluteAt<T extends Paths>(paths: T, directory: string): T {
  const folder = findVolute(directory);
  if (folder === undefined || isTaken(folder, paths.volute)) return paths;
  return { ...paths, volute: [...paths.volute, folder], visited: folder };
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
  for (const entry of listEntries(folder)) {
    if (!entry.isFile() || linesName(entry.name) === undefined) continue;
    const file = join(folder, entry.name);
    const stat = statPath(file);
    const changed = stat ? changedMs(stat) : 0;
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
