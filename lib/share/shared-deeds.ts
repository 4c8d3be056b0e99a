/**
 * Deeds on their way between machines. Each goes with the chunk that its line belongs to, so that it comes, changes and
 * goes with it. Paths within the project are written from its top: on another machine it is elsewhere.
 */

import { posix } from "node:path";
import { recordOf, stringOf } from "../base/json.ts";
import { readDeeds, type StoredDeed } from "../index/deed-rows.ts";
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
    if (idx === undefined || isOut(deed, rules)) continue;
    const others = byChunk.get(idx);
    if (others) others.push(toShared(deed, rules));
    else byChunk.set(idx, [toShared(deed, rules)]);
  }
  return byChunk;
}

function isOut({ target, paths, input, result }: Deed, { hasText }: DeedRules): boolean {
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
