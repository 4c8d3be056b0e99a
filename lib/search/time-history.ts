/** The sessions of some days: what was asked in each and what was done. */

import { counted } from "../base/text.ts";
import { SESSION_COLUMNS, toSessionRow } from "../index/index-state.ts";
import { readDeeds, type StoredDeed } from "../index/session-rows.ts";
import { gist, replyOf } from "../language/speech.ts";
import type { Store } from "../store/store.ts";
import { commitMessage } from "../transcripts/tool-call.ts";
import { type ChunkFilter, filterSelect } from "./candidates.ts";
import { isChange, textOf } from "./endings.ts";
import { deedRow, type Find, type FindScope, messagesWithin } from "./finds.ts";
import type { Row } from "./rows.ts";

/** Lines of work behind the last words of a time. */
const WORK_LINES = 400;
const SAID_CHARS = 240;

/** Finds the sessions that pass a filter with a time, the latest first. */
export function timeHistory(store: Store, filter: ChunkFilter, scope: FindScope): Find[] {
  const { sql, values } = filterSelect(filter);
  const columns = SESSION_COLUMNS.split(", ").map((column) => `s.${column}`);
  const rows = store.db
    .prepare(
      `SELECT ${columns.join(", ")}, min(c.first_line) AS first, max(c.last_line) AS last, max(c.timestamp) AS at
       FROM session_chunks c JOIN sessions s ON s.id = c.session_id
       WHERE c.id IN (${sql}) GROUP BY s.number ORDER BY at DESC`,
    )
    .all(values);
  return rows.map((row) => {
    const [session, from, to] = [toSessionRow(row), Number(row.first), Number(row.last)];
    const messages = messagesWithin(store, session.id, { from, to });
    const deeds = readDeeds(store, session.number, { after: from - 1, to: to + WORK_LINES }).filter(
      ({ timestamp }) => filter.before === undefined || timestamp <= filter.before,
    );
    const asked = messages.find(({ who, text }) => who === "user" && replyOf(text) === undefined);
    const done = deeds.findLast(isCommit) ?? deeds.findLast(isChange);
    const last = messages.findLast(({ who }) => who === "assistant")?.line;
    // of a long message its beginning, which says what came of the work
    const closing = messages.find(({ line, who }) => who === "assistant" && line === last);
    const shown: (Row | undefined)[] = [
      asked ?? messages[0],
      done && doneRow(done, { cwd: session.cwd, clean: scope.clean }),
      closing && { ...closing, text: gist(closing.text, SAID_CHARS) },
    ];
    const known = shown.filter((one) => one !== undefined).sort((a, b) => a.line - b.line);
    return {
      session,
      timestamp: String(row.at),
      summary: summaryOf(messages.length, deeds),
      rows: known.map((one) => ({ ...one, text: scope.clean(one.text) })),
      firstLine: from,
      lastLine: to,
      also: [],
    };
  });
}

function isCommit(deed: StoredDeed): boolean {
  return deed.kind === "command" && deed.outcome !== "failed" && commitMessage(textOf(deed)) !== undefined;
}

/** Returns a commit with its message, or an edit. */
function doneRow(deed: StoredDeed, style: { cwd: string | undefined; clean: (text: string) => string }): Row {
  if (isChange(deed)) return deedRow(deed, { ...style, text: "" });
  return deedRow({ ...deed, target: "git commit" }, { ...style, text: commitMessage(textOf(deed)) ?? "" });
}

function summaryOf(messages: number, deeds: readonly StoredDeed[]): string {
  const edited = new Set(deeds.filter(isChange).map(({ target }) => target)).size;
  const ran = deeds.filter(({ kind }) => kind === "command").length;
  const done = [
    edited > 0 ? `edited ${counted(edited, "file")}` : "",
    ran > 0 ? `ran ${counted(ran, "command")}` : "",
  ];
  return [counted(messages, "message"), ...done].filter(Boolean).join(", ");
}
