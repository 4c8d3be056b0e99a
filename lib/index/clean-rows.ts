/**
 * Brings stored rows to today's rules in place, since those of deleted transcripts are the only copy: redacts them, removes
 * what is left out or excluded now, and completes what was carried over from a damaged file.
 */

import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import type { Paths, Settings } from "../config/config.ts";
import { CARRIED_FACT, isCarriedOver, readFact, type Store, writeFact } from "../store/store.ts";
import { isOwnCommand } from "../transcripts/calls.ts";
import { readExclusion } from "../transcripts/rules.ts";
import { putTools, remakeChunkText, removeSession, rewriteChunk } from "./chunk-rows.ts";
import { remakeDeedText, rewriteDeeds } from "./deed-rows.ts";
import { eraseFreed, markErase } from "./forget-rows.ts";
import { CLEAN_FACT, LEFT_OUT_FACT, LEFT_OUT_VERSION } from "./freshness.ts";
import { type HeldSession, heldSessions } from "./held-sessions.ts";
import { forgetProgress, rewriteNames } from "./index-state.ts";

type Clean = (text: string) => string;

/** The version that rows are being redacted to, and the last chunk that was. */
const PROGRESS_FACT = "redaction_progress";
/** Chunks per transaction: others wait for the write lock meanwhile. */
const BATCH = 500;

/** Chunks that are not yet redacted under a version of the rules; 0 when all are. */
export function countUncleanRows(store: Store, version: string): number {
  if (readFact(store, CLEAN_FACT) === version) return 0;
  const row = store.db
    .prepare("SELECT count(*) AS n FROM session_chunks WHERE id > ?")
    .get(lastCleaned(store, version));
  return Number(row?.n ?? 0);
}

/** Records of an index without rows that those to come are redacted under a version of the rules. */
export function beginClean(store: Store, version: string): void {
  const isEmpty = !store.db.prepare("SELECT 1 FROM session_chunks LIMIT 1").get();
  if (isEmpty && readFact(store, CLEAN_FACT) === undefined) writeFact(store, CLEAN_FACT, version);
}

/** Redacts all rows under a version of the rules, continuing where an interrupted run stopped. */
export function cleanRows(store: Store, { clean, version }: { clean: Clean; version: string }): void {
  if (readFact(store, CLEAN_FACT) === version) return;
  store.db.exec("PRAGMA secure_delete = ON");
  let changed = 0;
  for (let last = lastCleaned(store, version), isDone = false; !isDone; ) {
    store.db.transaction(() => {
      const ids = store.db
        .prepare("SELECT id FROM session_chunks WHERE id > ? ORDER BY id LIMIT ?")
        .all(last, BATCH);
      for (const { id } of ids) if (cleanChunk(store, Number(id), clean)) changed++;
      isDone = ids.length < BATCH;
      last = Number(ids.at(-1)?.id ?? last);
      if (isDone) changed += finish(store, { clean, version });
      else writeFact(store, PROGRESS_FACT, `${version}\n${last}`);
      if (changed > 0) markErase(store);
    });
  }
  if (changed > 0) eraseFreed(store);
}

function lastCleaned(store: Store, version: string): number {
  const [to, last] = readFact(store, PROGRESS_FACT)?.split("\n") ?? [];
  return to === version ? Number(last) : 0;
}

/** Redacts deeds and names, which are few beside chunks, and records that all is clean. Returns how many changed. */
function finish(store: Store, { clean, version }: { clean: Clean; version: string }): number {
  const changed = rewriteDeeds(store, clean) + rewriteNames(store, clean);
  writeFact(store, CLEAN_FACT, version);
  writeFact(store, PROGRESS_FACT, undefined);
  return changed;
}

function cleanChunk(store: Store, id: number, clean: Clean): boolean {
  const row = store.db
    .prepare("SELECT content, context_content, tools, topic_tags, row_lines FROM session_chunks WHERE id = ?")
    .get(id);
  if (!row) return false;
  const [content, context, tools, topics] = [row.content, row.context_content, row.tools, row.topic_tags].map(
    String,
  ) as [string, string, string, string];
  const { text, rowLines } = cleanContent(content, String(row.row_lines), clean);
  const header = clean(context.slice(0, context.length - content.length));
  const after = {
    content: text,
    contextContent: header + text,
    tools: clean(tools),
    topics: cleanList(topics, clean),
    rowLines,
  };
  if (after.contextContent === context && after.tools === tools && after.topics === topics) return false;
  rewriteChunk(store, id, after);
  return true;
}

/** Cleans each message by itself, so that its new start is known. */
function cleanContent(content: string, rowLines: string, clean: Clean): { text: string; rowLines: string } {
  const rows = rowLines
    .split(" ")
    .filter(Boolean)
    .map((row) => row.split(":"));
  const starts = rows.map(([start]) => Number(start));
  if (starts[0] !== 0) return { text: clean(content), rowLines };
  let text = "";
  const moved: string[] = [];
  for (const [i, [, line]] of rows.entries()) {
    moved.push(`${text.length}:${line}`);
    text += cleanEnds(content.slice(starts[i], starts[i + 1]), clean);
  }
  return { text, rowLines: moved.join(" ") };
}

/** Cleans the text between messages; line ends stay. */
function cleanEnds(piece: string, clean: Clean): string {
  const end = /\n*$/.exec(piece)?.[0] ?? "";
  return clean(piece.slice(0, piece.length - end.length)) + end;
}

function cleanList(json: string, clean: Clean): string {
  const list: unknown = JSON.parse(json);
  return JSON.stringify(list, (_, value: unknown) => (typeof value === "string" ? clean(value) : value));
}

/**
 * Removes what older rules let into the main index and today's leave out: given transcripts, which now have an index of
 * their own, and our own commands. Done once; sessions with a transcript are read again anyway, by their recipe.
 */
export function removeLeftOut(store: Store, paths: Paths): void {
  store.db.transaction(() => {
    let changed = 0;
    for (const session of heldSessions(store)) {
      const isThere = existsSync(session.file);
      if (isThere && !isPlaced(session.file, paths)) {
        removeSession(store, { number: session.number, id: session.storedId });
        changed++;
      } else if (!isThere) changed += removeOwnCommands(store, session);
    }
    if (changed > 0) markErase(store);
    writeFact(store, LEFT_OUT_FACT, LEFT_OUT_VERSION);
  });
}

/** Returns whether a transcript lies where a host keeps its own, or where the user's settings say. */
function isPlaced(file: string, { claude, pi, piSessions, codex, openclaw, synced }: Paths): boolean {
  const places = [
    join(claude, "projects"),
    join(pi, "sessions"),
    ...(piSessions === undefined ? [] : [piSessions]),
    codex,
    openclaw,
    ...synced.map(({ path }) => path),
  ];
  return (
    file.includes(`${sep}.volute${sep}`) ||
    places.some((place) => file.startsWith(`${place.replace(/[/\\]+$/, "")}${sep}`))
  );
}

/** Removes own commands from the chunks of a session without a transcript, which cannot be read again. */
function removeOwnCommands(store: Store, { storedId, cwd = "/" }: HeldSession): number {
  const rows = store.db
    .prepare("SELECT id, tools FROM session_chunks WHERE session_id = ? AND tools != ''")
    .all(storedId);
  let changed = 0;
  for (const { id, tools } of rows) {
    const lines = String(tools).split("\n");
    const after = lines.filter((line) => !isOwnCommand(line.replace(/^\S+ /, ""), cwd)).join("\n");
    if (after === tools) continue;
    putTools(store, Number(id), after);
    changed++;
  }
  return changed;
}

/**
 * Makes the full text of all rows, and lets the sessions that still have their transcript be read again: the damage may
 * have taken some of their rows. What is there already is not paid for again. Returns whether there was anything to do.
 */
export function finishCarryOver(store: Store): boolean {
  if (!isCarriedOver(store)) return false;
  return store.db.transaction(() => {
    if (!isCarriedOver(store)) return false; // another process has just done it
    completeSessions(store);
    remakeChunkText(store);
    remakeDeedText(store);
    const files = store.db.prepare("SELECT id, file FROM sessions").all();
    const present = files.filter(({ file }) => existsSync(String(file))).map(({ id }) => String(id));
    forgetProgress(store, present);
    writeFact(store, CARRIED_FACT, undefined);
    return true;
  });
}

/** Adds the missing one of the two rows that identify a session, since either may be lost. */
function completeSessions({ db }: Store): void {
  const nameless =
    "SELECT session_id, file_path FROM index_state WHERE session_id NOT IN (SELECT id FROM sessions)";
  const drop = db.prepare("DELETE FROM index_state WHERE session_id = ?");
  for (const { session_id, file_path } of db.prepare(nameless).all()) {
    if (existsSync(String(file_path))) drop.run(String(session_id)); // it is read as a new one
  }
  // Before numbers are assigned again.
  db.exec(`
    DELETE FROM deeds WHERE session NOT IN (SELECT number FROM sessions);
    DELETE FROM row_keys WHERE session NOT IN (SELECT number FROM sessions);
    INSERT OR IGNORE INTO sessions (id, agent, file, updated_at, source_gone)
      SELECT session_id, 'plain', file_path, last_indexed, 1 FROM index_state;
    INSERT OR IGNORE INTO index_state (session_id, file_path, file_hash, last_indexed, status, size, modified, recipe)
      SELECT id, file, '', updated_at, 'partial', -1, '', '' FROM sessions;`);
}

/** Removes indexed sessions that are excluded now, whether or not their transcripts changed. Returns their ids. */
export function removeExcluded(store: Store, exclude: Settings["exclude"]): string[] {
  if (exclude.sessions.length + exclude.projects.length === 0) return [];
  const { hasSession } = readExclusion(exclude);
  const out = heldSessions(store).filter((session) => hasSession(session));
  for (const { number, storedId } of out) removeSession(store, { number, id: storedId });
  return out.map(({ storedId }) => storedId);
}
