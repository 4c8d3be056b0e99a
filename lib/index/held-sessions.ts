/**
 * Reads sessions from the index, for transcripts that the host has deleted: every message, and what the index keeps of each
 * tool call.
 */

import { statUnpacked } from "../base/files.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Held } from "../sessions/resolve.ts";
import { type Store, withExistingStore } from "../store/store.ts";
import { hashBefore } from "../transcripts/jsonl.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Entry, LineSpan, Row, Session, ToolAction } from "../transcripts/session.ts";
import type { Step } from "../transcripts/steps.ts";
import { hostId, rewoundLines, SESSION_COLUMNS, type SessionRow, toSessionRow } from "./index-state.ts";
import { readRows } from "./stored-rows.ts";

/** A session in the index, by the host's id. */
export interface HeldSession extends SessionRow {
  updatedAt: string;
  /** The index's id for it, where two files share one. */
  storedId: string;
}

/** Returns every session in the index. */
export function heldSessions(store: Store): HeldSession[] {
  return store.db
    .prepare(`SELECT ${SESSION_COLUMNS}, updated_at FROM sessions`)
    .all()
    .map((row) => ({
      ...toSessionRow(row),
      id: hostId(String(row.id)),
      updatedAt: String(row.updated_at),
      storedId: String(row.id),
    }));
}

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
  return number === undefined ? [] : readRows(store, Number(number)).map(toStep);
}

function toStep(row: Row): Step {
  const { line, nth, at } = row;
  const common = { line, nth, offset: 0, end: 0, at };
  if (row.who !== "tool") return { entry: { ...common, kind: row.who, text: row.text } };
  const { kind, tool, target, paths, input, outcome, result } = row;
  const call = {
    name: tool,
    target,
    action: ACTIONS[kind] ?? "other",
    paths: [...paths],
    input: input === "" ? target : input,
  };
  const entry: Entry = { ...common, kind: "tool", text: `${tool} ${target}`, tool: call };
  if (outcome === "unknown") return { entry };
  const state = outcome === "rejected" || outcome === "running" ? outcome : undefined;
  const answer: Entry = { ...common, kind: "result", text: result, isError: outcome === "failed", state };
  return { entry, result: answer };
}

/** Reads a session's indexed steps in the order of their lines; undefined when the index has none. */
export function readIndexedSteps(id: string, paths: PathsWithRules): Step[] | undefined {
  const steps = withExistingStore(paths.database, (store) =>
    heldSessions(store)
      .filter((held) => held.id === id)
      .flatMap(({ storedId }) => storedSteps(store, storedId)),
  );
  if (!steps || steps.length === 0) return undefined;
  const { hasEntry } = readRules(paths.rules);
  return steps.filter(({ entry }) => !hasEntry(entry));
}

/** Returns the sessions of an index as references know them; only those without a transcript, where these alone are wanted. */
export function heldIn(store: Store, { gone }: { gone: boolean }): Held[] {
  const all = heldSessions(store);
  return (gone ? all.filter(({ file }) => !statUnpacked(file)) : all).map(asHeld);
}

/** Returns a session of an index as references know it. */
export function asHeld({ id, storedId, agent, file, name, cwd, parentId, updatedAt }: HeldSession): Held {
  const session = { id, agent, file, name, cwd, parentId, updatedAt, modifiedAt: updatedAt, size: 0 };
  return { session, storedId, ids: [id, storedId], file, names: name === undefined ? [] : [name] };
}

export interface KnownLines {
  /** A line near the end. */
  line: number;
  offset: number;
  rewound: LineSpan[];
}

/** Returns where a line near the end begins and which lines were rewound; undefined if the file is not the indexed one. */
export function knownLines(database: string, { file, size }: Session): KnownLines | undefined {
  try {
    return withExistingStore(database, (store) => {
      const row = store.db
        .prepare(
          `SELECT number, cursor_offset, cursor_line, file_hash FROM index_state LEFT JOIN sessions ON id = session_id
           WHERE file_path = ?`,
        )
        .get(file);
      const offset = Number(row?.cursor_offset ?? 0);
      if (offset === 0 || offset > size || hashBefore(file, offset) !== row?.file_hash) return undefined;
      const rewound = rewoundLines(store, Number(row.number));
      return { line: Number(row.cursor_line) + 1, offset, rewound };
    });
  } catch {
    return undefined; // counting from the start gives the same
  }
}
