/**
 * A transcript file as entries, redacted and without what is excluded: forward from a cursor, and the active branch.
 *
 * Files are only ever read. A line counts when its newline is there; a half-written last line waits.
 */

import { closeSync, fstatSync, openSync } from "node:fs";
import type { JsonRecord } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import { CALL_LINES_MAX, callCheck } from "./calls.ts";
import { type Format, type Head, type RawEntry, type Results, readRow, type TreeNode } from "./format.ts";
import { formatOf, headIn, readHead } from "./head.ts";
import { rowsBackward, rowsForward, STATES_WITHIN, withFile } from "./jsonl.ts";
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
  /** Asked after each line: whether to stop there. */
  isOver?: (() => boolean) | undefined;
  /** Called with each row's place in the conversation tree. */
  onNode?: ((node: TreeNode) => void) | undefined;
  /** Called with the id of a row that is declared the live end of the conversation. */
  onLeaf?: (leafId: string) => void;
}

/** Yields a transcript's entries in file order, holding no more than one line. */
export function* readEntries(file: string, options: ReadOptions): Generator<Entry> {
  const { rules, from, to, results = false, unterminated = "wait", onNode, onLeaf, isOver } = options;
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
    const written = offset > 0 ? writtenBefore(file, { head, offset }) : undefined;
    for (const row of rowsForward(descriptor, format, offset)) {
      const { records, damaged, terminated, end } = row;
      if (to !== undefined && row.offset >= to) return;
      if (!terminated && (unterminated === "wait" || damaged)) return;
      const place = { line: progress.line + 1, offset: row.offset, end };
      for (const record of records) {
        const node = onNode && format.tree?.node(record);
        if (node) onNode(node);
        const leafId = onLeaf && format.tree?.leaf?.(record);
        if (leafId !== undefined) onLeaf?.(leafId);
        for (const raw of readRow(format, record, place, settings)) {
          if (written?.has(stateKey(format.messageOf?.(record), raw))) continue;
          const entry = checked(raw);
          const clean = entry && shown(entry);
          if (clean) yield clean;
        }
      }
      // Together: whoever keeps both while a line is taken would count its damage again on the way back.
      if (damaged) progress.skipped++;
      progress.offset = end;
      progress.line += row.count;
      if (isOver?.()) return;
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
  const tree = conversationTree(formatOf(head.agent));
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
  results?: Results;
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
function callsBefore(file: string, before: { head: Head; offset: number }): RawEntry[] {
  return entriesBefore(file, before, CALL_LINES_MAX)
    .map(({ raw }) => raw)
    .filter(({ tool }) => tool);
}

/** Returns what was read of messages before a byte offset that rows after it may repeat. */
function writtenBefore(file: string, before: { head: Head; offset: number }): Set<string> | undefined {
  const { messageOf } = formatOf(before.head.agent);
  if (!messageOf) return undefined;
  const entries = entriesBefore(file, before, STATES_WITHIN);
  return new Set(entries.map(({ raw, record }) => stateKey(messageOf(record), raw)));
}

function stateKey(message: string | undefined, { kind, callId, text }: RawEntry): string {
  return `${message} ${kind} ${callId ?? text}`;
}

function entriesBefore(
  file: string,
  { head, offset }: { head: Head; offset: number },
  lines: number,
): { raw: RawEntry; record: JsonRecord }[] {
  const format = formatOf(head.agent);
  return withFile(file, (descriptor) =>
    Iterator.from(rowsBackward(descriptor, format, offset))
      .take(lines)
      .flatMap(({ records, offset, end }) =>
        records.flatMap((record) =>
          readRow(format, record, { line: 0, offset, end }, { head, results: false }).map((raw) => ({
            raw,
            record,
          })),
        ),
      )
      .toArray(),
  );
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
  const format = head && formatOf(head.agent);
  if (!format?.tree) return [];
  const { node: nodeOf, leaf: leafOf } = format.tree;
  const tree = conversationTree(format);
  const rows: [line: number, id: string][] = [];
  withFile(file, (descriptor) => {
    let line = 0;
    for (const { records, count } of rowsForward(descriptor, format)) {
      line += count;
      for (const record of records) {
        const node = nodeOf(record);
        if (node) {
          tree.onNode(node);
          rows.push([line, node.id]);
        }
        const leafId = leafOf?.(record);
        if (leafId !== undefined) tree.onLeaf(leafId);
      }
    }
  });
  return joinSpans(rows, tree.isLive());
}

/** Returns the lines of the rows that are not live, joined where they follow each other. */
function joinSpans(
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

/** Collects the rows of a conversation, and tells which are live. */
function conversationTree({ tree }: Format) {
  const nodes = new Map<string, TreeNode>();
  const takenBack = new Set<string>();
  let leaf: string | undefined;
  return {
    onNode(node: TreeNode): void {
      const { id, takesBackFrom: from } = node;
      if (from !== undefined && nodes.has(from)) {
        const ids = [...nodes.keys()];
        for (const gone of ids.slice(ids.indexOf(from))) takenBack.add(gone);
      }
      if (from === undefined && !nodes.has(id)) nodes.set(id, node);
      leaf = id;
    },
    onLeaf(id: string): void {
      if (nodes.has(id)) leaf = id;
    },
    leafId: () => leaf,
    isLive: () => {
      const isLive = tree?.live === "way to the last row" ? onPath(nodes, leaf) : notAbandoned(nodes, leaf);
      return takenBack.size === 0 ? isLive : (id: string) => !takenBack.has(id) && isLive(id);
    },
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
  const isPath = formatOf(agent).tree?.live === "way to the last row";
  const recent = new Set<string>();
  const promptParents = new Set<string>();
  let last: string | undefined;
  let isBranched = false;
  return {
    see({ id, parentId, isPrompt, takesBackFrom }) {
      isBranched ||= takesBackFrom !== undefined;
      if (last !== undefined && parentId !== undefined) {
        if (isPath) isBranched ||= parentId !== last;
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
