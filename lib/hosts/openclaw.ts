/**
 * OpenClaw's sessions since 2026.8.1, which it keeps as rows of a database: events in pi's form, longer ones compressed. The
 * live branch of a conversation is read; a session that was reset, deleted or put away is read from its archive.
 */

import {
  arrayOf,
  type JsonRecord,
  numberOf,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "../base/json.ts";
import type { SqlDatabase, SqlRow } from "../store/sqlite.ts";
import { copiedFormat, textOf } from "./format.ts";
import type { HostFile } from "./host.ts";
import { canUnpack, UNPACKING, unpackBytes } from "./packed.ts";
import { saidToPi } from "./pi.ts";
import { databaseStore } from "./store.ts";
import { cutToHunks } from "./tool-call.ts";

const SESSIONS = `
  SELECT w.session_id AS id, coalesce(p.current_session_id, w.spawned_by, n.spawned_by) AS parent, json_extract(h.event_json, '$.cwd') AS cwd,
    coalesce(n.label, n.display_name, w.display_name, '') AS title, w.created_at AS started,
    max(w.updated_at, coalesce(w.transcript_updated_at, 0)) AS changed
  FROM session_windows w
  LEFT JOIN session_nodes n ON n.session_key = w.session_key
  LEFT JOIN session_nodes p ON p.session_key = coalesce(w.spawned_by, n.spawned_by)
  LEFT JOIN transcript_events h ON h.session_id = w.session_id AND h.seq = 0
  UNION ALL
  SELECT session_id, NULL, NULL, '', min(created_at), max(created_at) FROM session_transcript_archives
  WHERE session_id NOT IN (SELECT session_id FROM session_windows) GROUP BY session_id
  ORDER BY changed DESC`;

const tables = databaseStore({
  tables: [
    "session_windows",
    "session_nodes",
    "transcript_events",
    "session_transcript_active_events",
    "session_transcript_archives",
    "session_transcript_cold_archives",
  ],

  sessions(db) {
    return db.all(SESSIONS).map((row) => ({
      id: String(row.id),
      parent: stringOf(row.parent),
      get cwd() {
        return stringOf(row.cwd) ?? stringOf(archivedEvents(db, String(row.id))[0]?.cwd) ?? "";
      },
      title: String(row.title),
      started: Number(row.started),
      changed: Number(row.changed),
    }));
  },

  read(db, session, after) {
    const { events, last, isAnew } = liveEvents(db, session, after) ?? {
      events: liveBranch(archivedEvents(db, session)),
      last: ARCHIVED,
      isAnew: true,
    };
    if (last === ARCHIVED && after === ARCHIVED) return { lines: [], last };
    return { lines: events.flatMap(toLines), last, isAnew };
  },
});

export const host: HostFile = {
  ...copiedFormat("openclaw"),
  name: "OpenClaw",
  program: "openclaw",
  resume: 'openclaw agent --local --session-id <id> -m "…"',
  store: { files: "agents/*/agent/openclaw-agent.sqlite", ...tables },
};

/** The place after the last event of an archive, which does not change. */
const ARCHIVED = "archived";

interface Events {
  events: JsonRecord[];
  last: string;
  isAnew: boolean;
}

const LIVE = `
  SELECT a.active_position AS position, e.seq, e.event_json, e.event_zstd, e.event_utf8_bytes
  FROM session_transcript_active_events a
  JOIN transcript_events e ON e.session_id = a.session_id AND e.seq = a.event_seq
  WHERE a.session_id = ? AND a.active_position >= ? ORDER BY a.active_position`;
const ALL = `
  SELECT seq AS position, seq, event_json, event_zstd, event_utf8_bytes FROM transcript_events
  WHERE session_id = ? AND seq >= ? ORDER BY seq`;

/** Reads the live events from a place on, or all where the branch has become another; undefined for a session without any. */
function liveEvents(db: SqlDatabase, session: string, after: string | undefined): Events | undefined {
  const [from = 0, seq] = after === undefined || after === ARCHIVED ? [] : after.split(":").map(Number);
  const isActive = db.prepare("SELECT 1 FROM session_transcript_active_events WHERE session_id = ? LIMIT 1");
  const query = db.prepare(isActive.get(session) ? LIVE : ALL);
  let rows = query.all(session, from);
  // The place is that of the last event read, which is still there unless the conversation went on from an earlier one.
  const isContinued = seq !== undefined && rows[0] !== undefined && Number(rows[0].seq) === seq;
  if (seq !== undefined && !isContinued) rows = query.all(session, 0);
  const end = rows.at(-1);
  if (!end) return undefined;
  const last = `${end.position}:${end.seq}`;
  return { events: (isContinued ? rows.slice(1) : rows).map(readEvent), last, isAnew: !isContinued };
}

function readEvent({ event_json, event_zstd, event_utf8_bytes }: SqlRow): JsonRecord {
  if (typeof event_json === "string") return parseRecord(event_json) ?? {};
  if (!(event_zstd instanceof Uint8Array)) return {};
  return parseRecord(unpacked(event_zstd, Number(event_utf8_bytes))) ?? {};
}

function unpacked(packed: Uint8Array, size?: number): string {
  if (!canUnpack()) throw new Error(`this runtime has no zstd: ${UNPACKING}`);
  const bytes = unpackBytes(packed, size);
  // Damaged bytes unpack to fewer, without an error.
  if (size !== undefined && bytes.length !== size) throw new Error("a compressed event is damaged");
  return bytes.toString("utf8");
}

const ARCHIVES = `
  SELECT encoding, archive_blob, archive_name, created_at AS at FROM session_transcript_archives WHERE session_id = $id
  UNION ALL
  SELECT storage, archive_blob, archive_name, archived_at FROM session_transcript_cold_archives WHERE session_id = $id
  ORDER BY at DESC LIMIT 1`;
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Reads the events of a session's newest archive; none when it has none. */
function archivedEvents(db: SqlDatabase, id: string): JsonRecord[] {
  const { encoding, archive_blob, archive_name } = db.get(ARCHIVES, { id }) ?? {};
  if (encoding === "file") throw new Error(`its archive is a file that is not read: ${archive_name}`);
  if (!(archive_blob instanceof Uint8Array)) return [];
  const bytes = Buffer.from(archive_blob.buffer, archive_blob.byteOffset, archive_blob.length);
  const isPacked = bytes.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC);
  const text = isPacked ? unpacked(bytes) : bytes.toString("utf8");
  return text.split("\n").flatMap((line): JsonRecord[] => {
    const event = parseRecord(line);
    return event ? [event] : [];
  });
}

/** Returns the events on the way to the last one. */
function liveBranch(events: readonly JsonRecord[]): JsonRecord[] {
  const byId = new Map<unknown, JsonRecord>(events.map((event) => [event.id, event]));
  const branch: JsonRecord[] = [];
  let event = events.findLast(({ type }) => type !== "session");
  while (event && byId.delete(event.id)) {
    branch.unshift(event);
    event = byId.get(event.parentId);
  }
  return branch;
}

/** Returns an event as a line of ours; undefined outside the conversation. */
function toLines({ type, id, timestamp, message, summary }: JsonRecord): JsonRecord[] {
  if (type === "compaction" || type === "branch_summary")
    return [{ id, role: "summary", timestamp, content: textOf(summary) }];
  const { role, content, ...result } = recordOf(message);
  if (type !== "message") return [];
  if (role === "user") {
    const { text, typed } = saidToPi(content);
    return [{ id, role, timestamp, typed, content: text }];
  }
  if (role === "toolResult")
    return [{ id, role: "assistant", timestamp, content: [resultBlock({ content, ...result })] }];
  return role === "assistant" ? [{ id, role, timestamp, content: saidBlocks(content) }] : [];
}

function saidBlocks(content: unknown): JsonRecord[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return recordsOf(content).flatMap(({ type, text, id, name, arguments: input }): JsonRecord[] => {
    if (type === "text") return [{ type, text: textOf(text) }];
    return type === "toolCall" ? [{ type: "tool_use", id, name, input }] : [];
  });
}

/** The text after the output of a failed command, which it does not count as the tool's error. */
const EXITED = /(?:^|\n\n)\(Command exited with code -?\d+\)\s*$/;

/** Returns a tool's result: what plugins add to it comes in further blocks, and is in no `aggregated`. */
function resultBlock({ toolCallId, content, details, isError }: JsonRecord): JsonRecord {
  const { exitCode, aggregated, patch } = recordOf(details);
  const [first] = arrayOf(content);
  const text = stringOf(aggregated) ?? (typeof content === "string" ? content : textOf([first]));
  return {
    type: "tool_result",
    tool_use_id: toolCallId,
    content: text.replace(EXITED, ""),
    is_error: isError === true || (numberOf(exitCode) ?? 0) !== 0,
    patch: cutToHunks(patch),
  };
}
