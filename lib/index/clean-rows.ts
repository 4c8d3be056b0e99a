/** Redacts stored rows in place: those of deleted transcripts are the only copy. */

import { readFact, type Store, writeFact } from "../store/store.ts";
import { rewriteChunk } from "./chunk-rows.ts";
import { CLEAN_FACT } from "./clean-state.ts";
import { rewriteDeeds } from "./deed-rows.ts";
import { eraseFreed, markErase } from "./forget-rows.ts";

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
  if (
    readFact(store, CLEAN_FACT) !== undefined ||
    store.db.prepare("SELECT 1 FROM session_chunks LIMIT 1").get()
  )
    return;
  writeFact(store, CLEAN_FACT, version);
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

/** Deeds and names, which are few beside chunks; then all is clean. Returns what was changed. */
function finish(store: Store, { clean, version }: { clean: Clean; version: string }): number {
  const changed = rewriteDeeds(store, clean) + cleanNames(store, clean);
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

function cleanNames(store: Store, clean: Clean): number {
  let changed = 0;
  for (const row of store.db.prepare("SELECT number, name, cwd, project FROM sessions").all()) {
    const before = [row.name, row.cwd, row.project].map((text) => (text === null ? null : String(text)));
    const after = before.map((text) => (text === null ? null : clean(text)));
    if (after.every((text, i) => text === before[i])) continue;
    store.db
      .prepare("UPDATE sessions SET name = ?, cwd = ?, project = ? WHERE number = ?")
      .run(...after, Number(row.number));
    changed++;
  }
  return changed;
}
