/**
 * Reads what others share into the replica, by one snapshot of the hub.
 *
 * First what there is: of each project and origin a number that changes with it, then, where one changed, its sessions.
 * Who joined or left an audience, what was forgotten, and a hub restored from an older backup show as another count or
 * sum, and that feed is compared in full. Then the words of what is new, the newest sessions first, each with the note
 * of how far it was read in the same transaction.
 */

import { shortHash } from "../base/hash.ts";
import type { Config } from "../config/config.ts";
import { readFact, type Store, writeFact } from "../store/store.ts";
import type { Exclusion } from "../transcripts/exclusion.ts";
import type { Deed } from "../transcripts/session.ts";
import type { Hub, HubRow } from "./hub.ts";
import { cleaner, type IncomingChunk, toChunk, toListed, toSession } from "./incoming.ts";
import {
  emptyShared,
  type Feed,
  noteShared,
  readFeeds,
  readShared,
  removeShared,
  type SharedSession,
  writeFeeds,
} from "./replica.ts";
import { type ReplicaRows, replicaRows } from "./replica-rows.ts";
import { keyOf } from "./share-state.ts";
import { likePatterns } from "./shared-projects.ts";

export interface PullOptions {
  replica: Store;
  config: Config;
  exclusion: Exclusion;
  /** Our own origin: what it published is in the index already. */
  origin: string;
  /** The keys of sessions that the index has itself. */
  own: ReadonlySet<string>;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface PullReport {
  sessions: number;
  chunks: number;
  removed: number;
}

const DAY_MS = 86_400_000;
/** Chunks of one statement's answer. */
const PAGE = 1000;

/** Brings the replica up to date. */
export function pullShared(hub: Hub, options: PullOptions): Promise<PullReport> {
  return hub.transaction(async () => {
    readAnewWhereRulesChanged(options);
    const removed = await updateList(hub, options);
    const { wanted, dropped } = plan(options);
    for (const { storedId } of dropped) {
      options.replica.db.transaction(() => emptyShared(options.replica, storedId));
    }
    const chunks = await fetchSessions(hub, wanted, options);
    return { sessions: wanted.length, chunks, removed: removed + dropped.length };
  }, "ISOLATION LEVEL REPEATABLE READ READ ONLY");
}

/** What is here was let in by other rules: all of it is read again. */
function readAnewWhereRulesChanged({ replica, config }: PullOptions): void {
  const { exclude, redact } = config.settings;
  const rules = shortHash(JSON.stringify([exclude, redact.extra])).toString(36);
  const before = readFact(replica, "share_rules");
  if (before === rules) return;
  replica.db.transaction(() => {
    if (before !== undefined) {
      replica.db.exec(
        "UPDATE shared_sessions SET held_seq = 0; UPDATE session_chunks SET content_hash = x''",
      );
    }
    writeFact(replica, "share_rules", rules);
  });
}

interface Scope {
  origin: string;
  patterns: string[];
  since: string;
}

/** Older sessions are not pulled; by whole days, since with each change of this all feeds are compared. */
function scopeOf({ config, origin }: PullOptions): Scope {
  const { share } = config.settings;
  const since = new Date(Date.now() - (share?.days ?? 365) * DAY_MS).toISOString().slice(0, 10);
  return { origin, patterns: likePatterns(share?.projects ?? {}), since };
}

/** Learns which sessions there are. Returns how many are there no more. */
async function updateList(hub: Hub, options: PullOptions): Promise<number> {
  const { replica } = options;
  const scope = scopeOf(options);
  const now = await readHeads(hub, scope);
  const before = new Map(readFeeds(replica).map((feed) => [feedKey(feed), feed]));
  const changed = now.filter((feed) => !isSame(feed, before.get(feedKey(feed))));
  if (changed.length === 0 && now.length === before.size) return 0;
  const listed = changed.length === 0 ? [] : await listSessions(hub, scope, changed, before);
  return replica.db.transaction(() => {
    for (const session of listed) noteShared(replica, session);
    const whole = new Set(changed.filter((feed) => isWhole(feed, before.get(feedKey(feed)))).map(feedKey));
    const current = new Set(listed.map(keyOfOwned));
    const feeds = new Set(now.map(feedKey));
    const gone = readShared(replica).filter(
      (session) =>
        !feeds.has(feedKey(session)) || (whole.has(feedKey(session)) && !current.has(keyOfOwned(session))),
    );
    for (const { storedId } of gone) removeShared(replica, storedId);
    writeFeeds(replica, now);
    return gone.length;
  });
}

/** What changes with each project and origin. */
async function readHeads(hub: Hub, { origin, patterns, since }: Scope): Promise<Feed[]> {
  const rows = await hub.query(
    `SELECT project, origin, max(seq) AS seq, count(*) AS count, sum(number) AS sum
     FROM session_memory.sessions WHERE origin <> $1 AND project ILIKE ANY($2::text[]) AND updated_at >= $3
     GROUP BY project, origin`,
    [origin, patterns, since],
  );
  return rows.map((row) => ({
    project: String(row.project),
    origin: String(row.origin),
    seq: Number(row.seq),
    count: Number(row.count),
    sum: String(row.sum),
  }));
}

/** Whether a feed must be compared in full: sessions went, or came to be seen, or the hub is an older one. */
function isWhole(now: Feed, before: Feed | undefined): boolean {
  return (
    before === undefined || now.seq <= before.seq || now.count !== before.count || now.sum !== before.sum
  );
}

function isSame(a: Feed, b: Feed | undefined): boolean {
  return b !== undefined && a.seq === b.seq && a.count === b.count && a.sum === b.sum;
}

/** A restored hub may give a number a second time: what it lists then is read anew. */
async function listSessions(
  hub: Hub,
  { since }: Scope,
  changed: readonly Feed[],
  before: ReadonlyMap<string, Feed>,
): Promise<Omit<SharedSession, "heldSeq">[]> {
  const wanted = changed.map((feed) => {
    const known = before.get(feedKey(feed));
    return {
      project: feed.project,
      origin: feed.origin,
      after: isWhole(feed, known) ? -1 : (known?.seq ?? -1),
    };
  });
  const rows = await hub.query(
    `SELECT s.number, s.owner, s.machine, s.agent, s.id, s.origin, s.project, s.seq, s.updated_at, s.chunks
     FROM jsonb_to_recordset($1::jsonb) AS f(project text, origin uuid, after bigint)
     JOIN session_memory.sessions s ON s.project = f.project AND s.origin = f.origin AND s.seq > f.after
     WHERE s.updated_at >= $2`,
    [JSON.stringify(wanted), since],
  );
  return rows.map(toListed);
}

/** Which sessions are to be here: the newest within the cap, that are neither our own nor kept out. */
function plan({ replica, config, exclusion, own }: PullOptions): {
  wanted: SharedSession[];
  dropped: SharedSession[];
} {
  let room = config.settings.share?.maxChunks ?? 0;
  const here = new Set(
    replica.db
      .prepare("SELECT id FROM sessions")
      .all()
      .map(({ id }) => String(id)),
  );
  const wanted: SharedSession[] = [];
  const dropped: SharedSession[] = [];
  for (const session of readShared(replica)) {
    const isOut = own.has(keyOf(session)) || isExcluded(session, exclusion);
    if (!isOut) room -= session.chunks;
    if (isOut || room < 0) {
      if (here.has(session.storedId)) dropped.push(session);
    } else if (session.heldSeq !== session.seq) wanted.push(session);
  }
  return { wanted, dropped };
}

function isExcluded({ id, project, storedId }: SharedSession, { hasSession }: Exclusion): boolean {
  const [parent = id, subagent] = id.split("/");
  const session = { id: subagent ?? parent, parentId: subagent && parent, project };
  return hasSession(session) || hasSession({ id: storedId });
}

async function fetchSessions(
  hub: Hub,
  wanted: readonly SharedSession[],
  options: PullOptions,
): Promise<number> {
  const rows = replicaRows(options.replica);
  const total = wanted.reduce((sum, { chunks }) => sum + chunks, 0);
  let done = 0;
  for (const batch of batchesOf(wanted)) {
    done += await fetchBatch(hub, batch, { ...options, rows });
    options.onProgress?.(done, total);
  }
  return done;
}

function* batchesOf(sessions: readonly SharedSession[]): Generator<SharedSession[]> {
  let batch: SharedSession[] = [];
  let chunks = 0;
  for (const session of sessions) {
    if (batch.length > 0 && chunks + session.chunks > PAGE) {
      yield batch;
      batch = [];
      chunks = 0;
    }
    batch.push(session);
    chunks += session.chunks;
  }
  if (batch.length > 0) yield batch;
}

/** Reads some sessions whole, or what of them is new. */
async function fetchBatch(
  hub: Hub,
  batch: readonly SharedSession[],
  { replica, config, exclusion, rows }: PullOptions & { rows: ReplicaRows },
): Promise<number> {
  const clean = cleaner(config.settings.redact.extra);
  const byNumber = new Map(batch.map((session) => [session.number, session]));
  const described = (await hub.query(DESCRIBE_SESSIONS, [[...byNumber.keys()]])).flatMap((row) => {
    const shared = byNumber.get(Number(row.number));
    const session = toSession(row, clean);
    const isNamedOut = exclusion.hasText(session.name ?? "");
    return shared ? [{ shared, session: isNamedOut ? { ...session, name: undefined } : session }] : [];
  });
  replica.db.transaction(() => {
    for (const { shared, session } of described) rows.begin(shared, session);
  });
  const indexes = new Map(batch.map(({ number }) => [number, new Set<number>()]));
  let count = 0;
  const put = (row: HubRow) => {
    const chunk = toChunk(row, clean);
    const storedId = byNumber.get(chunk.session)?.storedId ?? "";
    if (isChunkOut(chunk, exclusion)) return rows.remove(storedId, chunk.idx);
    rows.put(storedId, withoutDeeds(chunk, exclusion));
    indexes.get(chunk.session)?.add(chunk.idx);
  };
  for await (const page of pagesOf(hub, batch)) {
    replica.db.transaction(() => page.forEach(put));
    count += page.length;
  }
  replica.db.transaction(() => {
    for (const { shared, session } of described) {
      if (shared.heldSeq === 0) rows.keep(shared.storedId, indexes.get(shared.number) ?? new Set());
      rows.finish(shared, session);
    }
  });
  return count;
}

const DESCRIBE_SESSIONS = `SELECT number, seq, name, folder, parent_id, started_at, updated_at, meta, observations
  FROM session_memory.sessions WHERE number = ANY($1::bigint[])`;

/** Gone at the hub, or kept out here. */
function isChunkOut({ hash, header, content, tools }: IncomingChunk, { hasText }: Exclusion): boolean {
  return hash === undefined || hasText(`${header}${content}\n${tools}`);
}

function withoutDeeds(chunk: IncomingChunk, { hasText }: Exclusion): IncomingChunk {
  const isOut = ({ target, paths, input, result }: Deed) => [target, ...paths, input, result].some(hasText);
  return { ...chunk, deeds: chunk.deeds.filter((deed) => !isOut(deed)) };
}

async function* pagesOf(hub: Hub, batch: readonly SharedSession[]): AsyncGenerator<HubRow[]> {
  const wanted = JSON.stringify(
    batch.map(({ number, heldSeq }) => ({ number, after: heldSeq === 0 ? -1 : heldSeq })),
  );
  let last: [number, number] = [-1, -1];
  for (;;) {
    const page = await hub.query(
      `SELECT c.session, c.idx, encode(c.hash, 'hex') AS hash, c.at, c.body, c.content
       FROM jsonb_to_recordset($1::jsonb) AS w(number bigint, after bigint)
       JOIN session_memory.chunks c ON c.session = w.number AND c.seq > w.after
       WHERE (c.session, c.idx) > ($2::bigint, $3::integer) ORDER BY c.session, c.idx LIMIT ${PAGE}`,
      [wanted, ...last],
    );
    if (page.length > 0) yield page;
    const end = page.at(-1);
    if (!end || page.length < PAGE) return;
    last = [Number(end.session), Number(end.idx)];
  }
}

function feedKey({ project, origin }: { project: string; origin: string }): string {
  return `${origin} ${project}`;
}

function keyOfOwned({ owner, agent, id }: Pick<SharedSession, "owner" | "agent" | "id">): string {
  return `${owner} ${agent} ${id}`;
}
