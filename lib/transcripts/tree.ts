/**
 * The conversation tree of a transcript: which rows are live where a conversation can go on from one that is not its last,
 * and which were taken back.
 */

import type { JsonRecord } from "../base/json.ts";
import type { Format, Head, TreeNode } from "../hosts/format.ts";
import { findFormat, formatOf } from "../hosts/hosts.ts";
import { parsedLines, recordsIn, withFile } from "../hosts/lines.ts";
import type { Entry, LineSpan, Session } from "../hosts/session.ts";
import { recordTest } from "./forgotten.ts";
import { readHead } from "./head.ts";
import { type ReadOptions, readEntries } from "./transcript.ts";

interface BranchOptions extends Pick<ReadOptions, "rules" | "results"> {
  /** The row that the conversation is at, where that is known. */
  leafId?: string | undefined;
  /** The session that this one works for, where its place says so. */
  parentId?: string | undefined;
}

/**
 * Returns the entries of the active branch, without abandoned ones.
 *
 * pi: the rows from the root to the last entry. Claude Code: all rows but the ones below a prompt which was
 * edited away. Linear formats and a broken chain: file order.
 */
export function readActiveBranch(file: string, { leafId, parentId, ...options }: BranchOptions): Entry[] {
  const known = readHead(file);
  if (!known) return [];
  const head = { ...known, parentId: parentId ?? known.parentId };
  const tree = conversationTree(formatOf(head));
  const entries = [...readEntries(file, { ...options, head, onRecord: tree.add, unterminated: "accept" })];
  const isLive = tree.liveFrom(leafId);
  return entries.filter(({ id }) => id === undefined || isLive(id));
}

/** Returns what entries of ours, of a type, hold that are on the active branch, in its order. */
export function readKept(
  { file, agent }: Pick<Session, "file" | "agent">,
  type: string,
  { rules, leafId }: Pick<BranchOptions, "rules" | "leafId">,
): unknown[] {
  const format = findFormat(agent);
  if (!format.kept) return [];
  const found: { id: string; data: unknown }[] = [];
  const tree = conversationTree(format);
  const isForgotten = recordTest(agent, format, rules);
  for (const record of recordsIn(file)) {
    const id = tree.add(record);
    const data = isForgotten(record) ? undefined : format.kept(record, type);
    if (id !== undefined && data !== undefined) found.push({ id, data });
  }
  const isLive = tree.liveFrom(leafId);
  return found.filter(({ id }) => isLive(id)).map(({ data }) => data);
}

/** Returns the lines of a transcript that were taken back, in order, joined where they follow each other. Reads the whole file. */
export function readRewound(file: string): LineSpan[] {
  const head = readHead(file);
  const format = head && formatOf(head);
  if (!format?.tree) return [];
  const tree = conversationTree(format);
  const rows: [line: number, id: string][] = [];
  withFile(file, (descriptor) => {
    let line = 0;
    for (const { records, count } of parsedLines(descriptor, format)) {
      line += count;
      for (const record of records) {
        const id = tree.add(record);
        if (id !== undefined) rows.push([line, id]);
      }
    }
  });
  const isLive = tree.liveFrom();
  const spans: LineSpan[] = [];
  let isInside = false;
  for (const [line, id] of rows) {
    const last = spans.at(-1);
    const isOut = !isLive(id);
    if (isOut && isInside && last) last[1] = line;
    else if (isOut) spans.push([line, line]);
    isInside = isOut;
  }
  return spans;
}

/** Collects the rows of a conversation, and says which are live. */
function conversationTree({ tree }: Format) {
  const nodes = new Map<string, TreeNode>();
  const takenBack = new Set<string>();
  let leaf: string | undefined;
  const goTo = (id: string | undefined) => {
    if (id !== undefined && nodes.has(id)) leaf = id;
  };
  const takeBackFrom = (from: string | number) => {
    const ids = [...nodes.keys()];
    const isPrompt = (id: string) => nodes.get(id)?.isPrompt === true && !takenBack.has(id);
    const first = typeof from === "string" ? from : from > 0 ? ids.filter(isPrompt).at(-from) : undefined;
    if (first === undefined || !nodes.has(first)) return;
    for (const gone of ids.slice(ids.indexOf(first))) takenBack.add(gone);
  };
  return {
    /** Takes a record, in file order; returns the id of one that is a row of the tree. */
    add(record: JsonRecord): string | undefined {
      const node = tree?.node(record);
      if (node) {
        const { id, takesBackFrom: from } = node;
        if (from !== undefined) takeBackFrom(from);
        if (from === undefined && !nodes.has(id)) nodes.set(id, node);
        leaf = id;
      }
      goTo(tree?.leaf?.(record));
      return node?.id;
    },
    /** Returns a check whether a row is live where the conversation is at the last one, or at one that is known. */
    liveFrom(leafId?: string): (id: string) => boolean {
      goTo(leafId);
      const { path, isBroken } = pathTo(leaf, nodes);
      const isDead = tree?.live === "but edited away" ? abandoned(nodes, path) : undefined;
      return (row) => !takenBack.has(row) && (isDead ? !isDead.has(row) : isBroken || path.has(row));
    },
  };
}

/** Returns the rows from one up to the root, or as far as each names one that is there. */
function pathTo(leaf: string | undefined, nodes: ReadonlyMap<string, TreeNode>) {
  const path = new Set<string>();
  let id = leaf;
  for (; id !== undefined && nodes.has(id) && !path.has(id); id = nodes.get(id)?.parentId) path.add(id);
  return { path, isBroken: id !== undefined || path.size === 0 };
}

/** Returns the rows at and below a prompt that has a live sibling prompt: one on the way to the leaf, else the last. */
function abandoned(nodes: ReadonlyMap<string, TreeNode>, path: ReadonlySet<string>): Set<string> {
  const chosen = new Map<string, string>();
  for (const { id, parentId, isPrompt } of nodes.values())
    if (isPrompt && parentId !== undefined && !path.has(chosen.get(parentId) ?? "")) chosen.set(parentId, id);
  const dead = new Set<string>();
  const isDead = ({ id, parentId = "", isPrompt }: TreeNode) =>
    dead.has(parentId) || (isPrompt && (chosen.get(parentId) ?? id) !== id);
  // a row may stand before the one that it hangs from
  for (let known = -1; known < dead.size; ) {
    known = dead.size;
    for (const node of nodes.values()) if (isDead(node)) dead.add(node.id);
  }
  return dead;
}

/**
 * Returns a function that takes each record, in file order, and says whether the conversation may have gone on from a row that
 * was not its last.
 */
export function branchWatch(head: Head): (record: JsonRecord) => boolean {
  const { tree } = formatOf(head);
  let last: string | undefined;
  return (record) => {
    const node = tree?.node(record);
    if (!node) return false;
    const { id, parentId = last, isPrompt, takesBackFrom } = node;
    const isElsewhere = last !== undefined && parentId !== last;
    last = id;
    return takesBackFrom !== undefined || (isElsewhere && (isPrompt || tree?.live === "way to the last row"));
  };
}
