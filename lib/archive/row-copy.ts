/**
 * Writes the copy of a session whose rows outlived its transcript: in our plain form, each row at its line, so that places
 * that were named before still lead there.
 */

import { arrayOf, type JsonRecord } from "../base/json.ts";
import type { Done, Row, Session } from "../hosts/session.ts";
import { writeLines } from "./copy-files.ts";

/** The facts of a session that its copy keeps. */
type CopiedSession = Pick<Session, "id" | "agent" | "updatedAt"> &
  Partial<Pick<Session, "cwd" | "name" | "parentId" | "startedAt">>;

/** Writes a copy on disk, with its note, before it takes its name: nothing could make it again. */
export function writeRowCopy(
  target: string,
  { session, rows, note }: { session: CopiedSession; rows: readonly Row[]; note: JsonRecord },
): void {
  const lines = new Map<number, JsonRecord>();
  // what stands on one line is one record there
  const put = (line: number, { content = [], ...facts }: JsonRecord) => {
    const before = lines.get(line);
    const blocks = [...arrayOf(before?.content), ...arrayOf(content)];
    lines.set(line, { ...facts, ...before, ...(blocks.length > 0 && { content: blocks }) });
  };
  const { id, agent, parentId, cwd = "", name = "", startedAt, updatedAt } = session;
  put(1, { host: agent, session: id, parent: parentId, cwd, title: name, timestamp: startedAt ?? updatedAt });
  for (const row of rows) {
    if (row.who !== "tool") put(row.line, said(row));
    else {
      put(row.line, called(row));
      const result = resultOf(row);
      if (result) put(row.resultLine ?? row.line, result);
    }
  }
  let [text, at] = ["", 1];
  for (const [line, record] of [...lines].sort(([a], [b]) => a - b)) {
    text += "\n".repeat(line - at) + JSON.stringify(record);
    at = line;
  }
  const about = { agent, id, parent: parentId, ...note };
  writeLines(target, `${text}\n`, { note: about, at: updatedAt, durable: true });
}

function said({ who, at, text, typed }: Exclude<Row, Done>): JsonRecord {
  const content = [{ type: "text", text }];
  return { role: who, timestamp: at, content, ...(who === "user" && { typed: typed !== false }) };
}

const callId = ({ line, nth }: Done) => `${line}.${nth}`;

function called(row: Done): JsonRecord {
  const call = { type: "tool_use", id: callId(row), name: row.tool, input: inputOf(row) };
  return { role: "assistant", timestamp: row.at, content: [call] };
}

/** Returns a call's input, under the names by which its kind is read. */
function inputOf({ kind, target, input, paths }: Done): JsonRecord {
  const text = input || target;
  if (kind === "command") return { command: text };
  if (kind === "edit") {
    const side = (sign: string) =>
      text
        .split("\n")
        .filter((line) => line.startsWith(sign))
        .map((line) => line.slice(1))
        .join("\n");
    return { file_path: paths[0] ?? target, old_string: side("-"), new_string: side("+") };
  }
  if (kind === "write") return { file_path: paths[0] ?? target, content: input };
  if (kind === "read") return { file_path: paths[0] ?? target };
  if (kind === "fetch") return { url: target };
  return kind === "search" ? { pattern: target } : { description: text };
}

function resultOf(row: Done): JsonRecord | undefined {
  const { outcome, result, at } = row;
  if (outcome === "unknown") return undefined;
  const state = outcome === "rejected" || outcome === "running" ? outcome : undefined;
  const block = {
    type: "tool_result",
    tool_use_id: callId(row),
    content: result,
    is_error: outcome === "failed",
    state,
  };
  return { role: "assistant", timestamp: at, content: [block] };
}
