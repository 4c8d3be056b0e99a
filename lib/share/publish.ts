/**
 * Publishes: compares notes with the hub, withdraws what must go, and sends what is new.
 *
 * The hub is asked for what it has and gets the difference, so a run that is ended anywhere, repeated, or made by two
 * machines at once leaves the same rows. Of two copies of one session the longer one is kept.
 */

import { sha256 } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import type { Exclusion } from "../transcripts/rules.ts";
import { batchesBy, type Hub, type HubRow } from "./hub.ts";
import { HUB_MIGRATIONS, otherVersion } from "./hub-schema.ts";
import {
  type LocalSession,
  localSessions,
  type OutgoingChunk,
  type OutgoingSession,
  outgoing,
  publishedExclusion,
  shareRules,
} from "./outgoing.ts";
import {
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
  const [row = {}] = await hub.query(
    `SELECT (SELECT value FROM session_memory.facts WHERE name = 'hub') AS hub,
       (SELECT value FROM session_memory.facts WHERE name = 'version') AS version, o.seq, o.machine,
       (SELECT count(*) FROM session_memory.sessions WHERE origin = $1 AND owner = current_user) AS count
     FROM (SELECT 1) AS one LEFT JOIN session_memory.origins o ON o.id = $1`,
    [origin],
  );
  if (Number(row.version) !== HUB_MIGRATIONS.length) throw otherVersion("use", hub, Number(row.version));
  const isSameHub = readShareFact(state, "hub") === row.hub;
  const notedSeq = isSameHub ? Number(readShareFact(state, "seq") ?? 0) : 0;
  const seq = row.seq === null ? undefined : Number(row.seq);
  if (seq === undefined || seq < notedSeq || row.machine !== machine) {
    // A hub restored from a backup: readers have seen higher numbers, and would take new ones for old.
    await hub.query(
      `INSERT INTO session_memory.origins AS o (id, machine, seq) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET machine = excluded.machine, seq = greatest(o.seq, excluded.seq)`,
      [origin, machine, notedSeq],
    );
  }
  if (isSameHub && seq === notedSeq && String(row.count) === readShareFact(state, "count")) return;
  state.db.transaction(() => {
    state.db.exec("DELETE FROM share_published");
    writeShareFact(state, "hub", String(row.hub));
    writeShareFact(state, "label", hub.label);
    if (!isSameHub) writeShareFact(state, "seq", undefined);
    writeShareFact(state, "rules", undefined);
  });
}

/** Sends what is new, and withdraws what must not be there. */
export async function publish(hub: Hub, options: PublishOptions): Promise<PublishReport> {
  const { state, store, config, exclusion, origin, signal } = options;
  const withdrawn =
    (await sendWithdrawals(hub, state)) + (await withdrawUnshared(hub, state, { config, origin }));
  const rows = await hub.query(
    "SELECT encode(key, 'hex') AS key FROM session_memory.forgotten WHERE owner = current_user",
  );
  const forgotten = new Set(rows.map(({ key }) => key));
  const due = dueSessions(store, options).filter(
    (session) => !forgotten.has(sha256().update(keyOf(session)).digest("hex")),
  );
  const total = due.reduce((sum, { chunks }) => sum + chunks, 0);
  const report: PublishReport = { sessions: 0, chunks: 0, withdrawn };
  let done = 0;
  const prepare = outgoing({ config, exclusion });
  // as they are sent, since years of them would not fit into memory
  const prepared = (function* () {
    for (const session of due) yield prepare(store, session);
  })();
  const weigh = ({ chunks }: OutgoingSession) => chunks.length + SESSION_WEIGHT;
  for (const batch of batchesBy(prepared, { max: BATCH_CHUNKS, weigh })) {
    if (signal?.aborted) break;
    const { sessions, chunks } = await publishSessions(hub, batch, origin);
    report.sessions += sessions;
    report.chunks += chunks;
    const sent = batch.map(({ session }) => session);
    notePublished(state, sent);
    done += sent.reduce((sum, session) => sum + session.chunks, 0);
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

/** A session that the hub has. */
interface Held {
  number: number;
  origin: string;
  row: HubRow;
}

type SessionRow = OutgoingSession["row"];

const SESSION_COLUMNS = `agent text, id text, machine text, audience text, project text, parent_id text, name text,
  folder text, started_at text, updated_at text, lines integer, chunks integer, meta jsonb, observations text`;

/** Publishes some sessions in one transaction, and returns how many were added or changed. */
function publishSessions(
  hub: Hub,
  outgoing: readonly OutgoingSession[],
  origin: string,
): Promise<{ sessions: number; chunks: number }> {
  return hub.transaction(async () => {
    // the row's lock makes the order of numbers that of the commits
    const sql = "UPDATE session_memory.origins SET seq = seq + 1 WHERE id = $1 RETURNING seq";
    const [next] = await hub.query(sql, [origin]);
    const seq = Number(next?.seq);
    const held = await readHubSessions(hub, outgoing);
    const ours = outgoing
      .map(({ row, chunks }) => ({ row, chunks, before: held.get(keyOf(row)) }))
      // a longer one replaces another machine's copy, an equal one never does
      .filter(
        ({ row, before }) => !before || before.origin === origin || row.lines > Number(before.row.lines),
      );
    const isNew = ours.flatMap(({ row, before }) => (before ? [] : [row]));
    const added = await addSessions(hub, isNew, { origin, seq });
    const hashes = await readHashes(
      hub,
      ours.flatMap(({ before }) => before?.number ?? []),
    );
    const changes = ours.flatMap(({ row, chunks, before }) => {
      const number = before?.number ?? added.get(keyOf(row));
      return number === undefined ? [] : [{ number, row, before, ...difference(chunks, hashes.get(number)) }];
    });
    const changed = changes.filter(
      ({ row, before, put, gone }) =>
        before && (before.origin !== origin || put.length + gone.length > 0 || !isSame(row, before.row)),
    );
    await changeSessions(hub, changed, { origin, seq });
    const adopted = changed.flatMap(({ number, before }) => (before?.origin === origin ? [] : [number]));
    if (adopted.length > 0) {
      // with another origin's number on their chunks, readers would miss them
      await hub.query("UPDATE session_memory.chunks SET seq = $2::bigint WHERE session = ANY($1::bigint[])", [
        adopted,
        seq,
      ]);
    }
    const puts = changes.flatMap(({ number, put }) => put.map((chunk) => ({ session: number, ...chunk })));
    await putChunks(hub, puts, seq);
    const gone = changes.flatMap(({ number, gone }) => gone.map((idx) => ({ session: number, idx })));
    if (gone.length > 0) {
      // their rows stay, so that readers learn that they are gone
      await hub.query(
        `UPDATE session_memory.chunks c SET seq = $2::bigint, hash = NULL, at = NULL, body = NULL, content = NULL
         FROM jsonb_to_recordset($1::jsonb) AS r(session bigint, idx integer)
         WHERE c.session = r.session AND c.idx = r.idx`,
        [JSON.stringify(gone), seq],
      );
    }
    return { sessions: added.size + changed.length, chunks: puts.length + gone.length };
  });
}

/** Returns the sessions that the hub has, locked in one order so that an owner's machines cannot block each other. */
async function readHubSessions(hub: Hub, outgoing: readonly OutgoingSession[]): Promise<Map<string, Held>> {
  const rows = await hub.query(
    `SELECT s.* FROM session_memory.sessions s JOIN ${KEYS} ON s.agent = k.agent AND s.id = k.id
     WHERE s.owner = current_user ORDER BY s.agent, s.id FOR UPDATE OF s`,
    [JSON.stringify(outgoing.map(({ row: { agent, id } }) => ({ agent, id })))],
  );
  return new Map(
    rows.map((row) => [
      `${row.agent} ${row.id}`,
      { number: Number(row.number), origin: String(row.origin), row },
    ]),
  );
}

function isSame(row: SessionRow, before: HubRow): boolean {
  return Object.entries(row).every(([column, value]) => stable(value) === stable(before[column] ?? null));
}

/** Serializes with sorted keys, as jsonb stores them. */
function stable(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function addSessions(
  hub: Hub,
  rows: readonly SessionRow[],
  { origin, seq }: { origin: string; seq: number },
): Promise<Map<string, number>> {
  if (rows.length === 0) return new Map();
  const added = await hub.query(
    `INSERT INTO session_memory.sessions (origin, seq, agent, id, machine, audience, project, parent_id, name, folder,
       started_at, updated_at, lines, chunks, meta, observations)
     SELECT $2::uuid, $3::bigint, r.* FROM jsonb_to_recordset($1::jsonb) AS r(${SESSION_COLUMNS})
     ON CONFLICT DO NOTHING RETURNING number, agent, id`,
    [JSON.stringify(rows), origin, seq],
  );
  return new Map(added.map((row) => [`${row.agent} ${row.id}`, Number(row.number)]));
}

async function changeSessions(
  hub: Hub,
  changed: readonly { number: number; row: SessionRow }[],
  { origin, seq }: { origin: string; seq: number },
): Promise<void> {
  if (changed.length === 0) return;
  const rows = changed.map(({ number, row }) => ({ number, ...row }));
  await hub.query(
    `UPDATE session_memory.sessions s SET origin = $2::uuid, seq = $3::bigint, machine = r.machine,
       audience = r.audience, project = r.project, parent_id = r.parent_id, name = r.name, folder = r.folder,
       started_at = r.started_at, updated_at = r.updated_at, lines = r.lines, chunks = r.chunks, meta = r.meta,
       observations = r.observations
     FROM jsonb_to_recordset($1::jsonb) AS r(number bigint, ${SESSION_COLUMNS}) WHERE s.number = r.number`,
    [JSON.stringify(rows), origin, seq],
  );
}

async function readHashes(hub: Hub, sessions: readonly number[]): Promise<Map<number, Map<number, string>>> {
  const hashes = new Map<number, Map<number, string>>(sessions.map((number) => [number, new Map()]));
  if (sessions.length === 0) return hashes;
  const rows = await hub.query(
    `SELECT session, idx, encode(hash, 'hex') AS hash FROM session_memory.chunks
     WHERE session = ANY($1::bigint[]) AND hash IS NOT NULL`,
    [sessions],
  );
  for (const { session, idx, hash } of rows) hashes.get(Number(session))?.set(Number(idx), String(hash));
  return hashes;
}

/** Returns the chunks of a session that the hub lacks or has otherwise, and the indexes of those to empty there. */
function difference(
  chunks: readonly OutgoingChunk[],
  there: ReadonlyMap<number, string> = new Map(),
): { put: OutgoingChunk[]; gone: number[] } {
  const here = new Set(chunks.map(({ idx }) => idx));
  return {
    put: chunks.filter(({ idx, hash }) => there.get(idx) !== hash),
    gone: [...there.keys()].filter((idx) => !here.has(idx)),
  };
}

/** So much JSON goes in one statement: more would not answer in time on a slow line. */
const BATCH_CHARS = 512 * 1024;

async function putChunks(
  hub: Hub,
  chunks: readonly (OutgoingChunk & { session: number })[],
  seq: number,
): Promise<void> {
  const rows = chunks.map((chunk) => JSON.stringify(chunk));
  for (const batch of batchesBy(rows, { max: BATCH_CHARS, weigh: ({ length }) => length })) {
    await hub.query(
      `INSERT INTO session_memory.chunks (session, idx, seq, hash, at, body, content)
       SELECT r.session, r.idx, $2::bigint, decode(r.hash, 'hex'), r.at, r.body, r.content
       FROM jsonb_to_recordset($1::jsonb) AS r(session bigint, idx integer, hash text, at text, body jsonb, content text)
       ON CONFLICT (session, idx) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at,
         body = excluded.body, content = excluded.content`,
      [`[${batch.join(",")}]`, seq],
    );
  }
}
