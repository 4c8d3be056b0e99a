/** Finds the sessions of a time, with what was asked and done in each, and how it ended. */

import { counted, oneLine } from "../base/text.ts";
import type { Done } from "../hosts/session.ts";
import { SESSION_COLUMNS, toIndexedSession } from "../index/index-state.ts";
import { readDone, type Stored } from "../index/stored-rows.ts";
import { gist, readReply } from "../language/speech.ts";
import { contentWords } from "../language/words.ts";
import { type ChunkFilter, filterSelect } from "../search/candidates.ts";
import type { Hit } from "../search/hit.ts";
import type { ShownRow } from "../search/rows.ts";
import type { Store } from "../store/store.ts";
import { commandOrTarget } from "../transcripts/command-lines.ts";
import { findCommits } from "../transcripts/outcome.ts";
import { isChange } from "../transcripts/rows.ts";
import { tally } from "../transcripts/tally.ts";
import { deedRow, doneHit, messagesWithin } from "./finds.ts";

/** Lines of work behind the last words of a time. */
const WORK_LINES = 400;
const SAID_CHARS = 240;
/** The answer with which the only session of a time ended. */
const CLOSING_CHARS = 1000;
/** A shorter answer says only that something is done. */
const SUBSTANTIAL_CHARS = 120;
/** The rows that fit on a page of 4,000 characters, for all sessions of a time. */
const DAY_ROWS = 18;

/** Finds the sessions that pass a filter with a time, the latest first. */
export function timeHistory(store: Store, filter: ChunkFilter): Hit[] {
  const { sql, values } = filterSelect(filter);
  const columns = SESSION_COLUMNS.split(", ").map((column) => `s.${column}`);
  const rows = store.all(
    `SELECT ${columns.join(", ")}, min(c.first_line) AS first, max(c.last_line) AS last, max(c.timestamp) AS at
       FROM chunks c JOIN sessions s ON s.number = c.session
       WHERE c.id IN (${sql}) GROUP BY s.number ORDER BY at DESC`,
    values,
  );
  return rows.map((row) => {
    const [session, from, to] = [toIndexedSession(row), Number(row.first), Number(row.last)];
    const messages = messagesWithin(store, session.number, { from, to });
    const deeds = readDone(store, session.number, { after: from - 1, to: to + WORK_LINES }).filter(
      ({ at }) => filter.before === undefined || at <= filter.before,
    );
    return doneHit({
      session,
      at: String(row.at),
      summary: summarize(messages.length, deeds),
      rows: tellingRows(messages, deeds, { cwd: session.cwd, sessions: rows.length }),
      from,
      to,
      also: [],
    });
  });
}

/** Returns what was asked and done in a time, and the answer with which it ended; more of it where fewer sessions share the page. */
function tellingRows(
  messages: readonly ShownRow[],
  deeds: readonly Stored<Done>[],
  { sessions, cwd }: { sessions: number; cwd: string | undefined },
): ShownRow[] {
  const asked = messages.filter(({ who, text }) => who === "user" && readReply(text) === undefined);
  const commits = deeds.filter((deed) => commitsIn(deed).length > 0);
  const done = commits.at(-1) ?? deeds.findLast(isChange);
  const answers = messages.filter(({ who }) => who === "assistant");
  const closing = answers.findLast(({ text }) => text.length >= SUBSTANTIAL_CHARS) ?? answers.at(-1);
  const first = asked[0] ?? messages[0];
  const [firsts, room] = [
    [first, closing].filter((one) => one !== undefined),
    Math.floor(DAY_ROWS / sessions),
  ];
  const others = [
    ...(done ? [done] : []).map((deed) => doneRow(deed, cwd)),
    ...commits.slice(0, -1).map((deed) => doneRow(deed, cwd)),
    ...asked.slice(1).toSorted((a, b) => contentWords(b.text).length - contentWords(a.text).length),
  ];
  const most = sessions === 1 ? CLOSING_CHARS : SAID_CHARS;
  const shown = [...firsts, ...others.slice(0, Math.max(1, room - firsts.length))];
  return shown
    .map((row) => ({ ...row, text: row === closing ? gist(row.text, most) : oneLine(row.text, SAID_CHARS) }))
    .sort((a, b) => a.line - b.line);
}

function commitsIn(deed: Done): string[] {
  if (deed.kind !== "command") return [];
  return findCommits({ ...deed, target: commandOrTarget(deed) });
}

/** Returns commits with their subjects, or an edit. */
function doneRow(deed: Stored<Done>, cwd: string | undefined): ShownRow {
  if (isChange(deed)) return deedRow(deed, { cwd, text: "" });
  return deedRow({ ...deed, target: "git commit" }, { cwd, text: [...new Set(commitsIn(deed))].join("; ") });
}

function summarize(messages: number, deeds: readonly Done[]): string {
  const { edited, ran } = tally(deeds);
  const done = [
    edited.size > 0 ? `edited ${counted(edited.size, "file")}` : "",
    ran > 0 ? `ran ${counted(ran, "command")}` : "",
  ];
  return [counted(messages, "message"), ...done].filter(Boolean).join(", ");
}
