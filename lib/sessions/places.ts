/**
 * Finds transcripts by place and name, without the copies that sync tools leave.
 *
 * Runs before every prompt: folders are listed, files are not opened, and nothing is imported that could open one. Symlinks
 * below an agent's folder are skipped: their targets are listed at their own place, or lie outside, where a link must not lead.
 */

import type { Dirent } from "node:fs";
import { basename, join, resolve, sep } from "node:path";
import { entriesOf, isConflictCopy, isFile, isPlainFile, PACKED, statOf } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { copiesFolder, HOSTS, type Host } from "../transcripts/hosts.ts";
import type { Agent } from "../transcripts/session.ts";
import { projectDirectories } from "./project.ts";
import { type VoluteSessions, voluteSessions } from "./volute.ts";

/** A file that is a transcript by its place and name. */
export interface TranscriptFile {
  file: string;
  /** Undefined where only the content says. */
  agent?: Agent | undefined;
  /** Undefined where only the content says. */
  id?: string | undefined;
  subagent?: boolean;
  parentId?: string | undefined;
  /** The name Volute gives the session. */
  name?: string | undefined;
  /** Whether the session is temporary in Volute. */
  ephemeral?: boolean;
  /** The machine that the file is synced from; undefined for this one. */
  machine?: string | undefined;
}

/** Sessions still in use were started within so many days. */
const CODEX_RECENT_DAYS = 31;
/** Claude Code truncates folder names here. */
const CLAUDE_FOLDER_MAX = 200;
/** Deeper folders have no transcripts. */
const DEPTH_MAX = 16;
const SUFFIX = ".jsonl";
export const PI_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z_(.+)\.jsonl$/;
const CODEX_NAME = /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)\.jsonl$/;
const UUID_NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

interface FindOptions {
  agent?: Agent | undefined;
  /** Whether subagent transcripts are found too. @default {false} */
  subagents?: boolean | undefined;
  /** Only sessions that may belong to this directory's project. @default all */
  directory?: string | undefined;
  /** Whether files started more than a month ago may be missing, where that saves time. @default {false} */
  recent?: boolean | undefined;
  /** Where to look for Volute's folder from. @default `directory`, else the process's directory */
  cwd?: string | undefined;
}

interface PlaceOptions extends Pick<FindOptions, "subagents" | "recent"> {
  /** Those of the project. @default all */
  directories: readonly string[] | undefined;
}

/** Returns every file that is a transcript by place and name, or may be one by content. */
export function findTranscripts(paths: Paths, options: FindOptions = {}): TranscriptFile[] {
  if (paths.transcripts.length > 0) return givenTranscripts(paths.transcripts);
  const { agent, directory, subagents, recent } = options;
  const directories = directory === undefined ? undefined : listDirectories(directory);
  const places: PlaceOptions = { subagents, recent, directories };
  const volute = voluteSessions(options.cwd ?? directory ?? process.cwd(), paths.volute);
  const isWanted = (candidate: Agent) => agent === undefined || agent === candidate;
  const synced = paths.synced.length > 0 ? syncedTranscripts(paths, places) : [];
  return [
    ...synced.filter((found) => found.agent === undefined || isWanted(found.agent)),
    ...(isWanted("claude") ? findClaude(paths, { places, volute }) : []),
    ...(isWanted("pi") ? piTranscripts(paths, places, volute) : []),
    ...(isWanted("codex") ? codexTranscripts(paths, places) : []),
    ...HOSTS.flatMap((host) => (isWanted(host.agent) ? hostTranscripts(host, paths, places) : [])),
  ];
}

function findClaude(
  paths: Paths,
  { places, volute }: { places: PlaceOptions; volute: VoluteSessions },
): TranscriptFile[] {
  const found = claudeTranscripts(paths, places);
  const { names, ephemeral } = volute;
  if (names.size + ephemeral.size === 0) return found;
  const unseen = new Set(names.keys());
  for (const transcript of found) {
    const { id = "" } = transcript;
    unseen.delete(id);
    if (names.has(id)) transcript.name = names.get(id);
    else if (ephemeral.has(id)) transcript.ephemeral = true;
  }
  // A mind's sessions belong to it wherever they work.
  for (const id of places.directories ? unseen : []) {
    for (const elsewhere of findClaudeTranscripts(paths, id))
      found.push({ ...elsewhere, name: names.get(id) });
  }
  return found;
}

/** Returns the given directory too: hosts differ in resolving symlinks. */
export function listDirectories(directory: string): string[] {
  return [...new Set([directory, ...projectDirectories(directory)])];
}

/** Returns Claude Code's folder name for a directory. Several directories may share one. */
export function encodeClaudeCwd(directory: string): string {
  const name = directory.replace(/[^a-zA-Z0-9]/g, "-");
  if (name.length <= CLAUDE_FOLDER_MAX) return name;
  let hash = 0;
  for (let i = 0; i < directory.length; i++) hash = ((hash << 5) - hash + directory.charCodeAt(i)) | 0;
  return `${name.slice(0, CLAUDE_FOLDER_MAX)}-${Math.abs(hash).toString(36)}`;
}

/**
 * Lists Claude Code's transcripts: `projects/<folder>/<id>.jsonl`, and subagents in `<id>/subagents/` or, in old versions,
 * beside it.
 */
function claudeTranscripts(paths: Paths, options: PlaceOptions): TranscriptFile[] {
  const found: TranscriptFile[] = [];
  const root = join(paths.claude, "projects");
  for (const folder of foldersIn(root, options.directories && matchClaudeFolder(options.directories))) {
    const place = join(root, folder);
    const entries = entriesOf(place);
    for (const entry of entries) {
      if (isTranscript(entry)) {
        const id = entry.name.slice(0, -SUFFIX.length);
        const file = `${place}${sep}${entry.name}`;
        if (!isClaudeSubagent(id)) found.push({ file, agent: "claude", id });
        else if (options.subagents && !isCompactionLog(id)) {
          found.push({ file, agent: "claude", id, subagent: true });
        }
      } else if (options.subagents && entry.isDirectory()) {
        found.push(...claudeSubagents(join(place, entry.name, "subagents"), entry.name));
      }
    }
  }
  return found;
}

function claudeSubagents(folder: string, parentId: string): TranscriptFile[] {
  const found: TranscriptFile[] = [];
  for (const file of transcriptsUnder(folder)) {
    const id = basename(file, SUFFIX);
    if (!isClaudeSubagent(id) || isCompactionLog(id)) continue;
    found.push({ file, agent: "claude", id, subagent: true, parentId });
  }
  return found;
}

/** Returns the transcripts of one Claude Code session in any folder, if the id is a plain word. */
function findClaudeTranscripts(paths: Paths, id: string): TranscriptFile[] {
  if (!/^[A-Za-z0-9-]+$/.test(id)) return [];
  const root = join(paths.claude, "projects");
  const files = foldersIn(root).map((folder) => join(root, folder, `${id}${SUFFIX}`));
  return files.filter(isPlainFile).map((file) => ({ file, agent: "claude", id }));
}

/** Returns whether a Claude Code file stem is a subagent's. */
export function isClaudeSubagent(id: string): boolean {
  return id.startsWith("agent-");
}

/** Returns whether a Claude Code file stem is that of the summariser's own log: it repeats the session it summarises. */
function isCompactionLog(id: string): boolean {
  return id.startsWith("agent-acompact-");
}

/**
 * Lists pi's transcripts: `sessions/--<folder>--/<time>_<id>.jsonl`, flat files where the user moved them to, those in a
 * Volute folder, and OpenClaw's, which are in pi's format.
 */
function piTranscripts(
  paths: Paths,
  { directories }: PlaceOptions,
  volute: VoluteSessions,
): TranscriptFile[] {
  const root = join(paths.pi, "sessions");
  const isWanted = directories === undefined ? () => true : matchPiFolder(directories);
  const files: string[] = [];
  for (const entry of entriesOf(root)) {
    if (isTranscript(entry)) files.push(join(root, entry.name));
    else if (entry.isDirectory() && isWanted(entry.name)) addTranscripts(join(root, entry.name), files);
  }
  if (paths.piSessions && paths.piSessions !== root) addTranscripts(paths.piSessions, files);
  const agents = join(paths.openclaw, "agents");
  const openclaw = foldersIn(agents).flatMap((agent) => {
    const folder = join(agents, agent, "sessions");
    const names = entriesOf(folder)
      .filter(isTranscript)
      .map(({ name }) => name);
    return names.map((name) => ({ file: join(folder, name), agent: "pi", id: UUID_NAME.exec(name)?.[1] }));
  });
  const named = volute.transcripts.map(({ file, name }) => ({ ...piTranscript(file), name }));
  return [...named, ...files.map(piTranscript), ...openclaw];
}

/** Returns a file among pi's transcripts. Extensions put other files there: where the name is not pi's own, the content decides. */
function piTranscript(file: string): TranscriptFile {
  return { file, agent: "pi", id: PI_NAME.exec(basename(file))?.[1] };
}

/** Lists Codex's transcripts: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, and `archived_sessions`. */
function codexTranscripts(paths: Paths, { recent }: PlaceOptions): TranscriptFile[] {
  const folders = recent
    ? recentDays(paths)
    : [join(paths.codex, "sessions"), join(paths.codex, "archived_sessions")];
  const found: TranscriptFile[] = [];
  for (const folder of folders) {
    for (const file of transcriptsUnder(folder)) {
      const id = codexId(file);
      if (id !== undefined) found.push({ file, agent: "codex", id });
    }
  }
  return found;
}

const COPIES = ["<id>.jsonl", "<parent>/<id>.jsonl"];

/** Lists the transcripts of a host by the places in its line of the table. */
function hostTranscripts(host: Host, paths: Paths, options: PlaceOptions): TranscriptFile[] {
  const { agent, home, transcripts = [], database } = host;
  const [root, places] =
    database === undefined ? [paths.expand(home), transcripts] : [copiesFolder(paths, agent), COPIES];
  return places
    .filter((place) => options.subagents || !place.includes("<parent>"))
    .flatMap((place) => matching(root, place.split("/"), options))
    .map((found) => ({ ...found, agent }));
}

type Matched = Pick<TranscriptFile, "file" | "id" | "parentId" | "subagent">;

function matching(
  folder: string,
  [segment = "", ...rest]: readonly string[],
  options: PlaceOptions,
  known: Omit<Matched, "file"> = {},
): Matched[] {
  const go = (name: string, found: Omit<Matched, "file">) =>
    rest.length > 0
      ? matching(join(folder, name), rest, options, found)
      : [{ file: join(folder, name), ...found }];
  const [before = "", placeholder, after = ""] = segment.split(/(\*|<\w+>)/);
  if (placeholder === undefined)
    return rest.length > 0 || isPlainFile(join(folder, segment)) ? go(segment, known) : [];
  const isWanted =
    placeholder === "<cwd>" && options.directories ? matchClaudeFolder(options.directories) : () => true;
  return entriesOf(folder).flatMap((entry) => {
    const { name } = entry;
    const isKind = rest.length > 0 ? entry.isDirectory() : isTranscript(entry);
    if (!isKind || !name.startsWith(before) || !name.endsWith(after) || !isWanted(name)) return [];
    const value = name.slice(before.length, name.length - after.length);
    if (placeholder === "<id>") return go(name, { ...known, id: value });
    return go(name, placeholder === "<parent>" ? { ...known, parentId: value, subagent: true } : known);
  });
}

/** Returns the id in a rollout's file name. */
export function codexId(file: string): string | undefined {
  return CODEX_NAME.exec(basename(file))?.[1];
}

/** Codex sorts by day alone, so a caller in a hurry lists the last days only. */
function recentDays(paths: Paths): string[] {
  const days: string[] = [];
  const root = join(paths.codex, "sessions");
  if (!statOf(root)) return days;
  // The folder's day is the local one, so tomorrow's may be there already by UTC.
  for (let ago = -1; ago <= CODEX_RECENT_DAYS; ago++) {
    const day = new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    days.push(join(root, ...day.split("-")));
  }
  return days;
}

/** Returns the given files, and all transcripts below the given folders. Their content names the agent. */
function givenTranscripts(places: readonly string[]): TranscriptFile[] {
  const files = new Set<string>();
  for (const place of places) {
    if (isFile(place)) files.add(place);
    else for (const file of transcriptsUnder(place)) if (!isCompactionLog(basename(file))) files.add(file);
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
  const name = basename(file);
  const codex = codexId(file);
  if (codex !== undefined) return { file, agent: "codex", id: codex };
  if (PI_NAME.test(name)) return piTranscript(file);
  const id = name.slice(0, -SUFFIX.length);
  const [above, folder] = file.split(sep).slice(-3);
  if (isClaudeSubagent(id)) {
    const parentId = folder === "subagents" ? above : undefined;
    return { file, agent: "claude", id, subagent: true, parentId };
  }
  const isClaude = UUID_NAME.test(name) && above === "projects";
  return isClaude ? { file, agent: "claude", id } : { file };
}

/** What a sync tool keeps for itself: old versions, deleted files. */
const SYNC_FOLDERS = new Set([".stversions", ".stfolder", ".sync", "@eaDir", ".dropbox.cache", ".Trash"]);

/** Returns every `*.jsonl` below a folder. */
function transcriptsUnder(folder: string): string[] {
  const files: string[] = [];
  addTranscripts(folder, files);
  return files;
}

// A list and plain loops: generators cost the prompt hook as much as everything else.
function addTranscripts(folder: string, files: string[], depth = 0): void {
  const entries = entriesOf(folder);
  for (const entry of entries) {
    if (isTranscript(entry)) files.push(`${folder}${sep}${entry.name}`);
    else if (entry.name.endsWith(PACKED)) {
      const name = rowsName(entry);
      if (name !== undefined && !entries.some((other) => other.name === name))
        files.push(`${folder}${sep}${name}`);
    } else if (entry.isDirectory() && depth < DEPTH_MAX && !SYNC_FOLDERS.has(entry.name))
      addTranscripts(join(folder, entry.name), files, depth + 1);
  }
}

function isTranscript(entry: Dirent): boolean {
  return entry.name.endsWith(SUFFIX) && entry.isFile() && !isConflictCopy(entry.name);
}

/** Returns the name that a compressed rollout had before, under which it is known; undefined for any other file. */
function rowsName(entry: Dirent): string | undefined {
  const name = entry.name.slice(0, -PACKED.length);
  return entry.isFile() && CODEX_NAME.test(name) && !isConflictCopy(name) ? name : undefined;
}

function foldersIn(root: string, isWanted: (name: string) => boolean = () => true): string[] {
  return entriesOf(root)
    .filter((entry) => entry.isDirectory() && isWanted(entry.name))
    .map((entry) => entry.name);
}

/** A directory's folder and those below it share a prefix; so may others, so the content decides. */
function matchClaudeFolder(directories: readonly string[]): (name: string) => boolean {
  const beginnings = directories.map((directory) => directory.replace(/[^a-zA-Z0-9]/g, "-"));
  return (name) =>
    beginnings.some((beginning) => isAtOrBelow(name, beginning.slice(0, CLAUDE_FOLDER_MAX), "-"));
}

function matchPiFolder(directories: readonly string[]): (name: string) => boolean {
  // `--<directory>--`; several directories may share one
  const dashed = (path: string) => path.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-");
  const beginnings = directories.map((directory) => `--${dashed(resolve(directory))}`);
  return (name) => beginnings.some((beginning) => isAtOrBelow(name, beginning, "-"));
}

function isAtOrBelow(name: string, beginning: string, separator: string): boolean {
  return name === beginning || (name.startsWith(beginning) && name[beginning.length] === separator);
}
