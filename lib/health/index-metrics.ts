/** Metrics of the index. */

import { countRedactions } from "../redact/redact.ts";
import { indexBytes } from "../store/given-indexes.ts";
import type { Store } from "../store/store.ts";

export interface IndexMetrics {
  totalChunks: number;
  totalSessions: number;
  lastIndexed: string | null;
  /** Milliseconds. */
  avgIndexTimePerSession: number | null;
  /** Milliseconds, of the last thousand searches. */
  avgSearchLatency: number | null;
  searchCount24h: number;
  /** Chunks that could not be embedded and wait for a later run. */
  failedChunks: number;
  quarantinedSessions: number;
  storageUsedMB: number;
  /** Secrets that were taken out of what is stored. */
  redactions: number;
}

/** Before there is an index. */
export const NO_METRICS: IndexMetrics = {
  totalChunks: 0,
  totalSessions: 0,
  lastIndexed: null,
  avgIndexTimePerSession: null,
  avgSearchLatency: null,
  searchCount24h: 0,
  failedChunks: 0,
  quarantinedSessions: 0,
  storageUsedMB: 0,
  redactions: 0,
};

const DAY_MS = 24 * 3_600_000;

export function readIndexMetrics(store: Store, now: Date, indexes = [store.db.path]): IndexMetrics {
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
    totalChunks: count(store, "SELECT count(*) AS n FROM session_chunks"),
    totalSessions: Number(state?.sessions ?? 0),
    lastIndexed: state?.last ? String(state.last) : null,
    avgIndexTimePerSession: rounded(state?.took),
    avgSearchLatency: rounded(search?.took),
    searchCount24h: count(store, "SELECT count(*) AS n FROM searches WHERE at > ?", since),
    failedChunks: count(
      store,
      "SELECT count(*) AS n FROM session_chunks WHERE embedder IS NULL AND embedding_failures > 0",
    ),
    quarantinedSessions: Number(state?.quarantined ?? 0),
    storageUsedMB: Math.round(indexes.reduce((sum, index) => sum + indexBytes(index), 0) / 1e4) / 100,
    redactions: readRedactions(store),
  };
}

function count(store: Store, sql: string, ...values: string[]): number {
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
