/** Checks and measures the index, its vectors and the transcripts it was made from, those soon to be deleted included. */

import { basename } from "node:path";
import { readRetention } from "../archive/archive.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { hasContent } from "../base/files.ts";
import { counted } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { Paths, Settings } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import type { Session } from "../hosts/session.ts";
import { countFailed, vectorSource } from "../index/chunk-vectors.ts";
import { unreadFormerIndex } from "../index/former-index.ts";
import { type Behind, isIndexed, measureBehind } from "../index/freshness.ts";
import { SESSION_CHUNKS_MAX } from "../index/index-pass.ts";
import { type IndexProgress, readAllProgress } from "../index/index-state.ts";
import { countIn } from "../index/known-sessions.ts";
import { countRedactions, redact } from "../redact/redact.ts";
import { setAsideIn } from "../store/carry-over.ts";
import { allIndexes, indexBytes, openStore, type Store } from "../store/store.ts";

/** The result of a check, with its remedy. */
export interface Finding {
  /** `info` needs no action. */
  level: "error" | "warning" | "info";
  what: string;
  remedy: string;
}

export type Add = (level: Finding["level"], what: string, remedy: string) => void;

/** Adds what an error says. */
export function addError(add: Add, { type, message, hint }: SessionMemoryError): void {
  add("error", `${type}: ${message}`, hint ?? "see --help");
}

interface IndexCheck {
  paths: Paths;
  settings: Settings;
  sessions: readonly Session[];
  now: Date;
}

/** The sessions in the index, by id. */

/** A user who runs `health` once a week learns of it in time. */
const RETENTION_DAYS = 7;
/** More than this unindexed is no longer what a running session leaves behind. */
const BEHIND_SESSIONS = 20;
/** The most names in a finding, which is one line. */
const NAMED_MAX = 3;

/** Reads the index's metrics and adds findings about it and its sources. */
export function checkIndex(
  { paths, settings, sessions, now }: IndexCheck,
  add: Add,
): { metrics: IndexMetrics; behind: Behind } {
  const known = new Map<string, IndexProgress>();
  let metrics = NO_METRICS;
  if (hasContent(paths.database)) {
    let store: Store | undefined;
    try {
      store = openStore(paths.database);
      for (const [id, session] of readAllProgress(store)) known.set(id, session);
      metrics = readIndexMetrics(store, {
        now,
        embedding: settings.embedding,
        indexes: [...new Set([paths.database, ...allIndexes(paths)])],
      });
      checkVectors(store, settings, add);
    } catch (error) {
      if (!(error instanceof SessionMemoryError)) throw error;
      addError(add, error);
    } finally {
      store?.close();
    }
  }
  const behind = measureBehind(sessions, known, isIndexed);
  for (const file of setAsideIn(paths)) {
    const what = `${basename(file)} was damaged; what could be read of it was carried over`;
    add("info", what, "the next forget deletes it");
  }
  if (unreadFormerIndex(paths)) {
    const what = `${basename(paths.former)} is of an earlier release, or damaged: sessions that only it holds are not read`;
    add("info", what, "run embed of the release before this one, then of this one; or delete it");
  }
  checkFreshness(behind, known.size === 0, add);
  if (metrics.failedChunks > 0) {
    const remedy = `${EMBED}, with --all where a text was refused less than a day ago`;
    add("warning", `${counted(metrics.failedChunks, "chunk")} could not be embedded`, remedy);
  }
  checkSources([...known.values()], add);
  if (paths.transcripts.length === 0)
    for (const host of HOSTS) checkRetention(host, { sessions, known, paths, now, add });
  return { metrics, behind };
}

const EMBED = "run session-memory embed";

function checkVectors(store: Store, { embedding }: Settings, add: Add): void {
  if (!embedding) return;
  const { vectors } = store.db;
  if (vectors.mode === "scan") {
    const reinstall = "reinstall with bun install; search works meanwhile, slower";
    const remedy = process.platform === "darwin" ? "brew install sqlite" : reinstall;
    add("warning", `sqlite-vec is not loadable: ${vectors.why}`, remedy);
  }
  const source = vectorSource(store, embedding);
  if (source.mode === "off") add("warning", `semantic search is off: ${source.why}`, EMBED);
}

function checkFreshness(behind: Behind, isEmpty: boolean, add: Add): void {
  if (behind.sessions === 0) return;
  const size = `${(behind.bytes / 1e6).toFixed(1)} MB`;
  const what = isEmpty
    ? "nothing is indexed yet"
    : `the index is behind by ${counted(behind.sessions, "session")}, ${size}`;
  add(behind.sessions > BEHIND_SESSIONS ? "warning" : "info", what, EMBED);
}

function checkSources(states: readonly IndexProgress[], add: Add): void {
  const gone = states.filter(({ sourceGone }) => sourceGone).length;
  if (gone > 0) {
    const what = `${counted(gone, "indexed session")} ${gone === 1 ? "has" : "have"} no transcript any more; what was said stays searchable`;
    add("info", what, `${EMBED} --prune to forget them`);
  }
  const cut = states
    .filter(({ status, chunkCount }) => status === "partial" && chunkCount >= SESSION_CHUNKS_MAX)
    .map(({ id }) => redact(id));
  if (cut.length > 0) {
    const named = cut.slice(0, NAMED_MAX).join(", ") + (cut.length > NAMED_MAX ? ", …" : "");
    const what = `${counted(cut.length, "session")} over ${SESSION_CHUNKS_MAX} chunks, of which only the newest are searchable: ${named}`;
    add("info", what, "session-memory session-reader <session> reads all of it");
  }
  const withStatus = (wanted: IndexProgress["status"]) => {
    const found = states.filter(({ status }) => status === wanted);
    return { transcripts: counted(found.length, "transcript"), reason: found[0]?.error ?? "unknown", found };
  };
  const quarantined = withStatus("quarantined");
  if (quarantined.found.length > 0) {
    const what = `${quarantined.transcripts} quarantined (${quarantined.reason})`;
    add("info", what, `${EMBED} --validate-only to see why`);
  }
  const failed = withStatus("failed");
  if (failed.found.length > 0) {
    const remedy = `check that the files may be read, then ${EMBED}`;
    add("warning", `${failed.transcripts} could not be read (${failed.reason})`, remedy);
  }
}

/** Names the transcripts that a host will delete within a week. */
function checkRetention(
  host: Host,
  {
    sessions,
    known,
    paths,
    now,
    add,
  }: Omit<IndexCheck, "settings"> & { known: ReadonlyMap<string, IndexProgress>; add: Add },
): void {
  const retention = readRetention(host, paths);
  if (!retention) return;
  const { agent, name } = host;
  const { key, settings, days } = retention;
  const last = now.getTime() - (days - RETENTION_DAYS) * DAY_MS;
  const doomed = sessions.filter(
    (session) => session.agent === agent && !session.archived && Date.parse(session.modifiedAt) < last,
  );
  if (doomed.length === 0) return;
  const unsafe = doomed.filter((session) => {
    const state = known.get(session.id);
    return !state || !isIndexed(state, session);
  }).length;
  const what = `${name} deletes ${counted(doomed.length, "transcript")} within ${RETENTION_DAYS} days (${key} ${days}), ${unsafe} of them not indexed`;
  const raise = `raise ${key} in ${settings} to keep the files`;
  if (unsafe > 0) add("warning", what, `${EMBED}, and ${raise}`);
  else add("info", what, raise);
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

function readIndexMetrics(
  store: Store,
  { now, embedding, indexes }: { now: Date; embedding: Settings["embedding"]; indexes: readonly string[] },
): IndexMetrics {
  const { db } = store;
  const state = db
    .prepare(
      `SELECT count(*) AS sessions, max(last_indexed) AS last, avg(nullif(took_ms, 0)) AS took,
         sum(status = 'quarantined') AS quarantined
       FROM index_state`,
    )
    .get();
  const search = db
    .prepare("SELECT avg(took_ms) AS took FROM (SELECT took_ms FROM searches ORDER BY at DESC LIMIT 1000)")
    .get();
  const since = new Date(now.getTime() - DAY_MS).toISOString();
  return {
    totalChunks: countIndexed(store, "SELECT count(*) AS n FROM chunks"),
    totalSessions: Number(state?.sessions ?? 0),
    knownSessions: countIn(db, "").count,
    lastIndexed: state?.last ? String(state.last) : null,
    avgIndexTimePerSession: rounded(state?.took),
    avgSearchLatency: rounded(search?.took),
    searchCount24h: countIndexed(store, "SELECT count(*) AS n FROM searches WHERE at > ?", since),
    failedChunks: countFailed(store, embedding),
    quarantinedSessions: Number(state?.quarantined ?? 0),
    storageUsedMB: Math.round(indexes.reduce((sum, index) => sum + indexBytes(index), 0) / 1e4) / 100,
    redactions: readRedactions(store),
  };
}

function countIndexed(store: Store, sql: string, ...values: string[]): number {
  return Number(store.db.prepare(sql).get(...values)?.n ?? 0);
}

function rounded(value: unknown): number | null {
  return typeof value === "number" ? Math.round(value * 10) / 10 : null;
}

/** Only chunks that the full text knows to hold a marker are read. */
function readRedactions(store: Store): number {
  const rows = store.db.prepare(
    `SELECT content, tools FROM session_chunks
     WHERE id IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH '"redacted"')`,
  );
  let redactions = 0;
  for (const row of rows.iterate()) redactions += countRedactions(`${row.content}\n${row.tools}`);
  return redactions;
}
