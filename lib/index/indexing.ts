/**
 * Brings transcripts into the index: skips the unchanged, and commits the others in pieces.
 *
 * Every transaction ends between two exchanges with the cursor that matches its rows, so whatever ends a run, the
 * next one continues from there. Two runs at once are safe: each looks at a session again inside its transaction.
 */

import { isAbsolute, join } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { withLock } from "../base/locks.ts";
import { systemTimezone } from "../base/time.ts";
import type { PathsWithRules, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { currentExclusion, type Exclusion, exclusionBy } from "../sessions/gate.ts";
import { findMachine } from "../sessions/places.ts";
import { projectLookup, sessionProject } from "../sessions/project.ts";
import { hostTitle } from "../sessions/titles.ts";
import { noteRepositories, repositoriesState } from "../store/repositories.ts";
import type { Store } from "../store/store.ts";
import type { Head } from "../transcripts/head.ts";
import { readHead } from "../transcripts/head.ts";
import { shownText } from "../transcripts/rules.ts";
import { applyExclude, removeExcluded } from "./forget-rows.ts";
import {
  type Behind,
  isFilteredBy,
  isReadToEnd,
  measureBehind,
  noteRules,
  readStored,
  unreadBytes,
} from "./freshness.ts";
import { type PassOptions, runPass } from "./index-pass.ts";
import {
  emptyReport,
  forgetProgress,
  hostId,
  type IndexProgress,
  type IndexReport,
  newProgress,
  readAllProgress,
  saveProgress,
} from "./index-state.ts";
import { releaseRows, removeSession } from "./session-rows.ts";

export interface IndexOptions {
  store: Store;
  /** The sessions to update, in this order; unchanged ones cost nothing. */
  sessions: readonly Session[];
  settings: Pick<Settings, "participants" | "timezone" | "redact" | "exclude">;
  /** The folder with the lock, and the config.json that is read again when another process has written. */
  paths: PathsWithRules;
  /** True if everything is read again and compared. @default {false} */
  all?: boolean | undefined;
  /** Milliseconds after which it stops between two exchanges. Files with very much to read are left to a run without it. */
  deadlineMs?: number | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
  onWarning?: ((text: string) => void) | undefined;
}

/** Other processes and signals wait for a transaction to end; shorter ones merge the full text more often. */
const TRANSACTION_MS = 200;
/** A file with more unread bytes than this is not started under a deadline. */
const DEADLINE_BYTES_MAX = 64 * 1024 * 1024;

interface IndexingRun extends PassOptions {
  options: IndexOptions;
  /** SQLite's `data_version`, which changes when another process has written. */
  version: number;
  /** True if config.json excludes other patterns than when the run began. */
  isOutdated: boolean;
  projects: ReturnType<typeof projectLookup>;
  rules: Exclusion;
}

/**
 * Brings the full-text index up to date with the transcripts.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR`: earlier commits stay, nothing after them.
 */
export async function indexSessions(options: IndexOptions): Promise<IndexReport> {
  const { store, settings } = options;
  noteRules(store, settings);
  const run = startRun(options);
  applyExclude(store, run.rules);
  if (options.all) resetProgress(run);
  const steps = indexFiles(run);
  let done = 0;
  for (let isDone = false; !isDone; ) {
    isDone = store.transaction(() => {
      const started = performance.now();
      recheck(run);
      while (performance.now() - started < TRANSACTION_MS) {
        const step = steps.next();
        if (step.done) return true;
        if (step.value === "file") done++;
      }
      return false;
    });
    options.onProgress?.(done, options.sessions.length);
    // signals, timers and a waiting writer get their turn
    await new Promise((resolve) => setImmediate(resolve));
  }
  await noteProjects(run).catch(() => undefined); // another process is doing so, or the next run does
  return run.report;
}

/** Notes which repositories are where sessions ran, and where what is excluded lies: folders are moved. */
async function noteProjects({
  options: { store, paths, settings },
  report,
  rules,
}: IndexingRun): Promise<void> {
  const file = paths.repositories;
  const isNew = report.sessions > 0 || repositoriesState(file) === undefined;
  if (!isNew || paths.transcripts.length > 0) return;
  const { known, placeOf } = projectLookup(paths);
  const noted = new Set([...known.values()].flatMap((there) => there.flatMap(({ sessions }) => sessions)));
  const ran = store
    .all("SELECT id, cwd, file FROM own_sessions WHERE parent_id IS NULL AND cwd <> ''")
    .flatMap((row) => {
      const [id, cwd] = [hostId(String(row.id)), String(row.cwd)];
      return noted.has(id) || findMachine(String(row.file), paths) !== undefined ? [] : [{ id, cwd }];
    });
  const isShown = (text: string) => shownText(text, rules) === text;
  const out = settings.exclude.projects.map((entry) => ({ id: "", cwd: paths.expand(entry) }));
  const there = [...ran, ...out].flatMap(({ id, cwd }) => {
    const live = isAbsolute(cwd) ? placeOf(cwd).live : undefined;
    if (!live || !isShown(live.top)) return [];
    const { git, origin, top } = live;
    return [{ id, top, repository: origin !== undefined && isShown(origin) ? { git, origin } : { git } }];
  });
  await noteRepositories(file, there);
}

function startRun(options: IndexOptions): IndexingRun {
  const { store, settings, deadlineMs, signal } = options;
  const end = performance.now() + (deadlineMs ?? 0);
  const run: IndexingRun = {
    options,
    version: -1,
    isOutdated: false,
    projects: projectLookup(options.paths),
    store,
    settings: { participants: settings.participants, timezone: settings.timezone ?? systemTimezone() },
    rules: exclusionBy(options.paths),
    // Asked before each entry: without a deadline the clock is not read.
    isOver: () =>
      run.isOutdated || signal?.aborted === true || (deadlineMs !== undefined && performance.now() > end),
    onWarning: options.onWarning,
    report: emptyReport(),
  };
  return run;
}

/** Marks all sessions as unread. Their chunks stay; equal ones are not touched. */
function resetProgress({ options: { store, sessions } }: IndexingRun): void {
  store.transaction(() => {
    const ids = sessions.map((session) => readStored(store, session).id);
    releaseRows(store, ids);
    forgetProgress(store, ids);
  });
}

/** After a write by another process, reads again what is excluded: `forget` may have excluded something meanwhile. */
function recheck(run: IndexingRun): void {
  const { store, paths } = run.options;
  const version = Number(store.get("PRAGMA data_version")?.data_version);
  if (version === run.version) return;
  run.version = version;
  const rules = currentExclusion(paths);
  run.rules = rules;
  // Whatever this run still read would have to be read again, so it stops and leaves it to the next.
  run.isOutdated = !isFilteredBy(store, rules.paths);
  removeExcluded(store, rules);
}

/** Works through the sessions; each step is a point where everything may be committed. */
function* indexFiles(run: IndexingRun): Generator<"part" | "file"> {
  const { sessions } = run.options;
  for (const [position, session] of sessions.entries()) {
    if (run.isOver()) {
      run.report.left += sessions.length - position;
      return;
    }
    try {
      for (const _ of indexFile(run, session)) yield "part";
    } catch (error) {
      if (!isFileError(error)) throw error;
      noteFailure(run, session, error);
    }
    yield "file";
  }
}

function* indexFile(run: IndexingRun, session: Session): Generator<void> {
  const { store, deadlineMs } = run.options;
  const { id, known } = readStored(store, session);
  if (known && isReadToEnd(known, session)) return;
  if (deadlineMs !== undefined && unreadBytes(session, known) > DEADLINE_BYTES_MAX) {
    run.report.left++;
    return;
  }
  const head = readHead(session.file);
  const facts = sessionFacts(run, session, head);
  if (!run.rules.admits({ ...session, ...facts })) {
    if (known) removeSession(store, known);
    return;
  }
  const state = known ?? newProgress(store, id, session);
  yield* runPass({ session, known: state, head, facts: shownFacts(run, facts) }, run);
}

function sessionFacts(run: IndexingRun, session: Session, head: Head | undefined): Partial<Session> {
  if (session.owner !== undefined) return session; // its copy has all of them beside it
  const cwd = head?.cwd ?? session.cwd;
  return {
    name: session.name ?? hostTitle(session),
    cwd,
    project: sessionProject({ cwd, remote: head?.remote, machine: session.machine }, run.projects),
    startedAt: head?.startedAt,
    parentId: session.parentId,
  };
}

function shownFacts({ rules }: IndexingRun, facts: Partial<Session>): Partial<Session> {
  const shown = (text: string | undefined) => shownText(text, rules);
  const { name, cwd, project } = facts;
  return { ...facts, name: shown(name), cwd: shown(cwd), project: shown(project) };
}

/**
 * Notes a file that cannot be read, so that the others still are. Every run tries it again, but one whose content is the reason,
 * which has to change first.
 */
function noteFailure(run: IndexingRun, session: Session, error: NodeJS.ErrnoException): void {
  const { store } = run.options;
  const { id, known: before } = readStored(store, session);
  const known = before ?? newProgress(store, id, session);
  if (error.code === "ENOENT") {
    // deleted since it was listed; the rows just read from it have no saved state
    if (!before) removeSession(store, known);
    return;
  }
  const [reason, lastIndexed] = [describeError(error), new Date().toISOString()];
  const isLasting = error instanceof SessionMemoryError && !error.recoverable;
  const { file, modifiedAt: modified } = session;
  const size = isLasting ? session.size : -1;
  const state: IndexProgress = {
    ...known,
    file,
    size,
    modified,
    status: "failed",
    error: reason,
    lastIndexed,
  };
  saveProgress(store, state, { facts: { owner: session.owner }, updatedAt: session.updatedAt, tookMs: 0 });
  run.report.failed.push({ file: session.file, reason });
}

/** Returns whether an error is a file's: the system's, or that a compressed one is damaged. */
function isFileError(error: unknown): error is NodeJS.ErrnoException {
  if (error instanceof SessionMemoryError) return error.type === "PARSE_ERROR";
  return error instanceof Error && "syscall" in error && "code" in error;
}

/** Another run may be indexing years of transcripts; running beside it is safe, only wasteful. */
const LOCK_WAIT_MS = 60_000;

/**
 * Indexes what it can before the deadline, and returns what is still missing. Waits that long for another run, or the second
 * of two first searches would find nothing.
 */
export async function catchUp(options: IndexOptions & { deadlineMs: number }): Promise<Behind> {
  const behind = readBehind(options);
  if (behind.sessions === 0 && isFilteredBy(options.store, options.paths)) return behind;
  const { deadlineMs } = options;
  const end = Date.now() + deadlineMs;
  const left = () => Math.max(0, end - Date.now());
  try {
    await withLock(lockFile(options.paths), deadlineMs, () =>
      indexSessions({ ...options, deadlineMs: left() }),
    );
  } catch (error) {
    if (!isLockBusy(error)) throw error;
  }
  return readBehind(options);
}

/** Returns what is missing from the index for these sessions. */
export function readBehind({ store, sessions }: Pick<IndexOptions, "store" | "sessions">): Behind {
  return measureBehind(sessions, readAllProgress(store));
}

/** Indexes after any other run has ended, or beside it when that takes long. */
export async function indexInTurn(options: IndexOptions): Promise<IndexReport> {
  try {
    return await withLock(lockFile(options.paths), LOCK_WAIT_MS, () => indexSessions(options));
  } catch (error) {
    if (!isLockBusy(error)) throw error;
    return await indexSessions(options);
  }
}

function isLockBusy(error: unknown): boolean {
  return error instanceof SessionMemoryError && error.type === "BUSY";
}

const lockFile = ({ home }: PathsWithRules) => join(home, "index.lock");
