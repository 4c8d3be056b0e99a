/**
 * Reads sessions from the index, for transcripts that the host has deleted: every message, and what the index keeps of each
 * tool call.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { statUnpacked } from "../base/files.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { LineRange } from "../sessions/references.ts";
import { type Store, withExistingStore } from "../store/store.ts";
import { hashBefore } from "../transcripts/jsonl.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Entry, LineSpan, Row, Session, ToolAction } from "../transcripts/session.ts";
import type { Step } from "../transcripts/steps.ts";
import { ensureIndex } from "./freshness.ts";
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

interface IndexedPlace {
  session: Session;
  lines: LineRange | undefined;
  /** The session as the index has it; undefined when its transcript exists or the index has nothing. */
  indexed?: Step[] | undefined;
}

/**
 * Resolves a reference, with the indexed steps of a session whose transcript is gone; falls back to a
 * session that only the index knows.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export async function resolveOrIndexed<T extends object>(
  reference: string,
  paths: PathsWithRules,
  resolve: () => T | Omit<IndexedPlace, "indexed">,
): Promise<T | IndexedPlace> {
  try {
    const found = resolve();
    if (!("session" in found) || statUnpacked(found.session.file)) return found;
    await ensureIndex(paths.database, paths.rules);
    return { ...found, indexed: readIndexedSteps(found.session.id, paths) };
  } catch (error) {
    const isUnknown = error instanceof SessionMemoryError && error.type === "NOT_FOUND";
    if (!isUnknown || error.details.isExcluded) throw error;
    await ensureIndex(paths.database, paths.rules);
    // a search reads stored messages too, and resolves nothing
    const [{ namedExactly, placeIn }, { assertNotExcluded }] = await Promise.all([
      import("../sessions/references.ts"),
      import("../sessions/sessions.ts"),
    ]);
    const { session: named, lines } = placeIn(reference) ?? { session: reference, lines: undefined };
    const gone = withExistingStore(paths.database, heldSessions)?.filter(({ file }) => !statUnpacked(file));
    const [held, ...others] = namedExactly(named, gone ?? []);
    if (!held || others.length > 0) throw error;
    const { id, agent, file, name, cwd, parentId, updatedAt } = held;
    const session = { id, agent, file, name, cwd, parentId, updatedAt, modifiedAt: updatedAt, size: 0 };
    assertNotExcluded(session, paths);
    const indexed = readIndexedSteps(id, paths);
    if (!indexed) throw error;
    return { session, lines, indexed };
  }
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
