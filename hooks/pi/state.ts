/** State shared by the parts of the pi extension: configuration, the session, and running work. */

import { describeError, SessionMemoryError } from "../../lib/base/errors.ts";
import { logEvent } from "../../lib/base/output.ts";
import { type Config, loadConfig, type Paths, resolvePaths, withFolders } from "../../lib/config/config.ts";
import { redact } from "../../lib/redact/redact.ts";
import { sessionAt } from "../../lib/sessions/sessions.ts";
import type { Session } from "../../lib/transcripts/session.ts";
import type { PiApi, PiContext, PiEvent } from "./api.ts";
import { missingModels } from "./models.ts";

/** The time that pi's shutdown waits for running work; the rest is done another time. */
const SHUTDOWN_GRACE_MS = 1500;

export interface PiState {
  pi: PiApi;
  /** Undefined when config.json is invalid: the extension then does nothing. */
  config: Config | undefined;
  paths: Paths;
  /** Aborts background work when pi ends. */
  abort: AbortController;
  /** Running background work. */
  pending: Set<Promise<void>>;
  /** Ends when nobody observes this session any more, and how many wait for that. */
  observer: {
    idle: Promise<unknown>;
    waiting: number;
    /** Ends the step under way: a compaction has waited for it long enough. */
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
    problem = error instanceof SessionMemoryError ? error.message : describeError(error);
    logEvent(state.paths.log, { event: "hook.pi.config", ok: false, error: problem });
  }
  on(state, "session_start", (_, context) => {
    if (problem) context.ui.notify(`session-memory does nothing: ${problem}`, "warning");
    for (const key of missingModels(state.config, context)) {
      context.ui.notify(`session-memory: model "${key}" of modelKeys is not there`, "warning");
      logEvent(state.paths.log, { event: "hook.pi.model", ok: false, error: `no model ${key}` });
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
      logEvent(state.paths.log, {
        event: `hook.pi.${event}`,
        ok: false,
        error: redact(describeError(error)),
      });
      return undefined;
    }
  });
}

/** The time after `agent_end` at which versions without `agent_settled` count as idle. */
const SETTLE_MS = 500;

/** Calls `handler` once a turn, and whatever pi does by itself after it, is over. */
export function afterTurn(state: PiState, name: string, handler: (context: PiContext) => void): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let settles = false;
  on(state, "agent_settled", (_, context) => {
    settles = true;
    clearTimeout(timer);
    handler(context);
  });
  on(state, "agent_end", (_, context) => {
    if (settles) return;
    timer = setTimeout(() => inBackground(state, name, async () => handler(context)), SETTLE_MS);
  });
}

/** Runs work after the turn: pi does not wait for it, and it ends with pi. */
export function inBackground(state: PiState, name: string, work: () => Promise<void>): void {
  const running = work()
    .catch((error: unknown) => {
      if (state.abort.signal.aborted) return;
      logEvent(state.paths.log, { event: `hook.pi.${name}`, ok: false, error: redact(describeError(error)) });
    })
    .finally(() => state.pending.delete(running));
  state.pending.add(running);
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
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
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

/** Returns pi's current session; undefined for one that is not saved, or has no file yet. */
export function currentSession(context: PiContext): Session | undefined {
  const file = context.sessionManager.getSessionFile();
  return file === undefined ? undefined : sessionAt(file);
}

/** Returns the places that may be read for pi's current session. */
export function pathsOf({ paths, settings, env }: Config, { sessionManager }: PiContext): Paths {
  return withFolders(paths, { settings, env, transcript: sessionManager.getSessionFile() });
}
