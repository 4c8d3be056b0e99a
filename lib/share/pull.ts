/**
 * Reads what others share into copies, by one snapshot of the hub.
 *
 * First what there is: of each project and origin a state that changes with it, then, where one changed, its sessions. Then the
 * words of what is new, the newest sessions first, each with how far it was read in its copy's note.
 */

import { isAbsolute } from "node:path";
import { oneLine } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import { currentPaths, expandHome } from "../config/config.ts";
import { archivePlace } from "../sessions/places.ts";
import { readOrigin } from "../sessions/project.ts";
import { sessionKey } from "../sessions/record.ts";
import { statUnpacked } from "../transcripts/files.ts";
import { toListed } from "./checked.ts";
import type { Hub } from "./hub.ts";
import {
  emptyShared,
  heldSize,
  noteSize,
  type Pull,
  readHeldSeq,
  readShared,
  readUnread,
  removeShared,
  type SharedSession,
  type WantedSession,
} from "./hub-list.ts";
import { countSizes } from "./hub-pages.ts";
import { fetchSessions } from "./incoming.ts";
import { likePatterns, readShareFact, writeShareFact } from "./share-state.ts";

export interface PullReport {
  sessions: number;
  removed: number;
}

/** The sessions of one project from one origin. */
interface Feed {
  project: string;
  origin: string;
  /** Changes with them, by numbers of the hub. */
  state: string;
}

/** Brings the copies up to date. */
export function pullShared(pull: Pull): Promise<PullReport> {
  return pull.hub.transaction(async () => {
    const removed = await updateList(pull);
    const { wanted, dropped, room } = await plan(pull);
    for (const session of dropped) {
      pull.gone.add(session.storedId);
      emptyShared(pull, session);
    }
    await fetchSessions(wanted, { ...pull, room });
    return { sessions: wanted.length, removed: removed + dropped.length };
  }, "ISOLATION LEVEL REPEATABLE READ READ ONLY");
}

type Scope = ReturnType<typeof readScope>;

/** Returns the sessions of interest; older ones are left out by whole days, since each change of it compares all feeds. */
function readScope({ config, origin }: Pull) {
  const { days = 365, projects = {} } = config.settings.share ?? {};
  const since = new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
  return { origin, patterns: likePatterns(projects), since };
}

/** Updates the list of sessions. Returns how many are gone. */
async function updateList(pull: Pull): Promise<number> {
  const { hub, state } = pull;
  const scope = readScope(pull);
  const now = await readFeeds(hub, scope);
  const known: Feed[] = JSON.parse(readShareFact(state, "feeds") ?? "[]");
  const before = new Map(known.map((feed) => [feedKey(feed), feed.state]));
  const changed = now.filter((feed) => feed.state !== before.get(feedKey(feed)));
  if (changed.length === 0 && now.length === before.size) return 0;
  const listed = changed.length === 0 ? [] : await listSharedSessions(hub, scope, changed);
  return state.transaction(() => {
    const same = new Set(now.filter((feed) => !changed.includes(feed)).map(feedKey));
    const current = new Set(listed.filter(({ fault }) => fault === undefined).map(identify));
    const gone = readShared(pull).filter(
      (session) => !same.has(feedKey(session)) && !current.has(identify(session)),
    );
    for (const session of gone) {
      const { storedId, updatedAt } = session;
      pull.gone.add(storedId);
      // one that only became too old is there still
      if (updatedAt >= scope.since) pull.withdrawn.add(storedId);
      removeShared(pull, session);
    }
    noteListed(pull, listed, same);
    writeShareFact(state, "feeds", JSON.stringify(now));
    return gone.length;
  });
}

/** Records what the hub has; what cannot be taken is recorded with why, and keeps nothing else back. */
function noteListed(pull: Pull, listed: readonly SharedSession[], same: ReadonlySet<string>): void {
  const known = new Map(readShared(pull).map((session) => [session.number, session]));
  const unread = readUnread(pull).filter((session) => same.has(feedKey(session)));
  // of two that come to one name the one that was there first stays
  for (const session of listed.toSorted((a, b) => a.number - b.number)) {
    const { number, project, origin, storedId } = session;
    const fault = session.fault ?? noteShared(pull, session, known.get(number));
    if (fault !== undefined) unread.push({ number, project, origin, session: oneLine(storedId, 100), fault });
  }
  writeShareFact(pull.state, "unread", JSON.stringify(unread));
}

/**
 * Records a session that the hub has; one that was replaced there, or is an older one again, is read from its start. What it
 * says of its size is not believed. Returns why it cannot be taken; undefined where it is.
 */
function noteShared(
  pull: Pull,
  session: SharedSession,
  before: SharedSession | undefined,
): string | undefined {
  const { state } = pull;
  const { storedId, owner, machine, agent, id, number, origin, project, seq, updatedAt } = session;
  if (before && (before.storedId !== storedId || before.agent !== agent || seq < before.seq)) {
    removeShared(pull, before);
  }
  const other = state.get(
    `SELECT 1 FROM hub_sessions
       WHERE number <> ? AND (stored_id = ? OR (owner = ? AND agent = ? AND id = ?))`,
    number,
    storedId,
    owner,
    agent,
    id,
  );
  if (other) return "another session has its name";
  state.run(
    `INSERT INTO hub_sessions (stored_id, owner, machine, agent, id, number, origin, project, seq, updated_at, chunks)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, -1)
     ON CONFLICT (stored_id) DO UPDATE SET project = excluded.project, origin = excluded.origin, seq = excluded.seq,
       chunks = CASE WHEN seq = excluded.seq THEN chunks ELSE -1 END,
       updated_at = CASE WHEN seq = excluded.seq THEN min(updated_at, excluded.updated_at) ELSE excluded.updated_at END`,
    storedId,
    owner,
    machine,
    agent,
    id,
    number,
    origin,
    project,
    seq,
    updatedAt,
  );
  return undefined;
}

/** Reads the feeds as they are now. A forgotten session, a changed audience and a restored hub show as another count, sum or number. */
async function readFeeds(hub: Hub, { origin, patterns, since }: Scope): Promise<Feed[]> {
  const rows = await hub.query(
    `SELECT project, origin, concat_ws(' ', max(seq), count(*), sum(number)) AS state
     FROM session_memory.sessions WHERE origin <> $1 AND project ILIKE ANY($2::text[]) AND updated_at >= $3
     GROUP BY project, origin`,
    [origin, patterns, since],
  );
  return rows.map(({ project, origin, state }) => ({
    project: String(project),
    origin: String(origin),
    state: String(state),
  }));
}

/** The most sessions of an owner, the newest: thirteen a day in a year. Each is some work here, also without a word in it. */
const OWNER_SESSIONS_MAX = 5000;

/** Lists the sessions of feeds. */
async function listSharedSessions(
  hub: Hub,
  { origin, patterns, since }: Scope,
  feeds: readonly Feed[],
): Promise<SharedSession[]> {
  const rows = await hub.query(
    `SELECT s.* FROM jsonb_to_recordset($1::jsonb) AS f(project text, origin uuid)
     JOIN (
       SELECT number, owner, machine, agent, id, origin, project, seq, left(updated_at, 64) AS updated_at,
         row_number() OVER (PARTITION BY owner ORDER BY left(updated_at, 64) DESC, number DESC) AS place
       FROM session_memory.sessions WHERE origin <> $2 AND project ILIKE ANY($3::text[]) AND updated_at >= $4
     ) AS s ON s.project = f.project AND s.origin = f.origin
     WHERE s.place <= ${OWNER_SESSIONS_MAX}`,
    [JSON.stringify(feeds), origin, patterns, since],
  );
  const readAt = new Date().toISOString();
  return rows.map((row) => toListed(row, readAt));
}

/**
 * Returns the sessions to read, of each owner the newest within a share of the cap, and those here that are our own, excluded
 * or beyond it.
 */
async function plan(pull: Pull) {
  const { config } = pull;
  const wanted: WantedSession[] = [];
  const { out = [], taken = [] } = Object.groupBy(readShared(pull), outTest(pull));
  const isHere = (session: SharedSession) => statUnpacked(archivePlace(config.paths, session)) !== undefined;
  const dropped = out.filter(isHere);
  const max = config.settings.share?.maxChunks ?? 0;
  const sized = await withSizes(taken, { ...pull, max });
  const wishes = new Map<string, number>();
  for (const { owner, chunks } of sized) wishes.set(owner, (wishes.get(owner) ?? 0) + chunks);
  const room = fairShares(wishes, max);
  const full = new Set<string>();
  for (const session of sized) {
    const left = (room.get(session.owner) ?? 0) - session.chunks;
    if (left < 0 || full.has(session.owner)) {
      full.add(session.owner);
      if (isHere(session)) dropped.push(session);
      continue;
    }
    room.set(session.owner, left);
    const heldSeq = readHeldSeq(pull, session);
    if (heldSeq !== session.seq) wanted.push({ ...session, heldSeq });
  }
  return { wanted, dropped, room };
}

/** Makes a test for sessions that are our own or excluded. */
function outTest({ config, exclusion: { admits }, own }: Pull) {
  const { projects } = currentPaths(config.paths).rules.exclude;
  const home = config.paths.expand("~");
  // a directory on this machine is excluded under its origin's name too
  const directories = projects.map((project) => expandHome(project, home)).filter(isAbsolute);
  const origins = new Set(directories.map(readOrigin));
  return (session: SharedSession): "out" | "taken" => {
    const { project, storedId } = session;
    const isExcluded = !admits({ id: storedId, project });
    return own.has(sessionKey(session)) || isExcluded || origins.has(project) ? "out" : "taken";
  };
}

/** Sessions whose sizes are asked for in one statement. */
const SIZES_PAGE = 200;

/**
 * Returns the newest sessions of each owner with their sizes, sessions beyond the cap left out without being counted. Earlier
 * counts are noted; a held session counts at least its size here.
 */
async function withSizes(
  sessions: readonly SharedSession[],
  pull: Pull & { max: number },
): Promise<SharedSession[]> {
  const unknown = sessions.filter(({ chunks }) => chunks < 0);
  const sizes = new Map<string, number>();
  const sums = new Map<string, number>();
  const add = ({ owner }: SharedSession, size: number) => sums.set(owner, (sums.get(owner) ?? 0) + size);
  for (const session of sessions) if (session.chunks >= 0) add(session, session.chunks);
  for (let at = 0; at < unknown.length; at += SIZES_PAGE) {
    const page = unknown.slice(at, at + SIZES_PAGE).filter(({ owner }) => (sums.get(owner) ?? 0) <= pull.max);
    if (page.length === 0) continue;
    const counted = await countSizes(pull.hub, page);
    pull.state.transaction(() => {
      for (const session of page) {
        const size = Math.max(counted.get(session.number) ?? 1, heldSize(pull, session));
        noteSize(pull, session, size);
        sizes.set(session.storedId, size);
        add(session, size);
      }
    });
  }
  return sessions.map((session) => ({
    ...session,
    chunks: sizes.get(session.storedId) ?? (session.chunks < 0 ? Number.POSITIVE_INFINITY : session.chunks),
  }));
}

/** Divides room among owners: what one does not ask for of an equal share is the others', and what nobody asks for all have alike. */
function fairShares(wishes: ReadonlyMap<string, number>, room: number): Map<string, number> {
  const shares = new Map<string, number>();
  let left = room;
  for (const [owner, wish] of [...wishes].sort(([, a], [, b]) => a - b)) {
    const share = Math.min(wish, Math.floor(left / (wishes.size - shares.size)));
    shares.set(owner, share);
    left -= share;
  }
  // what is packed at the hub may take more here
  const extra = Math.floor(left / Math.max(1, shares.size));
  for (const [owner, share] of shares) shares.set(owner, share + extra);
  return shares;
}

function feedKey({ project, origin }: { project: string; origin: string }): string {
  return `${origin} ${project}`;
}

function identify({ number, agent, storedId }: SharedSession): string {
  return `${number} ${agent} ${storedId}`;
}
