/**
 * opencode's sessions, which it keeps as rows of a database: each is copied, redacted, into lines of our plain form below
 * one that names the session, and read from there. The database is only read, beside a client that may be running.
 */

import { appendFileSync, existsSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ensureDirectory, fileStem, readJson, replaceFile } from "../base/files.ts";
import { isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import type { SqlDatabase } from "../store/sqlite.ts";
import { type Format, isoTime, plain, withoutOwnWords } from "./format.ts";
import type { Rules } from "./rules.ts";
import { cutToHunks } from "./tool-call.ts";

export const format: Format = {
  ...plain,
  agent: "opencode",

  matches(record) {
    return record.host === "opencode";
  },

  readHead(record, head) {
    head.startedAt ??= isoTime(record.timestamp);
    if (record.host !== "opencode") return;
    head.id ??= stringOf(record.session);
    head.cwd ??= stringOf(record.cwd);
    head.parentId ??= stringOf(record.parent);
  },

  title(_, rowsWith) {
    for (const { host, title } of rowsWith('"host"')) if (host === "opencode") return stringOf(title);
    return undefined;
  },
};

/** How far a session was copied: when it had changed, the hash of its title, which may be forgotten, and its last message. */
type Copied = Record<string, [changed: number, title: number, message: string]>;

/** Raised when the note means something else: all is copied again. */
const FORMAT = 2;

const NOTE = "copied.json";

/**
 * Copies what is new in a database into a folder, a file a session, of subagents below their parent's id. Nothing new costs one query, and none while the
 * database's files are as they were.
 */
export async function copySessions(
  database: string,
  folder: string,
  { clean, hasSession, hasText, hasPatterns }: Rules,
): Promise<void> {
  const note = recordOf(readJson(join(folder, NOTE)));
  const state = [FORMAT, ...[database, `${database}-wal`].map(describeState)].join(" ");
  if (note.state === state) return;
  const copied = (note.format === FORMAT ? recordOf(note.sessions) : {}) as Copied;
  const { openForeign } = await import("../store/sqlite.ts");
  const db = openForeign(database);
  try {
    ensureDirectory(folder);
    const sessions = db
      .prepare("SELECT id, parent_id, directory, title, time_created, time_updated FROM session")
      .all();
    for (const session of sessions) {
      const [id, changed] = [String(session.id), Number(session.time_updated)];
      const title = shortHash(String(session.title));
      const parent = session.parent_id === null ? "" : fileStem(String(session.parent_id));
      const file = join(folder, parent, `${fileStem(id)}.jsonl`);
      const before = existsSync(file) ? copied[id] : undefined;
      if (before?.[0] === changed || hasSession({ id, cwd: String(session.directory) })) continue;
      const { lines, last, isWhole } = newLines(db, id, { after: before?.[2], clean });
      if (before?.[1] !== title) lines.unshift(headLine(session, clean, before !== undefined));
      const rows = lines.map((line) => `${JSON.stringify(line)}\n`);
      const text = (hasPatterns ? rows.filter((row) => !hasText(row)) : rows).join("");
      // A crash between file and note makes the file anew.
      if (parent !== "" && !before) ensureDirectory(dirname(file));
      if (!before) writeFileSync(file, text, { mode: 0o600 });
      else if (text !== "") appendFileSync(file, text);
      copied[id] = [isWhole ? changed : 0, title, last ?? ""];
    }
    replaceFile(join(folder, NOTE), JSON.stringify({ format: FORMAT, state, sessions: copied }), {
      durable: false,
    });
  } finally {
    db.close();
  }
}

function describeState(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.size}:${stat.mtimeMs}` : "";
}

type Clean = Rules["clean"];

/** Redacts every text of a value: what is on disk twice must not hold a secret twice. */
function redacted(value: unknown, clean: Clean): unknown {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map((each) => redacted(each, clean));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, redacted(each, clean)]));
}

function headLine(session: JsonRecord, clean: Clean, isLater: boolean): JsonRecord {
  const { id, parent_id, directory, title, time_created, time_updated } = session;
  return {
    host: "opencode",
    session: id,
    ...(parent_id !== null && { parent: parent_id }),
    cwd: clean(String(directory)),
    title: clean(String(title)),
    timestamp: isoTime(Number(isLater ? time_updated : time_created)),
  };
}

/** Returns a session's messages after one, up to the first that is still being written: another one after it ends that. */
function newLines(
  db: SqlDatabase,
  session: string,
  { after, clean }: { after: string | undefined; clean: Clean },
): { lines: JsonRecord[]; last: string | undefined; isWhole: boolean } {
  const messages = db
    .prepare("SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id")
    .all(session);
  const from = messages.findIndex(({ id }) => id === after) + 1;
  const parts = Map.groupBy(
    db.prepare("SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id").all(session),
    ({ message_id }) => String(message_id),
  );
  const lines: JsonRecord[] = [];
  let last = after;
  for (const [i, { id, time_created, data }] of messages.entries()) {
    if (i < from) continue;
    const { role, time, summary } = parsed(data);
    const isDone = role !== "assistant" || recordOf(time).completed !== undefined || i < messages.length - 1;
    if (!isDone) return { lines, last, isWhole: false };
    const content = (parts.get(String(id)) ?? []).flatMap((part) => blocks(parsed(part.data), clean));
    if (content.length > 0)
      lines.push({
        id,
        role: summary === true ? "summary" : role,
        timestamp: isoTime(Number(time_created)),
        content,
      });
    last = String(id);
  }
  return { lines, last, isWhole: true };
}

function parsed(data: unknown): JsonRecord {
  try {
    return recordOf(JSON.parse(String(data)));
  } catch {
    return {}; // not what it writes today
  }
}

/** Returns a part as blocks of a message: a text, or a call with its result. */
function blocks(part: JsonRecord, clean: Clean): JsonRecord[] {
  if (part.type === "text") {
    const text = clean(unquoted(stringOf(part.text) ?? ""));
    return part.synthetic === true || text === "" ? [] : [{ type: "text", text }];
  }
  if (part.type !== "tool") return [];
  const { status, input, output, error, metadata } = recordOf(part.state);
  const { exit, diff, output: printed } = recordOf(metadata);
  const patch = cutToHunks(diff);
  const call = { type: "tool_use", id: part.callID, name: part.tool, input: redacted(input, clean) };
  if (status !== "completed" && status !== "error") return [call];
  const isError = status === "error" || (numberOf(exit) ?? 0) !== 0;
  const isRejected = status === "error" && /^The user rejected\b/.test(stringOf(error) ?? "");
  const result = {
    type: "tool_result",
    tool_use_id: part.callID,
    // A plugin's words are added to the output; what a command printed is kept beside it.
    content: clean(
      withoutOwnWords((status === "error" ? stringOf(error) : stringOf(printed)) ?? stringOf(output) ?? ""),
    ),
    is_error: isError,
    ...(isRejected && { state: "rejected" }),
    ...(patch !== undefined && { patch: clean(patch) }),
  };
  return [call, result];
}

/** `opencode run` stores its message as a JSON string. */
function unquoted(text: string): string {
  return /^"[^"]*"$/.test(text) ? text.slice(1, -1) : text;
}
