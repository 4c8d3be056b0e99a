/**
 * Does the work that is due after a turn, in a process that outlives its host: indexes the session, observes it, names it,
 * saves it as a note when it was cleared, and shares. When a session begins, shares and catches up on older sessions. A job
 * that fails does not stop the others.
 */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { logEvent } from "../lib/base/output.ts";
import { ROOT } from "../lib/base/runtime.ts";
import { type Config, expandPath, loadConfig, resolvePaths } from "../lib/config/config.ts";
import { findTranscripts } from "../lib/sessions/places.ts";
import { projectKey } from "../lib/sessions/project.ts";
import { isExcluded, listSessions, sessionAt } from "../lib/sessions/sessions.ts";
import { reads } from "../lib/transcripts/jsonl.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { logFailure } from "./hook.ts";

/** Hosts write rows late: the last ones of a turn may not be in the file yet. */
const WRITE_DELAY_MS = 400;
const OBSERVER_WAIT_MS = 60_000; // three times the time a model may take
/** The pause before a model that failed to name a session is asked again. */
const MODEL_REST_MS = 30 * 60_000;
/** Of work on old sessions; what is left waits for the next start. */
const OLD = { sliceMs: 1000, totalMs: 10 * 60_000 };

const TEXT = { type: "string", default: "" } as const;
const OFF = { type: "boolean", default: false } as const;
/** What the host asks for. */
const FLAGS = {
  ...{ session: TEXT, file: TEXT, cwd: TEXT, source: { ...TEXT, default: "claude" } },
  ...{ "index-only": OFF, save: OFF, begin: OFF },
};

type Asked = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>["values"];

async function main(): Promise<void> {
  process.chdir(ROOT); // a project's folder can be removed while this runs
  const { values: asked } = parseArgs({ options: FLAGS });
  try {
    const config = await loadConfig(process.env, asked.cwd);
    const perform = performer(asked, config);
    if (!asked.begin) await followTurn(asked, config, perform);
    if (config.settings.share) await perform("share", () => share(config));
    if (asked.begin) await perform("old-sessions", () => followOld(config));
  } catch (error) {
    await logFailure(resolvePaths(process.env), "background", error);
  }
}

type Perform = (name: string, run: () => Promise<unknown>) => Promise<void>;

/** Returns what runs a job and logs its outcome. It never throws. */
function performer({ session, source }: Asked, { paths }: Config): Perform {
  return async (name, run) => {
    const started = performance.now();
    try {
      await run();
      const tookMs = Math.round(performance.now() - started);
      const detail = { session, source, tookMs, bytesRead: reads.bytes };
      logEvent(paths.log, { event: `background.${name}`, ok: true, ...detail });
    } catch (error) {
      await logFailure(paths, `background.${name}`, error);
    }
  };
}

async function followTurn(asked: Asked, config: Config, perform: Perform): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, WRITE_DELAY_MS));
  if (!existsSync(asked.file)) return; // nothing was said
  const { paths, settings } = config;
  const session = sessionAt(asked.file, paths);
  // Nothing was said, or the session is excluded.
  if (!session || isExcluded(session, { paths, exclude: settings.exclude })) return;
  if (asked.save && settings.notes.onClear) await perform("save", () => save(asked, session, config));
  await perform("index", () => index(session, config));
  if (asked["index-only"]) return;
  await perform("observe", () => observe(session, config));
  await perform("meta", () => makeMeta(session, config));
}

/** Indexes the session and its subagents, full text and vectors. */
async function index(session: Session, config: Config): Promise<void> {
  const [{ openIndex }, { embedSessions, findFailure }] = await Promise.all([
    import("../lib/index/freshness.ts"),
    import("../lib/index/index-run.ts"),
  ]);
  const family = listSessions(config.paths, { subagents: true, excluded: true, agent: session.agent }).filter(
    ({ id, parentId }) => id === session.id || parentId === session.id,
  );
  const sessions = family.length > 0 ? family : [session];
  const store = await openIndex(config.paths.database, config.settings);
  try {
    const failure = findFailure(await embedSessions({ store, config, sessions, isComplete: false }));
    if (failure) throw failure;
  } finally {
    store.close();
  }
}

async function observe(session: Session, config: Config): Promise<void> {
  const [{ observeSession }, { observeSettings }] = await Promise.all([
    import("../lib/observe/observe-session.ts"),
    import("../lib/observe/ledger.ts"),
  ]);
  const { paths, settings } = config;
  if (!observeSettings(paths, settings.observe).auto) return;
  const complete = await model(config);
  await observeSession(session, { paths, settings, complete, waitMs: OBSERVER_WAIT_MS });
}

async function makeMeta(session: Session, config: Config): Promise<void> {
  const { indexMeta } = await import("../lib/naming/session-meta.ts");
  const { paths, settings } = config;
  const complete = await model(config);
  const { error, warning } = await indexMeta(session, { paths, settings, complete, restMs: MODEL_REST_MS });
  if (warning !== undefined) await logFailure(paths, "background.meta", warning);
  if (error !== undefined) throw new Error(error);
}

async function save({ cwd }: Asked, session: Session, config: Config): Promise<void> {
  const { noteOptions, saveSession } = await import("../scripts/save-session.ts");
  const place = { workspaceDir: cwd, directory: notesFolder(cwd, config) };
  try {
    await saveSession({ ...noteOptions(session, config), ...place });
  } catch (error) {
    // Clearing a session in which nothing was said is no failure.
    if (!(error instanceof SessionMemoryError) || error.type !== "NOT_FOUND") throw error;
  }
}

/** Automatic notes stay out of the project unless the user wants them there, since they would be committed. */
function notesFolder(cwd: string, { paths, settings, env }: Config): string {
  const { dir } = settings.notes;
  if (dir !== undefined) return expandPath(dir, env, cwd);
  return join(paths.notes, basename(projectKey(cwd)) || "root");
}

/** Names and indexes sessions that no hook has followed, newest first, until all are current, unless another run does. */
async function followOld(config: Config): Promise<void> {
  const { paths, settings } = config;
  const [{ tryLock }, { openIndex }, { catchUp }, { indexMeta, isKnownNotDue }, records, { updateCopies }] =
    await Promise.all([
      import("../lib/base/locks.ts"),
      import("../lib/index/freshness.ts"),
      import("../lib/index/indexing.ts"),
      import("../lib/naming/session-meta.ts"),
      import("../lib/sessions/record.ts"),
      import("../lib/transcripts/hosts.ts"),
    ]);
  const release = tryLock(join(paths.home, "old-sessions.lock"));
  if (!release) return;
  const store = await openIndex(paths.database, settings);
  try {
    await updateCopies(paths).catch((error: unknown) => logFailure(paths, "background.copies", error));
    // Read while nobody waits: the first prompt with a reference would read every title.
    records.namedSessions(paths, findTranscripts(paths));
    const { exclude } = settings;
    const sessions = listSessions(paths).filter((session) => !isExcluded(session, { paths, exclude }));
    const known = records.readRecords(paths);
    const nameless = sessions.filter(
      (session) => !isKnownNotDue(session, known.get(records.recordKey(session)), config),
    );
    const end = Date.now() + OLD.totalMs;
    // By rule: asking a model about years of sessions is left to `index-meta`.
    for (const session of nameless) {
      if (Date.now() > end) return;
      await restAfter(() => indexMeta(session, { paths, settings, lockWaitMs: 0 }));
    }
    const step = { store, home: paths.home, sessions, settings, deadlineMs: OLD.sliceMs };
    for (let behind = Number.POSITIVE_INFINITY; Date.now() < end; ) {
      const left = await restAfter(() => catchUp(step));
      // A transcript that cannot be indexed never catches up.
      if (left.sessions === 0 || left.sessions + left.bytes >= behind) return;
      behind = left.sessions + left.bytes;
    }
  } finally {
    store.close();
    release();
  }
}

/** Works, then rests half as long, since the user works on the same machine. */
async function restAfter<T>(work: () => Promise<T>): Promise<T> {
  const started = Date.now();
  const result = await work();
  await new Promise((resolve) => setTimeout(resolve, (Date.now() - started) / 2));
  return result;
}

/** Shares, unless another run is sharing or the last attempt has just failed. */
async function share(config: Config): Promise<void> {
  const { shareInBackground } = await import("../scripts/share.ts");
  await shareInBackground({ config, publish: true, pull: true });
}

async function model(config: Config) {
  const { configuredModel } = await import("../lib/model/configured-model.ts");
  return await configuredModel(config);
}

await main();
