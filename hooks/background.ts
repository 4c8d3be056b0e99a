/**
 * What is due after a turn, in a process of its own that outlives its host: index the session, observe it, name it,
 * and save it as a note when it was cleared. One job's failure leaves the others their turn.
 */

import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { logEvent } from "../lib/base/log.ts";
import { type Config, expandPath, loadConfig, resolvePaths } from "../lib/config/config.ts";
import { isKeptOut } from "../lib/sessions/kept-out.ts";
import { projectKey } from "../lib/sessions/project.ts";
import { sessionAt } from "../lib/sessions/sessions.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { logFailure } from "./failure.ts";

/** Hosts write rows late: the turn's last ones may still be on their way. */
const WRITE_DELAY_MS = 400;
const OBSERVER_WAIT_MS = 60_000;
/** A model that failed at naming a session is not asked for it again after each turn. */
const MODEL_REST_MS = 30 * 60_000;

interface Job {
  id: string;
  file: string;
  cwd: string;
  /** Which host asks. */
  source: string;
  isIndexOnly: boolean;
  save: boolean;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      session: { type: "string", default: "" },
      file: { type: "string", default: "" },
      cwd: { type: "string", default: "" },
      source: { type: "string", default: "claude" },
      "index-only": { type: "boolean", default: false },
      save: { type: "boolean", default: false },
    },
  });
  const { session: id, file, cwd, source, save } = values;
  const job = { id, file, cwd, source, save, isIndexOnly: values["index-only"] };
  try {
    await work(job, await loadConfig(process.env, cwd));
  } catch (error) {
    logFailure(resolvePaths(process.env), "background", error);
  }
}

async function work(job: Job, config: Config): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, WRITE_DELAY_MS));
  const { paths, settings } = config;
  const session = sessionAt(job.file, paths);
  // Nothing was said, or nothing of it is to be kept.
  if (!session || isKeptOut(session, { paths, exclude: settings.exclude })) return;
  const jobs: [string, () => Promise<void>][] = [["index", () => index(session, config)]];
  if (job.save && settings.notes.onClear) jobs.unshift(["save", () => save(session, job, config)]);
  if (!job.isIndexOnly) {
    jobs.push(["observe", () => observe(session, config)]);
    jobs.push(["meta", () => nameIt(session, config)]);
  }
  for (const [name, run] of jobs) {
    const started = performance.now();
    try {
      await run();
      const tookMs = Math.round(performance.now() - started);
      const { id, source } = job;
      logEvent(config.paths.log, { event: `background.${name}`, ok: true, session: id, source, tookMs });
    } catch (error) {
      logFailure(config.paths, `background.${name}`, error);
    }
  }
}

/** The session and its subagents, full text and vectors. */
async function index(session: Session, config: Config): Promise<void> {
  const [{ embedSessions, failureOf }, { openStore }, { listSessions }] = await Promise.all([
    import("../lib/index/index-run.ts"),
    import("../lib/store/store.ts"),
    import("../lib/sessions/sessions.ts"),
  ]);
  const family = listSessions(config.paths, { subagents: true, excluded: true, agent: session.agent }).filter(
    ({ id, parentId }) => id === session.id || parentId === session.id,
  );
  const store = openStore(config.paths.database, { create: true });
  try {
    const report = await embedSessions({
      store,
      config,
      sessions: family.length > 0 ? family : [session],
      isComplete: false,
    });
    const failure = failureOf(report);
    if (failure) throw failure;
  } finally {
    store.close();
  }
}

async function observe(session: Session, config: Config): Promise<void> {
  const { observeSession } = await import("../lib/observe/observe-session.ts");
  const { paths, settings } = config;
  if (!settings.observe.auto) return;
  await observeSession(session, { paths, settings, complete: await model(config), waitMs: OBSERVER_WAIT_MS });
}

async function nameIt(session: Session, config: Config): Promise<void> {
  const { indexMeta } = await import("../lib/naming/session-meta.ts");
  const { paths, settings } = config;
  const complete = await model(config);
  const { error } = await indexMeta(session, { paths, settings, complete, restMs: MODEL_REST_MS });
  if (error !== undefined) throw new Error(error);
}

async function save(
  session: Session,
  { id, file, cwd, source }: Job,
  { paths, settings, env }: Config,
): Promise<void> {
  const [{ knownTopic, saveSessionToMemory }, { readEnd }, { readRules }] = await Promise.all([
    import("../scripts/save-session.ts"),
    import("../lib/naming/last-messages.ts"),
    import("../lib/transcripts/rules.ts"),
  ]);
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
    rules,
    directory: notesFolder(cwd, { paths, settings, env }),
    log: paths.log,
    state: paths.state,
  });
  if (path === null) throw new Error("Cannot save the session: the event before this one says why");
}

/** Automatic notes stay out of the project unless the user wants them there: they would be committed. */
function notesFolder(
  cwd: string,
  { paths, settings, env }: Pick<Config, "paths" | "settings" | "env">,
): string {
  const { dir } = settings.notes;
  if (dir !== undefined) return expandPath(dir, env, cwd);
  return join(paths.notes, basename(projectKey(cwd)) || "root");
}

async function model(config: Config) {
  const { configuredModel } = await import("../lib/model/configured-model.ts");
  return await configuredModel(config);
}

await main();
