/**
 * Makes rows of a session those of a new one that its host goes on with in another folder, without what the host cannot take:
 * thoughts and images that are in no copy, and what belongs to one run of the client.
 */

import { join, posix, win32 } from "node:path";
import { arrayOf, isRecord, type JsonRecord, recordOf } from "../base/json.ts";
import type { PathsWithRules } from "../config/config.ts";
import { encodeClaudeCwd, findHost } from "../hosts/hosts.ts";
import type { Session } from "../hosts/session.ts";

/** What a host needs of a session in another place. */
export interface RestoreTarget {
  id: string;
  /** The folder to go on in. */
  folder: string;
  /** The folder that the session began in. */
  from: string | undefined;
  origin: Pick<Session, "id" | "file">;
  at: string;
}

/** How a host's rows become those of a new session. */
export interface Restorer {
  /** Whether it goes on with a session only while the folder is there that it began in. */
  needsFolder: boolean;
  place(paths: PathsWithRules, target: RestoreTarget): string;
  /** The rows that come before all others, of which one says where they are from. */
  begin(target: RestoreTarget): JsonRecord[];
  /** The row as one of the new session; undefined where the host has no use for it. */
  row(record: JsonRecord, target: RestoreTarget): JsonRecord | undefined;
}

/** What stands for an image, which is in no copy. */
const IMAGE = { type: "text", text: "[image]" };

/** Rows that belong to one run of the client. */
const CLAUDE_RUN = new Set([
  "progress",
  "api-request-blob",
  "file-history-snapshot",
  "queue-operation",
  "last-prompt",
]);

/** Returns how sessions of a host are restored; undefined for one that goes on with no session that is put there. */
export function findRestorer(agent: string): Restorer | undefined {
  return RESTORERS[agent];
}

const RESTORERS: Record<string, Restorer> = {
  claude: {
    needsFolder: true,
    place: ({ claude }, { id, folder }) => join(claude, "projects", encodeClaudeCwd(folder), `${id}.jsonl`),
    begin: ({ id, origin, at }) => [
      { type: "restored-from", session: origin.id, by: "session-memory", timestamp: at, sessionId: id },
    ],
    row(record, target) {
      if (CLAUDE_RUN.has(String(record.type))) return undefined;
      const message = recordOf(record.message);
      const content = keepContent(message.content);
      const isSaid = record.type === "user" || record.type === "assistant";
      if (isSaid && (content === undefined || content.length === 0)) return undefined;
      return {
        ...record,
        ...(isSaid && { message: { ...message, content } }),
        ...(record.sessionId !== undefined && { sessionId: target.id }),
        ...(record.cwd !== undefined && { cwd: moved(record.cwd, target) }),
      };
    },
  },
  pi: {
    needsFolder: true,
    place: ({ pi, piSessions }, { id, folder, at }) => {
      const name = `${at.replace(/[:.]/g, "-")}_${id}.jsonl`;
      return piSessions
        ? join(piSessions, name)
        : join(pi, "sessions", `${findHost("pi")?.folderBegin?.(folder)}--`, name);
    },
    begin: ({ id, folder, origin, at }) => [
      { type: "session", version: 3, id, timestamp: at, cwd: folder, parentSession: origin.file },
    ],
    row(record) {
      if (record.type === "session") return undefined;
      if (record.type !== "message") return record;
      const message = recordOf(record.message);
      const content = keepContent(message.content);
      const hasContent = message.role === "bashExecution" || (content !== undefined && content.length > 0);
      if (!hasContent) return undefined;
      return { ...record, message: content === undefined ? message : { ...message, content } };
    },
  },
  codex: {
    needsFolder: false,
    place({ codex }, { id, at }) {
      const [day = "", time = ""] = at.slice(0, 19).split("T");
      const name = `rollout-${day}T${time.replaceAll(":", "-")}-${id}.jsonl`;
      return join(codex, "sessions", ...day.split("-"), name);
    },
    begin: () => [],
    row(record, target) {
      const payload = recordOf(record.payload);
      const isMeta = record.type === "session_meta";
      if (isMeta && payload.id !== target.origin.id) return undefined; // of a session that it was forked from
      if (record.type === "response_item" && (payload.type === "reasoning" || isEmptyItem(payload)))
        return undefined;
      const { content } = payload;
      const shown = Array.isArray(content) ? { content: keepContent(content) } : {};
      const place = payload.cwd === undefined ? {} : { cwd: moved(payload.cwd, target) };
      const own = isMeta ? { id: target.id, timestamp: target.at, forked_from_id: target.origin.id } : {};
      return { ...record, payload: { ...payload, ...shown, ...place, ...own } };
    },
  },
};

function isEmptyItem(payload: JsonRecord): boolean {
  return payload.type === undefined || (payload.type === "message" && arrayOf(payload.content).length === 0);
}

/** Returns a message's content without thoughts, with a word in place of each image; undefined for none. */
function keepContent(content: unknown): string | unknown[] | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  return content.map((block) => {
    if (!isRecord(block)) return block;
    if (block.type === "image") return IMAGE;
    if (block.type === "input_image") return { type: "input_text", text: IMAGE.text };
    return Array.isArray(block.content) ? { ...block, content: keepContent(block.content) } : block;
  });
}

/** Returns a directory of the session as one of the new folder; one outside the old folder stays. */
function moved(cwd: unknown, { from, folder }: RestoreTarget): unknown {
  if (typeof cwd !== "string" || from === undefined) return folder;
  const { relative, isAbsolute, sep } = posix.isAbsolute(from) ? posix : win32;
  const below = relative(from, cwd);
  const [first, ...rest] = below.split(sep);
  // absolute: there is no way from one drive to another
  return first === ".." || isAbsolute(below) ? cwd : join(folder, first ?? "", ...rest);
}
