/**
 * A transcript file as entries, redacted and without what is excluded: forward from a cursor, and the active branch.
 *
 * Files are only ever read. A line counts when its newline is there; a half-written last line waits.
 */

import { closeSync, openSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { callsBefore } from "./backward.ts";
import { callCheck } from "./calls.ts";
import { type Head, type Results, type TreeNode, textOf } from "./format.ts";
import { formatOf, readHead } from "./head.ts";
import { countLines, linesForward, parseLine, withFile } from "./jsonl.ts";
import { entryFilter, ownRules, type Rules } from "./rules.ts";
import type { Cursor, Entry } from "./session.ts";
import { notAbandoned, onPath } from "./tree.ts";

export type { Head } from "./format.ts";
export { readHead } from "./head.ts";

/** The position after the last complete line read. Updated while entries are consumed. */
export interface ReadProgress extends Cursor {
  /** Lines that held something that was not JSON. */
  skipped: number;
}

export interface ReadOptions {
  /** What is redacted and excluded. */
  rules: Rules;
  /** @default the start */
  from?: Cursor | undefined;
  /** Byte offset from which on lines are not read any more. @default the end */
  to?: number;
  /** Whether tool results are wanted too, and of long ones all or their ends. @default {false} */
  results?: Results;
  /** What to do with a last line that no newline ends: leave it for later, or take it if it is whole. @default {"wait"} */
  unterminated?: "wait" | "accept";
  /** What `readHead` found, to save reading it again. */
  head?: Head | undefined;
  progress?: ReadProgress;
  /** Called with each row's place in the conversation tree. */
  onNode?: ((node: TreeNode) => void) | undefined;
}

/** Yields a transcript's entries in file order, holding no more than one line. */
export function* readEntries(file: string, options: ReadOptions): Generator<Entry> {
  const head = options.head ?? readHead(file);
  const progress = options.progress ?? { offset: 0, line: 0, skipped: 0 };
  progress.offset = options.from?.offset ?? 0;
  progress.line = options.from?.line ?? 0;
  progress.skipped = 0;
  if (!head) return;
  const format = formatOf(head.agent);
  const { results = false, onNode } = options;
  const settings = { head, results: results !== false };
  const { offset } = progress;
  const earlier = offset > 0 ? () => callsBefore(file, { head, offset }) : undefined;
  const checked = callCheck({ cwd: head.cwd, results, callsBefore: earlier });
  const shown = entryFilter(options.rules);
  for (const { place, records } of readRecords(file, progress, options)) {
    for (const record of records) {
      const node = onNode && format.treeNode(record);
      if (node) onNode(node);
      for (const raw of format.entries(record, place, settings)) {
        const entry = checked(raw);
        if (entry) yield* shown(entry);
      }
    }
  }
}

/** Yields each line's records from `progress` on, and moves it past the line once they were consumed. */
function* readRecords(
  file: string,
  progress: ReadProgress,
  { unterminated = "wait", to }: Omit<ReadOptions, "rules">,
) {
  const descriptor = openSync(file, "r");
  try {
    for (const line of linesForward(descriptor, progress.offset)) {
      if (to !== undefined && line.offset >= to) return;
      const { records, damaged } = line.bytes ? parseLine(line.bytes) : { records: [], damaged: true };
      if (!line.terminated && (unterminated === "wait" || damaged)) return;
      const place = { line: progress.line + 1, offset: line.offset, end: line.end };
      if (records.length > 0) yield { place, records };
      // Together: whoever keeps both while a line is taken would count its damage again on the way back.
      if (damaged) progress.skipped++;
      progress.offset = line.end;
      progress.line++;
    }
  } finally {
    closeSync(descriptor); // also when the taker stops early
  }
}

/** Fills in `line` of entries that were read from the end, counting on from a line whose place is known. */
export function numberLines(file: string, entries: Entry[], known = { line: 1, offset: 0 }): void {
  withFile(file, (descriptor) => {
    let { line, offset } = known;
    for (const entry of entries) {
      if (entry.offset >= offset) line += countLines(descriptor, offset, entry.offset);
      else line -= countLines(descriptor, entry.offset, offset);
      offset = entry.offset;
      entry.line = line;
    }
  });
}

/**
 * Returns the entries of the active branch, without abandoned ones.
 *
 * pi: the rows from the root to the last entry. Claude Code: all rows but those that hang off a prompt which was
 * edited away. Linear formats and a broken chain: file order.
 */
export function readActiveBranch(
  file: string,
  { rules, results = false, leafId: at, from }: ReadBranchOptions,
): { entries: Entry[]; leafId: string | undefined; skipped: number } {
  const progress: ReadProgress = { offset: 0, line: 0, ...from, skipped: 0 };
  const head = readHead(file);
  if (!head) return { entries: [], leafId: undefined, skipped: 0 };
  const format = formatOf(head.agent);
  const { offset } = progress;
  const earlier = offset > 0 ? () => callsBefore(file, { head, offset }) : undefined;
  const checked = callCheck({ cwd: head.cwd, results, callsBefore: earlier });
  const shown = entryFilter(rules);
  const entries: Entry[] = [];
  const nodes = new Map<string, TreeNode>();
  let leafId: string | undefined;
  for (const { place, records } of readRecords(file, progress, { unterminated: "accept" })) {
    for (const record of records) {
      const node = format.treeNode(record);
      if (node && !nodes.has(node.id)) nodes.set(node.id, node);
      const declared = format.leafOf(record);
      leafId = (declared !== undefined && nodes.has(declared) ? declared : node?.id) ?? leafId;
      for (const raw of format.entries(record, place, { head, results })) {
        const entry = checked(raw);
        if (entry) entries.push(...shown(entry));
      }
    }
  }
  if (at !== undefined && nodes.has(at)) leafId = at;
  const isLive = head.agent === "pi" ? onPath(nodes, leafId) : notAbandoned(nodes, leafId);
  return {
    entries: entries.filter((entry) => entry.id === undefined || isLive(entry.id)),
    leafId,
    skipped: progress.skipped,
  };
}

interface ReadBranchOptions extends Pick<ReadOptions, "rules"> {
  /** Whether tool results are wanted too. @default {false} */
  results?: boolean;
  /** The row that the conversation is at, where that is known. */
  leafId?: string | undefined;
  /** Where to begin, at a place from which on the branch is the active one. @default the start */
  from?: Cursor | undefined;
}

/** Returns a key that every copy of a row shares, as forks make them; undefined when the host gives rows no id. */
export function entryKey(entry: Entry): string | undefined {
  if (entry.id === undefined) return undefined;
  // Short ids (pi's eight digits) are unique within a file only: the time makes them so everywhere.
  return entry.id.length >= 32 ? entry.id : `${entry.id}@${entry.at ?? ""}`;
}

/** A transcript as flat text, with the line of each message. */
export interface SessionFile {
  /** File name. */
  path: string;
  absPath: string;
  mtimeMs: number;
  size: number;
  /** sha256 of content and line map. */
  hash: string;
  /** One line per message: `User: …` or `Assistant: …`. */
  content: string;
  /** For each line of `content` its 1-based line in the transcript. */
  lineMap: number[];
}

/** Reads a whole transcript's messages; null when it cannot be read. */
export async function parseSessionFile(absPath: string): Promise<SessionFile | null> {
  try {
    const { mtimeMs, size } = statSync(absPath);
    const lines: string[] = [];
    const lineMap: number[] = [];
    for (const entry of readEntries(absPath, { rules: ownRules(), unterminated: "accept" })) {
      if (entry.kind !== "user" && entry.kind !== "assistant") continue;
      const text = extractSessionText(entry.text);
      if (text === null) continue;
      lines.push(`${entry.kind === "user" ? "User" : "Assistant"}: ${text}`);
      lineMap.push(entry.line);
    }
    const content = lines.join("\n");
    // The global: importing node:crypto would double the start of everything that reads transcripts.
    const text = new TextEncoder().encode(`${content}\n${lineMap.join(",")}`);
    const hash = Buffer.from(await crypto.subtle.digest("SHA-256", text)).toString("hex");
    return { path: basename(absPath), absPath, mtimeMs, size, hash, content, lineMap };
  } catch {
    return null; // promised: no reason is wanted, validateSessionFile gives it
  }
}

/** Returns the words of a message's content on one line; null when there are none. */
export function extractSessionText(content: unknown): string | null {
  const blocks = Array.isArray(content) ? content : [content];
  const parts = blocks
    .map((block) =>
      textOf(typeof block === "string" ? block : [block])
        .replace(/\s+/g, " ")
        .trim(),
    )
    .filter(Boolean);
  return parts.join(" ") || null;
}

/** Lists the `*.jsonl` files of a directory; none when it cannot be read. */
export async function listSessionFiles(directory: string): Promise<string[]> {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((item) => item.isFile() && item.name.endsWith(".jsonl"))
      .map((item) => join(directory, item.name))
      .sort();
  } catch {
    return [];
  }
}
