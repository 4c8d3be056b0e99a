/** Opens the index for a search, brought up to date first, and notes how long searches take. */

import { hasContent, whyUnwritable } from "../base/files.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { type Behind, findChanged, isAllIndexed, openIndex, unreadPulled } from "../index/freshness.ts";
import { callingSession } from "../sessions/hosts.ts";
import { pulledSessions } from "../sessions/pulled.ts";
import { IS_OWN, type Store, tendIndexes } from "../store/store.ts";

export interface SearchResources {
  /** @default the environment's and config.json's */
  config?: Config | undefined;
  /** True if the index is brought up to date first. @default {true} */
  index?: boolean | undefined;
  /** Receives a remark on what a reference to a session came to mean. */
  remark?: ((text: string) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** An index as a search finds it. */
interface FreshIndex {
  store: Store;
  config: Config;
  /** The transcripts that are not in the index yet. */
  behind: Behind;
}

/** The time allowed for updating the index before an answer. */
const INDEX_MS = 1000;

/** Opens the index, brings it up to date where that is wanted and possible, and closes it after use. */
export async function withFreshIndex<T>(
  { index: isWanted = true, signal, config: given }: SearchResources,
  use: (opened: FreshIndex) => Promise<T>,
): Promise<T> {
  const loaded = given ?? (await loadConfig(process.env, process.cwd()));
  const config = { currentSession: callingSession(loaded.env), ...loaded };
  const { paths, settings } = config;
  const index = isWanted && whyUnwritable(paths.home) === undefined;
  const store = openIndex(paths.database, settings, { create: index });
  try {
    if (index) tendIndexes(paths, new Date());
    if (index && hasContent(paths.former))
      (await import("../index/former-index.ts")).takeFormerIndex(store, config);
    return await use({ store, config, behind: await updateIndex(store, config, { index, signal }) });
  } finally {
    store.close();
  }
}

/** Brings the index up to date as a search does. */
export async function refreshIndex(config: Config): Promise<void> {
  await withFreshIndex({ config }, async () => undefined);
}

/** Updates the index for up to a second; returns what is left. */
async function updateIndex(
  store: Store,
  { settings, paths }: Config,
  { index, signal }: Pick<SearchResources, "index" | "signal">,
): Promise<Behind> {
  if (isAllIndexed(store, paths)) return { sessions: 0, bytes: 0 };
  // the modules that read transcripts are half of the program, and mostly there is nothing new
  const [{ listSessions, visibleAmong }, { catchUp, readBehind }] = await Promise.all([
    import("../sessions/sessions.ts"),
    import("../index/indexing.ts"),
  ]);
  // Asked of those alone that changed: it may open files.
  const changed = findChanged(store, listSessions(paths, { subagents: true, excluded: true }), paths);
  const theirs = pulledSessions(paths, { files: unreadPulled(store, paths) });
  const sessions = [...visibleAmong(changed, paths), ...theirs];
  if (!index) return readBehind({ store, sessions });
  return await catchUp({ store, paths, sessions, settings, deadlineMs: INDEX_MS, signal });
}

/** Returns how much the index holds of own sessions. */
export function readIndexSize(store: Store): { sessions: number; chunks: number; vectors: number } {
  const count = (sql: string) => Number(store.get(sql)?.n ?? 0);
  return {
    sessions: count("SELECT count(*) AS n FROM own_sessions"),
    chunks: count(`SELECT coalesce(sum(chunk_count), 0) AS n FROM index_state WHERE ${IS_OWN}`),
    vectors: count("SELECT count(*) AS n FROM chunks WHERE embedder IS NOT NULL"),
  };
}

/** Notes how long a search took. */
export function logSearch(store: Store, { tookMs, results }: { tookMs: number; results: number }): void {
  try {
    // an index run holds the lock for up to half a second: the answer does not wait for its own note
    store.exec("PRAGMA busy_timeout = 0");
    store.run("INSERT INTO searches (at, took_ms, results) VALUES ($at, $tookMs, $results)", {
      at: new Date().toISOString(),
      tookMs,
      results,
    });
  } catch {
    // one number less for the average
  } finally {
    store.exec("PRAGMA busy_timeout = 10000");
  }
}
