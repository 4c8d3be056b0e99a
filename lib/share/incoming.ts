/**
 * Reads the words of sessions from the hub into copies: of new ones all exchanges, of others what changed, checked; what
 * config.json excludes is left out. The copies are indexed as any transcript is.
 */

import { replaceFile } from "../base/files.ts";
import type { JsonRecord } from "../base/json.ts";
import type { Config } from "../config/config.ts";
import { hashBefore } from "../hosts/lines.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Row } from "../hosts/session.ts";
import { withoutTexts } from "../index/derive.ts";
import { readProgress } from "../index/index-state.ts";
import { removeChunk, removeEmptyExchanges, removeRow } from "../index/session-rows.ts";
import type { Exclusion } from "../sessions/gate.ts";
import { besideCopy } from "../sessions/pulled.ts";
import type { Store } from "../store/store.ts";
import { cleaner, toDescription, toExchange } from "./checked.ts";
import { batchesBy, type Hub } from "./hub.ts";
import {
  emptyShared,
  type HubList,
  heldSize,
  noteSilent,
  placeOfShared,
  type SharedSession,
  type WantedSession,
  WEIGHT_BYTES,
} from "./hub-list.ts";
import { DESCRIBE_SESSIONS, DESCRIBED, readPages } from "./hub-pages.ts";
import { type CopyChange, type CopyWriter, pulledCopy } from "./pulled-copy.ts";

interface FetchOptions {
  list: HubList;
  store: Store;
  config: Config;
  exclusion: Exclusion;
  /** Filled in with the sessions that lost something. */
  gone: Set<string>;
  /** Filled in with the sessions that lost something at the hub. */
  withdrawn: Set<string>;
  /** The room left in each owner's share beside what is counted. */
  room: Map<string, number>;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Chunks of sessions that are read together. */
const BATCH = 5000;

/** Reads sessions, the newest first, each as far as its copy's note says then. */
export async function fetchSessions(
  hub: Hub,
  wanted: readonly WantedSession[],
  options: FetchOptions,
): Promise<void> {
  const total = wanted.reduce((sum, { chunks }) => sum + chunks, 0);
  let done = 0;
  for (const batch of batchesBy(wanted, { max: BATCH, weigh: ({ chunks }) => chunks })) {
    await fetchBatch(hub, batch, options);
    done += batch.reduce((sum, { chunks }) => sum + chunks, 0);
    options.onProgress?.(done, total);
  }
}

/** A session that is being read, with what the hub says of it. */
interface Described {
  shared: WantedSession;
  session: ReturnType<typeof toDescription>;
}

/** Reads some sessions whole, or what of them is new, into copies. */
async function fetchBatch(hub: Hub, batch: readonly WantedSession[], options: FetchOptions): Promise<void> {
  const { list, config, room } = options;
  const clean = cleaner(config.settings.redact.extra);
  const described = await readDescriptions(hub, batch, { ...options, clean });
  const read = await copyExchanges(hub, described, { ...options, clean });
  list.db.transaction(() => {
    for (const { shared, session } of described) {
      if (!statUnpacked(placeOfShared(list, shared))) noteSilent(list, shared, session.seq);
      const size = Math.max(shared.chunks, read.get(shared) ?? 0, heldSize(list, shared));
      noteSize(list, shared, size);
      const left = (room.get(shared.owner) ?? 0) + shared.chunks;
      if (size > left) emptyShared(list, shared);
      room.set(shared.owner, size > left ? left : left - size);
    }
  });
}

/** Writes the exchanges of sessions into their copies; returns how much was read of each, in chunks of the usual size. */
async function copyExchanges(
  hub: Hub,
  described: readonly Described[],
  {
    list,
    store,
    exclusion,
    gone,
    withdrawn,
    room,
    clean,
  }: FetchOptions & { clean: ReturnType<typeof cleaner> },
): Promise<ReadonlyMap<WantedSession, number>> {
  const byNumber = new Map(described.map((each) => [each.shared.number, each]));
  const read = new Map<WantedSession, number>();
  // what it is counted as is not known before it is unpacked
  const isOver = (shared: WantedSession) =>
    (read.get(shared) ?? 0) > shared.chunks + (room.get(shared.owner) ?? 0);
  const left = () => described.map(({ shared }) => shared).filter((shared) => !isOver(shared));
  const removed = new Map<WantedSession, { line: number; nth: number }[]>();
  for await (const page of readPages(hub, { condition: "c.hash IS NULL", left }))
    for (const row of page) {
      const { shared } = byNumber.get(Number(row.session)) ?? {};
      if (!shared) continue;
      const { line, nth } = toExchange(row, shared, clean);
      removed.set(shared, [...(removed.get(shared) ?? []), { line, nth }]);
    }
  const begin = (each: Described) =>
    pulledCopy(placeOfShared(list, each.shared), {
      ...{ head: headOf(each), about: aboutOf(each), gone: removed.get(each.shared) ?? [] },
      modifiedAt: each.shared.updatedAt,
    });
  const end = ({ shared, session }: Described, copy: CopyWriter) => {
    if (isOver(shared)) return copy.abandon();
    const file = placeOfShared(list, shared);
    tell(file, { shared, session });
    const unread = store.db.prepare("UPDATE index_state SET size = -1 WHERE session_id = ?");
    // before, for a run that goes on from a killed one, and behind it, where another has just read the copy as it was
    unread.run(shared.storedId);
    const change = copy.end({ seq: session.seq });
    store.db.transaction(() => {
      unread.run(shared.storedId);
      moveCursor(store, { file, id: shared.storedId }, change);
    });
    if (!change.hasLost) return;
    gone.add(shared.storedId);
    if (removed.has(shared)) withdrawn.add(shared.storedId);
  };
  const ended = new Set<Described>();
  let open: { each: Described; copy: CopyWriter } | undefined;
  const close = () => {
    if (!open) return;
    ended.add(open.each);
    end(open.each, open.copy);
    open = undefined;
  };
  try {
    for await (const page of readPages(hub, { condition: "c.hash IS NOT NULL", left }))
      for (const row of page) {
        const each = byNumber.get(Number(row.session));
        if (!each || isOver(each.shared)) continue;
        const { shared } = each;
        read.set(shared, (read.get(shared) ?? 0) + Math.ceil(Number(row.size ?? 0) / WEIGHT_BYTES));
        if (open?.each !== each) close();
        open ??= { each, copy: begin(each) };
        const exchange = toExchange(row, shared, clean);
        open.copy.put({ ...exchange, rows: withoutTexts(exchange.rows, exclusion.hasText) });
      }
    close();
  } finally {
    open?.copy.abandon();
  }
  for (const each of described)
    if (!ended.has(each) && statUnpacked(placeOfShared(list, each.shared))) end(each, begin(each));
  return read;
}

/**
 * Lets the index go on from where it was in a copy, where nothing before that but whole lines has gone: takes these out of it.
 * After any other change it reads the copy again.
 */
function moveCursor(
  store: Store,
  { file, id }: { file: string; id: string },
  { removed, until }: CopyChange,
): void {
  const known = readProgress(store, id);
  if (!known?.fileHash || until < known.cursor.offset) return;
  const { number, cursor } = known;
  const out = removed.filter(({ end }) => end <= cursor.offset);
  const { db } = store;
  const chunks = db.prepare(
    "SELECT c.id FROM chunks c JOIN exchanges e ON e.id = c.exchange WHERE e.session = ? AND e.line = ? AND e.nth = ?",
  );
  const rows = db.prepare("SELECT id, who FROM rows WHERE session = ? AND line = ? AND nth = ?");
  for (const { place } of out) {
    const at = [number, place?.line ?? -1, place?.nth ?? -1] as const;
    for (const { id } of chunks.all(...at)) removeChunk(store, Number(id));
    for (const { id, who } of rows.all(...at)) removeRow(store, { id: Number(id), who: who as Row["who"] });
  }
  removeEmptyExchanges(store, number);
  const offset = cursor.offset - out.reduce((sum, { bytes }) => sum + bytes, 0);
  db.prepare("UPDATE index_state SET cursor_offset = ?, file_hash = ? WHERE session_id = ?").run(
    offset,
    hashBefore(file, offset),
    id,
  );
}

/** Reads what the hub says of sessions. */
async function readDescriptions(
  hub: Hub,
  batch: readonly WantedSession[],
  { clean, exclusion }: FetchOptions & { clean: ReturnType<typeof cleaner> },
): Promise<Described[]> {
  const byNumber = new Map(batch.map((session) => [session.number, session]));
  const described: Described[] = [];
  for (const page of batchesBy(byNumber.keys(), { max: DESCRIBED, weigh: () => 1 })) {
    for (const row of await hub.query(DESCRIBE_SESSIONS, [page])) {
      const shared = byNumber.get(Number(row.number));
      if (!shared) continue;
      const session = toDescription(row, shared, clean);
      const isNamedOut = exclusion.hasText(session.name ?? "");
      const named = isNamedOut ? { ...session, name: undefined } : session;
      described.push({ shared, session: named });
    }
  }
  return described;
}

/** Returns whose session it is, for the note of its copy. */
function aboutOf({ shared, session }: Described): JsonRecord {
  const { owner, machine, agent, id, project, number } = shared;
  const parent = parentOf({ shared, session });
  return { agent, id, parent, owner, machine, from: "shared", project, number };
}

/** Returns the first line of a session's copy. */
function headOf({ shared, session }: Described): JsonRecord {
  const { storedId, agent, project, updatedAt } = shared;
  const timestamp = session.startedAt ?? updatedAt;
  const parent = parentOf({ shared, session });
  return {
    host: agent,
    session: storedId,
    parent,
    cwd: directoryOf({ shared, session }),
    remote: project,
    timestamp,
  };
}

function parentOf({ shared: { owner, machine }, session: { parentId } }: Described): string | undefined {
  return parentId === undefined ? undefined : `${owner}@${machine}:${parentId}`;
}

function directoryOf({ shared: { project }, session: { folder } }: Described): string {
  return folder === "" ? project : `${project}/${folder}`;
}

/** Notes what a session was found to take. */
export function noteSize({ db }: HubList, { storedId }: SharedSession, size: number): void {
  db.prepare("UPDATE hub_sessions SET chunks = ? WHERE stored_id = ?").run(size, storedId);
}

/** Writes beside a copy what the hub and the owner's machine say of the session. */
function tell(file: string, each: Described): void {
  const { project } = each.shared;
  const { name, startedAt, meta, observations } = each.session;
  const facts = { name, project, cwd: directoryOf(each), parentId: parentOf(each), startedAt };
  replaceFile(besideCopy(file), JSON.stringify({ ...facts, meta, observations }), { durable: false });
}
