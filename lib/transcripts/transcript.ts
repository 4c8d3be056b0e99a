/**
 * A transcript file as entries, redacted and without what is excluded: forward from a cursor, and the active branch.
 *
 * Files are only ever read. A line counts when its newline is there; a half-written last line waits.
 */

import { closeSync, fstatSync, openSync } from "node:fs";
import { shortHash } from "../base/hash.ts";
import { CALL_LINES_MAX, callCheck } from "./calls.ts";
import type { Head, RawEntry, Results, TreeNode } from "./format.ts";
import { formatOf, headIn, readHead } from "./head.ts";
import { linesBackward, linesForward, parseLine, withFile } from "./jsonl.ts";
import { entryFilter, type Rules } from "./rules.ts";
import type { Agent, Cursor, Entry, LineSpan } from "./session.ts";

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
  /** Called with the id of a row that is declared the live end of the conversation. */
  onLeaf?: (leafId: string) => void;
}

/** Yields a transcript's entries in file order, holding no more than one line. */
export function* readEntries(file: string, options: ReadOptions): Generator<Entry> {
  const { rules, from, to, results = false, unterminated = "wait", onNode, onLeaf } = options;
  const { progress = { offset: 0, line: 0, skipped: 0 } } = options;
  Object.assign(progress, { offset: from?.offset ?? 0, line: from?.line ?? 0, skipped: 0 });
  const descriptor = openSync(file, "r");
  try {
    const head = options.head ?? headIn(descriptor, fstatSync(descriptor).size);
    if (!head) return;
    const format = formatOf(head.agent);
    const settings = { head, results: results !== false };
    const { offset } = progress;
    const earlier = offset > 0 ? () => callsBefore(file, { head, offset }) : undefined;
    const checked = callCheck({ cwd: head.cwd, results, callsBefore: earlier });
    const shown = entryFilter(rules);
    for (const line of linesForward(descriptor, { from: offset })) {
      if (to !== undefined && line.offset >= to) return;
      const { records, damaged } = line.bytes ? parseLine(line.bytes) : { records: [], damaged: true };
      if (!line.terminated && (unterminated === "wait" || damaged)) return;
      const place = { line: progress.line + 1, offset: line.offset, end: line.end };
      for (const record of records) {
        const node = onNode && format.treeNode(record);
        if (node) onNode(node);
        const leafId = onLeaf && format.leafOf(record);
        if (leafId !== undefined) onLeaf?.(leafId);
        for (const raw of format.entries(record, place, settings)) {
          const entry = checked(raw);
          const clean = entry && shown(entry);
          if (clean) yield clean;
        }
      }
      // Together: whoever keeps both while a line is taken would count its damage again on the way back.
      if (damaged) progress.skipped++;
      progress.offset = line.end;
      progress.line++;
    }
  } finally {
    closeSync(descriptor); // also when the taker stops early
  }
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
  const progress: ReadProgress = { offset: 0, line: 0, skipped: 0 };
  const head = readHead(file);
  if (!head) return { entries: [], leafId: undefined, skipped: 0 };
  const tree = conversationTree(head.agent);
  const { onNode, onLeaf } = tree;
  const options: ReadOptions = {
    rules,
    results,
    from,
    head,
    progress,
    onNode,
    onLeaf,
    unterminated: "accept",
  };
  const entries = [...readEntries(file, options)];
  if (at !== undefined) onLeaf(at);
  const isLive = tree.isLive();
  return {
    entries: entries.filter((entry) => entry.id === undefined || isLive(entry.id)),
    leafId: tree.leafId(),
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
  if (entry.id.length >= 32) return entry.id;
  // Short ids (pi's eight digits) are unique within a file only: time and text make them so everywhere.
  return `${entry.id}@${entry.at ?? ""}@${shortHash(entry.text)}`;
}

/** Returns the tool calls on the lines shortly before a byte offset. */
function callsBefore(file: string, { head, offset }: { head: Head; offset: number }): RawEntry[] {
  const format = formatOf(head.agent);
  return withFile(file, (descriptor) => {
    const calls: RawEntry[] = [];
    let lines = 0;
    for (const { offset: start, end, bytes } of linesBackward(descriptor, offset)) {
      if (++lines > CALL_LINES_MAX) break;
      const place = { line: 0, offset: start, end };
      for (const record of bytes ? parseLine(bytes).records : []) {
        calls.push(...format.entries(record, place, { head, results: false }).filter(({ tool }) => tool));
      }
    }
    return calls;
  });
}

/** Returns a check whether a row is on the way from the leaf to its root; all are when that way breaks off. */
export function onPath(nodes: Map<string, TreeNode>, leafId: string | undefined): (id: string) => boolean {
  const path = new Set<string>();
  for (let id = leafId; id !== undefined; id = nodes.get(id)?.parentId) {
    if (path.has(id) || !nodes.has(id)) return () => true;
    path.add(id);
  }
  return (id) => path.size === 0 || path.has(id);
}

/** Returns a check whether a row is not below a prompt that has a live sibling prompt. */
function notAbandoned(nodes: Map<string, TreeNode>, leafId: string | undefined): (id: string) => boolean {
  const ancestors = new Set<string>();
  for (let id = leafId; id !== undefined && !ancestors.has(id); id = nodes.get(id)?.parentId)
    ancestors.add(id);
  const siblings = new Map<string, string[]>();
  for (const node of nodes.values()) {
    if (!node.isPrompt || node.parentId === undefined) continue;
    const others = siblings.get(node.parentId);
    if (others) others.push(node.id);
    else siblings.set(node.parentId, [node.id]);
  }
  const abandoned = new Map<string, boolean>();
  for (const ids of siblings.values()) {
    const live = ids.find((id) => ancestors.has(id)) ?? ids.at(-1);
    for (const id of ids) if (id !== live) abandoned.set(id, true);
  }
  if (abandoned.size === 0) return () => true;
  return (id) => {
    const way: string[] = [];
    let verdict = false;
    for (let at: string | undefined = id; at !== undefined; at = nodes.get(at)?.parentId) {
      const known = abandoned.get(at);
      if (known !== undefined) {
        verdict = known;
        break;
      }
      abandoned.set(at, false); // also ends a cycle
      way.push(at);
    }
    for (const node of way) abandoned.set(node, verdict);
    return !verdict;
  };
}

/** Returns the lines of a transcript that were taken back, in order. Reads the whole file. */
export function readRewound(file: string): LineSpan[] {
  const head = readHead(file);
  if (!head || (head.agent !== "claude" && head.agent !== "pi")) return [];
  const format = formatOf(head.agent);
  const tree = conversationTree(head.agent);
  const rows: [line: number, id: string][] = [];
  withFile(file, (descriptor) => {
    let line = 0;
    for (const { bytes } of linesForward(descriptor)) {
      line++;
      for (const record of bytes ? parseLine(bytes).records : []) {
        const node = format.treeNode(record);
        if (node) {
          tree.onNode(node);
          rows.push([line, node.id]);
        }
        const leafId = format.leafOf(record);
        if (leafId !== undefined) tree.onLeaf(leafId);
      }
    }
  });
  return spansOf(rows, tree.isLive());
}

/** Returns the lines of the rows that are not live, joined where they follow each other. */
function spansOf(
  rows: readonly (readonly [line: number, id: string])[],
  isLive: (id: string) => boolean,
): LineSpan[] {
  const spans: LineSpan[] = [];
  let isInside = false;
  for (const [line, id] of rows) {
    const isOut = !isLive(id);
    const last = spans.at(-1);
    if (isOut && isInside && last) last[1] = line;
    else if (isOut) spans.push([line, line]);
    isInside = isOut;
  }
  return spans;
}

/** Collects the rows of a conversation; those of pi are on the way to its last row, those of Claude Code mostly are. */
function conversationTree(agent: Agent) {
  const nodes = new Map<string, TreeNode>();
  let leaf: string | undefined;
  return {
    onNode(node: TreeNode): void {
      if (!nodes.has(node.id)) nodes.set(node.id, node);
      leaf = node.id;
    },
    onLeaf(id: string): void {
      if (nodes.has(id)) leaf = id;
    },
    leafId: () => leaf,
    isLive: () => (agent === "pi" ? onPath(nodes, leaf) : notAbandoned(nodes, leaf)),
  };
}

/** Watches, row by row, whether the conversation went on from a row that was not its last. */
export interface BranchWatch {
  see(node: TreeNode): void;
  /** Whether it did, or may have done so before what was seen. */
  isBranched(): boolean;
}

/** A prompt goes on from one of the last rows. */
const RECENT_MAX = 2000;

export function branchWatch(agent: Agent): BranchWatch {
  const recent = new Set<string>();
  const promptParents = new Set<string>();
  let last: string | undefined;
  let isBranched = false;
  return {
    see({ id, parentId, isPrompt }) {
      if (last !== undefined && parentId !== undefined) {
        if (agent === "pi") isBranched ||= parentId !== last;
        else if (isPrompt) isBranched ||= promptParents.has(parentId) || !recent.has(parentId);
      }
      if (isPrompt && parentId !== undefined) promptParents.add(parentId);
      recent.add(id);
      if (recent.size > RECENT_MAX) recent.delete(recent.values().next().value ?? "");
      last = id;
    },
    isBranched: () => isBranched,
  };
}
