/** Checks and measures the index, its vectors and the transcripts it was made from, those soon to be deleted included. */

import { basename } from "node:path";
import { listRetentions } from "../archive/archive.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { hasContent } from "../base/files.ts";
import { type Finding, failed, info, warning } from "../base/findings.ts";
import { counted } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { Paths, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { setAsideIn } from "../store/carry-over.ts";
import { allIndexes, IS_OWN, indexBytes, openStore, type Store } from "../store/store.ts";
import { countFailed, vectorSource } from "./chunk-vectors.ts";
import { olderInstalls, unreadFormerIndex } from "./former-index.ts";
import { type Behind, isIndexed, measureBehind } from "./freshness.ts";
import { SESSION_CHUNKS_MAX } from "./index-pass.ts";
import { type IndexProgress, readAllProgress } from "./index-state.ts";
import { countIn } from "./known-sessions.ts";

interface IndexCheck {
  paths: Paths;
  settings: Settings;
  sessions: readonly Session[];
  now: Date;
}

interface CheckedIndex {
  findings: Finding[];
  metrics: IndexMetrics;
  behind: Behind;
}

/** A user who runs `health` once a week learns of it in time. */
const RETENTION_DAYS = 7;
/** More than this unindexed is no longer what a running session leaves behind. */
const BEHIND_SESSIONS = 20;
/** The most names in a finding, which is one line. */
const NAMED_MAX = 3;
const EMBED = "run session-memory embed";

export function checkIndex(check: IndexCheck): CheckedIndex {
  const { paths, sessions } = check;
  const known = new Map<string, IndexProgress>();
  const { metrics = NO_METRICS, findings } = readIndex(check, known);
  const behind = measureBehind(sessions, known, isIndexed);
  for (const file of setAsideIn(paths)) {
    const what = `${basename(file)} was damaged; what could be read of it was carried over`;
    findings.push(info(what, "the next forget deletes it"));
  }
  if (unreadFormerIndex(paths)) {
    const what = `${basename(paths.former)} is of an earlier release, or damaged: sessions that only it holds are not read`;
    findings.push(info(what, "run embed of the release before this one, then of this one; or delete it"));
  }
  for (const folder of olderInstalls(paths)) {
    const what = `an older session-memory is installed, which does not know what was forgotten row by row: ${folder}`;
    findings.push(warning(what, "run session-memory setup, or remove it"));
  }
  if (behind.sessions > 0) {
    const size = `${(behind.bytes / 1e6).toFixed(1)} MB`;
    const what = `the index is behind by ${counted(behind.sessions, "session")}, ${size}`;
    const found = behind.sessions > BEHIND_SESSIONS ? warning : info;
    findings.push(found(known.size === 0 ? "nothing is indexed yet" : what, EMBED));
  }
  if (metrics.failedChunks > 0) {
    const what = `${counted(metrics.failedChunks, "chunk")} could not be embedded`;
    findings.push(warning(what, `${EMBED}, with --all where a text was refused less than a day ago`));
  }
  findings.push(...checkSources([...known.values()]), ...checkRetention(check, known));
  return { findings, metrics, behind };
}

/** Reads the index, if any, and fills in what it knows of each session. */
function readIndex(
  { paths, settings: { embedding }, now }: IndexCheck,
  known: Map<string, IndexProgress>,
): { findings: Finding[]; metrics?: IndexMetrics } {
  if (!hasContent(paths.database)) return { findings: [] };
  let store: Store | undefined;
  try {
    store = openStore(paths.database);
    for (const [id, session] of readAllProgress(store)) known.set(id, session);
    const files = new Set([paths.database, ...allIndexes(paths)]);
    const metrics = {
      ...NO_METRICS,
      ...store.get(METRICS, new Date(now.getTime() - DAY_MS).toISOString()),
      knownSessions: countIn(store, "").count,
      failedChunks: countFailed(store, embedding),
      storageUsedMB: Math.round([...files].reduce((sum, file) => sum + indexBytes(file), 0) / 1e4) / 100,
      redactions: readRedactions(store),
    };
    return { metrics, findings: embedding ? [...checkVectors(store, embedding)] : [] };
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    return { findings: [failed(error)] };
  } finally {
    store?.close();
  }
}

function* checkVectors(store: Store, embedding: NonNullable<Settings["embedding"]>): Generator<Finding> {
  const { vectors } = store;
  if (vectors.mode === "scan") {
    const reinstall = "reinstall with bun install; search works meanwhile, slower";
    const remedy = process.platform === "darwin" ? "brew install sqlite" : reinstall;
    yield warning(`sqlite-vec is not loadable: ${vectors.why}`, remedy);
  }
  const source = vectorSource(store, embedding);
  if (source.mode === "off") yield warning(`semantic search is off: ${source.why}`, EMBED);
}

function* checkSources(states: readonly IndexProgress[]): Generator<Finding> {
  const gone = states.filter(({ sourceGone }) => sourceGone).length;
  if (gone > 0) {
    const what = `${counted(gone, "indexed session")} ${gone === 1 ? "has" : "have"} no transcript any more; what was said stays searchable`;
    yield info(what, `${EMBED} --prune to forget them`);
  }
  const cut = states.filter(
    ({ status, chunkCount }) => status === "partial" && chunkCount >= SESSION_CHUNKS_MAX,
  );
  if (cut.length > 0) {
    const ids = cut.slice(0, NAMED_MAX).map(({ id }) => id);
    const named = [...ids, ...(cut.length > NAMED_MAX ? ["…"] : [])].join(", ");
    const what = `${counted(cut.length, "session")} over ${SESSION_CHUNKS_MAX} chunks, of which only the newest are searchable: ${named}`;
    yield info(what, "session-memory session-reader <session> reads all of it");
  }
  for (const [wanted, found, what, remedy] of UNREAD) {
    const unread = states.filter(({ status }) => status === wanted);
    const reason = unread[0]?.error ?? "unknown";
    if (unread.length > 0) yield found(`${counted(unread.length, "transcript")} ${what} (${reason})`, remedy);
  }
}

const UNREAD = [
  ["quarantined", info, "quarantined", `${EMBED} --validate-only to see why`],
  ["failed", warning, "could not be read", `check that the files may be read, then ${EMBED}`],
] as const;

/** Names the transcripts that a host will delete within a week. */
function* checkRetention(
  { sessions, paths, now }: IndexCheck,
  known: ReadonlyMap<string, IndexProgress>,
): Generator<Finding> {
  if (paths.transcripts.length > 0) return;
  for (const { name, key, settings, days, ...host } of listRetentions(paths)) {
    const last = now.getTime() - (days - RETENTION_DAYS) * DAY_MS;
    const doomed = sessions.filter(
      ({ agent, archived, modifiedAt }) => agent === host.agent && !archived && Date.parse(modifiedAt) < last,
    );
    if (doomed.length === 0) continue;
    const unsafe = doomed.filter((session) => {
      const state = known.get(session.id);
      return !state || !isIndexed(state, session);
    }).length;
    const what = `${name} deletes ${counted(doomed.length, "transcript")} within ${RETENTION_DAYS} days (${key} ${days}), ${unsafe} of them not indexed`;
    const raise = `raise ${key} in ${settings} to keep the files`;
    yield unsafe > 0 ? warning(what, `${EMBED}, and ${raise}`) : info(what, raise);
  }
}

/** The measures of the index; these are the figures before there is one. */
const NO_METRICS = {
  totalChunks: 0,
  /** Transcripts, subagents' and those without conversation among them. */
  totalSessions: 0,
  /** Sessions in which something was said, without subagents'. */
  knownSessions: 0,
  lastIndexed: null as string | null,
  /** Milliseconds. */
  avgIndexTimePerSession: null as number | null,
  /** Milliseconds, of the last thousand searches. */
  avgSearchLatency: null as number | null,
  searchCount24h: 0,
  /** Chunks that could not be embedded and wait for a later run. */
  failedChunks: 0,
  quarantinedSessions: 0,
  storageUsedMB: 0,
  /** Secrets that were taken out of what is stored. */
  redactions: 0,
};

export type IndexMetrics = typeof NO_METRICS;

const METRICS = `
  SELECT count(*) AS totalSessions, max(last_indexed) AS lastIndexed,
    round(avg(nullif(took_ms, 0)), 1) AS avgIndexTimePerSession,
    count(*) FILTER (WHERE status = 'quarantined') AS quarantinedSessions,
    (SELECT count(*) FROM chunks WHERE ${IS_OWN}) AS totalChunks,
    (SELECT count(*) FROM searches WHERE at > ?) AS searchCount24h,
    (SELECT round(avg(took_ms), 1) FROM (SELECT took_ms FROM searches ORDER BY at DESC LIMIT 1000)) AS avgSearchLatency
  FROM index_state WHERE ${IS_OWN}`;

/** Only chunks that the full text knows to hold a marker are read. */
function readRedactions(store: Store): number {
  const row = store.get(
    `SELECT sum(length(text) - length(replace(text, '[redacted:', ''))) / length('[redacted:') AS redactions
     FROM (SELECT content || char(10) || tools AS text FROM session_chunks
           WHERE id IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH '"redacted"'))`,
  );
  return Number(row?.redactions ?? 0);
}
