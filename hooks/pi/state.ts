/** State shared by the parts of the pi extension: configuration, the session, running work, and the status line. */

import { describeError, refusalOf, SessionMemoryError } from "../../lib/base/errors.ts";
import {
  type Config,
  loadConfig,
  type PathsWithRules,
  resolvePaths,
  withFolders,
} from "../../lib/config/config.ts";
import type { Session } from "../../lib/transcripts/session.ts";
import { logFailure } from "../hook.ts";
import type { PiApi, PiContext, PiEvent } from "./api.ts";
import { missingModels } from "./models.ts";

/** How long pi's shutdown waits for running work; the rest is left for another time. */
const SHUTDOWN_GRACE_MS = 1500;
/** How long after `agent_end` a version without `agent_settled` counts as idle. */
const SETTLE_MS = 500;

export interface PiState {
  pi: PiApi;
  /** Undefined when config.json is invalid: the extension then does nothing. */
  config: Config | undefined;
  paths: PathsWithRules;
  /** Aborts background work when pi ends. */
  abort: AbortController;
  /** Running background work. */
  pending: Set<Promise<void>>;
  /** A promise for the time when nobody observes this session, and how many wait for it. */
  observer: {
    idle: Promise<unknown>;
    waiting: number;
    /** Aborts the current step once a compaction has waited for it long enough. */
    step: AbortController | undefined;
  };
}

/** Loads the configuration; an invalid one is reported once and turns everything off. */
export async function startState(pi: PiApi): Promise<PiState> {
  const state: PiState = {
    pi,
    config: undefined,
    paths: resolvePaths(process.env),
    abort: new AbortController(),
    pending: new Set(),
    observer: { idle: Promise.resolve(), waiting: 0, step: undefined },
  };
  let problem = "";
  try {
    state.config = await loadConfig(process.env, process.cwd());
    state.paths = state.config.paths;
  } catch (error) {
    problem = describeWithHint(refusalOf(error) ?? error, (hint) => ` (${hint})`);
    await logFailure(state.paths, "pi.config", error);
  }
  on(state, "session_start", async (_, context) => {
    if (problem) context.ui.notify(`session-memory does nothing: ${problem}`, "warning");
    for (const key of missingModels(state.config, context)) {
      context.ui.notify(`session-memory: pi has no model "${key}", which modelKeys names`, "warning");
      await logFailure(state.paths, "pi.model", `no model ${key}`);
    }
  });
  pi.on("session_shutdown", async () => {
    if (state.pending.size > 0) {
      const grace = new Promise((resolve) => setTimeout(resolve, SHUTDOWN_GRACE_MS).unref());
      await Promise.race([Promise.all(state.pending), grace]);
    }
    state.abort.abort();
  });
  return state;
}

export function describeWithHint(error: unknown, shown: (hint: string) => string): string {
  const hint = error instanceof SessionMemoryError ? error.hint : undefined;
  return `${describeError(error)}${hint ? shown(hint) : ""}`;
}

/** Handles an event so that no failure of ours reaches pi: it is logged instead. */
export function on(
  state: PiState,
  event: string,
  handler: (event: PiEvent, context: PiContext) => unknown,
): void {
  state.pi.on(event, async (data, context) => {
    try {
      return await handler(data, context);
    } catch (error) {
      await logFailure(state.paths, `pi.${event}`, error);
      return undefined;
    }
  });
}

/**
 * Starts work when a turn, and whatever pi does by itself after it, is over, unless the work of an earlier turn is still
 * running. pi does not wait for it.
 */
export function afterTurn(state: PiState, name: string, work: (context: PiContext) => Promise<void>): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let settles = false;
  let isRunning = false;
  const start = (context: PiContext) => {
    if (isRunning) return;
    isRunning = true;
    const running = work(context)
      .catch(async (error: unknown) => {
        if (!state.abort.signal.aborted) await logFailure(state.paths, `pi.${name}`, error);
      })
      .finally(() => {
        isRunning = false;
        state.pending.delete(running);
      });
    state.pending.add(running);
  };
  on(state, "agent_settled", (_, context) => {
    settles = true;
    clearTimeout(timer);
    start(context);
  });
  on(state, "agent_end", (_, context) => {
    if (!settles) timer = setTimeout(() => start(context), SETTLE_MS);
  });
}

/**
 * Runs work on the observations exclusively: two at once would observe the same rows twice. Returns undefined when
 * `signal` ends the wait.
 */
export async function exclusively<T>(
  { observer }: PiState,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const before = observer.idle;
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  observer.idle = before.then(() => left);
  observer.waiting++;
  try {
    await (signal ? Promise.race([before, abortOf(signal)]) : before);
  } finally {
    observer.waiting--;
  }
  try {
    return signal?.aborted ? undefined : await work();
  } finally {
    leave();
  }
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Returns pi's current session; undefined for one that is not kept, or has no file yet. */
export async function currentSession({ sessionManager }: PiContext): Promise<Session | undefined> {
  const file = sessionManager.getSessionFile();
  if (file === undefined) return undefined;
  const { sessionAt } = await import("../../lib/sessions/sessions.ts");
  return sessionAt(file);
}

/** Returns the places that may be read for pi's current session. */
export function pathsOf({ paths, settings, env }: Config, { sessionManager }: PiContext): PathsWithRules {
  return withFolders(paths, { settings, env, transcript: sessionManager.getSessionFile() });
}

/** Clears a remark of the status line, by its key. */
const timers = new Map<string, ReturnType<typeof setTimeout>>();

/** Shows a remark for a limited time, under `statusKey`, or under a key of its own beside it. */
export function showStatus(
  context: PiContext,
  text: string,
  { config: { settings }, beside }: { config: Config; beside?: string },
): void {
  const key = beside === undefined ? settings.statusKey : `${settings.statusKey}-${beside}`;
  context.ui.setStatus(key, text);
  clearTimeout(timers.get(key));
  if (settings.notificationAutoClearMs === 0) return;
  const clear = () => {
    try {
      context.ui.setStatus(key, undefined);
    } catch {
      // the session and its status line were replaced meanwhile
    }
  };
  const timer = setTimeout(clear, settings.notificationAutoClearMs);
  timer.unref();
  timers.set(key, timer);
}
