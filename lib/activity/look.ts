/**
 * Which other sessions may hold something that a session was not told: by names, sizes and times alone.
 *
 * This is all that a prompt with nothing new pays for, so no transcript is opened and nothing that can is imported.
 */

import type { Stats } from "node:fs";
import { statOf } from "../base/probe.ts";
import type { Paths } from "../config/config.ts";
import { findTranscripts } from "../sessions/find.ts";
import type { TranscriptFile } from "../sessions/places.ts";
import { type CursorFile, cursorFileOf, hasMoved, type Marks, readMarks } from "./marks.ts";

/** The session that looks. */
export interface Looker {
  id: string;
  /** Its transcript, which may not be there yet. @default found by the id */
  file?: string | undefined;
  /** Where it works: decides which sessions are of the same project. */
  cwd: string;
}

interface LookOptions {
  paths: Paths;
  looker: Looker;
  scope: "project" | "all";
  /** Milliseconds. @default now */
  now?: number | undefined;
  /** Milliseconds: what changed since then counts, whatever the marks say. @default by the marks */
  changedAfter?: number | undefined;
}

/** A file that is, or may be, another session's. */
interface Sighting {
  found: TranscriptFile;
  size: number;
  /** Modification time, in milliseconds. */
  modifiedAt: number;
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
  const directory = scope === "project" ? looker.cwd : undefined;
  const all = findTranscripts(paths, { directory, recent: true, cwd: looker.cwd });
  const recent: Sighting[] = [];
  const ids = new Set<string>();
  let hasCopies = false;
  for (const found of all) {
    if (found.file === looker.file || found.id === looker.id) {
      look.looker.file ??= found.file;
      continue;
    }
    if (found.id !== undefined) {
      hasCopies ||= ids.has(found.id);
      ids.add(found.id);
    }
    const stat = statOf(found.file);
    if (!stat || found.ephemeral) continue;
    const isRecent = stat.mtimeMs > hour;
    const isNew = isChanged(found, stat);
    // Only the few that matter get an object: hundreds more would cost as much as listing them.
    if (!isRecent && !isNew) continue;
    const sighting = { found, size: stat.size, modifiedAt: stat.mtimeMs };
    if (isRecent) recent.push(sighting);
    if (isNew) look.changed.push(sighting);
  }
  // Comparing each with all would cost as much as listing them, and seldom are there any.
  const isNewest = (sighting: Sighting) => !hasCopies || isNewestCopy(sighting, all);
  look.changed = look.changed.filter(isNewest);
  look.recent = recent.filter(isNewest).map(({ found }) => found.file);
  return look;
}

/** A session that was moved may lie in two places: the newer file counts, under whichever name either has. */
function isNewestCopy({ found, modifiedAt }: Sighting, all: readonly TranscriptFile[]): boolean {
  if (!isTold(found)) return true;
  for (const other of all) {
    if (other === found || other.id !== found.id || other.agent !== found.agent) continue;
    found.name ??= other.name;
    if ((statOf(other.file)?.mtimeMs ?? 0) > modifiedAt) return false;
  }
  return true;
}

type Detector = (found: TranscriptFile, stat: Stats) => boolean;

function changeDetector({ looker, now, cursors, marks }: Look): Detector {
  // Whatever was there at the very first look and was old then is news from then on only.
  const since = Date.parse(marks?.get(looker.id)?.since ?? "") || now;
  const firstLook = Math.min(now - FIRST_LOOK_MS, since);
  // A file whose session only its content tells has no mark that could be found: all that moved counts.
  const isMoved = newerThan(Math.min(firstLook, (statOf(cursors.path)?.mtimeMs ?? now) - 1));
  return (found, stat) => {
    if (!isTold(found)) return isMoved(found, stat);
    const mark = marks?.get(found.id ?? "");
    return mark ? hasMoved(mark, { size: stat.size, modifiedAt: stat.mtimeMs }) : stat.mtimeMs > firstLook;
  };
}

function newerThan(time: number): Detector {
  return (_found, { mtimeMs, ctimeMs }) => mtimeMs > time || ctimeMs > time;
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
