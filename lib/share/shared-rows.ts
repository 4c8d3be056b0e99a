/**
 * What goes between machines, in both directions: deeds with the chunk that their line belongs to, and texts without this
 * machine's paths, which name people and mean nothing elsewhere. Home folders become `~`, and what lies in the project is
 * named from its top.
 */

import { realpathSync } from "node:fs";
import { posix } from "node:path";
import { recordOf, stringOf } from "../base/json.ts";
import { readDeeds, type StoredDeed } from "../index/session-rows.ts";
import { encodeClaudeCwd } from "../sessions/places.ts";
import type { Store } from "../store/store.ts";
import type { Deed, DeedKind, DeedOutcome } from "../transcripts/session.ts";
import type { Cleaner } from "./incoming.ts";

/** A deed as it is sent. */
export interface SharedDeed {
  line: number;
  resultLine: number | null;
  at: string;
  kind: string;
  tool: string;
  target: string;
  paths: string[];
  input: string;
  outcome: string;
  result: string;
}

const KINDS: readonly DeedKind[] = ["command", "edit", "write", "read", "search", "fetch"];
const OUTCOMES: readonly DeedOutcome[] = ["done", "failed", "rejected", "running"];
const FILE_KINDS = new Set<DeedKind>(["edit", "write", "read", "search"]);

interface DeedRules {
  clean: (text: string) => string;
  hasText: (text: string) => boolean;
  /** The top of the repository on this machine. */
  root: string;
}

/** Returns the deeds of a session by the index of the chunk that they go with. */
export function deedsByChunk(
  store: Store,
  { number, chunks }: { number: number; chunks: readonly { idx: number; first: number }[] },
  rules: DeedRules,
): Map<number, SharedDeed[]> {
  const deeds = readDeeds(store, number, { after: -1, to: Number.MAX_SAFE_INTEGER });
  const byChunk = new Map<number, SharedDeed[]>();
  let at = 0;
  for (const deed of deeds) {
    while ((chunks[at + 1]?.first ?? Number.POSITIVE_INFINITY) <= deed.line) at++;
    const idx = chunks[at]?.idx;
    if (idx === undefined || holdsText(deed, rules.hasText)) continue;
    byChunk.set(idx, [...(byChunk.get(idx) ?? []), toShared(deed, rules)]);
  }
  return byChunk;
}

/** Returns whether any part of a deed holds a text. */
export function holdsText(
  { target, paths, input, result }: Deed,
  hasText: (text: string) => boolean,
): boolean {
  return [target, ...paths, input, result].some(hasText);
}

function toShared(deed: StoredDeed, { clean, root }: DeedRules): SharedDeed {
  const { line, resultLine = null, timestamp, kind, tool, outcome } = deed;
  const isFile = FILE_KINDS.has(kind);
  const files = isFile ? [deed.target, ...deed.paths].filter((path) => path.startsWith("/")) : [];
  // the arguments repeat the path
  const input = files.reduce((text, path) => text.replaceAll(path, placed(path, root)), deed.input);
  return {
    line,
    resultLine,
    at: timestamp,
    kind,
    tool: clean(tool),
    target: clean(isFile ? placed(deed.target, root) : deed.target),
    paths: deed.paths.map((path) => clean(placed(path, root))),
    input: clean(input),
    outcome,
    result: clean(deed.result),
  };
}

/** Returns a path from the top of the project; elsewhere only the name, or with `~` below a home. */
function placed(path: string, root: string): string {
  if (!path.startsWith("/")) return path;
  if (path === root) return ".";
  if (path.startsWith(`${root}/`)) return path.slice(root.length + 1);
  return isInHome(path) ? path : `…/${posix.basename(path)}`;
}

function isInHome(path: string): boolean {
  const home = process.getBuiltinModule("node:os").homedir();
  return path.startsWith(`${home}/`) || /^\/(?:home|Users)\/[^/]+\//.test(path);
}

/** Returns a deed of the hub, checked and cleaned. */
export function toDeed(value: unknown, { text, line: oneLine }: Cleaner): Deed & { at: string } {
  const { line, resultLine, at, kind, tool, target, paths, input, outcome, result } = recordOf(value);
  return {
    line: numberOf(line) ?? 0,
    resultLine: numberOf(resultLine),
    at: stringOf(at) ?? "",
    kind: KINDS.find((known) => known === kind) ?? "other",
    tool: oneLine(tool),
    target: text(target).replaceAll("\n", " "),
    paths: (Array.isArray(paths) ? paths : []).map((path) => text(path).replaceAll("\n", " ")),
    input: text(input),
    outcome: OUTCOMES.find((known) => known === outcome) ?? "unknown",
    result: text(result),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** A home in another system's or user's usual place, also in JSON, in a URL, and as hosts make folder names of it. */
const USUAL = [
  String.raw`(?<![\w.~-])(?:\\?/)(?:home|Users)(?:\\?/)[\w.@-]+`,
  String.raw`(?<![\w])[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)[\w.@-]+`,
  String.raw`(?<![\w])-(?:home|Users)-[A-Za-z0-9]+(?=-|$|[^\w-])`,
];

/** Makes a function that puts `~` in place of home folders: the user's own, wherever it is, and usual ones. */
export function homeRemover(home: string): (text: string) => string {
  const own = [...new Set([home, realPath(home)])].filter((path) => path.length > 1);
  const names = own.flatMap((path) => [escaped(path), escaped(encodeClaudeCwd(path))]);
  const pattern = new RegExp([...names.map((name) => `${name}(?![\\w])`), ...USUAL].join("|"), "g");
  return (text) => text.replace(pattern, "~");
}

/** Makes a function that names what lies below a directory from there: `src/a.ts`, and `.` for itself. */
export function rootRemover(root: string): (text: string) => string {
  const paths = [...new Set([root, realPath(root)])].map(escaped).join("|");
  const pattern = new RegExp(`(?:${paths})(?:/(?=[\\w.@-])|(?![\\w/-]))`, "g");
  return (text) => text.replace(pattern, (match) => (match.endsWith("/") ? "" : "."));
}

/** Returns the tool calls of a chunk, one per line: of files outside of project and home only the name is left. */
export function withoutForeignPaths(tools: string): string {
  return tools.replace(/^(\S+) \/(?:[^\s/]+\/)*([^\s/]+)$/gm, "$1 …/$2");
}

/** Groups items in order, so that no group of several weighs more than `max`. */
export function* batchesBy<T>(
  items: Iterable<T>,
  { max, weigh }: { max: number; weigh: (item: T) => number },
): Generator<T[]> {
  let batch: T[] = [];
  let sum = 0;
  for (const item of items) {
    const weight = weigh(item);
    if (batch.length > 0 && sum + weight > max) {
      yield batch;
      batch = [];
      sum = 0;
    }
    batch.push(item);
    sum += weight;
  }
  if (batch.length > 0) yield batch;
}

function escaped(path: string): string {
  return path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("/", String.raw`\\?/`);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
