/** Writes what others did within the last hour where a prompt hook reads it without the replica. */

import { sharedNewsFile } from "../activity/look.ts";
import type { SharedNews } from "../activity/shared-news.ts";
import { replaceFile } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { storedSteps } from "../index/held-sessions.ts";
import type { Row } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";

const HOUR_MS = 3_600_000;
const SESSIONS_MAX = 20;
const TEXT_MAX = 400;

/** Replaces the file, where what it says has changed. */
export function writeSharedNews(replica: Store, paths: Paths, now: Date = new Date()): void {
  const since = new Date(now.getTime() - HOUR_MS).toISOString();
  const sessions = replica.db
    .prepare(
      `SELECT h.stored_id, h.agent, h.project, s.name FROM shared_sessions h JOIN sessions s ON s.id = h.stored_id
       WHERE s.parent_id IS NULL AND h.updated_at > ? ORDER BY h.updated_at DESC LIMIT ?`,
    )
    .all(since, SESSIONS_MAX);
  const news = sessions.flatMap((row) => newsOf(replica, row, since) ?? []);
  replaceFile(sharedNewsFile(paths), `${JSON.stringify(news)}\n`, { durable: false });
}

function newsOf(replica: Store, row: Row, since: string): SharedNews | undefined {
  const steps = storedSteps(replica, String(row.stored_id));
  const recent = steps.filter(({ entry }) => (entry.at ?? "") > since).map(({ entry }) => entry);
  const said = recent.filter(({ kind }) => kind !== "tool");
  const latest = recent.reduce((last, { at = "" }) => (at > last ? at : last), "");
  if (latest === "") return undefined;
  const calls = recent.flatMap(({ tool }) => tool ?? []);
  const paths = (action: string) => [
    ...new Set(calls.filter((call) => call.action === action).flatMap((call) => call.paths)),
  ];
  const text = (found: string | undefined) => found?.slice(0, TEXT_MAX) ?? null;
  return {
    id: String(row.stored_id),
    name: row.name === null ? null : String(row.name),
    agent: String(row.agent),
    project: String(row.project),
    latest,
    messages: steps.filter(({ entry }) => entry.kind !== "tool").length,
    firstUser: text(said.find(({ kind }) => kind === "user")?.text),
    lastAssistant: text(said.findLast(({ kind }) => kind === "assistant")?.text),
    edited: paths("edit"),
    read: paths("read"),
    ran: calls.filter(({ action }) => action === "run").length,
  };
}
