/**
 * Does the work that is due after a turn, in a process that outlives its host: indexes the session, observes it, names it,
 * saves it as a note when it was cleared, and shares. When a session begins, shares and catches up on older sessions. A job
 * that fails does not stop the others.
 */

import { basename, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { clearDue, leaveDue, readDue } from "../lib/activity/due.ts";
import { updateArchive } from "../lib/archive/archive.ts";
import { updateCopies } from "../lib/archive/copies.ts";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { tryLock } from "../lib/base/locks.ts";
import { ROOT } from "../lib/base/runtime.ts";
import { type Config, expandPath, loadConfig, resolvePaths } from "../lib/config/config.ts";
import { findHost } from "../lib/hosts/hosts.ts";
import { reads } from "../lib/hosts/lines.ts";
import { statUnpacked } from "../lib/hosts/packed.ts";
import type { Session } from "../lib/hosts/session.ts";
import { withIndex } from "../lib/index/freshness.ts";
import { embedSessions, findFailure } from "../lib/index/index-run.ts";
import { catchUp } from "../lib/index/indexing.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { indexMeta, isKnownNotDue } from "../lib/naming/session-meta.ts";
import { keepRules, observeSession } from "../lib/observe/observe-session.ts";
import { carryObserving } from "../lib/observe/set-observing.ts";
import { standingFor } from "../lib/observe/standing-marks.ts";
import { isSameWords } from "../lib/observe/standing-rules.ts";
import { findTranscripts } from "../lib/sessions/found.ts";
import { projectKey } from "../lib/sessions/project.ts";
import { namedSessions, readRecord, readRecords, sessionKey } from "../lib/sessions/record.ts";
import { listSessions, visibleSessionAt } from "../lib/sessions/sessions.ts";
import type { Store } from "../lib/store/store.ts";
import { log } from "../lib/transcripts/event-log.ts";
import { logFailure } from "./hook.ts";

/** Hosts write rows late: the last ones of a turn may not be in the file yet. */
const WRITE_DELAY_MS = 400;
const OBSERVER_WAIT_MS = 60_000; // as long as a program may take to answer
/** The time that work on old sessions takes; the rest waits for the next start. */
const OLD = { sliceMs: 1000, totalMs: 10 * 60_000 };

const TEXT = { type: "string", default: "" } as const;
const OFF = { type: "boolean", default: false } as const;
/** The job that the host asks for. */
const FLAGS = {
  session: TEXT,
  file: TEXT,
  cwd: TEXT,
  source: { ...TEXT, default: "claude" },
  "index-only": OFF,
  begin: OFF,
  end: OFF,
  /** The command that ended the session, where it is to be saved. */
  save: TEXT,
};

type Job = Config & ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>["values"];

async function main(): Promise<void> {
  process.chdir(ROOT); // a project's folder can be removed while this runs
  const { values } = parseArgs({ options: FLAGS });
  try {
    await carryObserving(resolvePaths(process.env));
    const job = { ...(await loadConfig(process.env, values.cwd)), ...values };
    if (!job.begin) await followTurn(job);
    if (job.settings.share) await perform(job, "share", share);
    if (!job.begin) return;
    await perform(job, "last-session", observeLast);
    await perform(job, "old-sessions", followOld);
    await perform(job, "archive", archive);
  } catch (error) {
    await logFailure(resolvePaths(process.env), "background", error, { source: values.source });
  }
}

/** Does a part of a job and logs its outcome. It never throws. */
async function perform(job: Job, name: string, run: (job: Job) => Promise<unknown>): Promise<void> {
  const { session, source, paths } = job;
  const started = performance.now();
  const readBefore = reads.bytes;
  try {
    await run(job);
    const tookMs = Math.round(performance.now() - started);
    const detail = { session, source, tookMs, bytesRead: reads.bytes - readBefore };
    log(paths.log, { event: `background.${name}`, ok: true, ...detail });
  } catch (error) {
    await logFailure(paths, `background.${name}`, error, { session, source });
  }
}

async function followTurn(job: Job): Promise<void> {
  const { paths, file, save } = job;
  await setTimeout(WRITE_DELAY_MS);
  // a host that keeps its sessions in a store has written no file: the copy of the session is brought up to date first
  if (findHost(job.source)?.store) await perform(job, "copies", () => updateCopies(paths));
  if (!statUnpacked(file)) return; // nothing was said
  const session = visibleSessionAt(file, paths);
  if (!session) return;
  if (save !== "" && job.settings.notes.onClear) await perform(job, "save", () => saveNote(session, job));
  await perform(job, "index", () => index(session, job));
  const keeping = (name: string, work: typeof observeTurn) =>
    perform(job, name, () => withKept(session, job, () => work(session, job)));
  // its host observes by itself, and short sessions not at all
  if (job["index-only"]) {
    if (session.size <= SMALL_BYTES) await keeping("rules", keepRules);
    return;
  }
  if (save === "" && !isWorthReading(session, readRecord(paths, session).indexedTo?.size)) return;
  await keeping("observe", observeTurn);
  await perform(job, "meta", () => describeSession(session, job));
}

/** A transcript up to this size is read whole in a few tenths of a second. */
const SMALL_BYTES = 16 * 1024 * 1024;
/** A larger one is read again once it has grown by this share: less than a compaction leaves in sight. */
const GROWTH_SHARE = 1 / 1000;

/** Returns whether a transcript has grown enough, since it was last named, to be read whole for its name and observations. */
function isWorthReading({ size }: Session, before = 0): boolean {
  return size <= SMALL_BYTES || size < before || size - before >= size * GROWTH_SHARE;
}

/** Indexes the session and its subagents, full text and vectors. */
async function index(session: Session, config: Job): Promise<void> {
  const family = listSessions(config.paths, { subagents: true, excluded: true, agent: session.agent }).filter(
    ({ id, parentId }) => id === session.id || parentId === session.id,
  );
  const sessions = family.length > 0 ? family : [session];
  const run = (store: Store) => embedSessions({ store, config, sessions, isComplete: false });
  const failure = findFailure(await withIndex(config, run));
  if (failure) throw failure;
}

/**
 * Observes what is due. A model observes the rest of a session that has ended too, once: what its user laid down there is heard
 * by the next one.
 */
async function observeTurn(session: Session, job: Job): Promise<void> {
  const { paths, settings } = job;
  const { auto, mode } = settings.observe;
  if (!auto) return;
  const complete = await configuredModel(job);
  const isLast = (job.end || job.begin) && complete && mode === "buffered";
  const how = { paths, settings, complete, waitMs: OBSERVER_WAIT_MS };
  await observeSession(session, { ...how, when: isLast ? "all" : "due" });
}

/** Idle for so long a session has ended, as far as anybody can tell: not every host says so. */
const ENDED_MS = 10 * 60_000;

/** Observes the rest of the project's last session of a host, where its own end did not. */
async function observeLast(job: Job): Promise<void> {
  const { source, cwd, paths, settings } = job;
  if (cwd === "" || !settings.llm || !findHost(source)) return;
  const last = listSessions(paths, { agent: source, project: cwd }).find(
    ({ modifiedAt }) => Date.now() - Date.parse(modifiedAt) >= ENDED_MS,
  );
  if (last && !last.archived && isWorthReading(last)) await withKept(last, job, () => observeTurn(last, job));
}

/**
 * Does work that may keep rules of a session, and leaves a note of the new ones, for hosts that show it to their person:
 * to its next prompt or, where it has ended, to the next session of the folder.
 */
async function withKept(
  session: Session,
  { source, cwd, end, begin, paths }: Job,
  work: () => Promise<void>,
): Promise<void> {
  const { id } = session;
  const before = await standingFor(session, paths);
  await work();
  if (!findHost(source)?.hooks?.showsPerson) return;
  const kept = (await standingFor(session, paths)).flatMap(({ mark }) =>
    mark.sessionId === id && !before.some((rule) => isSameWords(rule.mark, mark)) ? mark.id : [],
  );
  const isOver = end || begin;
  const due = [...(isOver ? readDue(paths, id) : []), ...kept];
  if (due.length > 0) leaveDue(paths, isOver ? cwd : id, due);
  if (isOver) clearDue(paths, id);
}

async function describeSession(session: Session, job: Job): Promise<void> {
  const { paths, settings } = job;
  const complete = await configuredModel(job);
  const { error, warning } = await indexMeta(session, { paths, settings, complete, rests: true });
  if (warning !== undefined) await logFailure(paths, "background.meta", warning, { session: session.id });
  if (error !== undefined) throw new Error(error);
}

async function saveNote(session: Session, job: Job): Promise<void> {
  const { noteOptions, saveSession } = await import("../scripts/save-session.ts");
  const place = { workspaceDir: job.cwd, directory: notesFolder(job) };
  try {
    await saveSession({ ...noteOptions(session, job), ...place, savedOn: job.save });
  } catch (error) {
    // Clearing an empty session is not a failure.
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
  }
}

/** Automatic notes stay out of the project unless the user wants them there, since they would be committed. */
function notesFolder({ cwd, paths, settings, env }: Job): string {
  const { dir } = settings.notes;
  if (dir !== undefined) return expandPath(dir, env, cwd);
  return join(paths.notes, basename(projectKey(cwd)) || "root");
}

/** Names and indexes sessions that no hook has followed, newest first, until all are current, unless another run does. */
async function followOld(job: Job): Promise<void> {
  const { paths, settings, source } = job;
  const release = tryLock(join(paths.home, "old-sessions.lock"));
  if (!release) return;
  try {
    await updateCopies(paths).catch((error: unknown) =>
      logFailure(paths, "background.copies", error, { source }),
    );
    // Read while nobody waits: the first prompt with a reference would read every title.
    namedSessions(paths, findTranscripts(paths));
    const sessions = listSessions(paths);
    const known = readRecords(paths);
    const end = Date.now() + OLD.totalMs;
    const rest = resting();
    // By rule: asking a model about years of sessions is left to `index-meta`.
    for (const session of sessions) {
      if (isKnownNotDue(session, known.get(sessionKey(session)), { paths, settings })) continue;
      if (Date.now() > end) return;
      await indexMeta(session, { paths, settings, lockWaitMs: 0 });
      await rest();
    }
    await withIndex(job, async (store) => {
      const step = { store, paths, sessions, settings, deadlineMs: OLD.sliceMs };
      for (let behind = Number.POSITIVE_INFINITY; Date.now() < end; ) {
        const left = await catchUp(step);
        await rest();
        // A transcript that cannot be indexed never catches up.
        if (left.sessions === 0 || left.sessions + left.bytes >= behind) return;
        behind = left.sessions + left.bytes;
      }
    });
  } finally {
    release();
  }
}

/** Copies sessions that have been idle for a day, in slices; the rest waits for the next start. */
async function archive({ paths, settings }: Job): Promise<void> {
  const end = Date.now() + OLD.totalMs;
  await updateArchive({ paths, settings, rest: resting(), isOver: () => Date.now() > end });
}

/** Returns a function that rests half as long as was worked for a slice, since the user works on the same machine. */
function resting(): () => Promise<void> {
  let worked = Date.now();
  return async () => {
    const took = Date.now() - worked;
    if (took < OLD.sliceMs) return;
    await setTimeout(took / 2);
    worked = Date.now();
  };
}

/** Shares, unless another run is sharing or the last attempt has just failed. */
async function share(config: Job): Promise<void> {
  const { shareInBackground } = await import("../lib/share/share.ts");
  await shareInBackground({ config, publish: true, pull: true });
}

await main();
