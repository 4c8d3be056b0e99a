/** Runs sharing, one run at a time: publishes and pulls over one connection, and records the outcome. */

import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { tryLock, withLock } from "../base/locks.ts";
import type { Config, ShareConfig } from "../config/config.ts";
import { currentExclude } from "../config/config.ts";
import { eraseFreed, isEraseDue } from "../index/forget-rows.ts";
import { openIndex } from "../index/freshness.ts";
import { PULLED_FACT } from "../store/replica.ts";
import { forgetInLog, openState, withState } from "../store/state.ts";
import { type Store, writeFact } from "../store/store.ts";
import { readExclusion } from "../transcripts/rules.ts";
import { connectHub, type Hub, hubAddress } from "./hub.ts";
import { greetHub, type PublishReport, publish } from "./publishing.ts";
import { type PullReport, pullShared, writeSharedNews } from "./pull.ts";
import { openReplica, removeReplica } from "./replica.ts";
import { hubId, keyOf, ownMachine, ownOrigin, readShareFact, writeShareFact } from "./share-state.ts";

interface ShareOptions {
  config: Config;
  publish: boolean;
  pull: boolean;
  signal?: AbortSignal | undefined;
  progress?:
    | ((what: string) => { update: (done: number, total: number) => void; end: () => void })
    | undefined;
}

export interface ShareReport {
  hub: string;
  published: PublishReport | undefined;
  pulled: PullReport | undefined;
  tookMs: number;
}

const LOCK_WAIT_MS = 60_000; // a run of another process takes seconds
const REST_MS = 30_000; // a restart of the hub takes about so long
const REST_MAX_MS = 60 * 60_000; // a laptop that comes back shares within the hour

/** Returns the share block of config.json; undefined where nothing is shared. */
export function shareConfig({ settings }: Pick<Config, "settings">): ShareConfig | undefined {
  const { share } = settings;
  return share && Object.keys(share.projects).length > 0 ? share : undefined;
}

/**
 * Publishes and pulls, after any other run has ended.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` where nothing is shared, `HUB_ERROR` for the hub's failures.
 */
export async function shareOnce(options: ShareOptions): Promise<ShareReport> {
  const share = requireShare(options.config);
  return await withLock(lockFile(options.config), LOCK_WAIT_MS, () => run(share, options));
}

/** Shares in the background, unless another run is active or the last one failed recently. */
export async function shareInBackground(options: ShareOptions): Promise<ShareReport | undefined> {
  const share = shareConfig(options.config);
  if (!share || withState(options.config.paths, isResting)) return undefined;
  const release = tryLock(lockFile(options.config));
  if (!release) return undefined;
  try {
    return await run(share, options);
  } finally {
    release();
  }
}

/** Removes everything this machine published from the hub, and the replica. Returns the number of sessions. */
export async function leaveHub(config: Config): Promise<{ hub: string; sessions: number }> {
  const share = requireShare(config);
  return await withLock(lockFile(config), LOCK_WAIT_MS, () =>
    withHub(config, share, async (hub) => {
      const origin = withState(config.paths, ownOrigin);
      const [row] = await hub.query(
        "SELECT count(*) AS count FROM session_memory.sessions WHERE origin = $1 AND owner = current_user",
        [origin],
      );
      await hub.query("DELETE FROM session_memory.origins WHERE id = $1", [origin]);
      removeReplica(config.paths);
      withState(config.paths, (state) => {
        state.db.exec("DELETE FROM share_published; DELETE FROM share_facts");
        writeShareFact(state, "left", new Date().toISOString());
      });
      return { hub: hub.label, sessions: Number(row?.count) };
    }),
  );
}

function requireShare(config: Config): ShareConfig {
  const share = shareConfig(config);
  if (share) return share;
  throw new SessionMemoryError("CONFIG_INVALID", "Cannot share: config.json names no project", {
    hint: 'add "share": {"projects": {"github.com/acme/shop": "<role>"}} to config.json',
  });
}

async function run(share: ShareConfig, options: ShareOptions): Promise<ShareReport> {
  const { config } = options;
  const started = performance.now();
  try {
    const report = await withHub(config, share, (hub) => exchange(hub, share, options));
    withState(config.paths, (state) => noteSuccess(state, options));
    return { ...report, tookMs: Math.round(performance.now() - started) };
  } catch (error) {
    if (error instanceof SessionMemoryError) withState(config.paths, (state) => noteFailure(state, error));
    throw error;
  }
}

async function withHub<T>(config: Config, share: ShareConfig, work: (hub: Hub) => Promise<T>): Promise<T> {
  return await closing(await connectHub(hubAddress(share.urlEnv, config)), work);
}

async function exchange(
  hub: Hub,
  share: ShareConfig,
  { config, signal, progress = () => ({ update() {}, end() {} }), ...wanted }: ShareOptions,
): Promise<Omit<ShareReport, "tookMs">> {
  const { paths, settings } = config;
  const exclusion = readExclusion(currentExclude(paths, settings.exclude));
  return await closing(await openIndex(paths.database, settings), (store) =>
    closing(openState(paths), async (state) => {
      const common = { config, exclusion, origin: ownOrigin(state), machine: ownMachine(share) };
      await greetHub(hub, { state, ...common });
      let published: PublishReport | undefined;
      if (wanted.publish) {
        const sending = progress("chunks sent");
        published = await publish(hub, { ...common, store, state, signal, onProgress: sending.update });
        sending.end();
      }
      if (!wanted.pull || signal?.aborted) return { hub: hub.label, published, pulled: undefined };
      const receiving = progress("chunks received");
      const pulled = await closing(openReplica(paths), async (replica) => {
        const own = ownKeys(store);
        const gone = new Set<string>();
        const report = await pullShared(hub, { ...common, replica, own, gone, onProgress: receiving.update });
        if (gone.size > 0) forgetInLog(paths.log, { ids: gone });
        if (isEraseDue(replica)) eraseFreed(replica);
        writeFact(replica, PULLED_FACT, new Date().toISOString());
        if (report.sessions + report.removed > 0) writeSharedNews(replica, paths);
        return report;
      }).finally(receiving.end);
      return { hub: hub.label, published, pulled };
    }),
  );
}

async function closing<S extends { close(): unknown }, T>(
  opened: S,
  work: (opened: S) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Returns the keys of sessions in the own index, which are not pulled. */
function ownKeys({ db }: Store): ReadonlySet<string> {
  const rows = db.prepare("SELECT id, agent, parent_id FROM sessions").all();
  return new Set(
    rows.map(({ id, agent, parent_id }) =>
      keyOf({
        agent: String(agent),
        id: hubId({
          id: String(id).replace(/~[0-9a-f]{6}$/, ""),
          parentId: parent_id === null ? undefined : String(parent_id),
        }),
      }),
    ),
  );
}

function isResting(state: Store): boolean {
  if (readShareFact(state, "left") !== undefined) return true;
  const nextTry = readShareFact(state, "next_try");
  return nextTry !== undefined && nextTry > new Date().toISOString();
}

function noteSuccess(state: Store, { publish, pull }: ShareOptions): void {
  const now = new Date().toISOString();
  state.db.transaction(() => {
    if (publish) writeShareFact(state, "last_publish", now);
    if (pull) writeShareFact(state, "last_pull", now);
    for (const name of ["failures", "next_try", "error", "left"] as const)
      writeShareFact(state, name, undefined);
  });
}

/** Records a failure; the wait doubles with each, up to an hour. */
function noteFailure(state: Store, error: SessionMemoryError): void {
  const failures = Number(readShareFact(state, "failures") ?? 0) + 1;
  const rest = Math.min(REST_MS * 2 ** (failures - 1), REST_MAX_MS);
  state.db.transaction(() => {
    writeShareFact(state, "failures", String(failures));
    writeShareFact(state, "next_try", new Date(Date.now() + rest).toISOString());
    writeShareFact(state, "error", error.message);
  });
}

function lockFile({ paths }: Pick<Config, "paths">): string {
  return join(paths.home, "share.lock");
}
