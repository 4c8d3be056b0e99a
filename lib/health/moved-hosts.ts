/** Finds hosts that changed where or how they write: a file in one of their places is new, and what was read of them is old. */

import { basename, join, sep } from "node:path";
import { changedMs, isFile, listEntries } from "../base/files.ts";
import { type Finding, warning } from "../base/findings.ts";
import { DAY_MS, formatAge } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import { hasPromptsAlone } from "../hosts/blocks.ts";
import { isoTime } from "../hosts/format.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { unpackedName } from "../hosts/names.ts";
import { statUnpacked } from "../hosts/packed.ts";
import { redact } from "../redact/redact.ts";
import { findTranscripts, listStores } from "../sessions/found.ts";
import type { TranscriptFile } from "../sessions/places.ts";
import { readTailBytes } from "../sessions/titles.ts";
import { openForeign } from "../store/sqlite.ts";
import { outermostEntries } from "../transcripts/cursor.ts";

const WEEK_MS = 7 * DAY_MS; // promised
/** A home is copied within this time, so that its files are about as old as each other. */
const COPYING_MS = 3_600_000;
const TAIL_BYTES = 64 * 1024; // some hundred rows
const DEPTH_MAX = 12; // no host has deeper places

/** Finds each host that wrote within a week while nothing of it was read for a week longer. */
export function* findMovedHosts(paths: PathsWithRules, now: number): Generator<Finding> {
  if (paths.transcripts.length > 0) return;
  // prompts are kept wherever the sessions are
  const transcripts = findTranscripts(paths, { subagents: true }).filter(
    ({ machine, archived, file }) => machine === undefined && !(archived && hasPromptsAlone(file)),
  );
  for (const host of HOSTS) {
    const own = transcripts.filter(({ agent }) => agent === host.agent);
    const what = describeMove(host, { own, paths, now });
    if (what !== undefined) yield warning(what, FOLLOW);
  }
}

const FOLLOW = "update session-memory: this version may not know where, or how, it writes now";

interface Look {
  /** The transcripts of the host, our copies of them among these. */
  own: readonly TranscriptFile[];
  paths: PathsWithRules;
  now: number;
}

function describeMove(host: Host, { own, paths, now }: Look): string | undefined {
  const files = own.map(({ file }) => file);
  const times = lastRead(files);
  const read = Math.max(0, ...times.values());
  const after = Math.max(read + WEEK_MS, now - WEEK_MS);
  if (after > now) return undefined;
  const known = new Set([...times.keys(), ...readableStores(host, paths)]);
  const theirs = [...known].filter((file) => !file.startsWith(paths.home)).map(writtenMs);
  const copied = theirs.filter((time) => time > read + WEEK_MS);
  const rowsMs = (file: string, written: number) =>
    newestTimeIn(file, written) ??
    (copied.some((time) => Math.abs(time - written) < COPYING_MS) ? 0 : written);
  const isRead = (file: string) => times.has(file) || tryLast(file) !== undefined;
  const byId = new Map(own.map(({ id, file }) => [id, file]));
  const isKnown = (file: string) =>
    known.has(unpackedName(file).replace(/-wal$|-shm$/, "")) ||
    file.split(sep).some((part) => isRead(byId.get(part.split(".", 1)[0]) ?? ""));
  const [newest] = [...new Set([...files, ...filesAt(host, paths)])]
    .map((file) => ({ file, at: writtenMs(file) }))
    .filter(({ file, at }) => at >= after && !isKnown(file))
    .map(({ file, at }) => ({ file, at: rowsMs(file, at) }))
    .sort((a, b) => b.at - a.at);
  if (!newest || newest.at < after) return undefined;
  const age = (time: number) => formatAge((now - time) / 1000);
  const last = read === 0 ? "no session of it is read" : `the newest session read is ${age(read)} old`;
  return `${host.name} wrote ${age(newest.at)} ago, ${last}: ${redact(newest.file)}`;
}

/** Returns the time of the last row of each readable transcript, as far as it may be the newest. */
function lastRead(files: readonly string[]): Map<string, number> {
  const times = new Map<string, number>();
  let newest = 0;
  const dated = files.map((file) => ({ file, written: writtenMs(file) }));
  for (const { file, written } of dated.sort((a, b) => b.written - a.written)) {
    if (written <= newest) break; // no row is newer than its file
    const last = tryLast(file);
    if (!last) continue;
    const time = Math.min(Date.parse(last.at ?? "") || written, written);
    times.set(file, time);
    newest = Math.max(newest, time);
  }
  return times;
}

function tryLast(file: string): ReturnType<typeof outermostEntries>[number] | undefined {
  try {
    return outermostEntries(file).at(-1);
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

function writtenMs(file: string): number {
  const stat = statUnpacked(file);
  return stat && stat.size > 0 ? changedMs(stat) : 0;
}

function readableStores(host: Host, paths: PathsWithRules): string[] {
  return listStores(host, paths).filter((file) => {
    try {
      host.store?.open(file, openForeign).close();
      return true;
    } catch {
      return false;
    }
  });
}

/** Times as programs write them: ISO, or seconds or milliseconds since 1970. */
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d)?|\b\d{10}(?:\d{3})?\b/g;

/** Returns the newest time that stands at the end of a text file, of those before it was written; undefined without any. */
function newestTimeIn(file: string, written: number): number | undefined {
  let tail = "";
  try {
    tail = readTailBytes(file, TAIL_BYTES).toString("latin1");
  } catch {
    // too large, damaged, or not ours to read
  }
  if (tail.includes("\0")) return undefined;
  const times = tail.match(TIMES)?.map((time) => Date.parse(isoTime(Number(time) || time) ?? ""));
  const past = times?.filter((time) => time <= written) ?? [];
  return past.length > 0 ? Math.max(...past) : undefined;
}

/** Files that clients keep beside sessions, or write when they are started without one. */
const STOCK =
  /^\.|^(?:session\.db|(?:meta|extract-cursor|sessions|sessions-index)\.json)|\.(?:(?:meta|runtime)\.json|log|lock|md|tmp|txt|yaml)$/;

/** Returns the files below the places of a host's sessions. */
function filesAt(
  { home, transcripts = [], store, unreadPlace }: Host,
  { expand, ...paths }: PathsWithRules,
): string[] {
  const homes = HOSTS.map((host) => expand(host.home)).filter((other) => other !== expand(home));
  const given = transcripts.map((place) => (typeof place === "string" ? { path: place } : place));
  const places = [...given, ...(store ? [{ path: store.files }] : [])].flatMap(({ path, ...place }) => {
    const root = "under" in place ? place.under?.({ expand, ...paths }) : expand(home);
    const [fixed = ""] = path.split(/[<*]/, 1);
    return root === undefined || homes.includes(root) ? [] : join(root, fixed);
  });
  if (unreadPlace !== undefined) places.push(expand(unreadPlace));
  return [...new Set(places)].flatMap((place) => (isFile(place) ? [place] : [...filesBelow(place)]));
}

function* filesBelow(folder: string, depth = 0): Generator<string> {
  for (const entry of listEntries(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < DEPTH_MAX) yield* filesBelow(path, depth + 1);
    else if (entry.isFile() && !STOCK.test(basename(path))) yield path;
  }
}
