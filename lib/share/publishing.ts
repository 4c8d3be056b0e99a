/** The publishing half of a run: what the hub has of ours, what is to be taken back, what is new. */

import { SessionMemoryError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import type { Config } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import type { Exclusion } from "../transcripts/rules.ts";
import type { Hub } from "./hub.ts";
import { HUB_MIGRATIONS } from "./hub-schema.ts";
import { folderOf, type LocalSession, localSessions } from "./local-sessions.ts";
import { type OutgoingSession, outgoing } from "./outgoing.ts";
import { publishSessions } from "./publish.ts";
import {
  clearPublished,
  keyOf,
  notePublished,
  readPublished,
  readShareFact,
  writeShareFact,
} from "./share-state.ts";
import { readForgotten, sendWithdrawals, withdrawUnshared } from "./withdraw.ts";

interface PublishOptions {
  /** The index. */
  store: Store;
  /** state.db */
  state: Store;
  config: Config;
  exclusion: Exclusion;
  origin: string;
  machine: string;
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface PublishReport {
  sessions: number;
  chunks: number;
  /** Sessions taken back. */
  withdrawn: number;
}

/** One transaction holds about so many chunks. */
const BATCH_CHUNKS = 1500;
const BATCH_SESSIONS = 100;

/**
 * Greets the hub: registers this machine, and clears the notes when the hub's rows are other ones.
 *
 * @throws {SessionMemoryError} `HUB_ERROR` when its tables are of another version.
 */
export async function greetHub(
  hub: Hub,
  { state, origin, machine }: Pick<PublishOptions, "state" | "origin" | "machine">,
): Promise<void> {
  const [row] = await hub.query(
    `SELECT (SELECT value FROM session_memory.facts WHERE name = 'hub') AS hub,
       (SELECT value FROM session_memory.facts WHERE name = 'version') AS version, o.seq, o.machine,
       (SELECT count(*) FROM session_memory.sessions WHERE origin = $1 AND owner = current_user) AS count
     FROM (SELECT 1) AS one LEFT JOIN session_memory.origins o ON o.id = $1`,
    [origin],
  );
  checkVersion(Number(row?.version), hub.label);
  const [hubId, seq, count] = [
    String(row?.hub),
    row?.seq === null ? undefined : Number(row?.seq),
    Number(row?.count),
  ];
  const isSameHub = readShareFact(state, "hub") === hubId;
  const notedSeq = isSameHub ? Number(readShareFact(state, "seq") ?? 0) : 0;
  if (seq === undefined) {
    await hub.query("INSERT INTO session_memory.origins (id, machine, seq) VALUES ($1, $2, $3)", [
      origin,
      machine,
      notedSeq,
    ]);
  } else if (seq < notedSeq || row?.machine !== machine) {
    // A hub restored from a backup: readers have seen higher numbers, and would take new ones for old.
    await hub.query(
      "UPDATE session_memory.origins SET seq = greatest(seq, $2::bigint), machine = $3 WHERE id = $1",
      [origin, notedSeq, machine],
    );
  }
  const isAsNoted = isSameHub && seq === notedSeq && count === Number(readShareFact(state, "count") ?? -1);
  if (isAsNoted) return;
  state.db.transaction(() => {
    clearPublished(state);
    writeShareFact(state, "hub", hubId);
    writeShareFact(state, "label", hub.label);
    if (!isSameHub) writeShareFact(state, "seq", undefined);
    writeShareFact(state, "rules", undefined);
  });
}

function checkVersion(version: number, label: string): void {
  if (version === HUB_MIGRATIONS.length) return;
  const isOlder = version < HUB_MIGRATIONS.length;
  throw new SessionMemoryError(
    "HUB_ERROR",
    `Cannot use the hub ${label}: its tables are version ${version}, this program knows ${HUB_MIGRATIONS.length}`,
    { hint: isOlder ? "run share.ts --init <role> there" : "update session-memory" },
  );
}

/** Sends what is new, and takes back what is not to be there. */
export async function publish(hub: Hub, options: PublishOptions): Promise<PublishReport> {
  const { state, store, config, origin, machine, signal } = options;
  const withdrawn =
    (await sendWithdrawals(hub, state)) + (await withdrawUnshared(hub, state, { config, origin }));
  const forgotten = await readForgotten(hub);
  const due = dueSessions(store, options).filter((session) => !forgotten.has(forgottenKey(session)));
  const total = due.reduce((sum, { chunks }) => sum + chunks, 0);
  const report: PublishReport = { sessions: 0, chunks: 0, withdrawn };
  let done = 0;
  for (const batch of batchesOf(due, prepareWith(options))) {
    if (signal?.aborted) break;
    const { sessions, chunks } = await publishSessions(hub, batch, { origin, machine });
    report.sessions += sessions;
    report.chunks += chunks;
    notePublished(
      state,
      batch.map(({ session }) => session),
    );
    done += batch.reduce((sum, { session }) => sum + session.chunks, 0);
    options.onProgress?.(done, total);
  }
  if (due.length > 0 || withdrawn > 0) await noteHub(hub, options);
  return report;
}

/** Returns the sessions that changed since they were last sent, as far as was noted. */
export function dueSessions(
  store: Store,
  { state, config, exclusion }: Pick<PublishOptions, "state" | "config" | "exclusion">,
): LocalSession[] {
  const notes = readPublished(state);
  return localSessions(store, { config, exclusion }).filter(
    (session) => notes.get(keyOf(session))?.signature !== session.signature,
  );
}

/** Notes the hub's numbers, compared at the next run: other numbers mean other rows. */
async function noteHub(hub: Hub, { state, origin }: PublishOptions): Promise<void> {
  const [row] = await hub.query(
    `SELECT seq, (SELECT count(*) FROM session_memory.sessions WHERE origin = $1 AND owner = current_user) AS count
     FROM session_memory.origins WHERE id = $1`,
    [origin],
  );
  state.db.transaction(() => {
    writeShareFact(state, "seq", String(row?.seq));
    writeShareFact(state, "count", String(row?.count));
  });
}

type Prepared = OutgoingSession & { folder: string };

function prepareWith(options: PublishOptions): (session: LocalSession) => Prepared {
  const prepare = outgoing(options);
  return (session) => ({ ...prepare(options.store, session), folder: folderOf(session) });
}

/** Read as they are sent: years of sessions would not fit into memory. */
function* batchesOf(
  sessions: readonly LocalSession[],
  prepare: (session: LocalSession) => Prepared,
): Generator<Prepared[]> {
  let batch: Prepared[] = [];
  let chunks = 0;
  for (const session of sessions) {
    const prepared = prepare(session);
    batch.push(prepared);
    chunks += prepared.chunks.length;
    if (chunks < BATCH_CHUNKS && batch.length < BATCH_SESSIONS) continue;
    yield batch;
    batch = [];
    chunks = 0;
  }
  if (batch.length > 0) yield batch;
}

function forgottenKey({ agent, id }: { agent: string; id: string }): string {
  return sha256().update(`${agent} ${id}`).digest("hex");
}
