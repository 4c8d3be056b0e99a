/**
 * Reads one transcript into the index, exchange by exchange from its cursor to its end (a pass), and records which session
 * each row belongs to, since forks copy rows.
 */

import type { JsonRecord } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import type { Settings } from "../config/config.ts";
import type { Cursor, Entry, Row, Session } from "../hosts/session.ts";
import type { Store } from "../store/store.ts";
import { isAsking, isMessage, keptCall, toRows } from "../transcripts/calls.ts";
import { type Exchange, exchangesIn } from "../transcripts/exchanges.ts";
import { hashBefore } from "../transcripts/files.ts";
import type { Head } from "../transcripts/head.ts";
import { SILENT, validateSessionFile } from "../transcripts/head.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { SecretMemory } from "../transcripts/secret-rows.ts";
import { entryKey, type ReadProgress, readEntries, secretsIn } from "../transcripts/transcript.ts";
import { branchWatch, readRewound } from "../transcripts/tree.ts";
import { deriveExchange } from "./derive.ts";
import {
  forgetProgress,
  type IndexProgress,
  type IndexReport,
  readProgress,
  saveProgress,
  updateRewound,
} from "./index-state.ts";
import {
  countChunks,
  putChunk,
  putExchange,
  putRows,
  releaseRows,
  removeChunk,
  removeChunks,
  removeContents,
  removeEmptyExchanges,
  removeRows,
  type StoredChunk,
  sessionsWithCopies,
  storedChunks,
} from "./session-rows.ts";
import { holdsAny } from "./stored-rows.ts";

/** A session has at most this many chunks in the index: its newest. */
export const SESSION_CHUNKS_MAX = 2000;
/** Reading a larger file whole for a few marks is not worth it. */
const REWOUND_MAX = 256 * 1024 * 1024;
/** The bytes of a session after which its progress is saved, and the run can be stopped. */
const PART_BYTES = 1024 * 1024;
/** With a larger share of damaged lines than this, the file is validated as a whole. */
const DAMAGED_SHARE = 0.5;

/** The common ground of the passes of one run. */
export interface PassOptions {
  store: Store;
  settings: Pick<Settings, "participants"> & { timezone: string };
  /** The redaction and exclusion rules. */
  rules: Rules;
  isOver: () => boolean;
  onWarning: ((text: string) => void) | undefined;
  /** Each pass adds to it. */
  report: IndexReport;
}

/** A session to be read, what the index knows of it, and what its first rows say. */
interface PassInput {
  session: Session;
  known: IndexProgress;
  head: Head | undefined;
  facts: Partial<Session>;
  /** The secrets known of it. @default those noted */
  memory?: SecretMemory | undefined;
}

interface Pass extends PassOptions, Omit<PassInput, "known"> {
  state: IndexProgress;
  started: number;
  isFromStart: boolean;
  /** True if the index holds nothing of the session, so that nothing has to be replaced. */
  isNew: boolean;
  /** The place to which the file was read. */
  progress: ReadProgress;
  /** True if the conversation went on, or may have, from a row that was not its last. */
  isBranched: boolean;
  /** Skipped lines before each user message that was read and not yet taken. */
  skippedBefore: Map<Entry, number>;
  compactedLine: number | undefined;
  messages: number;
  /** True if some text was not UTF-8. */
  isTorn: boolean;
  /** True if reading ended before the file did. */
  isCut: boolean;
  /** True if rows that were stored before hold what a later one announced as a secret: all is read again. */
  isSpread: boolean;
  /** Chunks of an earlier pass that this one has not reached. */
  before: Map<number, StoredChunk>;
  newChunks: number;
  position: Position;
}

/** The progress of a pass in whole exchanges: behind `progress`, which reads on, and ahead of `state`, which was saved. */
interface Position {
  /** The number of the chunk that comes next. */
  nextChunk: number;
  /** The last line of the exchange that was begun last. */
  lastLine: number;
  /** The stored rows up to this line are those of this pass. */
  rowsTo: number;
  /** The place to commit: the start of an exchange that is also the start of a line. */
  safe: { cursor: Cursor; nextChunk: number; skipped: number };
  /** Skipped lines before the cursor where the pass began. */
  skippedAtStart: number;
}

/** Reads a session into the index. Each `yield` is a point where the caller's transaction may be committed. */
export function* runPass(input: PassInput, options: PassOptions): Generator<void, void> {
  const pass = startPass(input, options);
  for (const exchange of exchangesIn(readNew(pass))) {
    if (pass.isCut && !exchange.isClosed) break; // what follows was not read
    if (exchange.items.length > 0) {
      moveTo(pass, exchange);
      takeExchange(pass, exchange);
      continue;
    }
    savePart(pass);
    yield;
    if (!isUntouched(pass)) return; // another process went on with the session
  }
  if (pass.isCut) savePart(pass);
  else finish(pass);
  if (pass.isSpread && !pass.isCut)
    yield* runPass({ ...input, known: pass.state, memory: pass.memory }, options);
  else addToReport(pass);
}

/** Yields the entries after the cursor with pauses, and notes what must be known of the lines between them. */
function* readNew(pass: Pass): Generator<Entry | undefined> {
  const { state, head, rules, progress } = pass;
  if (!head) return;
  const branches = branchWatch(head);
  const onRecord = (record: JsonRecord) => {
    pass.isBranched = branches(record) || pass.isBranched;
  };
  const reading = { rules, from: state.cursor, head, progress, onRecord, memory: pass.memory };
  let paused = state.cursor.offset;
  for (const entry of readEntries(state.file, { ...reading, results: "ends" })) {
    const { offset } = entry;
    if (offset - paused > PART_BYTES) {
      paused = offset;
      yield undefined;
    }
    if (pass.isOver()) {
      pass.isCut = true;
      return;
    }
    if (entry.kind === "user") pass.skippedBefore.set(entry, progress.skipped);
    if (entry.kind === "summary") pass.compactedLine = entry.line;
    if (isMessage(entry)) {
      pass.messages++;
      if (entry.text.includes("\ufffd")) pass.isTorn = true;
    }
    yield entry;
  }
}

function startPass(input: PassInput, options: PassOptions): Pass {
  const { session, known, head, facts } = input;
  const { state, isFromStart } = beginAt(input);
  const { cursor, nextChunk, skippedLines: skipped } = state;
  const isAnew = isFromStart && known.fileHash !== "";
  if (isAnew) {
    // forks that copied rows of a file that has become another may claim them, if it does not
    releaseRows(options.store, [known.id]);
    forgetProgress(options.store, sessionsWithCopies(options.store, known.id));
  }
  const secrets = () => head && secretsIn(session.file, { rules: options.rules, head, isAnew });
  return {
    ...options,
    session,
    state,
    head,
    facts,
    memory: input.memory ?? secrets(),
    started: performance.now(),
    isFromStart,
    isNew: known.lastIndexed === "",
    progress: { offset: 0, line: 0, skipped: 0 },
    isBranched: false,
    skippedBefore: new Map(),
    compactedLine: undefined,
    messages: 0,
    isTorn: false,
    isCut: false,
    isSpread: false,
    before: storedChunks(options.store, state.number, nextChunk),
    newChunks: 0,
    position: {
      nextChunk,
      lastLine: -1,
      rowsTo: cursor.line,
      safe: { cursor, nextChunk, skipped },
      skippedAtStart: skipped,
    },
  };
}

/** Returns the state from which a pass goes on: the known one, or that of the start of a file that has become another. */
function beginAt({ session, known }: PassInput): { state: IndexProgress; isFromStart: boolean } {
  const { file } = session;
  // of a given file whose first line was half written the agent was not known
  const agent = known.agent === "plain" ? session.agent : known.agent;
  if (agent === known.agent && isContinued(known, session))
    return { state: { ...known, file }, isFromStart: false };
  const start = { cursor: { offset: 0, line: 0 }, nextChunk: 0, skippedLines: 0 };
  return { state: { ...known, ...start, agent, file }, isFromStart: true };
}

/** Moves the safe position to an exchange, unless it begins in the middle of a fused line. */
function moveTo(pass: Pass, { items: entries }: Exchange<Entry>): void {
  const [first, last] = [entries[0] as Entry, entries.at(-1) as Entry];
  const { skippedBefore, position } = pass;
  if (first.line !== position.lastLine) {
    const cursor = { offset: first.offset, line: first.line - 1 };
    const skipped = position.skippedAtStart + (skippedBefore.get(first) ?? 0);
    position.safe = { cursor, nextChunk: position.nextChunk, skipped };
  }
  skippedBefore.delete(first);
  position.lastLine = last.line;
}

function takeExchange(pass: Pass, { items: all }: Exchange<Entry>): void {
  const { store, state, position, head, session, settings, rules } = pass;
  const { line, nth } = all[0] as Entry;
  const entries = claimRows(store, all, state);
  const around = head?.startedAt ?? session.updatedAt;
  const derived = deriveExchange(toRows(entries), {
    firstIndex: position.nextChunk,
    ...settings,
    rules,
    topics: all[0]?.topics,
  });
  position.nextChunk += derived.cut;
  const place = { session: state.number, timestamp: entries[0]?.at ?? around };
  const kept = derived.rows.flatMap(keptRow);
  if (!pass.isNew) removeRows(store, state.number, { after: position.rowsTo, to: position.lastLine });
  putRows(store, kept, place);
  position.rowsTo = position.lastLine;
  const [first] = derived.chunks;
  if (!first) return;
  const exchange = putExchange(store, { session: state.number, line, nth }, first.header);
  for (const chunk of derived.chunks) {
    const [timestamp, before] = [chunk.at ?? around, pass.before.get(chunk.index)];
    if (putChunk(store, chunk, { session: state.number, timestamp, exchange, before })) pass.newChunks++;
    pass.before.delete(chunk.index);
  }
}

/** Returns a row as the index keeps it; a call that only asks the user is left out. */
function keptRow(row: Row): Row[] {
  if (row.who !== "tool") return [row];
  return isAsking(row) ? [] : [keptCall(row)];
}

/** Writes how far this pass has come; the file still counts as changed. */
function savePart(pass: Pass): void {
  save(pass, { status: "partial", size: -1, modified: "", error: undefined });
}

/** Finishes the file: removes chunks that no exchange produced again. */
function finish(pass: Pass): void {
  const { session, store, state, position } = pass;
  const end = { size: session.size, modified: session.modifiedAt };
  const error = findFault(pass);
  if (error !== undefined) {
    removeContents(store, state.number);
    releaseRows(store, [state.id]);
    position.safe = { cursor: { offset: 0, line: 0 }, nextChunk: 0, skipped: position.safe.skipped };
    pass.newChunks = 0;
    save(pass, { ...end, status: "quarantined", error });
    return;
  }
  for (const { id } of pass.before.values()) removeChunk(store, id);
  if (!pass.isNew) {
    removeRows(store, state.number, { after: position.rowsTo, to: Number.MAX_SAFE_INTEGER });
    removeEmptyExchanges(store, state.number);
  }
  save(pass, { ...end, status: isOverLimit(pass) ? "partial" : "complete", error });
}

function isOverLimit({ position }: Pass): boolean {
  return position.nextChunk > SESSION_CHUNKS_MAX;
}

/** Returns a fault for a file with nothing readable in it; damaged lines alone are not one. */
function findFault({ isFromStart, messages, isTorn, progress, state, session }: Pass): string | undefined {
  if (!isFromStart) return undefined;
  const isSuspect = messages === 0 || isTorn || progress.skipped > progress.line * DAMAGED_SHARE;
  const [fault] = isSuspect ? validateSessionFile(state.file).errors : [];
  const isSilent = fault === SILENT[0] || (fault === SILENT[1] && session.agent !== "plain");
  return isSilent ? undefined : fault;
}

function save(pass: Pass, end: Pick<IndexProgress, "status" | "size" | "modified" | "error">): void {
  const { state, store, position, session, facts, compactedLine } = pass;
  if (isOverLimit(pass)) {
    removeChunks(store, state.number, position.nextChunk - SESSION_CHUNKS_MAX);
    const first = store.get("SELECT min(line) AS line FROM exchanges WHERE session = ?", state.number);
    removeRows(store, state.number, { after: -1, to: Number(first?.line ?? 0) - 1 });
  }
  if (pass.isBranched) {
    updateRewound(store, state.number, session.size > REWOUND_MAX ? [] : readRewound(session.file));
  } else if (pass.isFromStart) updateRewound(store, state.number, []);
  const { cursor, nextChunk, skipped } = position.safe;
  noteSecrets(pass);
  pass.state = {
    ...state,
    ...end,
    ...(pass.isSpread && { size: -1 }),
    cursor,
    nextChunk,
    skippedLines: skipped,
    fileHash: end.status === "quarantined" || pass.isSpread ? "" : hashBefore(state.file, cursor.offset),
    chunkCount: countChunks(store, state.number),
    lastIndexed: new Date().toISOString(),
  };
  const tookMs = performance.now() - pass.started;
  saveProgress(store, pass.state, { facts, updatedAt: session.updatedAt, compactedLine, tookMs });
}

/** Notes the rows that announce secrets before the position behind them is saved. */
function noteSecrets(pass: Pass): void {
  const values = pass.memory?.takeNew() ?? [];
  pass.isSpread ||= holdsAny(pass.store, pass.state.number, values);
  pass.memory?.keep();
}

function addToReport(pass: Pass): void {
  const { session, state, report, newChunks } = pass;
  report.sessions++;
  report.chunks += state.chunkCount;
  report.newChunks += Math.min(newChunks, state.chunkCount);
  report.skippedLines += pass.progress.skipped;
  if (state.error !== undefined) report.quarantined.push({ file: session.file, reason: state.error });
  if (isOverLimit(pass) && newChunks > 0)
    pass.onWarning?.(`session ${session.id} is over ${SESSION_CHUNKS_MAX} chunks: only its newest are kept`);
}

function isUntouched({ store, state }: Pass): boolean {
  const now = readProgress(store, state.id);
  return now?.cursor.offset === state.cursor.offset && now.lastIndexed === state.lastIndexed;
}

/** Returns whether a file still begins with what was read of it, so that reading can go on from the cursor. */
function isContinued(known: IndexProgress, session: Session): boolean {
  const { offset } = known.cursor;
  return (
    known.fileHash !== "" && session.size >= offset && hashBefore(session.file, offset) === known.fileHash
  );
}

/** Returns whether an entry has a claim of its own, as messages do; calls and results go with the entry before them. */
function claimsAlone(entry: Entry, before: Entry | undefined): boolean {
  if (before === undefined) return true;
  return (
    entry.kind !== "tool" &&
    entry.kind !== "result" &&
    !(before.line === entry.line && before.id === entry.id)
  );
}

/**
 * Returns the entries whose rows no other session or line has; the others are copies. Hosts write forks by copying rows,
 * with their ids, into a new file, and a row is indexed where it was seen first.
 */
function claimRows(db: Store, entries: readonly Entry[], { number, id }: IndexProgress): Entry[] {
  const take = "INSERT INTO row_keys (key, session, line) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
  const noteCopy =
    "INSERT OR IGNORE INTO copies (session_id, owner_id) SELECT ?, id FROM sessions WHERE number = ?";
  const isOurs = (key: number, line: number) => {
    if (db.run(take, key, number, line).changes === 1) return true;
    const row = db.get("SELECT session, line FROM row_keys WHERE key = ?", key);
    if (row?.session !== number) db.run(noteCopy, id, Number(row?.session));
    return row?.session === number && row.line === line;
  };
  let isTaken = true;
  return entries.filter((entry, position) => {
    if (!claimsAlone(entry, entries[position - 1])) return isTaken;
    const key = entryKey(entry);
    isTaken = key === undefined || isOurs(shortHash(key), entry.line);
    return isTaken;
  });
}
