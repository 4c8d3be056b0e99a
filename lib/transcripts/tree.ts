/** Decides which rows of a conversation tree belong to the active branch. */

import type { TreeNode } from "./format.ts";

/** On the way from the leaf to its root; everything, when that way breaks off. */
export function onPath(nodes: Map<string, TreeNode>, leafId: string | undefined): (id: string) => boolean {
  const path = new Set<string>();
  for (let id = leafId; id !== undefined; id = nodes.get(id)?.parentId) {
    if (path.has(id) || !nodes.has(id)) return () => true;
    path.add(id);
  }
  return (id) => path.size === 0 || path.has(id);
}

/** Not below a prompt that has a living sibling prompt. */
export function notAbandoned(
  nodes: Map<string, TreeNode>,
  leafId: string | undefined,
): (id: string) => boolean {
  const ancestors = new Set<string>();
  for (let id = leafId; id !== undefined && !ancestors.has(id); id = nodes.get(id)?.parentId)
    ancestors.add(id);
  const siblings = new Map<string, string[]>();
  for (const node of nodes.values()) {
    if (!node.isPrompt || node.parentId === undefined) continue;
    siblings.set(node.parentId, [...(siblings.get(node.parentId) ?? []), node.id]);
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
