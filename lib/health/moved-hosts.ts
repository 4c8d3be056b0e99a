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
import { statUnpacked } from "../hosts/packed.ts";
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

/** Finds each host that wrote within a week while nothing of it was read for a week longer, by the times of rows. */
export function* findMovedHosts(paths: PathsWithRules, now: number): Generator<Finding> {
  if (paths.transcripts.length > 0) return;
  // prompts are kept wherever the sessions are
  const transcripts = findTranscripts(paths, { subagents: true }).filter(
    ({ machine, archived, file }) => machine === undefined && !(archived && hasPromptsAlone(file)),
  );
  for (const host of HOSTS) {
    const own = transcripts.filter(({ agent }) => agent === host.agent);
    const what = describeMove(host, { own, paths, now });
    if (what !== undefined)
      yield warning(what, "update session-memory: this version may not know where, or how, it writes now");
  }
}

interface Look {
  /** The transcripts of the host, our copies of them among these. */
  own: readonly TranscriptFile[];
  paths: PathsWithRules;
  now: number;
}

function describeMove(host: Host, { own, paths, now }: Look): string | undefined {
  const stores = listStores(host, paths);
  const written = [...new Set([...stores, ...own.map(({ file }) => file), ...filesAt(host, paths)])]
    .map((file) => ({ file, at: Math.min(writtenMs(file), now) }))
    .sort((a, b) => b.at - a.at);
  let read = 0;
  const [known, unread]: [number[], typeof written] = [[], []];
  for (const { file, at } of written) {
    if (at <= read) break; // no row is newer than its file
    // a store's rows are in our copies
    const last = stores.includes(file) ? opens(host, file) : lastRowMs(file);
    // a host writes no copy of ours
    if (!file.startsWith(paths.home)) {
      if (last === undefined) unread.push({ file, at });
      else known.push(at);
    }
    read = Math.max(read, Math.min(last ?? 0, at));
  }
  const isCopied = (at: number) =>
    known.some((time) => time > read + WEEK_MS && Math.abs(time - at) < COPYING_MS);
  const fileOf = new Map(own.map(({ id, file }) => [id, file]));
  // what lies beside a session that is read, such as its title
  const isBeside = (file: string) =>
    file.split(sep).some((part) => lastRowMs(fileOf.get(part.split(".", 1)[0]) ?? "") !== undefined);
  const [newest] = unread
    .filter(({ file }) => !isBeside(file))
    .map(({ file, at }) => ({ file, at: newestTimeIn(file, at) ?? (isCopied(at) ? 0 : at) }))
    .sort((a, b) => b.at - a.at);
  if (!newest || newest.at < Math.max(now, read + 2 * WEEK_MS) - WEEK_MS) return undefined;
  const age = (time: number) => formatAge((now - time) / 1000);
  const last = read > 0 ? `the newest session read is ${age(read)} old` : "no session of it is read";
  return `${host.name} wrote ${age(newest.at)} ago, ${last}: ${newest.file}`;
}

function writtenMs(file: string): number {
  const stat = statUnpacked(file);
  return stat && stat.size > 0 ? changedMs(stat) : 0;
}

/** Returns the time of a transcript's last row; undefined where no row can be read. */
function lastRowMs(file: string): number | undefined {
  try {
    const last = outermostEntries(file).at(-1);
    return last && (Date.parse(last.at ?? "") || Number.POSITIVE_INFINITY);
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

/** Times as programs write them: ISO, or seconds or milliseconds since 1970. */
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d)?|\b\d{10}(?:\d{3})?\b/g;

/** Returns the newest time that stands at the end of a text file, of those before it was written; undefined without any. */
function newestTimeIn(file: string, written: number): number | undefined {
  const tail = tryTail(file);
  const times = tail.includes("\0") ? [] : (tail.match(TIMES) ?? []);
  const past = times
    .map((time) => Date.parse(isoTime(Number(time) || time) ?? ""))
    .filter((time) => time <= written);
  return past.length > 0 ? Math.max(...past) : undefined;
}

function tryTail(file: string): string {
  try {
    return readTailBytes(file, TAIL_BYTES).toString("latin1");
  } catch {
    return ""; // too large, damaged, or not ours to read
  }
}

/** Returns 0, no time, for a store that can be read, else undefined. */
function opens(host: Host, file: string): 0 | undefined {
  try {
    host.store?.open(file, openForeign).close();
    return 0;
  } catch {
    return undefined;
  }
}

/** Files that clients keep beside sessions, or write when they are started without one. */
const STOCK =
  /^\.|-(?:wal|shm)$|^(?:session\.db|(?:meta|extract-cursor|sessions|sessions-index)\.json)|\.(?:(?:meta|runtime)\.json|log|lock|md|tmp|txt|yaml)$/;

/** Returns the files below the places of a host's sessions. */
function filesAt(
  { home, transcripts = [], store, unreadPlaces = [] }: Host,
  { expand, ...paths }: PathsWithRules,
): string[] {
  const homes = HOSTS.map((host) => expand(host.home)).filter((other) => other !== expand(home));
  const given = transcripts.map((place) => (typeof place === "string" ? { path: place } : place));
  const places = [...given, ...(store ? [{ path: store.files }] : [])].flatMap(({ path, ...place }) => {
    const root = "under" in place ? place.under?.({ expand, ...paths }) : expand(home);
    const [fixed = ""] = path.split(/[<*]/, 1);
    return root === undefined || homes.includes(root) ? [] : join(root, fixed);
  });
  places.push(...unreadPlaces.map(expand));
  return [...new Set(places)].flatMap((place) => (isFile(place) ? [place] : [...filesBelow(place)]));
}

function* filesBelow(folder: string, depth = 0): Generator<string> {
  for (const entry of listEntries(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < DEPTH_MAX) yield* filesBelow(path, depth + 1);
    else if (entry.isFile() && !STOCK.test(basename(path))) yield path;
  }
}
