/** One pass through one transcript: from its cursor to its end, exchange by exchange, into the index. */

import { chunkExchange, exchanges } from "./chunk.ts";
import { type ChunkRows, removeChunks, type StoredChunk } from "./chunk-rows.ts";
import type { Settings } from "./config.ts";
import { hashBefore } from "./file-hash.ts";
import { isContinued } from "./freshness.ts";
import {
  forgetProgress,
  type IndexedSession,
  readIndexedSession,
  type SessionFacts,
  saveIndexedSession,
} from "./index-state.ts";
import { type RowClaims, releaseRows, sessionsWithCopies } from "./row-claims.ts";
import type { Cursor, Entry, Exchange, Session } from "./session.ts";
import type { Store } from "./store.ts";
import { type Head, type ReadProgress, readEntries, validateSessionFile } from "./transcript.ts";

/** A session has at most this many chunks in the index: its newest. */
export const SESSION_CHUNKS_MAX = 2000;
/** So many chunks of one session make a transaction. */
const CHUNKS_PER_PART = 100;
/** More damaged lines than this share, and the file is looked at as a whole. */
const DAMAGED_SHARE = 0.5;

export interface PassOptions {
  store: Store;
  rows: ChunkRows;
  claims: RowClaims;
  settings: Pick<Settings, "participants" | "timezone">;
  recipe: string;
  redact: (text: string) => string;
  /** Whether a chunk stays out of the index. */
  isExcluded: (text: string) => boolean;
  isOver: () => boolean;
}

/** What one pass did. */
export interface PassResult {
  state: IndexedSession;
  chunks: number;
  newChunks: number;
  skippedLines: number;
  /** Why the file is quarantined. */
  reason: string | undefined;
  isOverLimit: boolean;
}

interface Pass extends PassOptions {
  session: Session;
  state: IndexedSession;
  head: Head | undefined;
  facts: SessionFacts;
  started: number;
  isFromStart: boolean;
  /** Whether the index held nothing of the session before. */
  isNew: boolean;
  progress: ReadProgress;
  /** Skipped lines before each user message that was read and not yet taken. */
  skippedBefore: Map<Entry, number>;
  /** Chunks of an earlier pass that this one has not come to. */
  before: Map<number, StoredChunk>;
  next: number;
  newChunks: number;
  /** What may be committed: the start of an exchange that is the start of a line. */
  safe: { cursor: Cursor; nextChunk: number; skipped: number };
  lastLine: number;
  compactedLine: number | undefined;
  messages: number;
  /** Whether some text was not UTF-8. */
  isTorn: boolean;
  /** Whether the run was over before the file was. */
  isCut: boolean;
}

/**
 * Reads a session into the index. Each `yield` is a point where the caller's transaction may be committed.
 *
 * @returns undefined when another process went on with the session meanwhile.
 */
export function* passThrough(
  {
    session,
    known,
    head,
    facts,
  }: { session: Session; known: IndexedSession; head: Head | undefined; facts: SessionFacts },
  options: PassOptions,
): Generator<void, PassResult | undefined> {
  const pass = startPass({ session, known, head, facts }, options);
  for (const exchange of exchanges(watchEntries(pass))) {
    if (pass.isCut && !exchange.closed) break; // what follows was not read
    if (pass.lastLine < 0 && isReplaced(pass, exchange)) freeRows(pass.state, options);
    moveTo(pass, exchange);
    if (pass.safe.nextChunk - pass.state.nextChunk >= CHUNKS_PER_PART) {
      savePart(pass);
      yield;
      if (!isUntouched(pass)) return undefined;
    }
    putExchange(pass, exchange);
  }
  return pass.isCut ? savePart(pass) : finish(pass);
}

function startPass(
  {
    session,
    known,
    head,
    facts,
  }: { session: Session; known: IndexedSession; head: Head | undefined; facts: SessionFacts },
  options: PassOptions,
): Pass {
  const started = performance.now();
  const isContinuing = known.recipe === options.recipe && isContinued(known, session);
  const state: IndexedSession = isContinuing
    ? { ...known }
    : { ...known, cursor: { offset: 0, line: 0 }, nextChunk: 0, skippedLines: 0 };
  state.file = session.file;
  state.recipe = options.recipe;
  const isNew = known.lastIndexed === "";
  if (!isContinuing && known.fileHash !== "") freeRows(known, options);
  return {
    ...options,
    session,
    state,
    head,
    facts,
    started,
    isFromStart: !isContinuing,
    isNew,
    progress: { offset: 0, line: 0, skipped: 0 },
    skippedBefore: new Map(),
    before: isNew ? new Map() : options.rows.from(state.id, state.nextChunk),
    next: state.nextChunk,
    newChunks: 0,
    safe: { cursor: state.cursor, nextChunk: state.nextChunk, skipped: state.skippedLines },
    lastLine: -1,
    compactedLine: undefined,
    messages: 0,
    isTorn: false,
    isCut: false,
  };
}

/** The file has become another: the forks that copied its rows may take them, if it does not take them again. */
function freeRows({ id }: IndexedSession, { store }: PassOptions): void {
  releaseRows(store, [id]);
  forgetProgress(store, sessionsWithCopies(store, id));
}

/** With nothing before the cursor no hash tells a replaced file: its first row does. */
function isReplaced({ isNew, isFromStart, state, claims }: Pass, { entries }: Exchange): boolean {
  if (isNew || isFromStart || state.cursor.offset > 0 || !entries[0]) return false;
  return claims.isKnown(entries[0]) === false;
}

/** The entries behind the cursor; ends early when the run is over. */
function* watchEntries(pass: Pass): Generator<Entry> {
  const { head, progress, state } = pass;
  if (!head) return;
  for (const entry of readEntries(state.file, { from: state.cursor, head, progress })) {
    if (pass.isOver()) {
      pass.isCut = true;
      return;
    }
    if (entry.kind === "user") pass.skippedBefore.set(entry, progress.skipped);
    if (entry.kind === "summary") pass.compactedLine = entry.line;
    if (entry.kind === "user" || entry.kind === "assistant") {
      pass.messages++;
      if (entry.text.includes("\ufffd")) pass.isTorn = true;
    }
    yield entry;
  }
}

/** An exchange that begins in the middle of a fused line is no place to go on from. */
function moveTo(pass: Pass, { entries }: Exchange): void {
  const first = entries[0];
  if (!first) return;
  const skipped = pass.skippedBefore.get(first) ?? 0;
  pass.skippedBefore.delete(first);
  if (first.line !== pass.lastLine) {
    const cursor = { offset: first.offset, line: first.line - 1 };
    pass.safe = { cursor, nextChunk: pass.next, skipped: pass.state.skippedLines + skipped };
  }
  pass.lastLine = entries.at(-1)?.line ?? pass.lastLine;
}

function putExchange(pass: Pass, exchange: Exchange): void {
  const { session, state, settings } = pass;
  const entries = pass.claims.claim(exchange.entries, state);
  if (entries.length === 0) return;
  const chunks = chunkExchange(
    { entries, closed: exchange.closed },
    { sessionId: state.id, firstIndex: pass.next, ...settings, redact: pass.redact },
  );
  pass.next += chunks.length;
  const exchangeLine = exchange.entries[0]?.line ?? 0;
  for (const chunk of chunks) {
    if (pass.isExcluded(chunk.content)) continue;
    const timestamp = chunk.at ?? pass.head?.startedAt ?? session.updatedAt;
    if (pass.rows.put({ chunk, timestamp, exchangeLine }, pass.before.get(chunk.index))) pass.newChunks++;
    pass.before.delete(chunk.index);
  }
}

/** Writes how far this pass has come; the file still counts as changed. */
function savePart(pass: Pass): PassResult {
  const skippedLines = pass.safe.skipped;
  return save(pass, { status: "partial", size: -1, modified: "", error: undefined, skippedLines });
}

/** The end of the file: chunks that no exchange made again are gone. */
function finish(pass: Pass): PassResult {
  const { session, store, state } = pass;
  const reason = findFault(pass);
  const end = { size: session.size, modified: session.updatedAt, skippedLines: pass.safe.skipped };
  if (reason !== undefined) {
    removeChunks(store, state.id);
    releaseRows(store, [state.id]);
    pass.safe = { cursor: { offset: 0, line: 0 }, nextChunk: 0, skipped: 0 };
    pass.newChunks = 0;
    return save(pass, { ...end, status: "quarantined", error: reason });
  }
  for (const { id } of pass.before.values()) pass.rows.remove(id);
  pass.before.clear();
  return save(pass, {
    ...end,
    status: pass.next > SESSION_CHUNKS_MAX ? "partial" : "complete",
    error: undefined,
  });
}

/** Damaged lines alone are no fault; a file with nothing readable in it is. */
function findFault({ isFromStart, messages, isTorn, progress, state }: Pass): string | undefined {
  if (!isFromStart) return undefined;
  const isSuspect = messages === 0 || isTorn || progress.skipped > progress.line * DAMAGED_SHARE;
  return isSuspect ? validateSessionFile(state.file).errors[0] : undefined;
}

function save(
  pass: Pass,
  end: Pick<IndexedSession, "status" | "size" | "modified" | "error" | "skippedLines">,
): PassResult {
  const { state, rows, store, next, session, facts, compactedLine, isNew } = pass;
  const isOverLimit = next > SESSION_CHUNKS_MAX;
  if (isOverLimit) rows.removeBefore(state.id, next - SESSION_CHUNKS_MAX);
  const { cursor, nextChunk } = pass.safe;
  pass.state = {
    ...state,
    ...end,
    cursor,
    nextChunk,
    fileHash: end.status === "quarantined" ? "" : hashBefore(state.file, cursor.offset),
    chunkCount: isNew && !isOverLimit ? pass.newChunks : rows.count(state.id),
    lastIndexed: new Date().toISOString(),
  };
  const tookMs = performance.now() - pass.started;
  saveIndexedSession(store, pass.state, { facts, updatedAt: session.updatedAt, compactedLine, tookMs });
  return {
    state: pass.state,
    chunks: pass.state.chunkCount,
    newChunks: pass.newChunks,
    skippedLines: pass.progress.skipped,
    reason: end.error,
    isOverLimit,
  };
}

/** Whether the session is as this pass left it before the last commit. */
function isUntouched({ store, state }: Pass): boolean {
  const now = readIndexedSession(store, state.id);
  return now?.cursor.offset === state.cursor.offset && now.lastIndexed === state.lastIndexed;
}
