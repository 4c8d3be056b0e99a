/** Asks a model of pi's registry for JSON, with the user's own authorisation, counted and capped. */

import { describeError, SessionMemoryError } from "../../lib/base/errors.ts";
import type { Config } from "../../lib/config/config.ts";
import { type CompleteJson, jsonCompleter } from "../../lib/model/answers.ts";
import { tokenUpperBound } from "../../lib/model/prices.ts";
import { openSpendLedger } from "../../lib/model/spend.ts";
import { redactor } from "../../lib/redact/redact.ts";
import type { PiContext, PiModel } from "./api.ts";

/** Starts of a provider's error that refused the request before any work: 408 and 499 come during it. */
const REFUSED = /^(?:Error:? )?4(?!08|99)\d\d\b/i;

interface Limits {
  dailyBudgetUsd: number;
  timeoutMs: number;
  /** Calls of one purse count against its cap alone. */
  purse?: "observe" | undefined;
}

/** Makes a completer of a model of pi's. */
export function hostCompleter(
  model: PiModel,
  { config, context, limits }: { config: Config; context: PiContext; limits: Limits },
): CompleteJson {
  const { settings, paths } = config;
  const ownPrices = settings.llm?.prices ?? {};
  const { input: inputPrice, output: outputPrice } = model.cost ?? {};
  // pi's own price of the model, unless config.json names one.
  const prices =
    inputPrice === undefined || outputPrice === undefined
      ? ownPrices
      : { [model.id]: { input: inputPrice, output: outputPrice }, ...ownPrices };
  const { dailyBudgetUsd, timeoutMs, purse } = limits;
  const budget = { dailyBudgetUsd, prices, apiKeyEnv: "", model: model.id, timeoutMs };
  const spend = openSpendLedger(paths.home, { llm: budget, timezone: settings.timezone }, { purse });
  const redact = redactor(settings.redact.extra);
  return jsonCompleter(async (messages, { feature, maxTokens, signal }) => {
    const input = messages.reduce((sum, { content }) => sum + tokenUpperBound(content), 0);
    const reservation = await spend.reserve({
      kind: "chat",
      feature,
      model: model.id,
      baseUrl: model.baseUrl,
      tokens: { input, output: maxTokens },
    });
    const limit = within(timeoutMs, signal);
    const asked = context.modelRegistry.complete?.(
      model,
      {
        systemPrompt: messages
          .filter(({ role }) => role === "system")
          .map(({ content }) => content)
          .join("\n\n"),
        messages: messages
          .filter(({ role }) => role !== "system")
          .map(({ role, content }) => piMessage(role, redact(content), model)),
      },
      { maxTokens, signal: limit },
    );
    const reply = await Promise.race([asked, endOf(limit)]).catch((error: unknown) => {
      throw answerError(model, redact(describeError(error)));
    });
    if (!reply || reply.stopReason === "error" || reply.stopReason === "aborted") {
      // A refused request is free; one that failed on the way may be billed, and stays at its estimate.
      if (REFUSED.test(reply?.errorMessage ?? "")) reservation.settle({ input: 0, output: 0 });
      throw answerError(model, redact(reply?.errorMessage ?? "none came"));
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

/** Returns the caller's signal, or the end of the time a model is given. */
function within(timeoutMs: number, signal: AbortSignal | undefined): AbortSignal {
  const limit = AbortSignal.timeout(timeoutMs);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

/** Rejects when a signal ends: a provider may not heed it. */
function endOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Returns an error without its cause: a provider's error may quote the key that it refuses. */
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
