/**
 * Does the work that is due after a turn, in a process that outlives its host: indexes the session, observes it, names it,
 * saves it as a note when it was cleared, and shares. When a session begins, shares and catches up on older sessions. A job
 * that fails does not stop the others.
 */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { logEvent } from "../lib/base/output.ts";
import { ROOT } from "../lib/base/runtime.ts";
import { type Config, expandPath, loadConfig, resolvePaths } from "../lib/config/config.ts";
import { projectKey } from "../lib/sessions/project.ts";
import { isExcluded, sessionAt } from "../lib/sessions/sessions.ts";
import type { Store } from "../lib/store/store.ts";
import { reads } from "../lib/transcripts/jsonl.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { logFailure } from "./hook.ts";

/** Hosts write rows late: the last ones of a turn may not be in the file yet. */
const WRITE_DELAY_MS = 400;
const OBSERVER_WAIT_MS = 60_000; // three times the time a model may take
/** The pause before a model that failed to name a session is asked again. */
const MODEL_REST_MS = 30 * 60_000;

/** What the host asks for. */
interface Job {
  id: string;
  file: string;
  cwd: string;
  source: string;
  isIndexOnly: boolean;
  save: boolean;
}

/** The session of a job, and what its work needs. */
interface Work {
  job: Job;
  session: Session;
  config: Config;
  /** Undefined when the index cannot be opened; the other jobs work without it. */
  store: Store | undefined;
}

async function main(): Promise<void> {
  process.chdir(ROOT); // a project's folder can be removed while this runs
  const text = { type: "string", default: "" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = { session: text, file: text, cwd: text, source: { ...text, default: "claude" } };
  const { values } = parseArgs({ options: { ...options, "index-only": flag, save: flag, begin: flag } });
  const { session: id, file, cwd, source, save, begin } = values;
  const job = { id, file, cwd, source, save, isIndexOnly: values["index-only"] };
  try {
    const config = await loadConfig(process.env, cwd);
    if (!begin) await followTurn(job, config);
    if (config.settings.share) await perform("share", { job, config }, () => share(config));
    if (begin) await perform("old-sessions", { job, config }, () => followOld(config));
  } catch (error) {
    await logFailure(resolvePaths(process.env), "background", error);
  }
}

/** Runs a job and logs its outcome. Never throws. */
async function perform(
  name: string,
  { job: { id, source }, config: { paths } }: Pick<Work, "job" | "config">,
  run: () => Promise<unknown>,
): Promise<void> {
  const started = performance.now();
  try {
    await run();
    const tookMs = Math.round(performance.now() - started);
    const detail = { session: id, source, tookMs, bytesRead: reads.bytes };
    logEvent(paths.log, { event: `background.${name}`, ok: true, ...detail });
  } catch (error) {
    await logFailure(paths, `background.${name}`, error);
  }
}

async function followTurn(job: Job, config: Config): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, WRITE_DELAY_MS));
  if (!existsSync(job.file)) return; // nothing was said
  const { paths, settings } = config;
  const session = sessionAt(job.file, paths);
  // Nothing was said, or the session is excluded.
  if (!session || isExcluded(session, { paths, exclude: settings.exclude })) return;
  await workOn({ job, session, config, store: undefined });
}

async function workOn(work: Work): Promise<void> {
  const { job, session, config } = work;
  const { paths, settings } = config;
  if (job.save && settings.notes.onClear) await perform("save", work, () => save(work));
  try {
    const { openIndex } = await import("../lib/index/freshness.ts");
    const store = await openIndex(paths.database, settings);
    work.store = store;
    await perform("index", work, () => index(session, store, config));
    await follow(work);
  } catch (error) {
    await logFailure(paths, "background.index", error);
    await follow(work);
  } finally {
    work.store?.close();
  }
}

async function follow(work: Work): Promise<void> {
  if (work.job.isIndexOnly) return;
  await perform("observe", work, () => observe(work));
  await perform("meta", work, () => makeMeta(work));
  const { store, config } = work;
  if (store && config.settings.llm) await perform("topics", work, () => refineTopicsOf(work, store));
}

/** Indexes the session and its subagents, full text and vectors. */
async function index(session: Session, store: Store, config: Config): Promise<void> {
  const [{ embedSessions, findFailure }, { listSessions }] = await Promise.all([
    import("../lib/index/index-run.ts"),
    import("../lib/sessions/sessions.ts"),
  ]);
  const family = listSessions(config.paths, { subagents: true, excluded: true, agent: session.agent }).filter(
    ({ id, parentId }) => id === session.id || parentId === session.id,
  );
  const sessions = family.length > 0 ? family : [session];
  const failure = findFailure(await embedSessions({ store, config, sessions, isComplete: false }));
  if (failure) throw failure;
}

async function observe({ session, config }: Work): Promise<void> {
  const [{ observeSession }, { observeSettings }] = await Promise.all([
    import("../lib/observe/observe-session.ts"),
    import("../lib/observe/ledger.ts"),
  ]);
  const { paths, settings } = config;
  if (!observeSettings(paths, settings.observe).auto) return;
  const complete = await model(config);
  await observeSession(session, { paths, settings, complete, waitMs: OBSERVER_WAIT_MS });
}

/** Calls the model at most once a turn, and only with a full batch. */
async function refineTopicsOf({ session, config }: Work, store: Store): Promise<void> {
  const complete = await model(config);
  if (!complete) return;
  const [{ refineTopics }, { redactor }, { tryLock }] = await Promise.all([
    import("../lib/index/paid-work.ts"),
    import("../lib/redact/redact.ts"),
    import("../lib/base/locks.ts"),
  ]);
  const release = tryLock(join(config.paths.home, "topics.lock"));
  if (!release) return;
  try {
    const redact = redactor(config.settings.redact.extra);
    const { stopped } = await refineTopics({ store, complete, redact, session: session.id, maxCalls: 1 });
    if (stopped && stopped.type !== "BUDGET_EXCEEDED") throw stopped;
  } finally {
    release();
  }
}

async function makeMeta({ session, config }: Work): Promise<void> {
  const { indexMeta } = await import("../lib/naming/session-meta.ts");
  const { paths, settings } = config;
  const complete = await model(config);
  const { error, warning } = await indexMeta(session, { paths, settings, complete, restMs: MODEL_REST_MS });
  if (warning !== undefined) await logFailure(paths, "background.meta", warning);
  if (error !== undefined) throw new Error(error);
}

async function save({ job: { id, file, cwd, source }, session, config }: Work): Promise<void> {
  const [{ knownTopic, saveSessionToMemory }, { readEnd }, { readRules }] = await Promise.all([
    import("../scripts/save-session.ts"),
    import("../lib/naming/note.ts"),
    import("../lib/transcripts/rules.ts"),
  ]);
  const { paths, settings } = config;
  const rules = readRules(settings);
  // Clearing a session in which nothing was said is no failure.
  if (readEnd(file, { count: 1, rules }).messages.length === 0) return;
  const path = await saveSessionToMemory({
    sessionFile: file,
    workspaceDir: cwd,
    sessionKey: id,
    sessionId: session.id,
    source,
    topic: knownTopic(session, paths),
    timezone: settings.timezone,
    participants: settings.participants,
    rules,
    directory: notesFolder(cwd, config),
    log: paths.log,
    state: paths.state,
  });
  if (path === null) throw new Error("Cannot save the session: the event before this one says why");
}

/** Automatic notes stay out of the project unless the user wants them there, since they would be committed. */
function notesFolder(cwd: string, { paths, settings, env }: Config): string {
  const { dir } = settings.notes;
  if (dir !== undefined) return expandPath(dir, env, cwd);
  return join(paths.notes, basename(projectKey(cwd)) || "root");
}

async function followOld(config: Config): Promise<void> {
  const { followOldSessions } = await import("./old-sessions.ts");
  await followOldSessions(config);
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
