/**
 * Names of thousands of sessions in one file beside our other state, so that a reference in a prompt costs neither
 * reading them nor, where it is exact, taking the file apart: each name is a line that begins as names are compared.
 *
 * Only a cache: each name is kept with the state of the file that it was read from, and a damaged one is none.
 */

import { join } from "node:path";
import { readIfExists, replaceFile } from "../base/files.ts";
import { arrayOf, recordOf, stringOf } from "../base/json.ts";
import { statOf } from "../base/probe.ts";
import type { Paths } from "../config/config.ts";
import type { Agent } from "../transcripts/session.ts";
import { foldName } from "./name-match.ts";

/** A transcript and its agent, when it had last changed, its size and its title file's state, and the title found. */
export type KeptTitle = [file: string, agent: Agent, changed: number, state: string, title: string | null];
/** A meta file's name and state, the session's name, and its id where that is not the file's own name. */
export type KeptMeta = [base: string, state: string, name: string | null, id?: string];

/** Things with names as lines: the folded name, the folded id, the thing as JSON, with tabs between. */
export type Lines = string;

export interface KeptFolder {
  /** Empty when the folder changed so recently that a later change might not show. */
  state: string;
  metas: Lines;
}

export interface NameCache {
  /** Transcripts that had changed last: those that will change again. */
  active: KeptTitle[];
  /** The others, and how many there are. */
  idle: Lines;
  idleCount: number;
  folders: Record<string, KeptFolder>;
  /** The state of config.json: with another one other sessions may stay out. */
  config: string;
}

const CACHE_VERSION = 4;
/** So many transcripts are looked at each time. */
const ACTIVE_COUNT = 100;
const META_SUFFIX = ".meta.json";

/** The names as they were kept. */
export function readNameCache(paths: Paths): NameCache {
  const config = stateOf(paths.config);
  const none: NameCache = { active: [], idle: "", idleCount: 0, folders: {}, config };
  try {
    return read(readIfExists(cacheFile(paths)) ?? "", config) ?? none;
  } catch {
    return none;
  }
}

/** A line of JSON that tells where each part of the rest ends; then the parts. */
function read(text: string, config: string): NameCache | undefined {
  const head = text.indexOf("\n") + 1;
  if (head === 0) return undefined;
  const {
    version,
    config: kept,
    active,
    idleCount,
    idleEnd,
    folders,
    end,
  } = recordOf(JSON.parse(text.slice(0, head)));
  const isOurs = version === CACHE_VERSION && kept === config && end === text.length - head;
  if (!isOurs || typeof idleCount !== "number" || typeof idleEnd !== "number") return undefined;
  const cache: NameCache = {
    active: arrayOf(active).filter(isKept<KeptTitle>),
    idle: text.slice(head, head + idleEnd),
    idleCount,
    folders: {},
    config,
  };
  let from = head + idleEnd;
  for (const [folder, state, length] of arrayOf(folders).filter(isKept<[string, string, number]>)) {
    cache.folders[folder] = { state, metas: text.slice(from, from + length) };
    from += length;
  }
  return cache;
}

/** Keeps names for the next time. */
export function writeNameCache(
  paths: Paths,
  { titles, folders, config }: Pick<NameCache, "folders" | "config"> & { titles: KeptTitle[] },
): void {
  const sorted = titles.toSorted(([, , a], [, , b]) => b - a);
  const idle = titleLines(sorted.slice(ACTIVE_COUNT));
  const parts = Object.entries(folders);
  const body = idle + parts.map(([, { metas }]) => metas).join("");
  const head = {
    version: CACHE_VERSION,
    config,
    active: sorted.slice(0, ACTIVE_COUNT),
    idleCount: Math.max(0, sorted.length - ACTIVE_COUNT),
    idleEnd: idle.length,
    folders: parts.map(([folder, { state, metas }]) => [folder, state, metas.length]),
    end: body.length,
  };
  try {
    replaceFile(cacheFile(paths), `${JSON.stringify(head)}\n${body}`, { durable: false });
  } catch {
    // a full disk or a read-only home: the next time costs as much as this one
  }
}

/** Transcripts with their titles as lines. */
function titleLines(titles: readonly KeptTitle[]): Lines {
  return titles.map((kept) => `${foldName(kept[4] ?? "")}\t\t${JSON.stringify(kept)}\n`).join("");
}

/** Meta files with their names as lines. */
export function metaLines(metas: readonly KeptMeta[]): Lines {
  return metas
    .map((kept) => {
      const id = kept[2] === null ? "" : idOf(kept).toLowerCase().replace(/\s/g, " ");
      return `${foldName(kept[2] ?? "")}\t${id}\t${JSON.stringify(kept)}\n`;
    })
    .join("");
}

/** The id of a session by its meta file. */
export function idOf([base, , , id]: KeptMeta): string {
  return stringOf(id) ?? base.slice(0, -META_SUFFIX.length);
}

/** What all lines hold. */
export function allIn<T extends unknown[]>(lines: Lines): T[] {
  const found: T[] = [];
  for (let start = 0; start < lines.length; ) {
    const end = endOfLine(lines, start);
    found.push(...thingsIn<T>(lines.slice(start, end)));
    start = end + 1;
  }
  return found;
}

/** What the lines hold whose folded name is the given one. */
export function namedIn<T extends unknown[]>(lines: Lines, folded: string): T[] {
  return linesWith(lines, `${folded}\t`, "\n").flatMap(thingsIn<T>);
}

/** What the lines hold whose folded id begins with the given text. */
export function begunIn<T extends unknown[]>(lines: Lines, prefix: string): T[] {
  return linesWith(lines, prefix, "\t").flatMap(thingsIn<T>);
}

/** The lines in which a text follows a character; the first line follows a newline, too. */
function linesWith(lines: Lines, text: string, after: "\n" | "\t"): string[] {
  const found: string[] = [];
  for (let at = lines.indexOf(text); at !== -1; at = lines.indexOf(text, at + 1)) {
    if ((at === 0 ? "\n" : lines[at - 1]) !== after) continue;
    found.push(lines.slice(lines.lastIndexOf("\n", at - 1) + 1, endOfLine(lines, at)));
  }
  return found;
}

function endOfLine(lines: Lines, from: number): number {
  const end = lines.indexOf("\n", from);
  return end === -1 ? lines.length : end;
}

function thingsIn<T extends unknown[]>(line: string): T[] {
  try {
    const thing: unknown = JSON.parse(line.slice(line.lastIndexOf("\t") + 1));
    return isKept<T>(thing) ? [thing] : [];
  } catch {
    return []; // damaged: it is read anew
  }
}

function isKept<T extends unknown[]>(value: unknown): value is T {
  return Array.isArray(value) && typeof value[0] === "string";
}

/** Changes when the file does; empty when there is none. */
export function stateOf(file: string): string {
  const stat = statOf(file);
  return stat ? `${stat.size} ${stat.mtimeMs} ${stat.ino}` : "";
}

function cacheFile(paths: Paths): string {
  return join(paths.home, "names.json");
}
