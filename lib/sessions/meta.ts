/**
 * A session's meta file: its shape, reading it by plain checks, and writing it whole.
 *
 * The prompt hook and the search read these files, so neither a schema library nor a transcript's format is loaded.
 */

import { basename, dirname, join, sep } from "node:path";
import { describeError } from "../base/errors.ts";
import { createFile, fileStem, namesIn, readBytes, readIfExists, replaceFile } from "../base/files.ts";
import { arrayOf, recordOf } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { findHost, HOSTS } from "../hosts/hosts.ts";
import type { Agent, SessionKey } from "../hosts/session.ts";
import { copiesFolder } from "../hosts/table.ts";
import { listCopies } from "./copy-list.ts";
import { findNaming } from "./places.ts";

/** Increases with every change of the shape. */
export const META_SCHEMA_VERSION = 1;
/** The `model` of a meta made without one. */
export const RULES = "rules";
const META_SUFFIX = ".meta.json";

export interface SessionMeta {
  schemaVersion: number;
  sessionId: string;
  sessionFile: string;
  parentSessionFile?: string | undefined;
  name: string;
  description: string;
  summary: string;
  tags: string[];
  cwd: string;
  /** The meta file's own times. */
  createdAt: string;
  updatedAt: string;
  /** The model that wrote it, or `rules`. */
  model: string;
  /** The last entry it knows, or `line:<n>` where the host gives entries no id. */
  lastIndexedLeafId: string;
}

interface ReadMeta {
  /** Undefined when it is missing or unusable. */
  meta: SessionMeta | undefined;
  /** The reason that an existing file cannot be used. */
  problem: string | undefined;
}

type MetaPaths = Pick<PathsWithRules, "expand" | "meta">;

/** Returns a session's meta file: where its host's table has them, else in our state folder. */
export function metaFile(paths: MetaPaths, session: SessionKey): string {
  return join(metaFolder(paths, findHost(session.agent)), `${fileStem(session.id)}${META_SUFFIX}`);
}

function metaFolder({ expand, meta }: MetaPaths, host: Host | undefined): string {
  return host?.metas === undefined ? meta : join(expand(host.home), host.metas);
}

/** Returns the folders with meta files: ours first. */
export function metaFolders(paths: MetaPaths): string[] {
  return [...new Set([paths.meta, ...HOSTS.map((host) => metaFolder(paths, host))])];
}

/** Returns where meta files about a session may be. */
export function metaFilesAbout(id: string, paths: MetaPaths): string[] {
  return metaFolders(paths).map((folder) => join(folder, `${fileStem(id)}${META_SUFFIX}`));
}

/** Returns whether a meta file lies outside our state folder. */
export function isAbroad(file: string, { meta }: PathsWithRules): boolean {
  return dirname(file) !== meta;
}

/** Reads a meta file. A corrupt one counts as missing, with the reason. */
export function readMeta(file: string): ReadMeta {
  try {
    const text = readIfExists(file);
    if (text === undefined) return { meta: undefined, problem: undefined };
    const meta = metaIn(JSON.parse(text));
    return { meta, problem: meta ? undefined : "it is not a session's meta" };
  } catch (error) {
    const problem = error instanceof SyntaxError ? "it is not JSON" : describeError(error);
    return { meta: undefined, problem };
  }
}

/** Returns the name in a session's meta file. */
export function readName(session: SessionKey, paths: PathsWithRules): string | undefined {
  return cleanName(readMeta(metaFile(paths, session)).meta?.name);
}

/** Replaces a meta file whole, and returns its text. */
export function writeMeta(file: string, meta: SessionMeta): string {
  const text = `${JSON.stringify(meta, null, 2)}\n`;
  // Made again from the transcript when a power cut takes it, so it need not wait for the disk.
  replaceFile(file, text, { durable: false });
  return text;
}

function metaIn(value: unknown): SessionMeta | undefined {
  const given = recordOf(value);
  const { schemaVersion = META_SCHEMA_VERSION, parentSessionFile, tags = [] } = given;
  // Another program may have left it with fewer fields.
  const texts = TEXT_FIELDS.map((field) => [field, given[field] ?? (NEEDED.has(field) ? undefined : "")]);
  const isMeta =
    schemaVersion === META_SCHEMA_VERSION &&
    ["undefined", "string"].includes(typeof parentSessionFile) &&
    [...arrayOf(tags), ...texts.map(([, text]) => text)].every((text) => typeof text === "string") &&
    Array.isArray(tags);
  const meta = { schemaVersion, parentSessionFile, tags, ...Object.fromEntries(texts) };
  return isMeta ? meta : undefined;
}

const NEEDED: ReadonlySet<string> = new Set(["sessionId", "name"]);
const TEXT_FIELDS = [
  "sessionId",
  "sessionFile",
  "name",
  "description",
  "summary",
  "cwd",
  "createdAt",
  "updatedAt",
  "model",
  "lastIndexedLeafId",
] as const;

/** Returns the agent by a transcript's place and name, for files that are gone, and our copies. */
export function agentByPlace(file: string, paths: PathsWithRules): Agent {
  const agent = (findNaming(file) ?? hostByPlace(file, paths))?.agent;
  return agent ?? listCopies(paths).get(file)?.agent ?? "plain";
}

/** Returns the host in whose place a file lies. */
export function hostByPlace(file: string, paths: PathsWithRules): Host | undefined {
  const folders = ({ agent, home, transcripts = [], store }: Host) => [
    store === undefined ? paths.expand(home) : copiesFolder(paths, agent),
    ...transcripts.flatMap((place) => (typeof place === "object" && place.under?.(paths)) || []),
  ];
  const isBelow = (folder: string) => file.startsWith(`${folder}${sep}`);
  return HOSTS.find((host) => folders(host).some(isBelow));
}

export function metaFiles(paths: PathsWithRules): string[] {
  return metaFolders(paths).flatMap((folder) =>
    namesIn(folder)
      .filter((name) => name.endsWith(META_SUFFIX))
      .map((name) => join(folder, name)),
  );
}

const DAMAGED_SUFFIX = ".damaged";

/**
 * Keeps a copy of a damaged meta file in our own folder, wherever the file lies: null where it cannot be read or copied.
 * Returns whether it was not there yet.
 */
export function copyDamaged(file: string, { meta }: PathsWithRules): boolean | null {
  const content = readBytes(file);
  if (content === undefined) return null;
  const name = `${basename(file)}.${shortHash(content.toString("latin1")).toString(36)}${DAMAGED_SUFFIX}`;
  try {
    return createFile(join(meta, name), content);
  } catch {
    return null;
  }
}

/** Returns the copies of damaged meta files; of one session by its id. */
export function damagedMetas({ meta }: PathsWithRules, id?: string): string[] {
  const beginning = id === undefined ? "" : `${fileStem(id)}${META_SUFFIX}.`;
  return namesIn(meta)
    .filter((name) => name.startsWith(beginning) && name.endsWith(DAMAGED_SUFFIX))
    .map((name) => join(meta, name));
}

/** Longer names are cut: they share a line with other text. */
const NAME_MAX = 200;
/** An escape sequence: dropping only its first character would leave the rest as text. */
const COLOUR = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;

/** Returns a name on one line without control characters; undefined when nothing is left. */
export function cleanName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const line = name
    .replace(COLOUR, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return [...line].slice(0, NAME_MAX).join("") || undefined;
}
