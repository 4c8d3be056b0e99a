/** Publishes: compares notes with the hub, withdraws what must go, and sends what is new. */

import { SessionMemoryError } from "../base/errors.ts";
import { sha256 } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import type { Exclusion } from "../transcripts/rules.ts";
import type { Hub } from "./hub.ts";
import { HUB_MIGRATIONS } from "./hub-schema.ts";
import {
  type LocalSession,
  localSessions,
  type OutgoingSession,
  outgoing,
  publishedExclusion,
  shareRules,
} from "./outgoing.ts";
import { publishSessions } from "./publish-sessions.ts";
import {
  clearPublished,
  dropPublished,
  keyOf,
  notePublished,
  pendingWithdrawals,
  readPublished,
  readShareFact,
  type SessionKey,
  settleWithdrawals,
  sharedProject,
  writeShareFact,
} from "./share-state.ts";
import { batchesBy } from "./shared-rows.ts";

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
  /** Sessions withdrawn. */
  withdrawn: number;
}

/** One transaction holds about so many chunks. */
const BATCH_CHUNKS = 1500;
/** Chunks that a session counts as beside its own. */
const SESSION_WEIGHT = 15;

/**
 * Registers this machine with the hub, and clears the notes when its rows have changed.
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

/** Sends what is new, and withdraws what must not be there. */
export async function publish(hub: Hub, options: PublishOptions): Promise<PublishReport> {
  const { state, store, config, origin, machine, signal } = options;
  const withdrawn =
    (await sendWithdrawals(hub, state)) + (await withdrawUnshared(hub, state, { config, origin }));
  const forgotten = await readForgotten(hub);
  const due = dueSessions(store, options).filter((session) => !forgotten.has(forgottenKey(session)));
  const total = due.reduce((sum, { chunks }) => sum + chunks, 0);
  const report: PublishReport = { sessions: 0, chunks: 0, withdrawn };
  let done = 0;
  const weigh = ({ chunks }: OutgoingSession) => chunks.length + SESSION_WEIGHT;
  for (const batch of batchesBy(prepared(due, options), { max: BATCH_CHUNKS, weigh })) {
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

/** Records the hub's counters; if they differ at the next run, so do its rows. */
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

/** Yields sessions as they are sent, since years of them would not fit into memory. */
function* prepared(due: readonly LocalSession[], options: PublishOptions): Generator<OutgoingSession> {
  const prepare = outgoing(options);
  for (const session of due) yield prepare(options.store, session);
}

function forgottenKey({ agent, id }: { agent: string; id: string }): string {
  return sha256().update(`${agent} ${id}`).digest("hex");
}

const KEYS = "jsonb_to_recordset($1::jsonb) AS k(agent text, id text)";
const KEY_HASH = "sha256(convert_to(k.agent || ' ' || k.id, 'UTF8'))";

/** Sends the hub what was forgotten or readmitted here. Returns how many of its sessions were removed. */
async function sendWithdrawals(hub: Hub, state: Store): Promise<number> {
  const pending = pendingWithdrawals(state);
  if (pending.length === 0) return 0;
  const [back, out] = [pending.filter(({ undone }) => undone), pending.filter(({ undone }) => !undone)];
  const removed = await hub.transaction(async () => {
    if (back.length > 0) {
      await hub.query(
        `DELETE FROM session_memory.forgotten f USING ${KEYS} WHERE f.owner = current_user AND f.key = ${KEY_HASH}`,
        [JSON.stringify(back)],
      );
    }
    if (out.length === 0) return 0;
    await hub.query(
      `INSERT INTO session_memory.forgotten (key) SELECT ${KEY_HASH} FROM ${KEYS} ON CONFLICT DO NOTHING`,
      [JSON.stringify(out)],
    );
    return await removeSessions(hub, out);
  });
  state.db.transaction(() => {
    dropPublished(state, out);
    settleWithdrawals(state, pending);
  });
  return removed;
}

/** Removes what config.json excludes or no longer shares. Returns the number of sessions. */
async function withdrawUnshared(
  hub: Hub,
  state: Store,
  { config, origin }: { config: Config; origin: string },
): Promise<number> {
  const rules = shareRules(config);
  if (readShareFact(state, "rules") === rules) return 0;
  const isExcluded = publishedExclusion(config);
  const projects = config.settings.share?.projects ?? {};
  const notes = readPublished(state);
  const rows = await hub.query(
    "SELECT agent, id, name, project FROM session_memory.sessions WHERE origin = $1 AND owner = current_user",
    [origin],
  );
  const out = rows
    .map(({ agent, id, name, project }) => ({
      agent: String(agent),
      id: String(id),
      project: String(project),
      name: typeof name === "string" ? name : undefined,
      cwd: notes.get(`${agent} ${id}`)?.cwd,
    }))
    .filter((session) => !sharedProject(session.project, projects) || isExcluded(session));
  const removed = out.length === 0 ? 0 : await hub.transaction(() => removeSessions(hub, out));
  dropPublished(state, out);
  writeShareFact(state, "rules", rules);
  return removed;
}

/** Removes sessions with their subagents' from the hub, whichever machine of theirs published them. */
async function removeSessions(hub: Hub, keys: readonly SessionKey[]): Promise<number> {
  const rows = await hub.query(
    `DELETE FROM session_memory.sessions s USING ${KEYS}
     WHERE s.owner = current_user AND s.agent = k.agent AND (s.id = k.id OR starts_with(s.id, k.id || '/'))
     RETURNING s.number`,
    [JSON.stringify(keys)],
  );
  return rows.length;
}

/** Returns the hashes of what this owner has forgotten: nothing of it is sent again. */
async function readForgotten(hub: Hub): Promise<ReadonlySet<string>> {
  const rows = await hub.query(
    "SELECT encode(key, 'hex') AS key FROM session_memory.forgotten WHERE owner = current_user",
  );
  return new Set(rows.map(({ key }) => String(key)));
}
