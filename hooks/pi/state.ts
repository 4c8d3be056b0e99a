/** What the parts of the pi extension share: configuration, the session, the model, and work that is under way. */

import { describeError, SessionMemoryError } from "../../lib/base/errors.ts";
import { logEvent } from "../../lib/base/log.ts";
import { type Config, loadConfig, type Paths, resolvePaths, withFolders } from "../../lib/config/config.ts";
import { type CompleteJson, jsonCompleter } from "../../lib/model/answers.ts";
import { tokenUpperBound } from "../../lib/model/prices.ts";
import { openSpendLedger } from "../../lib/model/spend.ts";
import { compilePatterns, redact } from "../../lib/redact/redact.ts";
import { sessionAt } from "../../lib/sessions/sessions.ts";
import type { Session } from "../../lib/transcripts/session.ts";
import type { PiApi, PiContext, PiEvent, PiModel } from "./api.ts";

/** The session's own model, as a `modelKeys` entry. */
export const ACTIVE_MODEL = "active";
/** How a provider's error begins that refused the request before any work: 408 and 499 are said during it. */
const REFUSED = /^(?:Error:? )?4(?!08|99)\d\d\b/i;
/** At the end pi waits this long for work that is nearly done; the rest is done another time. */
const SHUTDOWN_GRACE_MS = 1500;

export interface PiState {
  pi: PiApi;
  /** Undefined when config.json is invalid: then nothing is done. */
  config: Config | undefined;
  paths: Paths;
  /** Ends background work when pi ends. */
  abort: AbortController;
  /** Background work under way. */
  pending: Set<Promise<void>>;
  /** Ends when nobody observes this session any more, and how many wait for that. */
  observer: { idle: Promise<unknown>; waiting: number };
}

/** Loads the configuration; an invalid one is said once and makes everything a no-op. */
export async function startState(pi: PiApi): Promise<PiState> {
  const state: PiState = {
    pi,
    config: undefined,
    paths: resolvePaths(process.env),
    abort: new AbortController(),
    pending: new Set(),
    observer: { idle: Promise.resolve(), waiting: 0 },
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
    for (const key of missingModels(state, context)) {
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

/** Handles an event such that nothing of ours can fail pi's turn: a failure is one line in the log. */
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

/** Versions without `agent_settled` are idle this long after `agent_end`. */
const SETTLE_MS = 500;

/** Calls `handler` when a turn and all that pi does by itself after it is over. */
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

/** Does work after the turn: pi does not wait for it, and it ends with pi. */
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
 * Does what reads and adds to the observations when nobody else is at it: two at once would observe the same rows
 * twice. Undefined when `signal` ends the wait.
 */
export async function alone<T>(
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

/** The session pi is in; undefined for one that is not kept, and before its file is there. */
export function currentSession(context: PiContext): Session | undefined {
  const file = context.sessionManager.getSessionFile();
  return file === undefined ? undefined : sessionAt(file);
}

/** The places that may be read for the session pi is in. */
export function pathsOf({ paths, settings, env }: Config, { sessionManager }: PiContext): Paths {
  return withFolders(paths, { settings, env, transcript: sessionManager.getSessionFile() });
}

/** The first model of `modelKeys` that pi has, as something that answers in JSON. Undefined: rules are used. */
export function hostModel({ config }: PiState, context: PiContext): CompleteJson | undefined {
  const model = config && findModel(config, context);
  if (!config || !model || !context.modelRegistry.complete) return undefined;
  const { settings, paths } = config;
  const budget = settings.llm ?? {
    dailyBudgetUsd: 1,
    apiKeyEnv: "",
    model: model.id,
    timeoutMs: 30_000,
    prices: {},
  };
  const { input: inputPrice, output: outputPrice } = model.cost ?? {};
  // pi's own price of the model, unless config.json names one.
  const prices =
    inputPrice === undefined || outputPrice === undefined
      ? budget.prices
      : { [model.id]: { input: inputPrice, output: outputPrice }, ...budget.prices };
  const spend = openSpendLedger(paths.home, { llm: { ...budget, prices }, timezone: settings.timezone });
  const patterns = compilePatterns(settings.redact.extra);
  return jsonCompleter(async (messages, { feature, maxTokens, signal }) => {
    const input = messages.reduce((sum, { content }) => sum + tokenUpperBound(content), 0);
    const reservation = await spend.reserve({
      kind: "chat",
      feature,
      model: model.id,
      baseUrl: model.baseUrl,
      tokens: { input, output: maxTokens },
    });
    const asked = context.modelRegistry.complete?.(
      model,
      {
        systemPrompt: messages
          .filter(({ role }) => role === "system")
          .map(({ content }) => content)
          .join("\n\n"),
        messages: messages
          .filter(({ role }) => role !== "system")
          .map(({ role, content }) => piMessage(role, redact(content, patterns), model)),
      },
      { maxTokens, signal: within(budget.timeoutMs, signal) },
    );
    const reply = await asked?.catch((error: unknown) => {
      throw noAnswer(model, redact(describeError(error), patterns));
    });
    if (!reply || reply.stopReason === "error" || reply.stopReason === "aborted") {
      // What a provider refused is free; what failed on the way may be billed, and stays at its estimate.
      if (REFUSED.test(reply?.errorMessage ?? "")) reservation.settle({ input: 0, output: 0 });
      throw noAnswer(model, redact(reply?.errorMessage ?? "none came", patterns));
    }
    const { input: sent, output, cacheRead = 0, cacheWrite = 0 } = reply.usage ?? {};
    const paid = reservation.settle({ input: sent && sent + cacheRead + cacheWrite, output });
    const text = reply.content.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("");
    return {
      text,
      cut: reply.stopReason === "length",
      model: `${model.provider}/${model.id}`,
      tokens: paid.tokens,
      usd: reply.usage?.cost?.total ?? paid.usd,
    };
  });
}

/** The caller's signal, or the end of the time a model is given. */
function within(timeoutMs: number, signal: AbortSignal | undefined): AbortSignal {
  const limit = AbortSignal.timeout(timeoutMs);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

/** Without the cause: a provider's error may quote the key that it refuses. */
function noAnswer({ id }: PiModel, reason: string): SessionMemoryError {
  const message = `Cannot get an answer of "${id}": ${reason}`;
  return new SessionMemoryError("MODEL_FAILED", message, { recoverable: true });
}

/** The `provider/model` that is asked; undefined where rules are used. */
export function modelName({ config }: PiState, context: PiContext): string | undefined {
  const model = config && findModel(config, context);
  return model && context.modelRegistry.complete ? `${model.provider}/${model.id}` : undefined;
}

function findModel({ settings }: Config, { model, modelRegistry }: PiContext): PiModel | undefined {
  for (const key of settings.modelKeys) {
    const found = key === ACTIVE_MODEL ? model : modelOf(key, modelRegistry);
    if (found) return found;
  }
  return undefined;
}

function missingModels({ config }: PiState, { model, modelRegistry }: PiContext): string[] {
  const keys = config?.settings.modelKeys ?? [];
  return keys.filter((key) => (key === ACTIVE_MODEL ? !model : !modelOf(key, modelRegistry)));
}

function modelOf(key: string, registry: PiContext["modelRegistry"]): PiModel | undefined {
  const slash = key.indexOf("/");
  return registry.find?.(key.slice(0, slash), key.slice(slash + 1));
}

function piMessage(role: string, text: string, model: PiModel): object {
  const content = [{ type: "text", text }];
  const timestamp = Date.now();
  if (role === "user") return { role, content, timestamp };
  return { role, content, timestamp, provider: model.provider, model: model.id, stopReason: "stop" };
}
