/** One pass through one transcript: from its cursor to its end, exchange by exchange, into the index. */

import type { Settings } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import { deedsIn } from "../transcripts/calls.ts";
import type { Head } from "../transcripts/format.ts";
import { SILENT, validateSessionFile } from "../transcripts/head.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Chunk, Cursor, Entry, Exchange, Session } from "../transcripts/session.ts";
import { type ReadProgress, readEntries } from "../transcripts/transcript.ts";
import { type BranchWatch, branchWatch, readRewound } from "../transcripts/tree.ts";
import { chunkExchange, exchanges } from "./chunk.ts";
import {
  countChunks,
  type PutChunk,
  removeChunk,
  removeChunks,
  removeChunksBefore,
  type StoredChunk,
  storedChunks,
} from "./chunk-rows.ts";
import { type AddDeeds, removeDeeds } from "./deed-rows.ts";
import { hashBefore } from "./freshness.ts";
import {
  forgetProgress,
  type IndexedSession,
  readIndexedSession,
  removeRewound,
  type SessionFacts,
  saveIndexedSession,
  updateRewound,
} from "./index-state.ts";
import { type ClaimRows, isKnown, releaseRows, sessionsWithCopies } from "./row-claims.ts";

/** A session has at most this many chunks in the index: its newest. */
export const SESSION_CHUNKS_MAX = 2000;
/** Reading a larger file whole for a few marks is not worth it. */
const REWOUND_MAX = 256 * 1024 * 1024;
/** After so many chunks of a session its progress is saved. */
const CHUNKS_PER_PART = 100;
/** More damaged lines than this share, and the file is looked at as a whole. */
const DAMAGED_SHARE = 0.5;

export interface PassOptions {
  store: Store;
  putChunk: PutChunk;
  addDeeds: AddDeeds;
  claim: ClaimRows;
  settings: Pick<Settings, "participants" | "timezone">;
  /** The redaction and exclusion rules. */
  rules: Rules;
  isOver: () => boolean;
}

/** The results of one pass. */
export interface PassResult {
  state: IndexedSession;
  chunks: number;
  newChunks: number;
  skippedLines: number;
  /** The reason that the file is quarantined. */
  reason: string | undefined;
  isOverLimit: boolean;
}

/** A session to be read. */
interface PassInput {
  session: Session;
  known: IndexedSession;
  head: Head | undefined;
  facts: SessionFacts;
}

interface Pass extends PassOptions, Omit<PassInput, "known"> {
  state: IndexedSession;
  started: number;
  isFromStart: boolean;
  /** True if the index held nothing of the session before. */
  isNew: boolean;
  /** How far the file was read. */
  progress: ReadProgress;
  branches: BranchWatch;
  /** Skipped lines before each user message that was read and not yet taken. */
  skippedBefore: Map<Entry, number>;
  compactedLine: number | undefined;
  messages: number;
  /** True if some text was not UTF-8. */
  isTorn: boolean;
  /** True if reading ended before the file did. */
  isCut: boolean;
  /** Chunks of an earlier pass that this one has not reached. */
  before: Map<number, StoredChunk>;
  next: number;
  newChunks: number;
  /** The position that may be committed: the start of an exchange that is also the start of a line. */
  safe: { cursor: Cursor; nextChunk: number; skipped: number };
  /** Skipped lines before the cursor where the pass began: `state` moves on with each part that is saved. */
  skippedAtStart: number;
  lastLine: number;
  /** The deeds of calls up to this line are those of this pass. */
  deedsTo: number;
}

/**
 * Reads a session into the index. Each `yield` is a point where the caller's transaction may be committed.
 *
 * @returns undefined when another process went on with the session meanwhile.
 */
export function* passThrough(
  input: PassInput,
  options: PassOptions,
): Generator<void, PassResult | undefined> {
  const pass = startPass(input, options);
  for (const exchange of exchanges(readNew(pass))) {
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

/** Yields the entries after the cursor, and notes what must be known of the lines between them. */
function* readNew(pass: Pass): Generator<Entry> {
  const { state, head, rules, progress, branches } = pass;
  if (!head) return;
  const reading = { rules, from: state.cursor, head, progress, onRecord: branches.see };
  for (const entry of readEntries(state.file, { ...reading, results: "ends" })) {
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

function startPass({ session, known, head, facts }: PassInput, options: PassOptions): Pass {
  const isContinuing = isContinued(known, session);
  const state: IndexedSession = isContinuing
    ? { ...known }
    : { ...known, cursor: { offset: 0, line: 0 }, nextChunk: 0, skippedLines: 0 };
  state.file = session.file;
  if (!isContinuing && known.fileHash !== "") freeRows(known, options);
  const before = storedChunks(options.store, state.id, state.nextChunk);
  return {
    ...options,
    session,
    state,
    head,
    facts,
    started: performance.now(),
    isFromStart: !isContinuing,
    isNew: known.lastIndexed === "" && before.size === 0,
    progress: { offset: 0, line: 0, skipped: 0 },
    branches: branchWatch(session.agent),
    skippedBefore: new Map(),
    compactedLine: undefined,
    messages: 0,
    isTorn: false,
    isCut: false,
    before,
    next: state.nextChunk,
    newChunks: 0,
    safe: { cursor: state.cursor, nextChunk: state.nextChunk, skipped: state.skippedLines },
    skippedAtStart: state.skippedLines,
    lastLine: -1,
    deedsTo: state.cursor.line,
  };
}

/** Releases the rows of a file that has become another: forks that copied them may claim them, if it does not. */
function freeRows({ id }: IndexedSession, { store }: PassOptions): void {
  releaseRows(store, [id]);
  forgetProgress(store, sessionsWithCopies(store, id));
}

/** Returns whether a file was replaced before its first cursor, where no hash shows it but its first row does. */
function isReplaced({ isNew, isFromStart, state, store }: Pass, { entries: [first] }: Exchange): boolean {
  if (isNew || isFromStart || state.cursor.offset > 0) return false;
  return first !== undefined && isKnown(store, first) === false;
}

/** Moves the safe position to an exchange, unless it begins in the middle of a fused line. */
function moveTo(pass: Pass, { entries }: Exchange): void {
  const [first, last] = [entries[0] as Entry, entries.at(-1) as Entry];
  const { skippedBefore } = pass;
  if (first.line !== pass.lastLine) {
    const cursor = { offset: first.offset, line: first.line - 1 };
    const skipped = pass.skippedAtStart + (skippedBefore.get(first) ?? 0);
    pass.safe = { cursor, nextChunk: pass.next, skipped };
  }
  skippedBefore.delete(first);
  pass.lastLine = last.line;
}

function putExchange(pass: Pass, exchange: Exchange): void {
  const exchangeLine = (exchange.entries[0] as Entry).line;
  const own = { entries: pass.claim(exchange.entries, pass.state), closed: exchange.closed };
  putDeeds(pass, own, exchangeLine);
  for (const chunk of cutChunks(pass, own)) {
    pass.next++;
    // a pattern may reach over several messages
    if (pass.rules.hasText(chunk.content) || pass.rules.hasText(chunk.tools)) continue;
    const timestamp = chunk.at ?? pass.head?.startedAt ?? pass.session.updatedAt;
    if (pass.putChunk(chunk, { timestamp, exchangeLine, before: pass.before.get(chunk.index) }))
      pass.newChunks++;
    pass.before.delete(chunk.index);
  }
}

function cutChunks({ state, settings, next }: Pass, exchange: Exchange): Chunk[] {
  return chunkExchange(exchange, { sessionId: state.id, firstIndex: next, ...settings });
}

function putDeeds(pass: Pass, { entries }: Exchange, exchangeLine: number): void {
  const { store, state, isNew, lastLine, head, session } = pass;
  if (!isNew) removeDeeds(store, state.number, { after: pass.deedsTo, to: lastLine });
  pass.deedsTo = lastLine;
  const timestamp = entries[0]?.at ?? head?.startedAt ?? session.updatedAt;
  pass.addDeeds(deedsIn(entries), { session: state.number, exchangeLine, timestamp });
}

/** Writes how far this pass has come; the file still counts as changed. */
function savePart(pass: Pass): PassResult {
  const skippedLines = pass.safe.skipped;
  return save(pass, { status: "partial", size: -1, modified: "", error: undefined, skippedLines });
}

/** Finishes the file: removes chunks that no exchange produced again. */
function finish(pass: Pass): PassResult {
  const { session, store, state } = pass;
  const reason = findFault(pass);
  const end = { size: session.size, modified: session.modifiedAt, skippedLines: pass.safe.skipped };
  if (reason !== undefined) {
    removeChunks(store, state.id);
    removeDeeds(store, state.number);
    releaseRows(store, [state.id]);
    pass.safe = { cursor: { offset: 0, line: 0 }, nextChunk: 0, skipped: 0 };
    pass.newChunks = 0;
    return save(pass, { ...end, status: "quarantined", error: reason });
  }
  for (const { id } of pass.before.values()) removeChunk(store, id);
  pass.before.clear();
  if (!pass.isNew) removeDeeds(store, state.number, { after: pass.deedsTo, to: Number.MAX_SAFE_INTEGER });
  return save(pass, {
    ...end,
    status: pass.next > SESSION_CHUNKS_MAX ? "partial" : "complete",
    error: undefined,
  });
}

/** Returns a fault for a file with nothing readable in it; damaged lines alone are none. */
function findFault({ isFromStart, messages, isTorn, progress, state, session }: Pass): string | undefined {
  if (!isFromStart) return undefined;
  const isSuspect = messages === 0 || isTorn || progress.skipped > progress.line * DAMAGED_SHARE;
  const [fault] = isSuspect ? validateSessionFile(state.file).errors : [];
  const isSilent = fault === SILENT[0] || (fault === SILENT[1] && session.agent !== "plain");
  return isSilent ? undefined : fault;
}

function save(
  pass: Pass,
  end: Pick<IndexedSession, "status" | "size" | "modified" | "error" | "skippedLines">,
): PassResult {
  const { state, store, next, session, facts, isNew, compactedLine, progress } = pass;
  const isOverLimit = next > SESSION_CHUNKS_MAX;
  if (isOverLimit) {
    const firstKept = removeChunksBefore(store, state.id, next - SESSION_CHUNKS_MAX);
    removeDeeds(store, state.number, { after: -1, to: firstKept - 1 });
  }
  if (pass.branches.isBranched()) {
    updateRewound(store, state.number, session.size > REWOUND_MAX ? [] : readRewound(session.file));
  } else if (pass.isFromStart && !isNew) removeRewound(store, state.number);
  const { cursor, nextChunk } = pass.safe;
  pass.state = {
    ...state,
    ...end,
    cursor,
    nextChunk,
    fileHash: end.status === "quarantined" ? "" : hashBefore(state.file, cursor.offset),
    chunkCount: isNew && !isOverLimit ? pass.newChunks : countChunks(store, state.id),
    lastIndexed: new Date().toISOString(),
  };
  const tookMs = performance.now() - pass.started;
  saveIndexedSession(store, pass.state, { facts, updatedAt: session.updatedAt, compactedLine, tookMs });
  return {
    state: pass.state,
    chunks: pass.state.chunkCount,
    newChunks: Math.min(pass.newChunks, pass.state.chunkCount),
    skippedLines: progress.skipped,
    reason: end.error,
    isOverLimit,
  };
}

function isUntouched({ store, state }: Pass): boolean {
  const now = readIndexedSession(store, state.id);
  return now?.cursor.offset === state.cursor.offset && now.lastIndexed === state.lastIndexed;
}

/** Returns whether a file still begins with what was read of it, so that reading can go on from the cursor. */
function isContinued(known: IndexedSession, session: Session): boolean {
  const { offset } = known.cursor;
  return (
    known.fileHash !== "" && session.size >= offset && hashBefore(session.file, offset) === known.fileHash
  );
}
