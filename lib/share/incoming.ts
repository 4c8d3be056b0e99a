/**
 * Reads the words of sessions from the hub into copies: of new ones all exchanges, of others what changed, checked; what
 * config.json excludes is left out. The copies are indexed as any transcript is.
 */

import { type PulledExchange, writePulled } from "../archive/pulled-copy.ts";
import { withoutTexts } from "../index/derive.ts";
import { archivePlace } from "../sessions/places.ts";
import { statUnpacked } from "../transcripts/files.ts";
import { toDescription, toExchange } from "./checked.ts";
import { batchesBy } from "./hub.ts";
import {
  emptyShared,
  heldSize,
  noteSilent,
  noteSize,
  type Pull,
  type WantedSession,
  WEIGHT_BYTES,
} from "./hub-list.ts";
import { DESCRIBE_SESSIONS, DESCRIBED, readRows } from "./hub-pages.ts";

interface Fetch extends Pull {
  /** The room left in each owner's share beside what is counted. */
  room: Map<string, number>;
}

/** Chunks of sessions that are read together. */
const BATCH = 5000;

/** Reads sessions, the newest first, each as far as its copy's note says then. */
export async function fetchSessions(wanted: readonly WantedSession[], run: Fetch): Promise<void> {
  const total = wanted.reduce((sum, { chunks }) => sum + chunks, 0);
  let done = 0;
  for (const batch of batchesBy(wanted, { max: BATCH, weigh: ({ chunks }) => chunks })) {
    await fetchBatch(batch, run);
    done += batch.reduce((sum, { chunks }) => sum + chunks, 0);
    run.onProgress(done, total);
  }
}

/** A session that is being read, with what the hub says of it. */
type Described = WantedSession & ReturnType<typeof toDescription>;

/** Reads some sessions whole, or what of them is new, into copies. */
async function fetchBatch(batch: readonly WantedSession[], run: Fetch): Promise<void> {
  const { state, room } = run;
  const described = await readDescriptions(batch, run);
  const read = await copyExchanges(described, run);
  state.transaction(() => {
    for (const session of described) {
      if (!statUnpacked(archivePlace(run.config.paths, session))) noteSilent(run, session, session.seq);
      const size = Math.max(session.chunks, read.get(session.number) ?? 0, heldSize(run, session));
      noteSize(run, session, size);
      const left = (room.get(session.owner) ?? 0) + session.chunks;
      if (size > left) emptyShared(run, session);
      room.set(session.owner, size > left ? left : left - size);
    }
  });
}

/**
 * Writes the exchanges of sessions, given in the order of their numbers, into their copies; returns how much was read of each, by
 * its number, in chunks of the usual size.
 */
async function copyExchanges(
  described: readonly Described[],
  run: Fetch,
): Promise<ReadonlyMap<number, number>> {
  const { hub, exclusion, room } = run;
  const read = new Map<number, number>();
  // what it is counted as is not known before it is unpacked
  const isOver = ({ number, chunks, owner }: Described) =>
    (read.get(number) ?? 0) > chunks + (room.get(owner) ?? 0);
  const rows = readRows(hub, () => described.filter((session) => !isOver(session)));
  let next = await rows.next();
  for (const session of described) {
    const { number } = session;
    const exchanges: PulledExchange[] = [];
    let hasEmptied = false;
    for (; !next.done && Number(next.value.session) <= number; next = await rows.next()) {
      const row = next.value;
      if (Number(row.session) !== number || isOver(session)) continue;
      read.set(number, (read.get(number) ?? 0) + Math.ceil(Number(row.size ?? 0) / WEIGHT_BYTES));
      if (row.hash === null) hasEmptied = true;
      const exchange = toExchange(row, session, exclusion);
      exchanges.push({ ...exchange, rows: withoutTexts(exchange.rows, exclusion.hasText) });
    }
    if (!isOver(session) && writeCopy(session, exchanges, run) && hasEmptied)
      run.withdrawn.add(session.storedId);
  }
  return read;
}

/** Writes a copy, which the index reads then; returns whether words are gone from it. */
function writeCopy(
  session: Described,
  exchanges: readonly PulledExchange[],
  { config, store, gone }: Fetch,
): boolean {
  const { storedId } = session;
  const unread = `UPDATE index_state SET size = -1,
       file_hash = CASE WHEN cursor_offset > ? THEN 'changed' ELSE file_hash END WHERE session_id = ?`;
  // before, for a run that goes on from a killed one, and behind it, where another has just read the copy as it was
  store.run(unread, Number.MAX_SAFE_INTEGER, storedId);
  const { hasLost, kept } = writePulled(archivePlace(config.paths, session), session, exchanges);
  store.run(unread, kept, storedId);
  if (hasLost) gone.add(storedId);
  return hasLost;
}

/** Reads what the hub says of sessions; returns them in the order of their numbers. */
async function readDescriptions(
  batch: readonly WantedSession[],
  { hub, exclusion }: Fetch,
): Promise<Described[]> {
  const byNumber = new Map(batch.map((session) => [session.number, session]));
  const described: Described[] = [];
  for (const page of batchesBy(byNumber.keys(), { max: DESCRIBED, weigh: () => 1 })) {
    for (const row of await hub.query(DESCRIBE_SESSIONS, [page])) {
      const session = byNumber.get(Number(row.number));
      if (!session) continue;
      const said = toDescription(row, session, exclusion);
      const name = exclusion.hasText(said.name ?? "") ? undefined : said.name;
      described.push({ ...session, ...said, name });
    }
  }
  return described.sort((a, b) => a.number - b.number);
}
