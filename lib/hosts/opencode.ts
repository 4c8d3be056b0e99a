/** opencode's sessions, which it keeps as rows of a database: messages, and their parts; and Kilo Code's, a fork with its tables. */

import { join } from "node:path";
import { statPath } from "../base/files.ts";
import { type JsonRecord, numberOf, recordOf, unpackJson } from "../base/json.ts";
import { copiedFormat, isoTime, textOf, withoutOwnWords } from "./format.ts";
import type { HostFile } from "./host.ts";
import { DATA_MAX, databaseStore, ROWS_MAX } from "./store.ts";
import { cutToHunks } from "./tool-call.ts";

const tables = databaseStore({
  tables: ["session", "message", "part"],

  sessions(db) {
    const query = `SELECT id, parent_id, directory, title, time_created, time_updated FROM session
      ORDER BY time_updated DESC LIMIT ${ROWS_MAX}`;
    return db.all(query).map((row) => ({
      id: String(row.id),
      parent: row.parent_id === null ? undefined : String(row.parent_id),
      cwd: String(row.directory),
      title: String(row.title),
      started: Number(row.time_created),
      changed: Number(row.time_updated),
    }));
  },

  /** Reads up to the first message that is still being written: another one after it ends that. */
  read(db, session, after) {
    const messages = db.all(
      `SELECT id, time_created, data FROM message WHERE session_id = ? AND length(data) <= ${DATA_MAX}
         ORDER BY time_created, id LIMIT ${ROWS_MAX}`,
      session,
    );
    const from = messages.findIndex(({ id }) => id === after) + 1;
    const parts = Map.groupBy(
      db.all(
        `SELECT message_id, data FROM part WHERE session_id = ? AND length(data) <= ${DATA_MAX}
           ORDER BY id LIMIT ${ROWS_MAX}`,
        session,
      ),
      ({ message_id }) => String(message_id),
    );
    const lines: JsonRecord[] = [];
    let last = after;
    for (const [i, { id, time_created, data }] of messages.entries()) {
      if (i < from) continue;
      const { role, time, summary } = recordOf(unpackJson(data));
      const content = (parts.get(String(id)) ?? []).flatMap((part) =>
        blocks(recordOf(unpackJson(part.data))),
      );
      // a prompt is there before its words are
      const isWritten = role === "assistant" ? recordOf(time).completed !== undefined : content.length > 0;
      if (!isWritten && i === messages.length - 1) return { lines, last, isCut: true };
      if (content.length > 0)
        lines.push({
          id,
          role: summary === true ? "summary" : role,
          timestamp: isoTime(Number(time_created)),
          content,
        });
      last = String(id);
    }
    return { lines, last };
  },
});

export const host: HostFile = {
  ...copiedFormat("opencode"),
  name: "opencode",
  program: "opencode",
  resume: "opencode --session <id>",
  skills: "($XDG_CONFIG_HOME|~/.config)/opencode/skills",
  plugin: "($XDG_CONFIG_HOME|~/.config)/opencode/plugin/session-memory.js",
  afterwards:
    "opencode installs packages of its own when it first starts with a plugin, and shows nothing for up to a minute",
  leftIn(_, { expand }) {
    const packages = join(expand("($XDG_CONFIG_HOME|~/.config)/opencode"), "node_modules");
    return statPath(packages) ? [`${packages}: what opencode installed for plugins, ours and others`] : [];
  },
  store: { files: "opencode.db", ...tables },
};

export const kilo: HostFile = {
  ...copiedFormat("kilo"),
  name: "Kilo Code",
  program: "kilo",
  resume: "kilo --session <id>",
  skills: "($XDG_CONFIG_HOME|~/.config)/kilo/skills",
  store: { files: "kilo.db", ...tables },
};

/** Returns a part as blocks of a message: a text, or a call with its result. */
function blocks(part: JsonRecord): JsonRecord[] {
  if (part.type === "text") {
    const text = unquoted(textOf(part.text));
    return part.synthetic === true || part.ignored === true || text === "" ? [] : [{ type: "text", text }];
  }
  if (part.type !== "tool") return [];
  const { status, input, output, error, metadata } = recordOf(part.state);
  const { exit, diff, output: printed } = recordOf(metadata);
  const call = { type: "tool_use", id: part.callID, name: part.tool, input };
  if (status !== "completed" && status !== "error") return [call];
  const isError = status === "error" || (numberOf(exit) ?? 0) !== 0;
  const isRejected = status === "error" && /^The user rejected\b/.test(textOf(error));
  const result = {
    type: "tool_result",
    tool_use_id: part.callID,
    // A plugin's words are added to the output; what a command printed is kept beside it.
    content: withoutOwnWords(textOf(status === "error" ? error : printed) || textOf(output)),
    is_error: isError,
    ...(isRejected && { state: "rejected" }),
    patch: cutToHunks(diff),
  };
  return [call, result];
}

/** `opencode run` stores its message as a JSON string. */
function unquoted(text: string): string {
  return /^"[^"]*"$/.test(text) ? text.slice(1, -1) : text;
}
