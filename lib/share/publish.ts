/**
 * Publishes: compares notes with the hub, withdraws what must go, and sends what is new.
 *
 * The hub is asked for what it has and gets the difference, so a run that is ended anywhere, repeated, or made by two
 * machines at once leaves the same rows. The longer of two copies of a session is kept.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { stringOf } from "../base/json.ts";
import { sha256 } from "../base/text.ts";
import type { SessionKey } from "../hosts/session.ts";
import { sessionKey } from "../sessions/record.ts";
import type { Store } from "../store/store.ts";
import { batchesBy, type Hub, type HubRow } from "./hub.ts";
import { assertVersion } from "./hub-schema.ts";
import {
  emptiedSessions,
  type LocalSession,
  localSessions,
  type OutgoingExchange,
  type OutgoingSession,
  outgoing,
  publishedExclusion,
  shareRules,
} from "./outgoing.ts";
import {
  noteRefused,
  readPublished,
  readShareFact,
  type Sharing,
  sharedProject,
  writeShareFact,
} from "./share-state.ts";
import { SENT_COLUMNS } from "./wire.ts";

export interface PublishReport {
  sessions: number;
  chunks: number;
  /** Sessions withdrawn. */
  withdrawn: number;
}

/** The most chunks of one transaction, about. */
const BATCH_CHUNKS = 1500;
/** Chunks that a session counts as beside its own. */
const SESSION_WEIGHT = 15;

/**
 * Registers this machine with the hub, and clears the notes when its rows have changed.
 *
 * @throws {SessionMemoryError} `HUB_ERROR` when its tables are of a version that this program cannot use.
 */
export async function greetHub({ hub, state, origin, machine }: Sharing): Promise<void> {
  const [row = {}] = await hub.query(
    `SELECT (SELECT value FROM session_memory.facts WHERE name = 'hub') AS hub,
       (SELECT value FROM session_memory.facts WHERE name = 'version') AS version, o.seq, o.machine
     FROM (SELECT 1) AS one LEFT JOIN session_memory.origins o ON o.id = $1`,
    [origin],
  );
  assertVersion(hub, Number(row.version));
  const isSameHub = readShareFact(state, "hub") === row.hub;
  const notedSeq = isSameHub ? Number(readShareFact(state, "seq") ?? 0) : 0;
  if (isSameHub && Number(row.seq) === notedSeq && row.machine === machine) return;
  // A hub restored from a backup: readers have seen higher numbers, and would take new ones for old.
  const [own] = await hub.query(
    `INSERT INTO session_memory.origins AS o (id, machine, seq) VALUES ($1, $2, $3)
     ON CONFLICT (id) DO UPDATE SET machine = excluded.machine, seq = greatest(o.seq, excluded.seq) RETURNING seq`,
    [origin, machine, notedSeq],
  );
  state.transaction(() => {
    state.exec("DELETE FROM share_published");
    writeShareFact(state, "hub", String(row.hub));
    writeShareFact(state, "label", hub.label);
    writeShareFact(state, "seq", String(own?.seq));
    writeShareFact(state, "rules", undefined);
  });
}

/** Sends what is new, and withdraws what must not be there. */
export async function publish(run: Sharing): Promise<PublishReport> {
  const { hub, state, store, origin, signal } = run;
  const withdrawn =
    (await sendWithdrawals(run)) +
    (await withdrawUnshared(run)) +
    (await withdrawEmptied(run, emptiedSessions(store)));
  const due = await unforgotten(hub, dueSessions(run));
  const total = due.reduce((sum, { chunks }) => sum + chunks, 0);
  const report: PublishReport = { sessions: 0, chunks: 0, withdrawn };
  const refused: string[] = [];
  let done = 0;
  const prepare = outgoing(run);
  // as they are sent, since years of them would not fit into memory
  const prepared = (function* () {
    for (const session of due) yield prepare(store, session);
  })();
  const weigh = ({ row }: OutgoingSession) => row.chunks + SESSION_WEIGHT;
  for (const batch of batchesBy(prepared, { max: BATCH_CHUNKS, weigh })) {
    if (signal?.aborted) break;
    const [empty, full] = [0, 1].map((has) =>
      batch.filter(({ exchanges }) => Math.sign(exchanges.length) === has),
    );
    const emptied = (empty ?? []).map(({ session }) => session);
    report.withdrawn += await withdrawEmptied(run, emptied);
    for await (const { seq, sessions, chunks, sent, refused: out } of publishEach(hub, full ?? [], origin)) {
      report.sessions += sessions;
      report.chunks += chunks;
      if (out !== undefined) refused.push(out);
      state.transaction(() => {
        notePublished(state, sent);
        if (seq > 0) writeShareFact(state, "seq", String(seq));
      });
    }
    done += batch.reduce((sum, { session }) => sum + session.chunks, 0);
    run.onProgress(done, total);
  }
  if (!signal?.aborted) noteRefused(state, refused);
  return report;
}

/** Returns the sessions that their owner has not made the hub forget. */
async function unforgotten<S extends SessionKey>(hub: Hub, sessions: readonly S[]): Promise<S[]> {
  const rows = await hub.query(
    "SELECT encode(key, 'hex') AS key FROM session_memory.forgotten WHERE owner = current_user",
  );
  const forgotten = new Set(rows.map(({ key }) => key));
  return sessions.filter((session) => !forgotten.has(sha256().update(sessionKey(session)).digest("hex")));
}

interface Published {
  /** The number of this change; 0 where nothing was sent. */
  seq: number;
  sessions: number;
  chunks: number;
  sent: LocalSession[];
  /** The session with a row that the hub refuses, and the reason. */
  refused?: string;
}

/** Codes of PostgreSQL for a row that breaks a rule, holds what it cannot store, or is beyond its limits. */
const REFUSED_ROW = /^(?:22|23|54)/;

/** Publishes sessions; where the hub refuses a row, by halves, so that no session keeps another back. */
async function* publishEach(
  hub: Hub,
  batch: readonly OutgoingSession[],
  origin: string,
): AsyncGenerator<Published> {
  if (batch.length === 0) return;
  const sent = batch.map(({ session }) => session);
  try {
    yield { ...(await publishSessions(hub, batch, origin)), sent };
  } catch (error) {
    const isRow = error instanceof SessionMemoryError && REFUSED_ROW.test(String(error.details?.code));
    if (!isRow) throw error;
    if (batch.length === 1) {
      const refused = `${sent[0]?.hostId} (${error.message.replace(/^.*?: /, "")})`;
      return yield { seq: 0, sessions: 0, chunks: 0, sent: [], refused };
    }
    const half = Math.ceil(batch.length / 2);
    yield* publishEach(hub, batch.slice(0, half), origin);
    yield* publishEach(hub, batch.slice(half), origin);
  }
}

/** Returns the sessions that changed since they were last sent, as far as was noted. */
export function dueSessions(run: Pick<Sharing, "store" | "state" | "config" | "exclusion">): LocalSession[] {
  const notes = readPublished(run.state);
  return localSessions(run).filter(
    (session) => notes.get(sessionKey(session))?.signature !== session.signature,
  );
}

const KEYS = "jsonb_to_recordset($1::jsonb) AS k(agent text, id text)";
const KEY_HASH = "sha256(convert_to(k.agent || ' ' || k.id, 'UTF8'))";

/** A session that was forgotten, or whose forgetting was undone. */
type Withdrawal = SessionKey & { undone: 0 | 1 };

/** Sends the hub what was forgotten or readmitted here. Returns how many of its sessions were removed. */
async function sendWithdrawals({ hub, state }: Sharing): Promise<number> {
  const rows = state.all("SELECT agent, id, undone FROM share_withdrawals WHERE sent = 0");
  const pending = rows as unknown[] as Withdrawal[];
  if (pending.length === 0) return 0;
  const [back, out] = [pending.filter(({ undone }) => undone), pending.filter(({ undone }) => !undone)];
  const removed = await hub.transaction(async () => {
    await hub.query(
      `DELETE FROM session_memory.forgotten f USING ${KEYS} WHERE f.owner = current_user AND f.key = ${KEY_HASH}`,
      [JSON.stringify(back)],
    );
    await hub.query(
      `INSERT INTO session_memory.forgotten (key) SELECT ${KEY_HASH} FROM ${KEYS} ON CONFLICT DO NOTHING`,
      [JSON.stringify(out)],
    );
    return await removeSessions(hub, out);
  });
  state.transaction(() => {
    dropPublished(state, out);
    for (const { agent, id, undone } of pending)
      state.run(
        "UPDATE share_withdrawals SET sent = 1 WHERE agent = ? AND id = ? AND undone = ?",
        agent,
        id,
        undone,
      );
    state.exec("DELETE FROM share_withdrawals WHERE sent = 1 AND undone = 1");
  });
  return removed;
}

/** Removes what config.json excludes or no longer shares. Returns the number of sessions. */
async function withdrawUnshared({ hub, state, config, exclusion, origin }: Sharing): Promise<number> {
  const rules = shareRules(config);
  if (readShareFact(state, "rules") === rules) return 0;
  const isExcluded = publishedExclusion(exclusion);
  const projects = config.settings.share?.projects ?? {};
  const notes = readPublished(state);
  const rows = await hub.query(
    "SELECT agent, id, name, project FROM session_memory.sessions WHERE origin = $1 AND owner = current_user",
    [origin],
  );
  const out = rows
    .map((row) => {
      const [agent = "", id = "", project = "", name] = [row.agent, row.id, row.project, row.name].map(
        stringOf,
      );
      return { agent, id, project, name, cwd: notes.get(sessionKey({ agent, id }))?.cwd };
    })
    .filter((session) => !sharedProject(session.project, projects) || isExcluded(session));
  const removed = out.length === 0 ? 0 : await hub.transaction(() => removeSessions(hub, out));
  dropPublished(state, out);
  writeShareFact(state, "rules", rules);
  return removed;
}

/**
 * Removes sessions with nothing left to send, if this machine published them. Returns the number of sessions.
 */
async function withdrawEmptied(
  { hub, state, origin }: Sharing,
  sessions: readonly SessionKey[],
): Promise<number> {
  const notes = readPublished(state);
  const out = sessions.filter((session) => notes.has(sessionKey(session)));
  if (out.length === 0) return 0;
  const rows = await hub.query(
    `DELETE FROM session_memory.sessions s USING ${KEYS}
     WHERE s.owner = current_user AND s.origin = $2 AND s.agent = k.agent AND s.id = k.id RETURNING s.number`,
    [JSON.stringify(out.map(({ agent, id }) => ({ agent, id }))), origin],
  );
  dropPublished(state, out);
  return rows.length;
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

/** Publishes some sessions in one transaction, and returns how many were sent, and the number of this change. */
function publishSessions(
  hub: Hub,
  outgoing: readonly OutgoingSession[],
  origin: string,
): Promise<{ seq: number; sessions: number; chunks: number }> {
  return hub.transaction(async () => {
    // the row's lock makes the order of numbers that of the commits
    const sql = "UPDATE session_memory.origins SET seq = seq + 1 WHERE id = $1 RETURNING seq";
    const [next] = await hub.query(sql, [origin]);
    const seq = Number(next?.seq);
    const numbers = await putSessions(hub, outgoing, { origin, seq });
    const exchanges = outgoing.flatMap(({ row, exchanges }) => {
      const session = numbers.get(sessionKey(row));
      return session === undefined ? [] : exchanges.map((each) => ({ ...each, session }));
    });
    const chunks = await sendDifference(hub, exchanges, { sessions: [...numbers.values()], seq });
    // what was sent before there were exchanges, and may hold more than these
    await hub.query("DELETE FROM session_memory.chunks WHERE session = ANY($1::bigint[])", [
      [...numbers.values()],
    ]);
    return { seq, sessions: numbers.size, chunks };
  });
}

const NAMES = Object.keys(SENT_COLUMNS);
const TYPED = Object.entries(SENT_COLUMNS).map(([name, type]) => `${name} ${type}`);

/**
 * Adds or replaces the rows of sessions, and returns the hub's number of each. A longer one replaces the copy of another
 * machine, an equal one never does and has no number here.
 */
async function putSessions(
  hub: Hub,
  outgoing: readonly OutgoingSession[],
  { origin, seq }: { origin: string; seq: number },
): Promise<Map<string, number>> {
  const rows = JSON.stringify(outgoing.map(({ row }) => row));
  // locked in one order, so that an owner's machines cannot block each other
  await hub.query(
    `WITH held AS MATERIALIZED (
       SELECT s.number, s.origin <> $2 AND s.lines < k.lines AS is_shorter
       FROM session_memory.sessions s
       JOIN jsonb_to_recordset($1::jsonb) AS k(agent text, id text, lines integer) ON s.agent = k.agent AND s.id = k.id
       WHERE s.owner = current_user ORDER BY s.agent, s.id FOR UPDATE OF s)
     DELETE FROM session_memory.sessions WHERE number IN (SELECT number FROM held WHERE is_shorter)`,
    [rows, origin],
  );
  const put = await hub.query(
    `INSERT INTO session_memory.sessions AS s (origin, seq, ${NAMES.join(", ")})
     SELECT $2::uuid, $3::bigint, r.* FROM jsonb_to_recordset($1::jsonb) AS r(${TYPED.join(", ")}) ORDER BY agent, id
     ON CONFLICT (owner, agent, id) DO UPDATE SET seq = excluded.seq,
       ${NAMES.map((name) => `${name} = excluded.${name}`).join(", ")}
     WHERE s.origin = excluded.origin RETURNING number, agent, id`,
    [rows, origin, seq],
  );
  return new Map(
    put.map(({ agent, id, number }) => [
      sessionKey({ agent: String(agent), id: String(id) }),
      Number(number),
    ]),
  );
}

/** The place of an exchange at the hub, by the hub's number of its session. */
interface HubPlace extends Pick<OutgoingExchange, "line" | "nth"> {
  session: number;
}

/** Sends the exchanges that the hub lacks or has otherwise, and empties what sessions no longer have; returns the chunks of both. */
async function sendDifference(
  hub: Hub,
  exchanges: readonly (OutgoingExchange & HubPlace)[],
  { sessions, seq }: { sessions: readonly number[]; seq: number },
): Promise<number> {
  const rows = await hub.query(
    `SELECT session, line, nth, encode(hash, 'hex') AS hash FROM session_memory.exchanges
     WHERE session = ANY($1::bigint[]) AND hash IS NOT NULL`,
    [sessions],
  );
  const place = ({ session, line, nth }: HubRow | HubPlace) => `${session} ${line} ${nth}`;
  const there = new Map(rows.map((row) => [place(row), row.hash]));
  const here = new Set(exchanges.map(place));
  const puts = exchanges.filter((exchange) => there.get(place(exchange)) !== exchange.hash);
  const gone = rows.filter((row) => !here.has(place(row)));
  await putExchanges(hub, puts, seq);
  if (gone.length > 0) {
    // their rows stay, so that readers learn that they are gone
    await hub.query(
      `UPDATE session_memory.exchanges e SET seq = $2::bigint, hash = NULL, body = NULL
       FROM jsonb_to_recordset($1::jsonb) AS r(session bigint, line integer, nth integer)
       WHERE e.session = r.session AND e.line = r.line AND e.nth = r.nth`,
      [JSON.stringify(gone), seq],
    );
  }
  return puts.reduce((sum, { chunks }) => sum + chunks, gone.length);
}

/** So much JSON goes in one statement: more would not answer in time on a slow line. */
const BATCH_CHARS = 512 * 1024;

async function putExchanges(
  hub: Hub,
  exchanges: readonly (OutgoingExchange & HubPlace)[],
  seq: number,
): Promise<void> {
  const rows = exchanges.map(({ session, line, nth, hash, rows, topics }) =>
    JSON.stringify({ session, line, nth, hash, body: { rows, topics } }),
  );
  for (const batch of batchesBy(rows, { max: BATCH_CHARS, weigh: ({ length }) => length })) {
    await hub.query(
      `INSERT INTO session_memory.exchanges (session, line, nth, seq, hash, body)
       SELECT r.session, r.line, r.nth, $2::bigint, decode(r.hash, 'hex'), r.body
       FROM jsonb_to_recordset($1::jsonb) AS r(session bigint, line integer, nth integer, hash text, body jsonb)
       ON CONFLICT (session, line, nth) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, body = excluded.body`,
      [`[${batch.join(",")}]`, seq],
    );
  }
}

function notePublished(db: Store, sessions: readonly LocalSession[]): void {
  for (const { agent, id, signature, project, name = null, cwd } of sessions) {
    db.run(
      "INSERT OR REPLACE INTO share_published (agent, id, signature, project, name, cwd) VALUES (?, ?, ?, ?, ?, ?)",
      agent,
      id,
      signature,
      project,
      name,
      cwd,
    );
  }
}

function dropPublished(state: Store, keys: readonly SessionKey[]): void {
  state.transaction(() => {
    for (const { agent, id } of keys)
      state.run("DELETE FROM share_published WHERE agent = ? AND id = ?", agent, id);
  });
}
