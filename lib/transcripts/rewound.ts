/** Rows that were taken back: the conversation went on from a row before them. */

import type { TreeNode } from "./format.ts";
import { formatOf, readHead } from "./head.ts";
import { linesForward, parseLine, withFile } from "./jsonl.ts";
import type { LineSpan } from "./line-span.ts";
import type { Agent } from "./session.ts";
import { notAbandoned, onPath } from "./tree.ts";

/** Returns the lines of a transcript that were taken back, in order. Reads the whole file. */
export function readRewound(file: string): LineSpan[] {
  const head = readHead(file);
  if (!head || (head.agent !== "claude" && head.agent !== "pi")) return [];
  const format = formatOf(head.agent);
  const tree = conversationTree(head.agent);
  withFile(file, (descriptor) => {
    let line = 0;
    for (const { bytes } of linesForward(descriptor)) {
      line++;
      for (const record of bytes ? parseLine(bytes).records : []) {
        tree.add(format.treeNode(record), { line, leafId: format.leafOf(record) });
      }
    }
  });
  return tree.rewound();
}

interface ConversationTree {
  add(node: TreeNode | undefined, place: { line: number; leafId: string | undefined }): void;
  rewound(): LineSpan[];
}

/** Collects the rows of a conversation; those of pi are on the way to its last row, those of Claude Code mostly are. */
function conversationTree(agent: Agent): ConversationTree {
  const nodes = new Map<string, TreeNode>();
  const lines: [line: number, id: string][] = [];
  let leaf: string | undefined;
  return {
    add(node, { line, leafId }) {
      if (node) {
        if (!nodes.has(node.id)) nodes.set(node.id, node);
        lines.push([line, node.id]);
      }
      leaf = (leafId !== undefined && nodes.has(leafId) ? leafId : node?.id) ?? leaf;
    },
    rewound() {
      const isLive = agent === "pi" ? onPath(nodes, leaf) : notAbandoned(nodes, leaf);
      const spans: LineSpan[] = [];
      let isInside = false;
      for (const [line, id] of lines) {
        const isOut = !isLive(id);
        const last = spans.at(-1);
        if (isOut && isInside && last) last[1] = line;
        else if (isOut) spans.push([line, line]);
        isInside = isOut;
      }
      return spans;
    },
  };
}

/** Tells, row by row, whether the conversation went on from a row that was not its last. */
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
