/**
 * Which other sessions may hold something that a session was not told: by names, sizes and times alone.
 *
 * This is all that a prompt with nothing new pays for, so no transcript is opened and nothing that can is imported.
 */

import { statSync } from "node:fs";
import type { Paths } from "./config.ts";
import { hasCode } from "./errors.ts";
import { findTranscripts } from "./find.ts";
import { type CursorFile, cursorFileOf, hasMoved, type Marks, readMarks } from "./marks.ts";
import type { TranscriptFile } from "./places.ts";

/** The session that looks. */
export interface Looker {
  id: string;
  /** Its transcript, which may not be there yet. @default found by the id */
  file?: string | undefined;
  /** Where it works: decides which sessions are of the same project. */
  cwd: string;
}

export interface LookOptions {
  paths: Paths;
  looker: Looker;
  scope: "project" | "all";
  /** Milliseconds. @default now */
  now?: number | undefined;
  /** Milliseconds: what changed since then counts, whatever the marks say. @default by the marks */
  changedAfter?: number | undefined;
}

/** A file that is, or may be, another session's. */
export interface Sighting {
  found: TranscriptFile;
  size: number;
  /** Modification time, in milliseconds. */
  modifiedAt: number;
  /** When the file or its place last changed, in milliseconds. */
  changedAt: number;
}

export interface Look {
  looker: Looker;
  now: number;
  cursors: CursorFile;
  /** Undefined when the session never looked before. */
  marks: Marks | undefined;
  /** Files that are not where they were left. */
  changed: Sighting[];
  /** All files of the last hour, changed or not. */
  recent: string[];
}

/** What is older is not told at the first look at a session. */
export const FIRST_LOOK_MS = 3_600_000;

/**
 * Looks at the other sessions' files.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when the cursor file is damaged.
 */
export function takeLook({ paths, looker, scope, now = Date.now(), changedAfter }: LookOptions): Look {
  const cursors = cursorFileOf(paths.cursors, looker.id);
  const marks = readMarks(cursors);
  // At a session's first prompt the host names a file that it has yet to write.
  const own = looker.file !== undefined && statOf(looker.file) ? looker.file : undefined;
  const look: Look = { looker: { ...looker, file: own }, now, cursors, marks, changed: [], recent: [] };
  const isChanged = changedAfter === undefined ? changeDetector(look) : newerThan(changedAfter);
  const hour = now - FIRST_LOOK_MS;
  for (const sighting of sightingsOf(paths, { looker, scope })) {
    const { file, id } = sighting.found;
    if (file === looker.file || id === looker.id) look.looker.file ??= file;
    else {
      if (sighting.modifiedAt > hour) look.recent.push(file);
      if (isChanged(sighting)) look.changed.push(sighting);
    }
  }
  return look;
}

/** Every file once, and of several copies of one session the newest. */
function sightingsOf(
  paths: Paths,
  { looker, scope }: Pick<LookOptions, "looker" | "scope">,
): Iterable<Sighting> {
  const sightings = new Map<string, Sighting>();
  const directory = scope === "project" ? looker.cwd : undefined;
  for (const found of findTranscripts(paths, { directory, recent: true, cwd: looker.cwd })) {
    if (found.ephemeral) continue;
    const stat = statOf(found.file);
    if (!stat) continue;
    const { size, mtimeMs, ctimeMs } = stat;
    const key = isTold(found) ? `${found.agent} ${found.id}` : found.file;
    const other = sightings.get(key);
    if (other) found.name ??= other.found.name; // the name may hang on the older copy
    if (other && other.modifiedAt >= mtimeMs) continue;
    sightings.set(key, { found, size, modifiedAt: mtimeMs, changedAt: Math.max(mtimeMs, ctimeMs) });
  }
  return sightings.values();
}

function changeDetector({ looker, now, cursors, marks }: Look): (sighting: Sighting) => boolean {
  // Whatever was there at the very first look and was old then is news from then on only.
  const since = Date.parse(marks?.get(looker.id)?.since ?? "") || now;
  const firstLook = Math.min(now - FIRST_LOOK_MS, since);
  // A file whose session only its content tells has no mark that could be found: all that moved counts.
  const isMoved = newerThan(Math.min(firstLook, (statOf(cursors.path)?.mtimeMs ?? now) - 1));
  return (sighting) => {
    if (!isTold(sighting.found)) return isMoved(sighting);
    const mark = marks?.get(sighting.found.id ?? "");
    return mark ? hasMoved(mark, sighting) : sighting.modifiedAt > firstLook;
  };
}

function newerThan(time: number): (sighting: Sighting) => boolean {
  return ({ changedAt }) => changedAt > time;
}

function isTold({ agent, id }: TranscriptFile): boolean {
  return agent !== undefined && id !== undefined;
}

/** Whether the looking session itself did something since it looked, or looks for the first time. */
export function isDue({ looker, marks }: Pick<Look, "looker" | "marks">): boolean {
  const own = marks?.get(looker.id);
  const stat = looker.file === undefined ? undefined : statOf(looker.file);
  return !own || (stat !== undefined && hasMoved(own, { size: stat.size, modifiedAt: stat.mtimeMs }));
}

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (hasCode(error, "EACCES", "ENOTDIR", "EPERM", "ELOOP")) return undefined;
    throw error;
  }
}
