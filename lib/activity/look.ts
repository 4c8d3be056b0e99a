/**
 * Finds the other sessions that may have news for the viewer, by names, sizes and times alone.
 *
 * A prompt without news runs nothing else, so no transcript is opened and nothing that could open one is imported.
 */

import type { Stats } from "node:fs";
import { join } from "node:path";
import { changedMs, cutStem, readJson, statPath } from "../base/files.ts";
import { isRecord, recordOf } from "../base/json.ts";
import type { Paths, Settings } from "../config/config.ts";
import type { Viewer } from "../hosts/session.ts";
import type { TranscriptFile } from "../sessions/places.ts";
import { newsFile, recentTranscripts, statStored } from "../sessions/places.ts";

interface LookOptions {
  paths: Paths;
  viewer: Viewer;
  scope: "project" | "all";
  /** Milliseconds. @default now */
  now?: number | undefined;
  /** Milliseconds: changes since then count, whatever the marks say. @default by the marks */
  changedAfter?: number | undefined;
}

/** A file that is, or may be, another session's transcript. */
export interface Sighting {
  found: TranscriptFile;
  stat: Pick<Stats, "size" | "mtimeMs">;
  /** Modification time, in milliseconds. */
  modifiedAt: number;
}

export interface Look {
  viewer: Viewer;
  now: number;
  marksFile: MarksFile;
  /** Undefined at the viewer's first look. */
  marks: Marks | undefined;
  /** Files that changed since their marks. */
  changed: Sighting[];
  /** The files of the last hour, changed or not: the newest first, and not more than may be compared. */
  recent: string[];
  /** True if sessions that are copies may have news: they were written since the viewer last looked. */
  mayHaveNews: boolean;
}

/** A look before the files are listed. */
export type Glance = Pick<Look, "viewer" | "now" | "marksFile" | "marks">;

/** Forks are made of sessions in use: a transcript beyond the newest of an hour is hardly an original. */
const RECENT_MAX = 100;
/** The first look at a session reports nothing older. */
export const FIRST_LOOK_MS = 3_600_000;

/** Looks at the other sessions' files for a digest; undefined where that is switched off. */
export function lookForDigest({
  activity: { digest, maxChars, scope },
  ...options
}: Pick<LookOptions, "paths" | "viewer"> & { activity: Settings["activity"] }): Look | undefined {
  return digest && maxChars > 0 ? takeLook({ ...options, scope }) : undefined;
}

/** Looks at the other sessions' files. */
export function takeLook({ paths, viewer, scope, now = Date.now(), changedAfter }: LookOptions): Look {
  const marksFile = findMarksFile(paths.cursors, viewer.id);
  const marks = readMarks(marksFile);
  // At the first prompt the host names a file that it has yet to write.
  const own = viewer.file !== undefined && statStored(viewer.file)?.isFile() ? viewer.file : undefined;
  const known = { viewer: { ...viewer, file: own }, now, marksFile, marks };
  const isChanged = changedAfter === undefined ? changeDetector(known) : newerThan(changedAfter);
  const directory = scope === "project" ? viewer.cwd : undefined;
  const changed: Sighting[] = [];
  const recent: Sighting[] = [];
  const newest = new Map<string | undefined, number>();
  for (const found of recentTranscripts(paths, { directory, cwd: viewer.cwd })) {
    if (found.file === viewer.file || found.id === viewer.id) {
      known.viewer.file ??= found.file;
      continue;
    }
    const stat = statPath(found.file);
    if (!stat || found.ephemeral) continue;
    const modifiedAt = changedMs(stat);
    if (found.id !== undefined) newest.set(found.id, Math.max(modifiedAt, newest.get(found.id) ?? 0));
    const isRecent = modifiedAt > now - FIRST_LOOK_MS;
    // Objects only for the few that matter: hundreds more would cost as much as listing them.
    if (isRecent) recent.push({ found, stat, modifiedAt });
    if (isChanged(found, stat)) changed.push({ found, stat, modifiedAt });
  }
  // a session that was moved, or that a sync tool copied, has several files
  const isNewest = ({ found, modifiedAt }: Sighting) => modifiedAt >= (newest.get(found.id) ?? 0);
  const latest = recent.sort((a, b) => b.modifiedAt - a.modifiedAt).slice(0, RECENT_MAX);
  return {
    ...known,
    changed: changed.filter(isNewest),
    recent: latest.filter(isNewest).map(({ found }) => found.file),
    mayHaveNews: changedAfter !== undefined || mayHaveNews(paths, marksFile),
  };
}

/** Returns whether copies were written since the viewer last looked. */
function mayHaveNews(paths: Paths, { path }: MarksFile): boolean {
  const changed = (file: string) => statPath(file)?.mtimeMs ?? 0;
  return changed(newsFile(paths)) > Math.max(changed(path), changed(ownMarksFile(path)));
}

type Detector = (found: TranscriptFile, stat: Stats) => boolean;

/** Returns the time after which rows of sessions without a mark are news, in milliseconds: those before were old at the first look. */
export function newsAfter({ viewer, now, marks }: Pick<Glance, "viewer" | "now" | "marks">): number {
  const since = Date.parse(marks?.get(viewer.id)?.since ?? "") || now;
  return Math.min(now - FIRST_LOOK_MS, since);
}

function changeDetector(glance: Glance): Detector {
  const { marksFile, marks, now } = glance;
  const firstLook = newsAfter(glance);
  // Without an id no mark can be found, so every change counts.
  const isMoved = newerThan(Math.min(firstLook, (statPath(marksFile.path)?.mtimeMs ?? now) - 1));
  return (found, stat) => {
    const mark = marks?.get(markKey(found));
    if (!mark && (found.agent === undefined || found.id === undefined)) return isMoved(found, stat);
    return mark ? hasMoved(mark, stat) : stat.mtimeMs > firstLook;
  };
}

function newerThan(time: number): Detector {
  return (_found, { mtimeMs, ctimeMs }) => mtimeMs > time || ctimeMs > time;
}

/** Returns whether the viewer's mark of itself is missing or outdated. */
export function hasViewerMoved({ viewer, marks }: Pick<Look, "viewer" | "marks">): boolean {
  const own = marks?.get(viewer.id);
  const stat = viewer.file === undefined ? undefined : statStored(viewer.file);
  return !own || (stat !== undefined && hasMoved(own, stat));
}

/** The place in a transcript up to which a viewer has seen it. */
export interface Mark {
  /** The first unseen byte, where a line begins. */
  offset: number;
  /** A hash of bytes before the offset, and the file's modification time at that moment. */
  fingerprint: string;
  /** On a viewer's mark of itself: the time of its first look. */
  since?: string | undefined;
  /** The file's size when it was looked at, where more than the seen rows was in it and nothing of that is news yet. */
  passed?: number | undefined;
}

/** Returns the key of a file's mark: its session's id, where its name gives that. */
export function markKey({ id, file }: TranscriptFile): string {
  return id ?? file;
}

export type Marks = ReadonlyMap<string, Mark>;

/** The file with a viewer's marks of others. */
export interface MarksFile {
  path: string;
  viewerId: string;
}

/** Returns the file with a viewer's marks. No id leads out of the folder. */
export function findMarksFile(folder: string, viewerId: string): MarksFile {
  return { path: join(folder, `${cutStem(encodeURIComponent(viewerId.toWellFormed()))}.json`), viewerId };
}

/** Returns the file with what is due to a viewer, beside its marks. */
export function dueFile({ cursors }: Pick<Paths, "cursors">, viewerId: string): string {
  return `${findMarksFile(cursors, viewerId).path}.due`;
}

/** Reads a viewer's marks; undefined before its first look, and when the file is damaged. */
export function readMarks({ path, viewerId }: MarksFile): Marks | undefined {
  const own = readMarksFile(path)[viewerId];
  if (!isRecord(own)) return undefined;
  const marks = new Map<string, Mark>();
  const self = parseMark(readOwnMarks(path)[viewerId]);
  if (self) marks.set(viewerId, self);
  for (const [id, value] of Object.entries(own)) {
    const mark = parseMark(value);
    if (mark) marks.set(id, mark);
  }
  return marks;
}

/** Reads the viewers' marks of themselves from beside their marks of others; none when that file is missing or damaged. */
export function readOwnMarks(path: string): Record<string, unknown> {
  return readMarksFile(ownMarksFile(path));
}

/** Returns the file with the viewers' marks of themselves, beside their marks of others. */
export function ownMarksFile(path: string): string {
  return `${path}.own`;
}

/** Returns whether a file of this size and time may have rows after the mark. Opens nothing. */
function hasMoved({ offset, fingerprint, passed }: Mark, { size, mtimeMs }: Stats): boolean {
  return size !== (passed ?? offset) || !fingerprint.endsWith(`@${Math.trunc(mtimeMs)}`);
}

/** Reads the unparsed marks of all viewers in a file; none when it is missing or damaged. */
export function readMarksFile(path: string): Record<string, unknown> {
  return recordOf(readJson(path));
}

/** Parses a mark; undefined when it is not one. */
export function parseMark(value: unknown): Mark | undefined {
  if (!isRecord(value)) return undefined;
  const { offset, fingerprint = "", since, passed } = value;
  if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0) return undefined;
  if (typeof fingerprint !== "string") return undefined;
  const mark: Mark = { offset, fingerprint };
  if (typeof since === "string") mark.since = since;
  if (typeof passed === "number") mark.passed = passed;
  return mark;
}
