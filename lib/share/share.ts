/**
 * Runs sharing, one run at a time: publishes and pulls over one connection, and records the outcome. Says how far it is
 * behind and what it would send.
 */

import { join } from "node:path";
import { copiesLock } from "../archive/copies.ts";
import { keepNews } from "../archive/news.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { tryLock, withLock } from "../base/locks.ts";
import { NO_PROGRESS, type StartProgress } from "../base/output.ts";
import type { Config, ShareConfig } from "../config/config.ts";
import { joinContent } from "../index/chunk-text.ts";
import { eraseFreed, isEraseDue, markErase } from "../index/forget-rows.ts";
import { withIndex } from "../index/freshness.ts";
import { heldSessions } from "../index/held-sessions.ts";
import { removePagesAbout } from "../report/html.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { pulledFiles, pulledSessions } from "../sessions/pulled.ts";
import { sessionKey } from "../sessions/record.ts";
import { forgetInLog } from "../store/forget-log.ts";
import { openState, withExistingState, withState } from "../store/state.ts";
import { removeDatabase, type Store, withExistingStore } from "../store/store.ts";
import { connectHub, type Hub, hubAddress } from "./hub.ts";
import {
  indexPulled,
  openForPull,
  readHeldSeq,
  readShared,
  removeAllPulled,
  type SharedSession,
  withHubList,
} from "./hub-list.ts";
import { localSessions, outgoing } from "./outgoing.ts";
import { dueSessions, greetHub, type PublishReport, publish } from "./publish.ts";
import { type PullReport, pullShared } from "./pull.ts";
import {
  hubId,
  ownMachine,
  ownOrigin,
  readPublished,
  readShareFact,
  type Sharing,
  sharedProject,
  writeShareFact,
} from "./share-state.ts";

interface ShareOptions {
  config: Config;
  publish: boolean;
  pull: boolean;
  signal?: AbortSignal | undefined;
  progress?: StartProgress | undefined;
}

export interface ShareReport {
  hub: string;
  published: PublishReport | undefined;
  pulled: (PullReport & { chunks: number }) | undefined;
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
  return await withLock(lockFile(options.config), LOCK_WAIT_MS, () => runShare(share, options));
}

/** Shares in the background, unless another run is active or the last one failed recently. */
export async function shareInBackground(options: ShareOptions): Promise<ShareReport | undefined> {
  const share = shareConfig(options.config);
  if (!share || withState(options.config.paths, isResting)) return undefined;
  const release = tryLock(lockFile(options.config));
  if (!release) return undefined;
  try {
    return await runShare(share, options);
  } finally {
    release();
  }
}

/** Removes everything this machine published from the hub, and what was pulled. Returns the number of sessions. */
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
      withState(config.paths, (state) => {
        openForPull({ state, config });
        removeAllPulled({ state, config });
        state.exec("DELETE FROM share_published; DELETE FROM share_facts");
        writeShareFact(state, "left", new Date().toISOString());
      });
      removeDatabase(config.paths.formerShared);
      keepNews(config.paths, new Set());
      await withIndex(config, async (store) => {
        await indexPulled(store, config);
        if (isEraseDue(store)) eraseFreed(store);
      });
      return { hub: hub.label, sessions: Number(row?.count) };
    }),
  );
}

/**
 * Returns the share block of config.json.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` where nothing is shared.
 */
export function requireShare(config: Config): ShareConfig {
  const share = shareConfig(config);
  if (share) return share;
  throw new SessionMemoryError("CONFIG_INVALID", "Cannot share: config.json names no project", {
    hint: 'add "share": {"projects": {"github.com/acme/shop": "<role>"}} to config.json',
  });
}

async function runShare(share: ShareConfig, options: ShareOptions): Promise<ShareReport> {
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
  { config, signal, progress = NO_PROGRESS, ...wanted }: ShareOptions,
): Promise<Omit<ShareReport, "tookMs">> {
  const exclusion = currentExclusion(config.paths);
  return await withIndex(config, (store) =>
    closing(openState(config.paths), async (state) => {
      const [sending, receiving] = [progress("chunks sent"), progress("chunks received")];
      const [origin, machine] = [ownOrigin(state), ownMachine(share)];
      const run = { hub, store, state, config, exclusion, origin, machine, signal };
      await greetHub({ ...run, onProgress: sending.update });
      const published = wanted.publish ? await publish({ ...run, onProgress: sending.update }) : undefined;
      sending.end();
      const isPulling = wanted.pull && !signal?.aborted;
      const received = { ...run, onProgress: receiving.update };
      const pulled = isPulling ? await pull(received).finally(receiving.end) : undefined;
      return { hub: hub.label, published, pulled };
    }),
  );
}

/** Pulls, indexes what came, and removes what was withdrawn from the hub from all that is made of it. */
async function pull(run: Sharing): Promise<PullReport & { chunks: number }> {
  const { store, state, config } = run;
  const { paths } = config;
  openForPull(run);
  const held = heldSessions(store).filter(({ session }) => session.owner === undefined);
  const own = new Set(held.map(({ session }) => sessionKey({ agent: session.agent, id: hubId(session) })));
  const [gone, withdrawn] = [new Set<string>(), new Set<string>()];
  let chunks = 0;
  const report = await pullShared({ ...run, own, gone, withdrawn }).finally(async () => {
    chunks = await indexPulled(store, config);
  });
  if (gone.size > 0) {
    forgetInLog({ ids: gone }, { paths, dryRun: false });
    markErase(store);
  }
  if (withdrawn.size > 0) removePagesAbout(withdrawn, paths);
  if (isEraseDue(store)) eraseFreed(store);
  writeShareFact(state, "pulled_at", new Date().toISOString());
  if (report.sessions + report.removed > 0) {
    keepCopyList(paths);
    const files = new Set(pulledFiles(paths));
    await withLock(copiesLock(paths), LOCK_WAIT_MS, () => keepNews(paths, files));
  }
  return { ...report, chunks };
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

function isResting(state: Store): boolean {
  if (readShareFact(state, "left") !== undefined) return true;
  const nextTry = readShareFact(state, "next_try");
  return nextTry !== undefined && nextTry > new Date().toISOString();
}

function noteSuccess(state: Store, { publish, pull }: ShareOptions): void {
  const now = new Date().toISOString();
  state.transaction(() => {
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
  state.transaction(() => {
    writeShareFact(state, "failures", String(failures));
    writeShareFact(state, "next_try", new Date(Date.now() + rest).toISOString());
    writeShareFact(state, "error", error.message);
  });
}

function lockFile({ paths }: Pick<Config, "paths">): string {
  return join(paths.home, "share.lock");
}

export interface ShareStatus {
  /** Host, port and database; null where the URL is not at hand. */
  hub: string | null;
  machine: string;
  projects: ProjectStatus[];
  lastPublish: string | null;
  lastPull: string | null;
  /** The reason that the last run failed. */
  error?: string;
}

interface ProjectStatus {
  /** As `share.projects` names it. */
  project: string;
  audience: string;
  /** Own sessions at the hub. */
  published: number;
  /** Others' sessions here. */
  pulled: number;
  /** Sessions to be sent or read. */
  behind: number;
}

type ShareSettings = Pick<Config, "env" | "paths" | "settings">;

/** Reads what is shared with whom and how far behind it is, without the hub; undefined where nothing is shared. */
export function shareStatus(config: ShareSettings): ShareStatus | undefined {
  const share = shareConfig(config);
  if (!share) return undefined;
  const { paths } = config;
  const exclusion = currentExclusion(config.paths);
  const notes = withExistingState(paths, readPublished) ?? new Map<string, { signature: string }>();
  const own = withExistingStore(paths.database, (store) => localSessions({ store, config, exclusion })) ?? [];
  const theirs = pulledSessions(paths);
  const late = withHubList(config, readLate) ?? [];
  const names = ["last_publish", "last_pull", "error"] as const;
  const [lastPublish = null, lastPull = null, error] =
    withExistingState(paths, (state) => names.map((name) => readShareFact(state, name))) ?? [];
  const projects = Object.entries(share.projects).map(([project, audience]) => {
    const sent = own.filter(({ pattern }) => pattern === project);
    const due = sent.filter((session) => notes.get(sessionKey(session))?.signature !== session.signature);
    const isOfProject = (session: { project?: string | undefined }) =>
      sharedProject(session.project ?? "", share.projects)?.pattern === project;
    return {
      project,
      audience,
      published: sent.filter((session) => notes.has(sessionKey(session))).length,
      pulled: theirs.filter(isOfProject).length,
      behind: due.length + late.filter(isOfProject).length,
    };
  });
  const [hub, machine] = [hubLabel(config, share.urlEnv), ownMachine(share)];
  return { hub, machine, projects, lastPublish, lastPull, ...(error === undefined ? {} : { error }) };
}

/** Returns the sessions that are here in part. */
function readLate(list: Parameters<typeof readShared>[0]): SharedSession[] {
  return readShared(list).filter((session) => {
    const heldSeq = readHeldSeq(list, session);
    return heldSeq > 0 && heldSeq < session.seq;
  });
}

function hubLabel(config: ShareSettings, variable: string): string | null {
  try {
    return hubAddress(variable, config).label;
  } catch {
    return null; // not set, or not usable: a run says why
  }
}

interface Sent {
  sessions: number;
  chunks: number;
  bytes: number;
}

export interface PublishPreview extends Sent {
  projects: (Sent & { project: string; audience: string })[];
  /** First lines of some of what would be sent, as it would be sent. */
  samples: string[];
}

const SAMPLES = 8; // a screen
const SAMPLE_CHARS = 160; // a line of a terminal or two

/** Previews what a run would send, made as a run makes it, without the hub. */
export function previewPublish(config: Config): PublishPreview {
  const { paths } = config;
  const exclusion = currentExclusion(config.paths);
  const preview: PublishPreview = { sessions: 0, chunks: 0, bytes: 0, projects: [], samples: [] };
  const projects = new Map<string, PublishPreview["projects"][number]>();
  const prepare = outgoing({ config, exclusion });
  withExistingStore(paths.database, (store) => {
    for (const session of withState(paths, (state) => dueSessions({ store, state, config, exclusion }))) {
      const { project, audience } = session;
      const { exchanges, row } = prepare(store, session);
      const sum = projects.get(project) ?? { project, audience, sessions: 0, chunks: 0, bytes: 0 };
      projects.set(project, sum);
      const bytes = Buffer.byteLength(JSON.stringify([exchanges, row.name, row.meta, row.observations]));
      for (const counts of [preview, sum]) {
        counts.sessions++;
        counts.chunks += row.chunks;
        counts.bytes += bytes;
      }
      const first = exchanges[0]?.rows.find((each) => each.who !== "tool");
      const line = first && joinContent([first]).split("\n")[0];
      if (line === undefined || preview.samples.length >= SAMPLES) continue;
      preview.samples.push(`${session.hostId.slice(0, 8)} ${line}`.slice(0, SAMPLE_CHARS));
    }
  });
  return { ...preview, projects: [...projects.values()] };
}
