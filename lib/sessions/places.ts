/**
 * Finds transcripts by place and name, without the copies that sync tools leave.
 *
 * Runs before every prompt: folders are listed, files are not opened, and nothing is imported that could open one. Symlinks
 * below an agent's folder are skipped: their targets are listed at their own place, or lie outside, where a link must not lead.
 */

import type { Dirent } from "node:fs";
import { basename, join, sep } from "node:path";
import { hasContent, isFile, listEntries, statPath, unsortedNamesIn } from "../base/files.ts";
import { idWithin, sha256 } from "../base/text.ts";
import type { Paths } from "../config/config.ts";
import type { HostLine, TranscriptPattern } from "../hosts/host.ts";
import { linesName } from "../hosts/names.ts";
import type { Agent, PartlyKnown, Session } from "../hosts/session.ts";
import { beginFolder, TABLE, UUID_NAME } from "../hosts/table.ts";
import { formerTops, projectDirectories } from "./project.ts";
import { voluteSessions } from "./volute.ts";

// for a prompt without news: lib/transcripts/files.ts loads what opens transcripts
export { statStored } from "../hosts/names.ts";

/** A file that is a transcript by its place and name; what these do not say, the content says. */
export interface TranscriptFile
  extends Pick<Session, "file">,
    PartlyKnown<"agent" | "id" | "parentId" | "name" | "machine" | "archived"> {
  subagent?: boolean;
  /** True if the session is temporary in Volute. */
  ephemeral?: boolean;
}

/** The days within which sessions still in use were started. */
const RECENT_DAYS = 31;
/** Deeper folders have no transcripts. */
const DEPTH_MAX = 16;
const SUFFIX = ".jsonl";

export interface FindOptions {
  agent?: Agent | undefined;
  /** True if subagent transcripts are found too. @default {false} */
  subagents?: boolean | undefined;
  /** Only sessions that may belong to this directory's project. @default all */
  directory?: string | undefined;
  /** True if files started more than a month ago may be missing, where that saves time. @default {false} */
  recent?: boolean | undefined;
  /** The directory from which Volute's folder is looked for. @default `directory`, else the process's directory */
  cwd?: string | undefined;
}

interface PlaceOptions extends Pick<FindOptions, "subagents" | "recent"> {
  /** Those of the project. @default all */
  directories: readonly string[] | undefined;
}

/** Returns the transcripts of sessions in use: of given folders, or in the places of hosts. */
export function recentTranscripts(paths: Paths, options: Omit<FindOptions, "recent"> = {}): TranscriptFile[] {
  if (paths.transcripts.length > 0) return givenTranscripts(paths.transcripts);
  return hostedTranscripts(paths, { ...options, recent: true });
}

/** Returns the transcripts in the places of hosts, of this machine and of others. */
export function hostedTranscripts(paths: Paths, options: FindOptions = {}): TranscriptFile[] {
  const { agent, directory, subagents, recent } = options;
  const directories = directory === undefined ? undefined : listDirectories(directory, paths);
  const places: PlaceOptions = { subagents, recent, directories };
  const volute = voluteSessions(options.cwd ?? directory ?? process.cwd(), paths.volute);
  const isWanted = (candidate: Agent) => agent === undefined || agent === candidate;
  const synced = paths.synced.length > 0 ? syncedTranscripts(paths, places) : [];
  return [
    ...synced.filter((found) => found.agent === undefined || isWanted(found.agent)),
    ...TABLE.filter((host) => isWanted(host.agent)).flatMap((host) => {
      const found = hostTranscripts(host, paths, places);
      const own = volute.transcripts.filter((transcript) => transcript.agent === host.agent);
      if (own.length > 0) found.unshift(...own.map((each) => ({ ...each, id: idInName(host, each.file) })));
      if (host.volute !== "names" || volute.names.size + volute.ephemeral.size === 0) return found;
      const elsewhere = directories && (() => hostTranscripts(host, paths, { directories: undefined }));
      return withVoluteNames(found, { ...volute, elsewhere });
    }),
  ];
}

/** The session of a copy: another person's has an owner. */
export interface CopyOf extends Pick<Session, "agent" | "id"> {
  owner?: string | undefined;
  machine?: string | undefined;
}

/** Returns where the copy of a session is, without its suffix. */
export function archivePlace(
  { copies }: Pick<Paths, "copies">,
  { agent, id, owner, machine = "" }: CopyOf,
): string {
  const whose = JSON.stringify(owner === undefined ? ["", "", agent, id] : [owner, machine, agent, id]);
  return join(copies, `${sha256().update(whose).digest("hex").slice(0, 32)}${SUFFIX}`);
}

/** Returns the file with the last hour's rows of sessions that are copies: a prompt hook reads it in place of these. */
export function newsFile({ home }: Paths): string {
  return join(home, "news");
}

/** Returns whether anything was pulled that others share: beside each copy of it lies a document. Opens no table. */
export function hasPulled({ copies }: Pick<Paths, "copies">): boolean {
  return unsortedNamesIn(copies).some((name) => name.endsWith(".json"));
}

/** Returns the transcripts with the names of a mind; a mind's sessions belong to it wherever they work. */
function withVoluteNames(
  found: readonly TranscriptFile[],
  {
    names,
    ephemeral,
    elsewhere = () => [],
  }: { names: Map<string, string>; ephemeral: Set<string>; elsewhere?: (() => TranscriptFile[]) | undefined },
): TranscriptFile[] {
  const isThere = new Set(found.map(({ id }) => id));
  const unseen = new Set(names.keys().filter((id) => !isThere.has(id)));
  const further = unseen.size === 0 ? [] : elsewhere().filter(({ id = "" }) => unseen.has(id));
  return [...found, ...further].map((transcript) => {
    const { id = "" } = transcript;
    if (names.has(id)) return { ...transcript, name: names.get(id) };
    return ephemeral.has(id) ? { ...transcript, ephemeral: true } : transcript;
  });
}

/** Returns the given directory too: hosts differ in resolving symlinks; and those in which the project was before. */
export function listDirectories(directory: string, paths: Pick<Paths, "repositories">): string[] {
  return [...new Set([directory, ...projectDirectories(directory), ...formerTops(directory, paths)])];
}

/** Lists the transcripts of a host by the places in its line of the table. */
function hostTranscripts(host: HostLine, paths: Paths, options: PlaceOptions): TranscriptFile[] {
  const { home, transcripts = [] } = host;
  const given = transcripts.map(
    (place): TranscriptPattern => (typeof place === "string" ? { path: place } : place),
  );
  const beginnings = options.directories?.map((directory) => beginFolder(host, directory));
  const found: TranscriptFile[] = [];
  const list = listOnce();
  for (const place of given) {
    if (!options.subagents && /<(?:parent|subagent)>/.test(place.path)) continue;
    if (options.recent && place.isOver) continue;
    const root = place.under ? place.under(paths) : paths.expand(home);
    const segments = place.path.split("/");
    const file = nameReader(segments.pop() ?? "", { host, place });
    const { names, unless } = place;
    if (root !== undefined) walk(root, segments, { file, names, unless, list, beginnings, options, found });
  }
  return found;
}

/** Lists folders, each once, without files of no lines: several places of a host may share one. */
function listOnce(): Walk["list"] {
  const known = new Map<string, Dirent[]>();
  return (folder) => {
    const entries =
      known.get(folder) ?? listEntries(folder).filter((entry) => !entry.isFile() || linesName(entry.name));
    known.set(folder, entries);
    return entries;
  };
}

/** The facts of a session that its transcript's path tells. */
type PathFacts = Omit<TranscriptFile, "file">;

interface Walk {
  /** Reads what a file's name says; undefined for one that does not fit. */
  file: (name: string) => PathFacts | undefined;
  list: (folder: string) => Dirent[];
  /** The names of subagents' folders. */
  names: RegExp | undefined;
  /** The file beside which others are left out. */
  unless: string | undefined;
  /** The beginnings of the wanted directories' folders. @default all are wanted */
  beginnings: readonly string[] | undefined;
  options: PlaceOptions;
  found: TranscriptFile[];
}

function walk(folder: string, [segment, ...rest]: readonly string[], to: Walk, told: PathFacts = {}): void {
  if (segment === undefined) addFiles(folder, to, told);
  else if (segment === "**") addFiles(folder, to, told, true);
  else if (segment === "<day>") {
    const days = to.options.recent ? recentDays(folder) : [folder];
    for (const day of days) walk(day, rest, to, told);
  } else if (segment === "*" || segment.startsWith("<")) {
    const isWanted = segment === "<cwd>" && to.beginnings ? testBeginnings(to.beginnings) : undefined;
    for (const entry of to.list(folder)) {
      const { name } = entry;
      if (!entry.isDirectory() || isWanted?.(name) === false) continue;
      const known = segment in SAYING ? SAYING[segment]?.(name, told, to) : {};
      if (known) walk(join(folder, name), rest, to, { ...told, ...known });
    }
  } else walk(join(folder, segment), rest, to, told);
}

/** The facts of a session that the names of folders tell; undefined without any. */
const SAYING: Record<string, (name: string, told: PathFacts, to: Walk) => Partial<PathFacts> | undefined> = {
  "<id>": (id) => ({ id }),
  "<parent>": (parentId) => ({ parentId, subagent: true }),
  "<child>": (name, { parentId = "" }, { names }) =>
    names?.test(name) ? { id: idWithin(parentId, name) } : undefined,
};

function addFiles(
  folder: string,
  { file, unless, list, found }: Walk,
  told: PathFacts,
  isDeep = false,
): void {
  if (unless !== undefined && hasContent(join(folder, unless))) return;
  const add = (path: string, name: string) => {
    const known = file(name);
    if (known) found.push({ file: path, ...told, ...known });
  };
  if (isDeep) for (const path of transcriptsUnder(folder)) add(path, basename(path));
  else for (const entry of list(folder)) if (entry.isFile()) add(`${folder}${sep}${entry.name}`, entry.name);
}

/** Makes a reader of the names of files at a place. */
function nameReader(
  segment: string,
  { host, place }: { host: HostLine; place: TranscriptPattern },
): Walk["file"] {
  const { agent, names, logs } = { ...host, ...place };
  const [before = "", placeholder, after = ""] = segment.split(/(\*|<\w+>)/);
  return (name) => {
    if (!name.startsWith(before) || !name.endsWith(after)) return undefined;
    if (placeholder === undefined) return name === segment ? { agent } : undefined;
    const id = names?.exec(name)?.[1];
    if (placeholder === "*") return { agent, id };
    if (placeholder === "<name>") return id === undefined ? undefined : { agent, id };
    const stem = name.slice(before.length, name.length - after.length);
    if (placeholder === "<id>") return hasSubagentId(host, stem) ? undefined : { agent, id: stem };
    const isLog = logs !== undefined && stem.startsWith(logs);
    return hasSubagentId(host, stem) && !isLog ? { agent, id: stem, subagent: true } : undefined;
  };
}

/** Returns the id in the name of a transcript where its host writes it there. */
export function idInName({ names }: HostLine, file: string): string | undefined {
  return names?.exec(basename(file))?.[1];
}

/** Returns the host that alone gives files such names. */
export function findNaming(file: string): HostLine | undefined {
  const name = basename(file);
  return TABLE.find(({ names }) => names?.test(name));
}

/** Returns whether an id has the form of a subagent's. */
export function hasSubagentId({ subagents }: HostLine, id: string): boolean {
  return subagents !== undefined && id.startsWith(subagents);
}

/** Returns whether a host gives such ids to subagents alone. */
export function isSubagentId(id: string): boolean {
  return TABLE.some((host) => hasSubagentId(host, id));
}

function isLog(name: string): boolean {
  return TABLE.some(({ logs }) => logs !== undefined && name.startsWith(logs));
}

/** A host that sorts by day is asked for the last days only if `recent` is set. */
function recentDays(root: string): string[] {
  const days: string[] = [];
  if (!statPath(root)) return days;
  // The folder's day is the local one, so tomorrow's may be there already by UTC.
  for (let ago = -1; ago <= RECENT_DAYS; ago++) {
    const day = new Date();
    day.setUTCDate(day.getUTCDate() - ago);
    days.push(join(root, ...day.toISOString().slice(0, 10).split("-")));
  }
  return days;
}

/** Returns the given files, and all transcripts below the given folders. Their content names the agent. */
export function givenTranscripts(places: readonly string[]): TranscriptFile[] {
  const files = new Set<string>();
  for (const place of places) {
    if (isFile(place)) files.add(place);
    else for (const file of transcriptsUnder(place)) if (!isLog(basename(file))) files.add(file);
  }
  return [...files].map((file) => ({ file }));
}

/**
 * Lists transcripts of other machines, in folders that the user's own tool keeps in sync: a copy of one agent's place, of
 * several, or of a whole home. Place and name give agent and id of most: those are not opened.
 */
function syncedTranscripts({ synced }: Paths, { subagents }: PlaceOptions): TranscriptFile[] {
  return synced.flatMap(({ path, machine }) =>
    transcriptsUnder(path)
      .map((file) => ({ ...transcriptFile(file), machine }))
      .filter((found) => subagents || !found.subagent),
  );
}

/** Returns the machine that a transcript is from; undefined for this one. */
export function findMachine(file: string, { synced }: Pick<Paths, "synced">): string | undefined {
  return synced.find(({ path }) => file.startsWith(path.endsWith(sep) ? path : path + sep))?.machine;
}

function transcriptFile(file: string): TranscriptFile {
  const naming = findNaming(file);
  if (naming) return { file, agent: naming.agent, id: idInName(naming, file) };
  const id = basename(file, SUFFIX);
  const [above, folder] = file.split(sep).slice(-3);
  const starting = TABLE.find((host) => hasSubagentId(host, id));
  if (starting) {
    const parentId = folder === "subagents" ? above : undefined;
    return { file, agent: starting.agent, id, subagent: true, parentId };
  }
  if (!UUID_NAME.test(basename(file))) return { file };
  const place = `${above}/<cwd>/<id>${SUFFIX}`;
  const host = TABLE.find(({ transcripts = [] }) =>
    transcripts.some((each) => typeof each === "object" && each.path === place),
  );
  return host ? { file, agent: host.agent, id } : { file };
}

/** The folders that a sync tool keeps for itself: old versions, deleted files. */
const SYNC_FOLDERS = new Set([".stversions", ".stfolder", ".sync", "@eaDir", ".dropbox.cache", ".Trash"]);

/** Returns every `*.jsonl` below a folder. */
function transcriptsUnder(folder: string): string[] {
  const files: string[] = [];
  addTranscripts(folder, files);
  return files;
}

// A list and plain loops: generators cost the prompt hook as much as everything else.
function addTranscripts(folder: string, files: string[], depth = 0): void {
  const entries = listEntries(folder);
  for (const entry of entries) {
    const name = entry.isFile() ? linesName(entry.name, compresses) : undefined;
    if (name === entry.name || (name !== undefined && !entries.some((other) => other.name === name)))
      files.push(`${folder}${sep}${name}`);
    else if (entry.isDirectory() && depth < DEPTH_MAX && !SYNC_FOLDERS.has(entry.name))
      addTranscripts(join(folder, entry.name), files, depth + 1);
  }
}

/** Returns whether a transcript is one whose host compresses it when its session is over. */
function compresses(name: string): boolean {
  return findNaming(name)?.compresses === true;
}

/**
 * A directory's folder and those below it share a prefix; so may others, so the content decides. It also decides where a name
 * begins as that of no directory does: a person gave it, or another program.
 */
function testBeginnings(beginnings: readonly string[]): (name: string) => boolean {
  return (name) =>
    beginnings.some((beginning) => isAtOrBelow(name, beginning, "-") || name[0] !== beginning[0]);
}

function isAtOrBelow(name: string, beginning: string, separator: string): boolean {
  return name === beginning || (name.startsWith(beginning) && name[beginning.length] === separator);
}
