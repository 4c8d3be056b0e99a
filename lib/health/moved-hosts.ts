/**
 * Finds hosts that changed where or how they write: something in a host's home is new, and what is read of it is old. Also
 * names the files at the places of its transcripts that fit no format.
 */

import type { Dirent } from "node:fs";
import { basename, extname, join, sep } from "node:path";
import {
  changedMs,
  hasPromptsAlone,
  isConflictCopy,
  isDirectory,
  listEntries,
  readJson,
  replaceFile,
  statPath,
  statUnpacked,
  whyUnwritable,
} from "../base/files.ts";
import { numberOf, recordOf } from "../base/json.ts";
import { counted, listed, shortHash } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import { redact } from "../redact/redact.ts";
import { listStores, newestExcluded } from "../sessions/copies.ts";
import { findTranscripts, type TranscriptFile } from "../sessions/places.ts";
import { HOSTS, type Host } from "../transcripts/hosts.ts";

/** What to do about a host that moved. */
export const FOLLOW = "update session-memory: this version may not know where, or how, it writes now";

/** A host that was started without a session writes too: this long without one is more than a few of such starts. */
const BEHIND_MS = 7 * DAY_MS;
/** What was written before that is no sign that a host is in use. */
const LATELY_MS = 7 * DAY_MS;
/** The most entries of a home that are looked at: a home of a heavy user has some ten thousand. */
const ENTRIES_MAX = 100_000;
/** Deeper folders hold no sessions. */
const DEPTH_MAX = 12;

/** What a look at the hosts' homes found, a line each. */
export interface HomesLooked {
  /** Hosts whose home was written to lately, with nothing read of it from then. */
  moved: readonly string[];
  /** For each host how many files at the places of its sessions fit no format, by their names. */
  unfit: readonly string[];
}

/** Looks at every host's home. */
export async function lookAtHomes(paths: PathsWithRules, now: Date): Promise<HomesLooked> {
  const look = lookWith(paths, now);
  const hosts = hostsHere(paths);
  const looks = await Promise.all(hosts.map((host) => lookAt(host, look)));
  const unfit = await Promise.all(hosts.map((host) => unfitLine(host, look)));
  return { moved: looks.flatMap(({ what }) => what ?? []), unfit: unfit.flatMap((line) => line ?? []) };
}

/** What is known of a host after a look: when the newest session ended that is read, and that it moved. */
interface HostPlaces {
  /** Milliseconds; 0 where none is read. */
  read: number;
  what?: string;
}

interface Look {
  paths: PathsWithRules;
  now: number;
  /** Returns every transcript of this machine. */
  transcripts: () => readonly TranscriptFile[];
}

function lookWith(paths: PathsWithRules, now: Date): Look {
  let found: TranscriptFile[] | undefined;
  const transcripts = () =>
    (found ??= findTranscripts(paths, { subagents: true }).filter(({ machine }) => machine === undefined));
  return { paths, now: now.getTime(), transcripts };
}

/** Returns the hosts with a home, unless only given transcripts are read. */
function hostsHere(paths: PathsWithRules): Host[] {
  return paths.transcripts.length > 0 ? [] : HOSTS.filter(({ home }) => isDirectory(paths.expand(home)));
}

async function lookAt(host: Host, look: Look): Promise<HostPlaces> {
  const { now } = look;
  const read = await newestRead(host, look);
  const after = Math.max(read + BEHIND_MS, now - LATELY_MS);
  const written = after > now ? undefined : await newestFile(host, look, after);
  if (!written) return { read };
  const last =
    read === 0 ? "no session of it is read" : `the newest session read is ${describeSpan(now - read)} old`;
  const what = `${host.name} wrote ${describeSpan(now - written.at)} ago, ${last}: ${redact(written.file)}`;
  return { read, what };
}

const LOOKED = "looked-for-moves.json";
/** A file deep in a home changes no folder near its top. */
const LOOK_AGAIN_MS = DAY_MS;

/**
 * Returns a word on each host that moved, where that was not said yet. Costs next to nothing where there is no host, or where
 * each was read lately; else it looks again a day later, or when a folder near the top of a host's home changed.
 */
export async function newlyMoved(paths: PathsWithRules, now: Date): Promise<string[]> {
  const hosts = hostsHere(paths);
  if (hosts.length === 0 || whyUnwritable(paths.home) !== undefined) return [];
  const note = join(paths.home, LOOKED);
  const before = recordOf(readJson(note));
  const after: Record<string, unknown> = {};
  const look = lookWith(paths, now);
  const said: string[] = [];
  for (const host of hosts) {
    const known = recordOf(before[host.agent]);
    const isLate = look.now - (numberOf(known.read) ?? 0) >= BEHIND_MS;
    const top = isLate ? describeTop(paths.expand(host.home)) : undefined;
    if (!isLate || (known.top === top && look.now - (numberOf(known.at) ?? 0) < LOOK_AGAIN_MS)) {
      after[host.agent] = known;
      continue;
    }
    const { read, what } = await lookAt(host, look);
    if (what !== undefined && known.told !== read) said.push(`${what} · ${FOLLOW}`);
    after[host.agent] = { read, top, at: look.now, told: what === undefined ? undefined : read };
  }
  const text = JSON.stringify(after);
  if (text !== JSON.stringify(before)) replaceFile(note, text, { durable: false });
  return said;
}

/** Returns a hash of the times of a home and of its folders: something new there changes one of them. */
function describeTop(home: string): number {
  const folders = listEntries(home).filter((entry) => entry.isDirectory());
  const times = [home, ...folders.map(({ name }) => join(home, name))].map((path) => statPath(path)?.mtimeMs);
  return shortHash(times.join(" "));
}

/** Returns `40 min`, `3 h` or `71 d`. */
function describeSpan(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** Returns when the newest session ended of which anything is read, or one that is new enough; 0 where there is none. */
async function newestRead(host: Host, look: Look): Promise<number> {
  const files = listTranscripts(host, look).map((file) => ({ file, changed: changedAtMs(file) }));
  const enough = look.now - BEHIND_MS;
  let newest = await newestExcluded(host, look.paths);
  for (const { file, changed } of files.sort((a, b) => b.changed - a.changed)) {
    // No row is newer than its file.
    if (newest >= enough || changed <= newest) break;
    newest = Math.max(newest, await lastRead(file, changed));
  }
  return newest;
}

/** The longest rows are cut where they are kept; what is behind the last of them is within this. */
const END_BYTES = 2 * 1024 * 1024;

/** Returns when the last row of a transcript was written of which anything is read; 0 where there is none. */
async function lastRead(file: string, changed: number): Promise<number> {
  const { lastEntryWithin } = await import("../transcripts/head.ts");
  try {
    const last = lastEntryWithin(file, END_BYTES);
    if (!last) return 0;
    const at = Date.parse(last.at ?? "");
    return Number.isNaN(at) ? changed : Math.min(at, changed);
  } catch {
    return 0; // gone since it was listed, or not ours to read
  }
}

function changedAtMs(file: string): number {
  const stat = statUnpacked(file);
  return stat ? changedMs(stat) : 0;
}

/** Returns the transcripts below a host's home, and those of it elsewhere on this machine. */
function listTranscripts(host: Host, { paths, transcripts }: Look): string[] {
  const homes = HOSTS.map(({ agent, home }) => ({ agent, home: paths.expand(home) }));
  // One home may be in another.
  homes.sort((a, b) => b.home.length - a.home.length);
  const found = transcripts().filter(({ file, agent }) => {
    // Prompts are kept wherever the sessions are.
    if (hasPromptsAlone(file)) return false;
    const inside = homes.find(({ home }) => isBelow(file, home));
    return (inside?.agent ?? agent) === host.agent;
  });
  return found.map(({ file }) => file);
}

function isBelow(file: string, folder: string): boolean {
  return file.startsWith(folder + sep);
}

/** Words in the names of what programs keep beside sessions and write without one. */
const ASIDE = new Set([
  ...["account", "accounts", "auth", "backup", "backups", "bin", "cache", "caches", "cleanup", "config"],
  ...["commands", "credentials", "creds", "debug", "env", "extensions", "hooks", "ide", "install"],
  ...["installation", "keybindings", "log", "logs", "mcp", "meta", "metadata", "model", "models", "modules"],
  ...["index", "oauth", "plugin", "plugins", "settings", "shell", "skill", "skills", "snapshot", "snapshots"],
  ...["statsig", "telemetry", "themes", "trusted", "update", "updates", "version"],
]);
/** Files that hold no sessions. */
const ASIDE_ENDS = new Set([
  ...[".bak", ".js", ".lock", ".log", ".md", ".mjs", ".pid", ".png", ".py", ".sh", ".sock", ".svg"],
  ...[".tmp", ".toml", ".ts", ".txt", ".yaml", ".yml"],
]);

/** Returns whether a file or a folder is one that is written without a session. */
function isAside({ name }: Dirent, host: Host): boolean {
  if (placeNames(host).has(name)) return false;
  if (name.startsWith(".") || isConflictCopy(name) || ASIDE_ENDS.has(extname(name))) return true;
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.split(/[^a-z]+/).some((word) => ASIDE.has(word));
}

/** Returns the names of the folders that a host keeps sessions in. */
function placeNames({ transcripts = [], store }: Host): ReadonlySet<string> {
  const places = transcripts.map((place) => (typeof place === "string" ? place : place.path));
  return new Set([...places, store?.files ?? ""].flatMap((path) => path.split("/")));
}

/** Returns the file of a host's home that was written last, if that was after a time and nothing of it is read. */
async function newestFile(
  host: Host,
  look: Look,
  after: number,
): Promise<{ file: string; at: number } | undefined> {
  const home = look.paths.expand(host.home);
  const others = new Set(HOSTS.map((each) => look.paths.expand(each.home)).filter((each) => each !== home));
  if (host.metas !== undefined) others.add(join(home, host.metas));
  const isWanted = (entry: Dirent, path: string) =>
    !others.has(path) && host.guests?.test(entry.name) !== true;
  const written = [...filesUnder(home, { host, isWanted })].flatMap((file) => {
    const stat = statPath(file);
    const at = stat && stat.size > 0 ? changedMs(stat) : 0;
    return at >= after ? [{ file, at }] : [];
  });
  const isOld = oldTest(listTranscripts(host, look));
  for (const each of written.sort((a, b) => b.at - a.at)) if (!(await isOld(each.file))) return each;
  return undefined;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Returns a check whether a file is a transcript of which something is read, or what its host keeps of it elsewhere: files that
 * were copied here are new, and what they say is old.
 */
function oldTest(transcripts: readonly string[]): (file: string) => Promise<boolean> {
  const byId = new Map(transcripts.flatMap((file) => idsIn(basename(file)).map((id) => [id, file])));
  for (const file of transcripts) for (const [id] of file.matchAll(UUID)) byId.set(id, file);
  const known = new Set(transcripts);
  return async (file) => {
    const its = known.has(file)
      ? [file]
      : file.split(sep).flatMap((part) => idsIn(part).flatMap((id) => byId.get(id) ?? []));
    for (const transcript of its) if ((await lastRead(transcript, Number.MAX_SAFE_INTEGER)) > 0) return true;
    return false;
  };
}

/** Returns what may be a session's id in the name of a file or folder: a UUID, or all before the first dot. */
function idsIn(name: string): string[] {
  return [...(name.match(UUID) ?? []), name.split(".", 1)[0] ?? ""];
}

/** Yields the files below a folder that may be sessions; no link is followed. */
function* filesUnder(
  folder: string,
  { host, isWanted }: { host: Host; isWanted: (entry: Dirent, path: string) => boolean },
): Generator<string, void> {
  let entries = 0;
  const folders = [{ path: folder, depth: 0 }];
  for (let next = folders.pop(); next; next = folders.pop()) {
    for (const entry of listEntries(next.path)) {
      const path = join(next.path, entry.name);
      if (++entries > ENTRIES_MAX) return;
      if (isAside(entry, host) || !isWanted(entry, path)) continue;
      if (entry.isFile()) yield path;
      else if (entry.isDirectory() && next.depth < DEPTH_MAX) folders.push({ path, depth: next.depth + 1 });
    }
  }
}

async function unfitLine(host: Host, look: Look): Promise<string | undefined> {
  const { tryHead } = await import("../transcripts/head.ts");
  const home = look.paths.expand(host.home);
  const known = new Set(listTranscripts(host, look));
  const isUnread = (file: string) => (tryHead(file)?.agent ?? "plain") === "plain";
  const files = [
    ...[...known].filter((file) => isBelow(file, home) && readSize(file) > 0 && isUnread(file)),
    ...filesBeside(host, home).filter(
      (file) => readSize(file) > 0 && !known.has(file.replace(PACKED_END, "")),
    ),
    ...(await unfitStores(host, look.paths)),
  ];
  if (files.length === 0) return undefined;
  const are = files.length === 1 ? "is" : "are";
  return `${counted(files.length, "file")} of ${host.name} ${are} in no known format: ${countNames(files)}`;
}

const PACKED_END = /\.zst$/;

function readSize(file: string): number {
  return statUnpacked(file)?.size ?? 0;
}

/** Returns the files in the folders of a host's transcripts. */
function filesBeside(host: Host, home: string): string[] {
  const places = (host.transcripts ?? []).map((place) =>
    typeof place === "string" ? { path: place } : place,
  );
  const files = places.flatMap(({ path, under }) =>
    under === undefined ? filesAt(home, path.split("/").slice(0, -1), host) : [],
  );
  // one of two files with one session is read
  return [...new Set(files)].filter((file) => !placeNames(host).has(basename(file)));
}

/** Returns the files of the folders that a path with placeholders names. */
function filesAt(folder: string, [segment, ...rest]: readonly string[], host: Host): string[] {
  const entries = listEntries(folder).filter((entry) => !isAside(entry, host));
  if (segment === undefined)
    return entries
      .filter((entry) => entry.isFile() && !isLog(host, entry))
      .map(({ name }) => join(folder, name));
  const isDeep = segment === "**" || segment === "<day>";
  if (isDeep) return [...filesUnder(folder, { host, isWanted: (entry) => !isLog(host, entry) })];
  const isOpen = segment.startsWith("<") || segment === "*";
  return entries
    .filter((entry) => entry.isDirectory() && (isOpen || entry.name === segment))
    .flatMap(({ name }) => filesAt(join(folder, name), rest, host));
}

function isLog({ logs }: Host, { name }: Dirent): boolean {
  return logs !== undefined && name.startsWith(logs);
}

/** Returns the stores of a host that are not in the form that is read. */
async function unfitStores(host: Host, paths: PathsWithRules): Promise<string[]> {
  if (!host.store) return [];
  const { store } = await host.store.load();
  return listStores(host, paths).filter((file) => {
    try {
      store.open(file).close();
      return false;
    } catch {
      return true;
    }
  });
}

/** A finding is one line. */
const SHOWN_MAX = 3;
/** What differs between the names of one kind of file besides ids: times and counts. */
const NUMBERS = /\d(?:[\d:.TZ-]*\d)?/g;

/** Returns the names of files with their counts, those of one kind as one. */
function countNames(files: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const file of files) {
    const name = redact(toKind(basename(file)));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const most = [...counts].sort(([, a], [, b]) => b - a);
  return listed(
    most.map(([name, count]) => (count === 1 ? name : `${name} (${count})`)),
    SHOWN_MAX,
  );
}

function toKind(name: string): string {
  return name
    .replace(UUID, "*")
    .replace(NUMBERS, "*")
    .replace(/\*(?:-\*)+/g, "*");
}
