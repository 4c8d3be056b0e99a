/** State shared by the parts of the pi extension: configuration, the session, running work, and the status line. */

import { describeError, findRefusal, SessionMemoryError } from "../../lib/base/errors.ts";
import {
  type Config,
  loadConfig,
  type PathsWithRules,
  resolvePaths,
  withFolders,
} from "../../lib/config/config.ts";
import type { Session } from "../../lib/hosts/session.ts";
import { logFailure } from "../hook.ts";
import type { PiApi, PiContext, PiEntry, PiEvent } from "./api.ts";
import { missingModels } from "./models.ts";

/** The time that pi's shutdown waits for running work; the rest is left for another time. */
const SHUTDOWN_GRACE_MS = 1500;
/** The time after `agent_end` at which a version without `agent_settled` counts as idle. */
const SETTLE_MS = 500;

export interface PiState {
  pi: PiApi;
  config: Config;
  /** Aborts background work when pi ends. */
  abort: AbortController;
  /** Running background work. */
  pending: Set<Promise<void>>;
  /** A promise for the time when nobody observes this session, and how many wait for it. */
  observer: {
    idle: Promise<unknown>;
    waiting: number;
    /** True if a person was asked here about compacting early. */
    isAsked: boolean;
    /** Aborts the current step once a compaction has waited for it long enough. */
    step: AbortController | undefined;
  };
}

/** Loads the configuration; an invalid one is reported, and undefined turns everything off. */
export async function loadState(pi: PiApi): Promise<PiState | undefined> {
  try {
    return startState(pi, await loadConfig(process.env, process.cwd()));
  } catch (error) {
    const problem = describeWithHint(findRefusal(error) ?? error);
    pi.on("session_start", (_, { ui }) => ui.notify(`session-memory does nothing: ${problem}`, "warning"));
    await logFailure(resolvePaths(process.env), "pi.config", error);
    return undefined;
  }
}

/** Begins the state of an extension with this configuration. */
export function startState(pi: PiApi, config: Config): PiState {
  const state: PiState = {
    pi,
    config,
    abort: new AbortController(),
    pending: new Set(),
    observer: { idle: Promise.resolve(), waiting: 0, isAsked: false, step: undefined },
  };
  on(state, { session_start: warnOfModels, session_shutdown: endWork });
  return state;
}

async function warnOfModels({ config }: PiState, context: PiContext): Promise<void> {
  for (const key of missingModels(config, context)) {
    context.ui.notify(`session-memory: pi has no model "${key}", which modelKeys names`, "warning");
    await logFailure(config.paths, "pi.model", `no model ${key}`);
  }
}

async function endWork({ pending, abort }: PiState): Promise<void> {
  const grace = new Promise((resolve) => setTimeout(resolve, SHUTDOWN_GRACE_MS).unref());
  await Promise.race([Promise.all(pending), grace]);
  abort.abort();
}

export function describeWithHint(error: unknown): string {
  const hint = error instanceof SessionMemoryError ? error.hint : undefined;
  return `${describeError(error)}${hint ? ` (${hint})` : ""}`;
}

type Handler = (state: PiState, context: PiContext, event: PiEvent) => unknown;

/** Handles events so that no failure of ours reaches pi: it is logged instead. */
export function on(state: PiState, handlers: Readonly<Record<string, Handler>>): void {
  for (const [event, handle] of Object.entries(handlers))
    state.pi.on(event, async (data, context) => {
      try {
        return await handle(state, context, data);
      } catch (error) {
        await logFailure(state.config.paths, `pi.${event}`, error);
        return undefined;
      }
    });
}

export type Work = (state: PiState, context: PiContext) => Promise<void>;

/**
 * Starts work when a turn, and whatever pi does by itself after it, is over, unless the work of an earlier turn is still
 * running. pi does not wait for it.
 */
export function afterTurn(state: PiState, name: string, work: Work): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let settles = false;
  let isRunning = false;
  const start = (context: PiContext) => {
    if (isRunning) return;
    isRunning = true;
    const running = work(state, context)
      .catch(async (error: unknown) => {
        if (!state.abort.signal.aborted) await logFailure(state.config.paths, `pi.${name}`, error);
      })
      .finally(() => {
        isRunning = false;
        state.pending.delete(running);
      });
    state.pending.add(running);
  };
  on(state, {
    agent_settled(_, context) {
      settles = true;
      clearTimeout(timer);
      start(context);
    },
    agent_end(_, context) {
      if (!settles) timer = setTimeout(() => start(context), SETTLE_MS);
    },
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
  const aborted = new Promise<void>((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
  try {
    await Promise.race([before, aborted]);
  } finally {
    observer.waiting--;
  }
  try {
    return signal?.aborted ? undefined : await work();
  } finally {
    leave();
  }
}

/** Returns pi's current session; undefined for one that is not kept, or has no file yet. */
export async function currentSession({ sessionManager }: PiContext): Promise<Session | undefined> {
  const file = sessionManager.getSessionFile();
  if (file === undefined) return undefined;
  const { sessionAt } = await import("../../lib/sessions/sessions.ts");
  return sessionAt(file);
}

/** Returns the rows that the model sees unchanged: the tail that the last compaction kept, and all since. */
export function shownRows({ sessionManager }: PiContext): readonly PiEntry[] {
  const branch = sessionManager.getBranch();
  const kept = branch.findLast(({ type }) => type === "compaction")?.firstKeptEntryId;
  return branch.slice(
    Math.max(
      0,
      branch.findIndex(({ id }) => id === kept),
    ),
  );
}

/** Returns the places that may be read for pi's current session. */
export function pathsFor({ paths, settings, env }: Config, { sessionManager }: PiContext): PathsWithRules {
  return withFolders(paths, { settings, env, transcript: sessionManager.getSessionFile() });
}

/** Clears a remark of the status line, by its key. */
const timers = new Map<string, ReturnType<typeof setTimeout>>();

/** Shows a remark for a limited time, under `statusKey`, or under a key of its own beside it. */
export function showStatus(
  { config: { settings } }: PiState,
  context: PiContext,
  { text, beside }: { text: string; beside?: string },
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
  timers.set(key, setTimeout(clear, settings.notificationAutoClearMs).unref());
}
