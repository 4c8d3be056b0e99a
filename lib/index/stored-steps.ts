/**
 * A session read back from its rows in an index, where there is no transcript to read: what was said, in the words of its
 * chunks, and what was done. Every message is there; of tool calls, what the index keeps of them.
 */

import type { Row } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import type { Entry, ToolAction } from "../transcripts/session.ts";
import type { Step } from "../transcripts/steps.ts";
import { readDeeds, type StoredDeed } from "./deed-rows.ts";

/** Characters that a piece of a message repeats of the one before. */
const OVERLAP_MIN = 16;
const OVERLAP_MAX = 600;
const LABEL = /^(User|Assistant): /;
const ACTIONS: Record<string, ToolAction> = {
  command: "run",
  edit: "edit",
  write: "edit",
  read: "read",
  search: "search",
};

/** Returns the steps of a session, in their order. */
export function storedSteps(store: Store, sessionId: string): Step[] {
  const number = store.db.prepare("SELECT number FROM sessions WHERE id = ?").get(sessionId)?.number;
  const said = messagesOf(store, sessionId).map((entry) => ({ entry }));
  const all = { after: -1, to: Number.MAX_SAFE_INTEGER };
  const done = number === undefined ? [] : readDeeds(store, Number(number), all).map(toStep);
  return [...said, ...done].sort((a, b) => a.entry.line - b.entry.line);
}

function messagesOf(store: Store, sessionId: string): Entry[] {
  const rows = store.db
    .prepare(
      `SELECT timestamp, first_line, content, row_lines FROM session_chunks WHERE session_id = ? ORDER BY chunk_index`,
    )
    .all(sessionId);
  const messages: Entry[] = [];
  for (const piece of rows.flatMap(piecesOf)) {
    const last = messages.at(-1);
    if (last?.line === piece.line && last.kind === piece.kind) last.text = joined(last.text, piece.text);
    else messages.push(piece);
  }
  return messages;
}

/** Returns the messages of a chunk, or the pieces of them that are in it. */
export function piecesOf(row: Row): Entry[] {
  const content = String(row.content);
  const places = [...String(row.row_lines).matchAll(/(\d+):(\d+)/g)].map(([, start, line]) => [
    Number(start),
    Number(line),
  ]);
  const known = places.length > 0 ? places : labelled(content, Number(row.first_line));
  return known.map(([start = 0, line = 0], at) => {
    const text = content.slice(start, known[at + 1]?.[0]).trimEnd();
    const kind = text.startsWith("User: ") ? "user" : "assistant";
    return { line, offset: 0, end: 0, kind, text: text.replace(LABEL, ""), at: String(row.timestamp) };
  });
}

function labelled(content: string, line: number): number[][] {
  return [...content.matchAll(/^(?:User|Assistant): /gm)].map(({ index }) => [index, line]);
}

function joined(text: string, next: string): string {
  for (let length = Math.min(OVERLAP_MAX, next.length, text.length); length >= OVERLAP_MIN; length--) {
    if (text.endsWith(next.slice(0, length))) return text + next.slice(length);
  }
  return `${text}\n${next}`;
}

function toStep({ line, timestamp, kind, tool, target, paths, input, outcome, result }: StoredDeed): Step {
  const common = { line, offset: 0, end: 0, at: timestamp };
  const call = {
    name: tool,
    target,
    action: ACTIONS[kind] ?? "other",
    paths,
    input: input === "" ? target : input,
  };
  const entry: Entry = { ...common, kind: "tool", text: `${tool} ${target}`, tool: call };
  if (outcome === "unknown") return { entry };
  const state = outcome === "rejected" || outcome === "running" ? outcome : undefined;
  const answer: Entry = { ...common, kind: "result", text: result, isError: outcome === "failed", state };
  return { entry, result: answer };
}
