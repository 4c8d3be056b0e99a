/** Finds hosts that changed where or how they write: the newest file in their places is new, and the newest that can be read is old. */

import { basename, join } from "node:path";
import { changedMs, isFile, listEntries } from "../base/files.ts";
import { type Finding, warning } from "../base/findings.ts";
import { DAY_MS, formatAge } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { statUnpacked } from "../hosts/packed.ts";
import { redact } from "../redact/redact.ts";
import { findTranscripts, listStores } from "../sessions/found.ts";
import { hasRows } from "../sessions/sessions.ts";
import { openForeign } from "../store/sqlite.ts";

const WEEK_MS = 7 * DAY_MS; // promised
const DEPTH_MAX = 12; // no host has deeper places

/** Finds each host that wrote within a week what cannot be read, and nothing else for a week before that. */
export function* findMovedHosts(paths: PathsWithRules, now: number): Generator<Finding> {
  if (paths.transcripts.length > 0) return;
  // copies of ours say nothing of what a host writes now
  const transcripts = findTranscripts(paths, { subagents: true }).filter(
    ({ machine, archived }) => machine === undefined && !archived,
  );
  const age = (time: number) => formatAge((now - time) / 1000);
  for (const host of HOSTS) {
    const stores = listStores(host, paths);
    const own = transcripts.flatMap(({ agent, file }) => (agent === host.agent ? file : []));
    const written = [...new Set([...stores, ...own, ...filesAt(host, paths)])]
      .map((file) => ({ file, at: Math.min(writtenMs(file), now) }))
      .sort((a, b) => b.at - a.at);
    const canRead = (file: string) => (stores.includes(file) ? opens(host, file) : hasRows(file));
    const [newest] = written;
    const read = written.find(({ file, at }) => at > 0 && canRead(file));
    if (!newest || newest.at < Math.max(now, (read?.at ?? 0) + 2 * WEEK_MS) - WEEK_MS) continue;
    const last = read ? `the newest session read is ${age(read.at)} old` : "no session of it is read";
    const what = `${host.name} wrote ${age(newest.at)} ago, ${last}: ${redact(newest.file)}`;
    yield warning(what, "update session-memory: this version may not know where, or how, it writes now");
  }
}

function writtenMs(file: string): number {
  const stat = statUnpacked(file);
  return stat && stat.size > 0 ? changedMs(stat) : 0;
}

function opens(host: Host, file: string): boolean {
  try {
    host.store?.open(file, openForeign).close();
    return true;
  } catch {
    return false;
  }
}

/** Files that clients keep beside sessions, or write when they are started without one. */
const STOCK =
  /^\.|-(?:wal|shm)$|^(?:session\.db|(?:meta|extract-cursor|sessions|sessions-index)\.json)|\.(?:(?:meta|runtime)\.json|log|lock|md|tmp|txt|yaml)$/;

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
