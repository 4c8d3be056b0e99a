/**
 * Sends what is new of our own sessions to the hub; publishing.ts decides which.
 *
 * The hub is asked for what it has and gets the difference, so a run that is ended anywhere, repeated, or made by two
 * machines at once leaves the same rows. Of two copies of one session the longer one is kept.
 */

import type { Hub, HubRow } from "./hub.ts";
import type { OutgoingChunk, OutgoingSession } from "./outgoing.ts";
import { keyOf } from "./share-state.ts";
import { batchesBy } from "./shared-rows.ts";

/** A session that the hub has. */
interface Held {
  number: number;
  origin: string;
  lines: number;
  row: HubRow;
}

const SESSION_COLUMNS = `agent text, id text, machine text, audience text, project text, parent_id text, name text,
  folder text, started_at text, updated_at text, lines integer, chunks integer, meta jsonb, observations text`;

/** Publishes some sessions in one transaction, and returns how many were added or changed. */
export function publishSessions(
  hub: Hub,
  outgoing: readonly OutgoingSession[],
  { origin, machine }: { origin: string; machine: string },
): Promise<{ sessions: number; chunks: number }> {
  return hub.transaction(async () => {
    const seq = await nextSeq(hub, origin);
    const held = await readHeld(hub, outgoing);
    const ours = outgoing
      .map((session) => ({
        session,
        row: sessionRow(session, machine),
        before: held.get(keyOf(session.session)),
      }))
      // a longer one replaces another machine's copy, an equal one never does
      .filter(({ session, before }) => !before || before.origin === origin || session.lines > before.lines);
    const isNew = ours.filter(({ before }) => before === undefined);
    const added = await addSessions(
      hub,
      isNew.map(({ row }) => row),
      { origin, seq },
    );
    const hashes = await readHashes(
      hub,
      ours.flatMap(({ before }) => before?.number ?? []),
    );
    const changes = ours.flatMap(({ session, row, before }) => {
      const number = before?.number ?? added.get(keyOf(row));
      return number === undefined
        ? []
        : [{ number, row, before, ...difference(session, hashes.get(number)) }];
    });
    const changed = changes.filter(
      ({ row, before, put, gone }) =>
        before && (before.origin !== origin || put.length + gone.length > 0 || !isSame(row, before.row)),
    );
    await changeSessions(hub, changed, { origin, seq });
    const adopted = changed.filter(({ before }) => before?.origin !== origin);
    if (adopted.length > 0) await renumber(hub, adopted, seq);
    const puts = changes.flatMap(({ number, put }) => put.map((chunk) => ({ session: number, ...chunk })));
    await putChunks(hub, puts, seq);
    const gone = changes.flatMap(({ number, gone }) => gone.map((idx) => ({ session: number, idx })));
    if (gone.length > 0) await emptyChunks(hub, gone, seq);
    return { sessions: added.size + changed.length, chunks: puts.length + gone.length };
  });
}

/** Takes the next number; the row's lock makes the order of numbers that of the commits. */
async function nextSeq(hub: Hub, origin: string): Promise<number> {
  const [row] = await hub.query(
    "UPDATE session_memory.origins SET seq = seq + 1 WHERE id = $1 RETURNING seq",
    [origin],
  );
  return Number(row?.seq);
}

/** Returns the sessions that the hub has, locked in one order so that an owner's machines cannot block each other. */
async function readHeld(hub: Hub, outgoing: readonly OutgoingSession[]): Promise<Map<string, Held>> {
  const keys = outgoing.map(({ session: { agent, id } }) => ({ agent, id }));
  const rows = await hub.query(
    `SELECT s.number, s.agent, s.id, s.origin, s.machine, s.audience, s.project, s.parent_id, s.name, s.folder,
       s.started_at, s.updated_at, s.lines, s.chunks, s.meta, s.observations
     FROM session_memory.sessions s JOIN jsonb_to_recordset($1::jsonb) AS k(agent text, id text)
       ON s.agent = k.agent AND s.id = k.id
     WHERE s.owner = current_user ORDER BY s.agent, s.id FOR UPDATE OF s`,
    [JSON.stringify(keys)],
  );
  return new Map(
    rows.map((row) => [
      `${row.agent} ${row.id}`,
      { number: Number(row.number), origin: String(row.origin), lines: Number(row.lines), row },
    ]),
  );
}

function sessionRow({ session, folder, ...rest }: OutgoingSession, machine: string) {
  return {
    agent: session.agent,
    id: session.id,
    machine: session.machine ?? machine,
    audience: session.audience,
    project: session.project,
    parent_id: session.parentId ?? null,
    name: rest.name ?? null,
    folder,
    started_at: session.startedAt ?? null,
    updated_at: session.updatedAt,
    lines: rest.lines,
    chunks: rest.chunks.length,
    meta: rest.meta ?? null,
    observations: rest.observations ?? null,
  };
}

type SessionRow = ReturnType<typeof sessionRow>;

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

/** Gives the chunks of adopted sessions our numbers: with another origin's, readers would miss them. */
async function renumber(hub: Hub, sessions: readonly { number: number }[], seq: number): Promise<void> {
  const numbers = sessions.map(({ number }) => number);
  const sql = "UPDATE session_memory.chunks SET seq = $2::bigint WHERE session = ANY($1::bigint[])";
  await hub.query(sql, [numbers, seq]);
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
  { chunks }: OutgoingSession,
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

/** Empties chunks; their rows stay, so that readers learn that they are gone. */
async function emptyChunks(
  hub: Hub,
  gone: readonly { session: number; idx: number }[],
  seq: number,
): Promise<void> {
  await hub.query(
    `UPDATE session_memory.chunks c SET seq = $2::bigint, hash = NULL, at = NULL, body = NULL, content = NULL
     FROM jsonb_to_recordset($1::jsonb) AS r(session bigint, idx integer)
     WHERE c.session = r.session AND c.idx = r.idx`,
    [JSON.stringify(gone), seq],
  );
}
