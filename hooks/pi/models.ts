/** Asks models of pi's registry for names, answers and observations, as the user has set them up; calls are priced and capped. */

import { describeError, SessionMemoryError } from "../../lib/base/errors.ts";
import type { Config, Settings } from "../../lib/config/config.ts";
import { CALL_LIMITS } from "../../lib/config/limits.ts";
import type { ChatMessage, CompleteJson, SendChat } from "../../lib/model/answers.ts";
import type { Redactor } from "../exits.ts";
import type { PiContext, PiModel, PiReply } from "./api.ts";

/** The session's own model, as a `modelKeys` entry and as `observe.model`. */
const ACTIVE_MODEL = "active";
const NO_MODEL = "none";
/** Matches the errors of providers that refused a request before doing any work; 408 and 499 come during it. */
const REFUSED = /^(?:Error:? )?4(?!08|99)\d\d\b/i;

/** A model that can be asked. */
interface NamedModel {
  name: string;
  complete: CompleteJson;
}

/** Returns the model for names and answers: one of `modelKeys`, else the `llm` block's; undefined without either. */
export function namingModel(config: Config, context: PiContext): NamedModel | undefined {
  const { settings } = config;
  const { llm } = settings;
  const model = keyedModel(settings, context);
  if (model) return hostModel(model, { config, context, limits: llm ?? CALL_LIMITS });
  if (!llm) return undefined;
  return {
    name: llm.model,
    async complete(request) {
      const { configuredModel } = await import("../../lib/model/configured-model.ts");
      const complete = await configuredModel(config);
      if (!complete) throw new TypeError("Expected a model that can be asked");
      return await complete(request);
    },
  };
}

/** Returns the model that answers while a prompt waits; never a program, which takes seconds to start. */
export function promptModel(config: Config, context: PiContext): CompleteJson | undefined {
  const isProgram = config.settings.llm?.command !== undefined && !keyedModel(config.settings, context);
  return isProgram ? undefined : namingModel(config, context)?.complete;
}

/** Returns the model that observes, with its own cap and timeout; undefined if config.json or pi allows none. */
export function observingModel(config: Config, context: PiContext): NamedModel | undefined {
  const { observe } = config.settings;
  if (!context.modelRegistry.complete || observe.model === NO_MODEL) return undefined;
  const model = findModel(observe.model, context);
  return model && hostModel(model, { config, context, limits: observe, purse: "observe" });
}

/** Returns the entries of `modelKeys` that pi does not have. */
export function missingModels({ settings }: Config, context: PiContext): string[] {
  return settings.modelKeys.filter((key) => !findModel(key, context));
}

function keyedModel({ modelKeys }: Settings, context: PiContext): PiModel | undefined {
  if (!context.modelRegistry.complete) return undefined;
  return modelKeys.map((key) => findModel(key, context)).find((model) => model !== undefined);
}

function findModel(key: string, { model, modelRegistry }: PiContext): PiModel | undefined {
  if (key === ACTIVE_MODEL) return model;
  const slash = key.indexOf("/");
  return modelRegistry.find?.(key.slice(0, slash), key.slice(slash + 1));
}

function modelName({ provider, id }: PiModel): string {
  return `${provider}/${id}`;
}

interface HostCall {
  config: Config;
  context: PiContext;
  limits: typeof CALL_LIMITS;
  /** The budget that calls count against, apart from that of names and answers. */
  purse?: "observe" | undefined;
}

/** Returns a model of pi's. What asking it needs is loaded with the first question: most prompts have none. */
function hostModel(model: PiModel, call: HostCall): NamedModel {
  return {
    name: modelName(model),
    async complete(request) {
      const { jsonCompleter } = await import("../../lib/model/answers.ts");
      const { exitBy } = await import("../exits.ts");
      const redact = exitBy(call.config.settings);
      return await jsonCompleter(await hostSender(model, call, redact), redact)(request);
    },
  };
}

async function hostSender(
  model: PiModel,
  { config, context, limits, purse }: HostCall,
  redact: Redactor,
): Promise<SendChat> {
  const { makeCall, openSpendLedger, toCount, tokenUpperBound } = await import("../../lib/model/spend.ts");
  const { settings, paths } = config;
  const { id, baseUrl } = model;
  const llm = { ...limits, prices: readPrices(model, settings), apiKeyEnv: "", model: id };
  const spend = openSpendLedger(paths.home, { llm }, purse);
  return async (messages, { feature, maxTokens, signal }) => {
    const input = messages.reduce((sum, { content }) => sum + tokenUpperBound(content), 0);
    const tokens = { input, output: maxTokens };
    const reservation = await spend.reserve({ kind: "chat", feature, model: id, baseUrl, tokens });
    const reply = await makeCall(reservation, {
      timeoutMs: limits.timeoutMs,
      signal,
      make: (within) => askPi(redact(messages), { model, context, maxTokens, signal: within }),
      isRefused: (error) => REFUSED.test(describeError(error)),
      toError: (error, over) => answerError(model, over?.reason ?? redact(describeError(error))),
    });
    const text = reply.content.map(({ type, text }) => (type === "text" ? (text ?? "") : "")).join("");
    const { input: sent = 0, output, cacheRead = 0, cacheWrite = 0, cost } = reply.usage ?? {};
    const reported = output === 0 ? tokenUpperBound(text) : output;
    const { tokens: taken, usd } = reservation.settle({
      input: sent + cacheRead + cacheWrite,
      output: reported,
    });
    const said = { text, cut: reply.stopReason === "length", model: modelName(model) };
    return { ...said, tokens: taken, usd: toCount(cost?.total) ?? usd };
  };
}

interface Asking {
  model: PiModel;
  context: PiContext;
  maxTokens: number;
  signal: AbortSignal;
}

/** Asks as pi does: the system's words apart, all others as messages. */
async function askPi(
  messages: readonly ChatMessage[],
  { model, context, ...limits }: Asking,
): Promise<PiReply> {
  const { system = [], said = [] } = Object.groupBy(messages, ({ role }) =>
    role === "system" ? role : "said",
  );
  const systemPrompt = system.map(({ content }) => content).join("\n\n");
  const sent = said.map(({ role, content }) => piMessage(role, content, model));
  const reply = await context.modelRegistry.complete?.(model, { systemPrompt, messages: sent }, limits);
  if (!reply || reply.stopReason === "error" || reply.stopReason === "aborted")
    throw new Error(reply?.errorMessage ?? "none came");
  return reply;
}

/** Returns pi's own price of a model, unless config.json names one. */
function readPrices({ id, cost: { input, output } = {} }: PiModel, { llm }: Settings) {
  const own = llm?.prices ?? {};
  return input === undefined || output === undefined ? own : { [id]: { input, output }, ...own };
}

/** Returns an error without a `cause`: a provider's error may quote the key that it refuses. */
function answerError({ id }: PiModel, reason: string): SessionMemoryError {
  const message = `Cannot get an answer from "${id}": ${reason}`;
  return new SessionMemoryError("MODEL_FAILED", message, { recoverable: true });
}

function piMessage(role: string, text: string, model: PiModel): object {
  const content = [{ type: "text", text }];
  const timestamp = Date.now();
  if (role === "user") return { role, content, timestamp };
  return { role, content, timestamp, provider: model.provider, model: model.id, stopReason: "stop" };
}
